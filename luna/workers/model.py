"""The worker that is one structured call to a chat model: instruction, examples, inputs; the answer is the result.

It never trusts what the model says about its own success: the criteria decide, outside of this.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, TypeAlias

from langchain_core.language_models import BaseChatModel
from pydantic import Field, JsonValue

from luna.errors import WorkerConfigError
from luna.inputs import InputError, materialise_all
from luna.models.answers import Message
from luna.models.calls import CallSettings, Made, NotMade, call_structured, call_text
from luna.models.resolve import gate_name, resolve_chat_model
from luna.protocol import (
    NONE,
    Assignment,
    Data,
    Delivery,
    Failed,
    FailedKind,
    Note,
    ProgressEvent,
    Report,
    Spent,
    Stuck,
    Success,
)
from luna.schemas import RESULT, closed, is_object
from luna.text import defuse, delimited
from luna.workers.shared import INPUT_BYTES, WorkerOptions, input_report, read_options

Resolve: TypeAlias = Callable[..., BaseChatModel]
_SCHEMA_NAME = "answer"
_STATUSES = ("SUCCESS", "STUCK", "FAILED")
_REPORT_LISTS = ("known", "unknown", "attempted", "suggested_split")


class Example(Data):
    """One solved example: inputs as a task has them, and the result for them."""

    input: JsonValue
    output: JsonValue


class ModelOptions(WorkerOptions):
    """Settings of a worker of kind `model`.

    Attributes:
        model: Name of the chat model; None: the run's Luna model.
        base_url: Address of another server for it.
        system: Said before the task's own instruction.
        examples: Shown as earlier turns. Three to five of different length help small models most.
        report: Let the model say itself that it is stuck or that the task cannot be done. Not for small models.
        retries: Further calls after an answer of the wrong form.
        max_tokens: Longest answer; None: the model's own.
        temperature: None: the model's own.
        max_input_bytes: Most bytes of inputs that are put into the prompt.
    """

    model: str | None = None
    base_url: str | None = None
    system: str | None = None
    examples: tuple[Example, ...] = ()
    report: bool = False
    retries: int = Field(default=2, ge=0, le=10)
    max_tokens: int | None = Field(default=None, ge=1)
    temperature: float | None = Field(default=None, ge=0)
    max_input_bytes: int = Field(default=INPUT_BYTES, ge=1)


def create(options: Mapping[str, JsonValue]) -> "ModelWorker":
    """Make the worker of kind `model`.

    Raises:
        WorkerConfigError: If an option is unknown or wrong.
    """
    return ModelWorker(read_options("model", ModelOptions, options))


def model_name(own: str | None, delivery: Delivery) -> str:
    """The model that a worker uses: its own, else the run's.

    Raises:
        WorkerConfigError: If there is neither.
    """
    name = own or delivery.model
    if not name:
        raise WorkerConfigError(
            "No Luna model is set. Give --luna-model NAME (or --model), set LUNA_MODEL, or give the worker its option "
            "'model'. `local` is the model that runs on this machine."
        )
    return name


def model_gate(own: str | None, base_url: str | None, model: str | None) -> str:
    """The gate of a worker's model, its own or else the run's; "" when there is neither."""
    name = own or model
    return gate_name(name, base_url=base_url) if name else ""


class ModelWorker:
    """Does a task by one chat call. Source: S04, S52."""

    def __init__(self, options: ModelOptions, *, resolve: Resolve = resolve_chat_model) -> None:
        self._options = options
        self._resolve = resolve

    def gate(self, model: str | None) -> str:
        """Whose gate its calls respect."""
        return model_gate(self._options.model, self._options.base_url, model)

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        """Ask the model once (and again while the form is wrong); what it answers is the result.

        Raises:
            WorkerConfigError: If no model is set.
            ModelError: If the model cannot be had or used.
            Interruption: If the same delivery may be made again later.
        """
        options = self._options
        name = model_name(options.model, delivery)
        try:
            inputs = await asyncio.to_thread(
                materialise_all, assignment.inputs, delivery.workspace, limit_bytes=options.max_input_bytes
            )
        except InputError as error:
            yield input_report(error)
            return
        given = {"max_tokens": options.max_tokens, "temperature": options.temperature}
        model = self._resolve(
            name, base_url=options.base_url, **{key: value for key, value in given.items() if value is not None}
        )
        yield Note(text=f"asking {name}")
        settings = CallSettings(retries=options.retries)
        made = await self._call(model, self._messages(assignment, delivery, inputs), assignment, settings)
        yield Spent(usage=made.usage)
        yield self._report(made, assignment, name)

    async def _call(
        self, model: BaseChatModel, messages: list[Message], assignment: Assignment, settings: CallSettings
    ) -> Made | NotMade:
        schema = self._schema(assignment)
        if schema is None:
            return await call_text(model, messages, settings=settings)
        return await call_structured(model, messages, schema=schema, name=_SCHEMA_NAME, settings=settings)

    def _schema(self, assignment: Assignment) -> Mapping[str, Any] | None:
        """The schema of the answer; None for a plain text."""
        schema = assignment.expected_output.json_schema
        if self._options.report:
            return _report_schema(schema or {})
        return schema if schema is None or is_object(schema) else closed({RESULT: schema})

    def _messages(self, assignment: Assignment, delivery: Delivery, inputs: dict[str, JsonValue]) -> list[Message]:
        turns = [Message("system", self._instruction(assignment))]
        for example in self._options.examples:
            turns += [Message("user", _text(example.input)), Message("assistant", self._shown(example, assignment))]
        token = delivery.delimiter or secrets.token_hex(8)
        # As JSON, as in the examples, no input can end before its quote; what looks like a block must be none.
        material = [_text(_defused(inputs, token))] if inputs else []
        if assignment.context != NONE:
            material.append(delimited(assignment.context, label="context", source="the task", token=token))
        return [*turns, Message("user", "\n\n".join(material) or "Begin.")]

    def _instruction(self, assignment: Assignment) -> str:
        lines = [self._options.system] if self._options.system else []
        lines += [assignment.goal, *assignment.constraints, f"Answer: {assignment.expected_output.description}"]
        if self._options.report:
            lines += [
                "If one of these is so, report status STUCK with the concrete blocker instead:",
                *(f"- {condition}" for condition in assignment.stop_conditions),
                "If the task cannot be done at all, report status FAILED with the reason as summary.",
            ]
        return "\n".join(lines)

    def _shown(self, example: Example, assignment: Assignment) -> str:
        if self._options.report:
            blank: dict[str, JsonValue] = {name: [] for name in _REPORT_LISTS}
            return _text({"status": "SUCCESS", "summary": "", "blocker": "", **blank, RESULT: example.output})
        schema = assignment.expected_output.json_schema
        return _text(example.output if schema is None or is_object(schema) else {RESULT: example.output})

    def _report(self, made: Made | NotMade, assignment: Assignment, name: str) -> Report:
        if isinstance(made, NotMade):
            return Failed(kind=made.kind, reason=made.reason, evidence=made.replies)
        value = made.value
        if isinstance(value, dict):
            if self._options.report:
                return _read_report(value)
            schema = assignment.expected_output.json_schema
            if schema is not None and not is_object(schema):
                value = value[RESULT]
        return Success(summary=f"answered by {name}", result=value)


def _defused(value: Any, token: str) -> Any:  # noqa: ANN401 - any JSON
    match value:
        case str():
            return defuse(value, token=token)
        case list():
            return [_defused(item, token) for item in value]
        case dict():
            return {defuse(name, token=token): _defused(item, token) for name, item in value.items()}
        case _:
            return value


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _report_schema(result: Mapping[str, Any]) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    texts = {"type": "array", "items": text}
    lists = dict.fromkeys(_REPORT_LISTS, texts)
    definitions = {key: result[key] for key in ("$defs", "definitions") if key in result}
    own = {key: value for key, value in result.items() if key not in definitions}
    return closed(
        {
            "status": {"enum": list(_STATUSES)},
            "summary": text,
            "blocker": text,
            **lists,
            RESULT: {**definitions, "anyOf": [own, {"type": "null"}]},
        }
    )


def _read_report(value: Mapping[str, Any]) -> Report:
    match value["status"]:
        case "SUCCESS":
            return Success(summary=value["summary"], result=value[RESULT])
        case "STUCK":
            return Stuck.model_validate(
                {name: value[name] for name in ("status", "summary", "blocker", *_REPORT_LISTS)}
            )
        case _:
            reason = value["summary"].strip() or value["blocker"].strip() or "the model gave no reason"
            return Failed(kind=FailedKind.PREMISE, reason=reason)

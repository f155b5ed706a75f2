"""The planner that thinks with a chat model: each answer is one structured call, read from its fields only.

What can be done by rule (halving inputs, merging halves) is done by rule here too.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_never, cast

from langchain_core.language_models import BaseChatModel

from luna.models.answers import Message
from luna.models.calls import CallSettings, NotMade, call_structured
from luna.protocol import Usage
from luna.schemas import SchemaUnusableError
from sol.errors import PlannerError
from sol.planner import prompts
from sol.planner.by_rule import FreePlanner, PlannerRequest, open_parts
from sol.planner.divide import HALVING, halve_inputs, largest_input
from sol.tree.effects import (
    Answered,
    AtomicAnswer,
    AtomicRequest,
    CannotSplit,
    How,
    IntegrateAnswer,
    IntegrateRequest,
    IntegrationCheck,
    JudgeAnswer,
    Judged,
    JudgeRequest,
    ReassessAnswer,
    ReassessRequest,
    Remedy,
    ReviewRequest,
    RuleRequest,
    SplitRequest,
)
from sol.tree.values import AnswerValue, ChildPlan, SplitAnswer, plain

_TWO = 2


class ModelPlanner:
    """Plans with a chat model.

    Args:
        model: Any LangChain chat model.
        workspace: Root of the files that inputs refer to.
        delimiter: The run's random token, for fencing what nobody vouches for.
        retries: Further calls after an answer of the wrong form.
    """

    def __init__(self, model: BaseChatModel, *, workspace: Path, delimiter: str, retries: int = 2) -> None:
        self._model = model
        self._workspace = workspace
        self._delimiter = delimiter
        self._settings = CallSettings(retries=retries)
        self._by_rule = FreePlanner(workspace)

    async def answer(self, request: PlannerRequest) -> Answered:
        """ParsedAnswer by one call of the model, or by rule where inputs are halved.

        Raises:
            PlannerError: If the model gave no usable answer.
            luna.errors.ModelError: If the model cannot be used.
            luna.errors.Interruption: If the same request may simply be made again later.
        """
        match request:
            case SplitRequest(splitter="inputs") | IntegrateRequest(how=How.INPUTS):
                return await self._by_rule.answer(request)
            case SplitRequest():
                return await self._split(request)
        prompt = self._prompt(request)
        value, usage = await self._ask(prompt)
        return Answered(_read(request, value), usage)

    def _prompt(
        self,
        request: AtomicRequest | JudgeRequest | ReviewRequest | IntegrateRequest | ReassessRequest | RuleRequest,
    ) -> prompts.Prompt:
        match request:
            case AtomicRequest():
                return prompts.atomic(request, self._delimiter)
            case JudgeRequest():
                return prompts.judge(request, self._delimiter)
            case ReviewRequest():
                return prompts.review(request, self._delimiter)
            case RuleRequest():
                return prompts.rule(request, self._delimiter)
            case IntegrateRequest():
                return prompts.integrate(request, self._delimiter)
            case ReassessRequest():
                return prompts.reassess(request, self._delimiter)
            case _:
                assert_never(request)

    async def _ask(self, prompt: prompts.Prompt) -> tuple[dict[str, Any], Usage]:
        messages = [Message("system", prompt.system), Message("user", prompt.user)]
        try:
            made = await call_structured(
                self._model, messages, schema=prompt.schema, name=prompt.name, settings=self._settings
            )
        except SchemaUnusableError as error:
            raise PlannerError(f"Sol's model cannot be asked to {prompt.name}: {error}") from error
        if isinstance(made, NotMade):
            raise PlannerError(
                f"Sol's model gave no usable answer when asked to {prompt.name} ({made.kind}): {made.reason} "
                "Use a stronger Sol model, or none.",
                usage=made.usage,
            )
        return cast("dict[str, Any]", made.value), made.usage  # the schema's root is an object

    async def _split(self, request: SplitRequest) -> Answered:
        largest = largest_input(request.assignment.inputs, self._workspace)
        value, usage = await self._ask(prompts.split(request, largest[1] if largest else 0, self._delimiter))
        if value["can_split"] and value["dimension"] == HALVING:
            return Answered(halve_inputs(request, self._workspace), usage)
        return Answered(_read_split(request, value), usage)


def _read_split(request: SplitRequest, value: Mapping[str, Any]) -> SplitAnswer | CannotSplit:
    parts = value["children"]
    if not value["can_split"] or len(parts) < _TWO:
        return CannotSplit(value["reason"].strip() or "the planner named no parts")
    return SplitAnswer(
        tuple(_child(request, part) for part in parts),
        sequential=value["sequential"],
        dimension=value["dimension"],
        reason=value["reason"],
        how=How.MODEL,
    )


def _child(request: SplitRequest, part: Mapping[str, Any]) -> ChildPlan:
    """One proposed part. A model must not make anything run: its criteria are plain words, or checks of the task."""
    checks = prompts.own_checks(request.assignment)
    given = request.assignment.inputs
    expected = plain(request.assignment.expected_output)
    output = expected if part["whole"] else {"description": part["expected_output"]}
    return ChildPlan(
        goal=part["goal"].strip(),
        claim=part["claim"],
        success_criteria=(
            *(checks[number - 1] for number in dict.fromkeys(part.get("checks", ()))),
            *({"text": text} for text in part["success_criteria"]),
        ),
        expected_output=output,
        inputs={name: given[name] for name in part["inputs"]} if part.get("inputs") else None,
    )


def _read(request: PlannerRequest, value: Mapping[str, Any]) -> AnswerValue:
    match request:
        case AtomicRequest():
            return AtomicAnswer(atomic=value["atomic"], reason=value["reason"])
        case JudgeRequest():
            return JudgeAnswer(tuple(_judged(verdict) for verdict in value["verdicts"]))
        case IntegrateRequest():
            return _integrated(request, value)
        case ReassessRequest():
            return _reassessed(value)
        case _:
            return _judged(value)


def _judged(value: Mapping[str, Any]) -> Judged:
    return Judged(holds=value["holds"], reason=value["reason"])


def _integrated(request: IntegrateRequest, value: Mapping[str, Any]) -> IntegrateAnswer:
    """The model's integration; parts that were not accepted stay open whatever it says. Source: S62."""
    left_open = open_parts(request.parts)
    checks = {name: IntegrationCheck(check["ok"], check["note"]) for name, check in value["checks"].items()}
    if left_open:
        checks["nothing_open"] = IntegrationCheck(ok=False, note="; ".join(left_open))
    return IntegrateAnswer(value["result"], value["summary"], checks, (*left_open, *value["open"]))


def _reassessed(value: Mapping[str, Any]) -> ReassessAnswer:
    """The model's finding; a remedy without what it needs is none. Source: S58."""
    remedy, needed = value["remedy"], {Remedy.REDEFINE: ("goal", "information"), Remedy.ASK: ("question",)}
    given = {name: value[name].strip() for name in needed.get(remedy, ())}
    if remedy in needed and not any(given.values()):
        reason = f"{value['reason']} (it chose {remedy} and gave nothing for it)"
        return ReassessAnswer(value["finding"], Remedy.GIVE_UP, reason)
    return ReassessAnswer(value["finding"], remedy, value["reason"], **given)

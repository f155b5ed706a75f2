"""One call to any LangChain chat model, structured or plain: what it answered, or why it gave nothing.

A provider's own structured output is used where there is one, and never trusted: the text is read strictly.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import JsonValue

from luna.models import answers
from luna.models.answers import CUT, BadAnswerKind, Message, Reply
from luna.models.failures import Declined, meaning
from luna.protocol import FailedKind, Usage
from luna.strictjson import CLOSING_TAG, TAG_NAMES
from luna.text import size_bytes

_BYTES_PER_TOKEN = 8
"""More than a tokenizer packs into a token on average; a prompt beyond that many cannot fit."""
_REFUSED = frozenset({"content_filter", "refusal", "safety", "prohibited_content", "blocklist"})
_FINISH_KEYS = ("finish_reason", "stop_reason", "stopReason", "done_reason", "status")
_BAD_REQUEST = 400
_FORMAT_UNKNOWN = re.compile(r"response_format|json_schema|grammar", re.IGNORECASE)
_OPENING_TAG = re.compile(rf"\s*<(?:{TAG_NAMES})>", re.IGNORECASE)
_CLASSES: Mapping[str, type[BaseMessage]] = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}


@dataclass(frozen=True, slots=True)
class Made:
    """The model answered. `value` is JSON that fits the schema, or the text of a plain call."""

    value: JsonValue
    usage: Usage


@dataclass(frozen=True, slots=True)
class NotMade:
    """The call gave nothing that can be used.

    Attributes:
        kind: `format`, `truncated`, `refused` or `context_too_large`.
        reason: One sentence.
        replies: What the model said instead, oldest first, each clipped.
        usage: Sum over all calls.
    """

    kind: FailedKind
    reason: str
    replies: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """How to call.

    Attributes:
        retries: Further calls after an answer of the wrong form.
        limit_bytes: Largest prompt, in bytes of text; None: only what the model's own profile says.
    """

    retries: int = 2
    limit_bytes: int | None = None


async def call_structured(
    model: BaseChatModel,
    messages: Sequence[Message],
    *,
    schema: Mapping[str, Any],
    name: str,
    settings: CallSettings = CallSettings(),
) -> Made | NotMade:
    """Ask for one JSON value that satisfies a schema whose root is an object.

    The schema is bound to the model where the model can be bound to one, otherwise it is put into the instruction.
    An answer of the wrong form is asked for again; only the last bad one and what was wrong with it are shown.

    Raises:
        Interruption: The same call may be made again later.
        ModelError: The model cannot be used; the message says what to change.
        SchemaUnusableError: The schema cannot be used.

    Source: S51, S52, RETRY-01, JSON-03.
    """
    if too_large := _too_large(model, messages, settings):
        return too_large
    calls = _Calls(model, settings)
    calls.constrain(schema, name)
    try:
        answer = await answers.ask(calls.one, messages=messages, schema=schema, retries=settings.retries)
    except _Stopped as stopped:
        return NotMade(stopped.declined.kind, stopped.declined.reason, usage=calls.usage)
    if isinstance(answer, answers.Answered):
        return Made(answer.value, answer.usage)
    last = answer.errors[-1]
    kind = FailedKind.TRUNCATED if last.kind is BadAnswerKind.TRUNCATED else FailedKind.FORMAT
    reason = f"{len(answer.errors)} replies and none usable; the last: {last.message}"
    return NotMade(kind, reason, answer.raw_replies, answer.usage)


async def call_text(
    model: BaseChatModel,
    messages: Sequence[Message],
    *,
    settings: CallSettings = CallSettings(),
) -> Made | NotMade:
    """Ask for text. Reasoning in tags is dropped; an empty, cut or unfinished reply is none.

    Raises:
        Interruption: The same call may be made again later.
        ModelError: The model cannot be used; the message says what to change.

    Source: S51, S52, STAT-01.
    """
    if too_large := _too_large(model, messages, settings):
        return too_large
    calls = _Calls(model, settings)
    try:
        reply = await calls.one(messages)
    except _Stopped as stopped:
        return NotMade(stopped.declined.kind, stopped.declined.reason, usage=calls.usage)
    if reply.finish_reason in CUT or reply.finish_reason == "":
        how = "was cut off at its length limit" if reply.finish_reason else "ended before it was complete"
        return NotMade(FailedKind.TRUNCATED, f"the reply {how}", (reply.text,), reply.usage)
    text = _without_reasoning(reply.text)
    if not text:
        return NotMade(FailedKind.FORMAT, "the reply is empty", (reply.text,), reply.usage)
    return Made(text, reply.usage)


class _Stopped(Exception):  # noqa: N818 - carries a value out of the retry loop
    def __init__(self, declined: Declined) -> None:
        super().__init__(declined.reason)
        self.declined = declined


class _Calls:
    """Single calls of one model, with their sum."""

    def __init__(self, model: BaseChatModel, settings: CallSettings) -> None:
        self._model = model
        self._settings = settings
        self._target: Runnable[Any, Any] = model
        self._instruction = ""
        self._bound = False
        self._schema: Mapping[str, Any] = {}
        self.usage = Usage()

    def constrain(self, schema: Mapping[str, Any], name: str) -> None:
        """Bind the schema to the model, or put it into the instruction."""
        self._schema = schema
        target = _constrained(self._model, schema, name)
        if target is None:
            self._instruct()
        else:
            self._target, self._bound = target, True

    def _instruct(self) -> None:
        self._target, self._bound = self._model, False
        text = json.dumps(self._schema, ensure_ascii=False)
        self._instruction = f"Answer with one JSON value that satisfies this JSON Schema, and nothing else:\n{text}"

    async def one(self, messages: Sequence[Message]) -> Reply:
        """Make one call."""
        try:
            message = await self._target.ainvoke(self._prompt(messages))
        except Exception as error:  # noqa: BLE001 - what providers raise has no common root; all of it is translated
            if self._bound and _rejects_format(error):
                self._instruct()
                return await self.one(messages)
            reply = self._reply_in(error)
        else:
            reply = self._reply(message)
        return reply

    def _prompt(self, messages: Sequence[Message]) -> list[BaseMessage]:
        if self._instruction:
            first, *rest = messages
            messages = (
                (Message("system", f"{first.text}\n\n{self._instruction}"), *rest)
                if first.role == "system"
                else (Message("system", self._instruction), *messages)
            )
        return [_CLASSES[message.role](content=message.text) for message in messages]

    def _reply(self, message: AIMessage) -> Reply:
        usage = usage_of(message)
        self.usage = self.usage.plus(usage)
        if (why := refusal(message)) is not None:
            raise _Stopped(Declined(FailedKind.REFUSED, f"the model refused: {why}"))
        return Reply(message.text, finish_reason(message), usage)

    def _reply_in(self, error: Exception) -> Reply:
        """The cut reply that some clients hand over inside an exception; everything else is translated and raised."""
        choices = getattr(getattr(error, "completion", None), "choices", None)
        if choices and choices[0].finish_reason in CUT:
            total = getattr(error.completion.usage, "total_tokens", None)  # type: ignore[attr-defined]
            usage = Usage(calls=1, tokens=total or 0, reported=total is not None)
            self.usage = self.usage.plus(usage)
            return Reply(choices[0].message.content or "", choices[0].finish_reason, usage)
        found = meaning(error)
        if isinstance(found, Declined):
            self.usage = self.usage.plus(Usage(calls=1))
            raise _Stopped(found) from None
        # Not chained: a provider's text may quote the key, and its exceptions need not pickle.
        raise found from None


def usage_of(message: AIMessage) -> Usage:
    """What one call cost, as the message says. `reported` is False when it does not."""
    given = message.usage_metadata
    return Usage(calls=1, tokens=given["total_tokens"] if given else 0, reported=given is not None)


def finish_reason(message: AIMessage) -> str | None:
    """Why the reply ended, in lower case.

    "" when the provider says other things but not this: a stream that was cut. None when it says nothing at all.
    """
    metadata = message.response_metadata
    reason = next((metadata[key] for key in _FINISH_KEYS if metadata.get(key)), None)
    return str(reason).lower() if reason is not None else "" if metadata else None


def refusal(message: AIMessage) -> str | None:
    """Why the model would not answer, in its words or in one of its provider's; None when it did not refuse."""
    blocks = message.content if isinstance(message.content, list) else []
    texts = [block.get("refusal") for block in blocks if isinstance(block, dict) and block.get("type") == "refusal"]
    finish = finish_reason(message)
    said = (message.additional_kwargs.get("refusal"), *texts, finish if finish in _REFUSED else None)
    return next((str(text) for text in said if text), None)


def _constrained(model: BaseChatModel, schema: Mapping[str, Any], name: str) -> Runnable[Any, Any] | None:
    """The model bound to the schema, by what it says of itself; None when it cannot be bound."""
    says = (model.profile or {}).get("structured_output")
    if says is False:
        return None
    if says or "response_format" in signature(model.bind_tools).parameters:
        return model.bind(
            response_format={"type": "json_schema", "json_schema": {"name": name, "schema": dict(schema)}}
        )
    # Otherwise a model with a way of its own, unless that way is calling a tool: then there is no text to read.
    method = signature(model.with_structured_output).parameters.get("method")
    own = type(model).with_structured_output is not BaseChatModel.with_structured_output
    if own and (method is None or method.default == "json_schema"):
        both: Runnable[Any, Any] = model.with_structured_output({"title": name, **schema}, include_raw=True)
        return both | RunnableLambda(_raw)
    return None


def _raw(both: Any) -> AIMessage:  # noqa: ANN401 - a mapping, as LangChain documents it
    message: AIMessage = both["raw"]
    return message


def _rejects_format(error: Exception) -> bool:
    """Whether a server, compatible with OpenAI's but for structured output, refused just that."""
    return getattr(error, "status_code", None) == _BAD_REQUEST and _FORMAT_UNKNOWN.search(str(error)) is not None


def _too_large(model: BaseChatModel, messages: Sequence[Message], settings: CallSettings) -> NotMade | None:
    """Refuse, before any call, a prompt that cannot fit. Source: CTX-01."""
    size = sum(size_bytes(message.text) for message in messages)
    tokens = (model.profile or {}).get("max_input_tokens")
    if settings.limit_bytes is not None and size > settings.limit_bytes:
        limit = f"the limit is {settings.limit_bytes} bytes"
    elif tokens is not None and size > tokens * _BYTES_PER_TOKEN:
        limit = f"the model takes {tokens} tokens, which is less"
    else:
        return None
    return NotMade(FailedKind.CONTEXT_TOO_LARGE, f"the prompt has {size} bytes; {limit}")


def _without_reasoning(text: str) -> str:
    """The text after its reasoning; nothing of one that never ends its reasoning. Source: JSON-03."""
    opening = _OPENING_TAG.match(text)
    closing = CLOSING_TAG.search(text)
    if closing is not None:
        return text[closing.end() :].strip()
    return "" if opening else text.strip()

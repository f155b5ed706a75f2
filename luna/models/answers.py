"""Structured answers of chat models: read strictly, and asked for again a bounded number of times.

A reply holds one answer or none; nothing is repaired, completed or guessed. It must not know any model library.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from pydantic import JsonValue

from luna.protocol import Usage
from luna.schemas import Schema
from luna.strictjson import Scan, ScanFault
from luna.text import clip, size_bytes

MAX_REPLY_BYTES = 1_000_000
SHOWN_BYTES = 4_000
STORED_BYTES = 16_000

CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "incomplete"})
"""Finish reasons, in lower case, that mean a reply is not whole."""
_CUT_REASONS = CUT | {"content_filter"}
UNREPORTED = Usage(calls=1, reported=False)
"""What a call cost whose provider does not say."""


class BadAnswerKind(StrEnum):
    """Why a reply gives no answer."""

    EMPTY = "empty"
    TRUNCATED = "truncated"
    AMBIGUOUS = "ambiguous"
    NO_JSON = "no_json"
    INVALID = "invalid"
    DUPLICATE_KEYS = "duplicate_keys"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """The one answer of a reply; it fits the schema."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class BadAnswer:
    """A reply without a usable answer; `message` tells the model (and people) what was wrong."""

    kind: BadAnswerKind
    message: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message to a chat model."""

    role: Literal["system", "user", "assistant"]
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What one model call gave.

    Attributes:
        text: All text of the reply.
        finish_reason: As the provider names it; None when it says nothing.
        usage: Cost of this call.
    """

    text: str
    finish_reason: str | None = None
    usage: Usage = UNREPORTED


@dataclass(frozen=True, slots=True)
class Answered:
    """The model answered; `usage` is the sum over all calls, the refused ones included."""

    value: JsonValue
    usage: Usage


@dataclass(frozen=True, slots=True)
class FormatFailure:
    """No call gave a usable answer.

    Attributes:
        raw_replies: Every reply, oldest first, each clipped to 16,000 bytes.
        errors: What was wrong with each.
        usage: Sum over all calls.
    """

    raw_replies: tuple[str, ...]
    errors: tuple[BadAnswer, ...]
    usage: Usage


ModelCall: TypeAlias = Callable[[Sequence[Message]], Awaitable[Reply]]


def read_answer(
    text: str,
    *,
    schema: Mapping[str, Any] | None,
    finish_reason: str | None = None,
    limit_bytes: int = MAX_REPLY_BYTES,
) -> ParsedAnswer | BadAnswer:
    """Find the one JSON answer in a reply.

    The answer may stand alone, in prose, or in a fenced block named `json` or not named; other blocks are not looked
    into. Reasoning in `<think>` tags is dropped, and so is everything up to a first closing tag whose opening tag is
    missing; tags inside the strings of an answer are text. Values that do not fit the schema are no answers as long as
    one fits. Two that fit and differ are ambiguous: the last never wins. Parts of broken JSON are never answers.

    Args:
        text: The whole reply.
        schema: JSON Schema 2020-12, formats included. None takes any object that is not empty, and any value that
            stands alone or in a block.
        finish_reason: The provider's; those that mean a cut reply make it truncated whatever it holds.
        limit_bytes: Largest reply that is read, in bytes of UTF-8.

    Raises:
        SchemaUnusableError: If the schema cannot be used.

    Source: S52, JSON-01, JSON-03, STAT-01.
    """
    return _read(Reply(text, finish_reason), _usable(schema), limit_bytes)


async def ask(
    model_call: ModelCall,
    *,
    messages: Sequence[Message],
    schema: Mapping[str, Any] | None,
    retries: int,
    limit_bytes: int = MAX_REPLY_BYTES,
) -> Answered | FormatFailure:
    """Ask a model until it gives a usable answer, at most `retries` + 1 times.

    Each retry sends the given messages, the last bad reply (clipped to 4,000 bytes) and what was wrong with it; earlier
    bad replies are not sent again.

    Args:
        model_call: One call; what it raises passes through.
        messages: The question. The last one is the user's.
        schema: As for `read_answer`.
        retries: Further calls after a bad answer, 0 or more.
        limit_bytes: Largest reply that is read.

    Raises:
        SchemaUnusableError: If the schema cannot be used; no call has been made.
        ValueError: If `retries` is negative.

    Source: RETRY-01.
    """
    if retries < 0:
        raise ValueError(f"retries is {retries!r}; give 0 or more")
    usable = _usable(schema)
    usage = Usage()
    raw_replies: list[str] = []
    errors: list[BadAnswer] = []
    correction: tuple[Message, ...] = ()
    for _ in range(retries + 1):
        reply = await model_call((*messages, *correction))
        usage = usage.plus(reply.usage)
        answer = _read(reply, usable, limit_bytes)
        if isinstance(answer, ParsedAnswer):
            return Answered(answer.value, usage)
        raw_replies.append(clip(reply.text, limit_bytes=STORED_BYTES).text)
        errors.append(answer)
        correction = _correction(reply.text, answer)
    return FormatFailure(tuple(raw_replies), tuple(errors), usage)


def _correction(text: str, bad: BadAnswer) -> tuple[Message, ...]:
    # Some providers refuse an empty message.
    shown = clip(text, limit_bytes=SHOWN_BYTES).text if text.strip() else "(empty reply)"
    order = (
        f"This cannot be used ({bad.kind}): {bad.message}\nGive the whole answer again: one JSON value, nothing else."
    )
    return Message("assistant", shown), Message("user", order)


def _usable(schema: Mapping[str, Any] | None) -> Schema | None:
    return None if schema is None else Schema(schema)


def _read(reply: Reply, schema: Schema | None, limit_bytes: int) -> ParsedAnswer | BadAnswer:
    size = size_bytes(reply.text)
    if size > limit_bytes:
        return BadAnswer(BadAnswerKind.TOO_LARGE, f"The reply has {size} bytes; at most {limit_bytes} are read.")
    if (reply.finish_reason or "").lower() in _CUT_REASONS:
        message = f"The reply was cut off ({reply.finish_reason}). Give a shorter one."
        return BadAnswer(BadAnswerKind.TRUNCATED, message)
    if not reply.text.strip():
        return BadAnswer(BadAnswerKind.EMPTY, "The reply is empty.")
    scan = Scan(reply.text)
    if scan.fault is not None:
        return _from_fault(scan.fault)
    values = [found.value for found in scan.found if schema is not None or found.certain]
    if not values:
        return BadAnswer(BadAnswerKind.NO_JSON, scan.broken or "The reply holds no JSON object.")
    return _choose(values, schema)


def _from_fault(fault: ScanFault) -> BadAnswer:
    return BadAnswer(BadAnswerKind(fault.kind), fault.message)


def _choose(values: Sequence[JsonValue], schema: Schema | None) -> ParsedAnswer | BadAnswer:
    fitting: dict[str, JsonValue] = {}
    misfits: list[list[str]] = []
    for value in values:
        errors = [] if schema is None else schema.errors(value)
        if errors:
            misfits.append(errors)
        else:
            fitting[json.dumps(value, sort_keys=True)] = value
    if len(fitting) > 1:
        message = f"The reply holds {len(fitting)} different answers. Give exactly one."
        return BadAnswer(BadAnswerKind.AMBIGUOUS, message)
    if fitting:
        return ParsedAnswer(next(iter(fitting.values())))
    lines = (f"- {error}" for error in min(misfits, key=len))
    return BadAnswer(BadAnswerKind.INVALID, "\n".join(("The JSON does not fit the schema:", *lines)))

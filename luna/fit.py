"""Whether what a worker handed over can be kept: it is JSON, and within its size.

Never shortens a report into something that still looks like success.
"""

from typing import TypeVar

from pydantic import BaseModel

from luna.monitor.texts import runs_away
from luna.protocol import Action, Failed, FailedKind, Note, Partial, ProgressEvent, Said, Spent, Stuck, Success, Waiting
from luna.strictjson import as_json, require_json

_UNFIT = (ValueError, TypeError, RecursionError)
_KEPT = 1000
_RUN = 2000
_BYTES_A_CHARACTER = 4

M = TypeVar("M", bound=BaseModel)


def fit_report(report: Success | Stuck | Failed, limit_bytes: int) -> Success | Stuck | Failed:
    """The report itself if it can be kept, otherwise a FAILED that says why it cannot.

    Args:
        report: What the worker handed over; it may have been built without validation.
        limit_bytes: Size allowed as JSON in UTF-8.

    Returns:
        The report as it reads back, or FAILED `format` (not JSON, see `require_json`) or `output_limit` with head and
        tail.

    Source: S52, LOOP-07.
    """
    try:
        _require_whole(report)
        if isinstance(report, Success):
            report = _with(report, "result", as_json(report.result, what="its result"))
        if report.suggestions:
            report = _with(report, "suggestions", as_json(report.suggestions, what="its suggestions"))
        text = report.model_dump_json(warnings="error")
    except _UNFIT as error:
        status = getattr(report, "status", type(report).__name__)
        return Failed(kind=FailedKind.FORMAT, reason=f"the {status} report is no JSON: {error}")
    return _over(text, limit_bytes) or report


def fit_event(event: ProgressEvent, limit_bytes: int) -> ProgressEvent | Failed:
    """The event as it reads back, or a FAILED that says why it cannot be kept."""
    try:
        _require_whole(event)
        match event:
            case Note():  # never kept
                return _over(event.text, limit_bytes) or event
            case Said():
                require_json(event.text, what="its text")
                return _over(event.text, limit_bytes) or event
            case Waiting():
                require_json([event.deadline_s, event.interval_s], what="its times")
            case Spent(usage=usage):
                require_json([usage.calls, usage.tokens, usage.cost], what="its amounts")
            case Action():
                event = _with(event, "arguments", as_json(event.arguments, what="its arguments"))
            case Partial():
                event = _with(event, "value", as_json(event.value, what="its value"))
            case _:
                pass
        text = event.model_dump_json(warnings="error")
    except _UNFIT as error:
        kind = getattr(event, "type", type(event).__name__)
        what = f"the part {event.key!r}" if isinstance(event, Partial) else f"an event of type {kind!r}"
        return Failed(kind=FailedKind.FORMAT, reason=f"{what} is no JSON: {error}")
    return _over(text, limit_bytes) or event


def _require_whole(given: BaseModel) -> None:
    """Refuse what was built without validation and lacks fields.

    Raises:
        ValueError: If it does; names them.
    """
    if len(given.__dict__) < len(type(given).model_fields):
        lacking = [name for name in type(given).model_fields if name not in given.__dict__]
        raise ValueError(f"it lacks {', '.join(lacking)}")


def _with(given: M, name: str, value: object) -> M:
    return given if value is getattr(given, name) else given.model_copy(update={name: value})


def _over(text: str, limit_bytes: int) -> Failed | None:
    if len(text) * _BYTES_A_CHARACTER <= limit_bytes:
        return None
    size = len(text.encode("utf-8", "surrogatepass"))
    if size <= limit_bytes:
        return None
    unit = runs_away(text, _RUN)
    what = "reply over limit" if unit is None else f"reply over limit, repeated text {unit[:80]!r}"
    return Failed(
        kind=FailedKind.OUTPUT_LIMIT,
        reason=f"{what}: {size} bytes, {limit_bytes} allowed",
        evidence=(f"begins: {text[:_KEPT]}", f"ends: {text[-_KEPT:]}"),
    )

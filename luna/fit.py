"""Whether what a worker handed over can be kept: it is JSON, and within its size.

Never shortens a report into something that still looks like success.
"""

from luna.monitor.texts import runs_away
from luna.protocol import Action, Failed, FailedKind, Note, Partial, ProgressEvent, Said, Stuck, Success, Waiting
from luna.strictjson import require_json

_UNFIT = (ValueError, TypeError, RecursionError)
_KEPT = 1000
_RUN = 2000
_BYTES_A_CHARACTER = 4


def fit_report(report: Success | Stuck | Failed, limit_bytes: int) -> Success | Stuck | Failed:
    """The report itself if it can be kept, otherwise a FAILED that says why it cannot.

    Args:
        report: What the worker handed over; it may have been built without validation.
        limit_bytes: Size allowed as JSON in UTF-8.

    Returns:
        The report, or FAILED `format` (not JSON, see `require_json`) or `output_limit` with head and tail.

    Source: S52, LOOP-07.
    """
    try:
        if isinstance(report, Success):
            require_json(report.result, what="its result")
        if report.suggestions:
            require_json(report.suggestions, what="its suggestions")
        text = report.model_dump_json(warnings="error")
    except _UNFIT as error:
        status = getattr(report, "status", type(report).__name__)
        return Failed(kind=FailedKind.FORMAT, reason=f"the {status} report is no JSON: {error}")
    return _over(text, limit_bytes) or report


def fit_event(event: ProgressEvent, limit_bytes: int) -> Failed | None:
    """A FAILED that says why the event cannot be kept, or None when it can."""
    try:
        match event:
            case Note():  # never kept
                return _over(event.text, limit_bytes)
            case Said():
                require_json(event.text, what="its text")
                return _over(event.text, limit_bytes)
            case Waiting():
                require_json([event.deadline_s, event.interval_s], what="its times")
            case Action():
                require_json(event.arguments, what="its arguments")
            case Partial():
                require_json(event.value, what="its value")
            case _:
                pass
        text = event.model_dump_json()
    except _UNFIT as error:
        what = f"the part {event.key!r}" if isinstance(event, Partial) else f"an event of type {event.type!r}"
        return Failed(kind=FailedKind.FORMAT, reason=f"{what} is no JSON: {error}")
    return _over(text, limit_bytes)


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

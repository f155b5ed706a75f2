"""Whether what a worker handed over can be kept: it is JSON, and within its size.

Never shortens a report into something that still looks like success.
"""

import json

from luna.monitor.texts import runs_away
from luna.protocol import Action, Failed, FailedKind, Note, Partial, ProgressEvent, Said, Stuck, Success

_UNFIT = (ValueError, TypeError, RecursionError)
_STRICT = json.JSONEncoder(allow_nan=False)
_KEPT = 1000
_RUN = 2000
_BYTES_A_CHARACTER = 4


def fit_report(report: Success | Stuck | Failed, limit_bytes: int) -> Success | Stuck | Failed:
    """The report itself if it can be kept, otherwise a FAILED that says why it cannot.

    Args:
        report: What the worker handed over; it may have been built without validation.
        limit_bytes: Size allowed as JSON in UTF-8.

    Returns:
        The report, or FAILED `format` (not JSON; NaN and infinity are none) or `output_limit` with head and tail.

    Source: S52, LOOP-07.
    """
    try:
        text = report.model_dump_json(warnings="error")
        _STRICT.encode([report.suggestions, report.result if isinstance(report, Success) else None])
    except _UNFIT as error:
        status = getattr(report, "status", type(report).__name__)
        return Failed(kind=FailedKind.FORMAT, reason=f"the {status} report is no JSON: {error}")
    return _over(text, limit_bytes) or report


def fit_event(event: ProgressEvent, limit_bytes: int) -> Failed | None:
    """A FAILED that says why the event cannot be kept, or None when it can."""
    match event:
        case Said() | Note():
            return _over(event.text, limit_bytes)
        case Action(arguments=value) | Partial(value=value):
            pass
        case _:
            value = None
    try:
        text = event.model_dump_json()
        _STRICT.encode(value)
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

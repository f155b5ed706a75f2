"""What an exception of a chat model means, told from its attributes: no provider's package is imported.

Must never let a key into a message.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from json import JSONDecodeError
from typing import Any

from luna.errors import Interruption, ModelError, ModelNotFoundError
from luna.protocol import FailedKind
from luna.text import clip, redact

_MESSAGE_BYTES = 500
_TRANSPORT = frozenset({"ConnectionError", "TimeoutError", "TransportError", "APIConnectionError", "APITimeoutError"})
_TOO_LARGE = re.compile(
    r"context[ _-]?(?:length|size|window)|maximum context|prompt is too long|too many (?:input )?tokens", re.IGNORECASE
)
_POLICY = re.compile(r"content[ _]?(?:filter|policy|management)|safety system|usage polic", re.IGNORECASE)
_OVERFLOW_NAMES = frozenset({"ContextOverflowError", "PromptTooLongError"})
_REFUSAL_NAMES = frozenset({"ModelRefusalError", "ContentFilterFinishReasonError"})
_WORDS: Mapping[str, str] = {
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "server_error": "outage",
    "api_error": "outage",
    "overloaded_error": "outage",
}
"""What providers call an error in the middle of a stream, where there is no status any more."""
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_RATE_LIMIT, _REQUEST_TIMEOUT, _TOO_EARLY, _GATEWAY_TIMEOUT = 429, 408, 425, 504
_BAD_REQUEST, _PAYMENT, _NOT_FOUND, _PAYLOAD, _SERVER = 400, 402, 404, 413, 500
_CREDENTIALS = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class Declined:
    """The provider will not do this one call, however often it is asked: `kind` says why."""

    kind: FailedKind
    reason: str


def meaning(error: Exception) -> Interruption | ModelError | Declined:
    """Tell what an exception out of a chat model call means.

    Returns:
        An `Interruption` (of no named provider: the caller knows whose gate it respected) for rate limits, outages,
        lost connections and time-outs; `Declined` for a prompt that is too long and for a refusal by content; a
        `ModelError` with what to change for everything else.

    Source: S51.
    """
    chain = list(_chain(error))
    names = {cls.__name__ for each in chain for cls in type(each).__mro__}
    said = clip(redact(str(error)), limit_bytes=_MESSAGE_BYTES, keep="head").text or type(error).__name__
    status, headers = _http(chain)
    if isinstance(error, Interruption | ModelError) and not names & _OVERFLOW_NAMES:
        return error
    if status == _RATE_LIMIT and _code(chain) not in _NO_CREDIT:
        return Interruption("rate_limit", said, retry_after_s=_retry_after_s(headers))
    if status in {_REQUEST_TIMEOUT, _TOO_EARLY, _GATEWAY_TIMEOUT}:
        return Interruption("transport", said, retry_after_s=_retry_after_s(headers))
    if status is not None and status >= _SERVER:
        if _TOO_LARGE.search(said):  # some local servers answer so
            return Declined(FailedKind.CONTEXT_TOO_LARGE, said)
        return Interruption("outage", said, retry_after_s=_retry_after_s(headers))
    if names & _OVERFLOW_NAMES or status == _PAYLOAD or (status in {None, _BAD_REQUEST} and _TOO_LARGE.search(said)):
        return Declined(FailedKind.CONTEXT_TOO_LARGE, said)
    if names & _REFUSAL_NAMES or (status == _BAD_REQUEST and _POLICY.search(said)):
        return Declined(FailedKind.REFUSED, said)
    if status is None and (kind := _kind_without_status(chain, names)) is not None:
        return Interruption(kind, said)
    return _misuse(status, said, type(error).__name__)


def _kind_without_status(chain: list[BaseException], names: set[str]) -> str | None:
    """What kind of interruption an exception without HTTP status is; None: none."""
    if names & _TRANSPORT or any(_is_half(error) for error in chain):
        return "transport"
    bodies = [body for error in chain if isinstance(body := getattr(error, "body", None), Mapping)]
    inner = [each for body in bodies for each in (body, body.get("error")) if isinstance(each, Mapping)]
    words = [str(each.get(name)) for each in inner for name in ("code", "type")]
    return next((_WORDS[word] for word in words if word in _WORDS), None)


def _is_half(error: BaseException) -> bool:
    """Whether a body is the beginning of a JSON object: the connection was ended in good order, but too early."""
    return isinstance(error, JSONDecodeError) and error.doc.lstrip().startswith("{")


def _misuse(status: int | None, said: str, name: str) -> ModelError:
    if status in _CREDENTIALS:  # what the provider says here may quote the key
        return ModelError(
            f"The model's provider refused the credentials (HTTP {status}). Set a valid API key for it in its "
            "environment variable, and check that the key may use this model."
        )
    if status in {_PAYMENT, _RATE_LIMIT}:
        return ModelError(f"The account at the model's provider has no credit left (HTTP {status}): {said}")
    if status == _NOT_FOUND:
        return ModelNotFoundError(f"The provider knows no such model or address (HTTP 404): {said}. Check the name.")
    if status is not None:
        return ModelError(f"The model's provider refused the request (HTTP {status}): {said}")
    return ModelError(f"The model call failed with {name}: {said}")


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _http(chain: list[BaseException]) -> tuple[int | None, Mapping[str, str]]:
    """Status and headers of the first exception that has a status."""
    for error in chain:
        response = getattr(error, "response", None)
        for holder, name in ((error, "status_code"), (response, "status_code"), (error, "code"), (error, "status")):
            status = getattr(holder, name, None)
            if isinstance(status, int) and status >= _BAD_REQUEST:
                return int(status), _lower(getattr(response, "headers", None))
    return None, {}


def _lower(headers: Any) -> Mapping[str, str]:  # noqa: ANN401 - whatever the provider's client has
    items = headers.items() if hasattr(headers, "items") else ()
    return {str(name).lower(): str(value) for name, value in items}


def _code(chain: list[BaseException]) -> object:
    return next((code for error in chain if isinstance(code := getattr(error, "code", None), str)), None)


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait; a date is taken relative to the response's own date, so no clock is needed."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            return max(float(headers[name]) * unit_s, 0.0)
    with suppress(KeyError, ValueError, TypeError):
        wait = parsedate_to_datetime(headers["retry-after"]) - parsedate_to_datetime(headers["date"])
        return max(wait.total_seconds(), 0.0)
    return None

"""What can go wrong on the worker side, as one tree.

LunaError
├── WorkerConfigError      a worker is configured in a way that cannot work; raised before it starts
├── ModelError             a chat model cannot be had or used
│   ├── ModelNotFoundError  no such model, or its package or weights are missing
│   └── WeightsError        weights could not be fetched or do not have the publisher's hash
└── Interruption           a try that may be repeated: rate limit, outage, transport time-out

What a worker finds out about its task is a report, never an exception.
"""

from typing import Any


class LunaError(Exception):
    """Root of all errors that the worker side raises."""


class WorkerConfigError(LunaError):
    """A worker's settings cannot work. Raised when the worker is made; the message says what to change."""


class ModelError(LunaError):
    """A chat model cannot be had or used."""


class ModelNotFoundError(ModelError):
    """No such model, or the package or weights it needs are missing. The message says how to get them."""


class WeightsError(ModelError):
    """Weights could not be fetched, or the file does not have the publisher's SHA-256."""


class Interruption(LunaError):  # noqa: N818 - not a fault of the task: the same delivery may be made again
    """A try that may be repeated unchanged: the provider limited, was out, or the transport timed out.

    Args:
        kind: `rate_limit`, `outage` or `transport`.
        message: What the provider said, without secrets.
        provider: Whose gate to close meanwhile; "" when unknown.
        retry_after_s: Seconds the provider asked to wait; None when it did not say.

    Source: S51.
    """

    def __init__(self, kind: str, message: str, *, provider: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.provider = provider
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[Any, ...]:
        return (_interruption, (self.kind, str(self), self.provider, self.retry_after_s))


def _interruption(kind: str, message: str, provider: str, retry_after_s: float | None) -> Interruption:
    return Interruption(kind, message, provider=provider, retry_after_s=retry_after_s)

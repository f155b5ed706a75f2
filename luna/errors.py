"""What can go wrong on the worker side, as one tree.

LunaError
├── WorkerConfigError      a worker is configured in a way that cannot work; raised before it starts
├── ModelError             a chat model cannot be had or used
│   ├── ModelNotFoundError  no such model, or its package or weights are missing
│   └── WeightsError        weights could not be fetched or do not have the publisher's hash
└── Interruption           (luna.protocol) a try that may be repeated: rate limit, outage, transport time-out

What a worker finds out about its task is a report, never an exception.
"""


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

"""Exit codes, and what is said on standard error when something goes wrong: one sentence, no traceback, no secrets."""

import os
import sys
import traceback
from contextlib import suppress
from enum import IntEnum

from luna.errors import LunaError, WeightsError
from sol.errors import ConflictError, NotFoundError, PlannerError, SolError, StoreError, UsageError

DEBUG = "SOL_DEBUG"


class Code(IntEnum):
    """What the command line ends with."""

    SOLVED = 0
    NOT_SOLVED = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    WAITING = 5
    INTERNAL = 70
    INTERRUPTED = 130


EXIT_CODES = (
    "Exit codes: 0 solved or done, 1 not solved, 2 wrong usage, 3 not found, 4 conflict, 5 waiting for an answer, "
    "70 internal error, 130 stopped by Ctrl-C or a signal."
)


class BrokenRunError(SolError):
    """Sol itself broke while it worked on a run. Raised by the command line; the message says where the run is kept."""


def code_of(error: Exception) -> Code:
    """The exit code that an error ends with."""
    match error:
        case NotFoundError():
            return Code.NOT_FOUND
        case ConflictError():
            return Code.CONFLICT
        case WeightsError():
            return Code.NOT_SOLVED
        case UsageError() | LunaError():
            return Code.USAGE
        case BrokenRunError() | StoreError() | PlannerError():
            return Code.INTERNAL
        case SolError():
            return Code.NOT_SOLVED
        case _:
            return Code.INTERNAL


def explain(error: Exception) -> Code:
    """Say what went wrong, and return the exit code. `SOL_DEBUG=1` shows the traceback as well."""
    from luna.redact import redact  # noqa: PLC0415 - only needed when something went wrong
    from luna.text import strip_controls  # noqa: PLC0415

    if os.environ.get(DEBUG, "") not in {"", "0"}:
        traceback.print_exception(error)
    message = str(error)
    if not isinstance(error, SolError | LunaError):
        message = f"Sol itself is broken: {type(error).__name__}: {message}. {DEBUG}=1 shows where."
    with suppress(OSError):  # a terminal that has gone away
        print(f"error: {redact(strip_controls(message))}", file=sys.stderr)
    return code_of(error)

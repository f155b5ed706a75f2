"""What Sol raises. All derive from `SolError`; each message says what was wrong and what to do."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from luna.protocol import Usage


class SolError(Exception):
    """Root of all errors that Sol raises."""


class UsageError(SolError):
    """The request cannot be carried out as given. Raised before any work starts; nothing has been changed."""


class TaskError(UsageError):
    """A task lacks a field, is vague, or names something that does not exist. Raised before any worker is started."""


class StrategyError(UsageError):
    """A strategy cannot be used. Raised when it is loaded; the message says where and what to write instead."""


class StrategyNotFoundError(StrategyError):
    """No strategy has the requested name. Raised by the catalogue; `known` lists what there is."""

    def __init__(self, name: str, known: tuple[str, ...]) -> None:
        super().__init__(f"No strategy is named {name!r}. Known: {', '.join(known)}. Or give the path of a YAML file.")
        self.name = name
        self.known = known

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.name, self.known))


class NotFoundError(SolError):
    """There is no such run, node or question. Raised by look-ups; the message lists near names or how to list all."""


class ConflictError(SolError):
    """Another process holds the run, or the run's state does not allow the request. Nothing has been changed."""


class StoreError(SolError):
    """The journal cannot be opened, read or written. What was committed before stays."""


class PlannerError(SolError):
    """A call of Sol's own model ended without a usable answer, after the retries its settings allow.

    Attributes:
        usage: What the calls cost that gave none; None: no call was made.
    """

    def __init__(self, message: str, *, usage: "Usage | None" = None) -> None:
        super().__init__(message)
        self.usage = usage

    def __reduce__(self) -> tuple[Any, ...]:
        return (_planner_error, (str(self), self.usage))


def _planner_error(message: str, usage: "Usage | None") -> PlannerError:
    return PlannerError(message, usage=usage)


EXTRA = "notebook"


class MissingPackageError(UsageError):
    """A package that is needed only for what was asked is not installed. The message names the extra that brings it."""


def required(package: str, *, what: str) -> Any:  # noqa: ANN401 - a module
    """Import a module of an optional package.

    Args:
        package: Name of the module.
        what: What needs it, for the error.

    Raises:
        MissingPackageError: If the package is not installed.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        top = package.partition(".")[0]
        if (error.name or "").partition(".")[0] != top:
            raise
        raise MissingPackageError(f"{what} needs {top}. Install it: pip install 'sol-luna[{EXTRA}]'") from None

"""What can go wrong on Sol's side, as one tree.

SolError
├── UsageError            the caller asked for something that cannot be
│   ├── TaskError         a task or assignment that is not complete or too vague
│   ├── StrategyError     a strategy file that cannot be used
│   │   └── StrategyNotFoundError
│   └── StrictYamlError   (sol.strictyaml) a YAML text that is refused
├── NotFoundError         no such run, node or question
├── ConflictError         somebody else holds the run, or the run is not in a state for this
├── StoreError            the journal cannot be opened, read or written
└── PlannerError          Sol's own model call gave no usable answer

Expected outcomes of a task are values, never exceptions.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # pydantic is slow to import, and every start of the command line comes by here
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

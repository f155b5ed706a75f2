"""What the worker kinds have in common: reading their options, shared settings, reports on unreadable inputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from luna.errors import WorkerConfigError
from luna.inputs import InputError, InputTooLargeError, OutsideWorkspaceError
from luna.process import ProcessRegistry
from luna.protocol import Failed, FailedKind, Stuck, StuckKind

INPUT_BYTES: Final = 16 << 20
"""Most bytes of inputs that a worker is given at once, unless its options say otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """What the workers of one program share.

    Attributes:
        processes: Where running commands are recorded; None: nowhere.
    """

    processes: ProcessRegistry | None = None


class Options(BaseModel):
    """Base of a kind's options: immutable, unknown options are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


OptionsT = TypeVar("OptionsT", bound=BaseModel)


def read_options(kind: str, model: type[OptionsT], options: Mapping[str, JsonValue]) -> OptionsT:
    """Check the options of a worker.

    Raises:
        WorkerConfigError: Names a wrong option, its value and what it may be. One that does not exist comes first, as
            it may be a missing one, misspelt.
    """
    try:
        return model.model_validate(dict(options))
    except ValidationError as error:
        first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
    names, value = _place(first["loc"], options)
    match first["type"]:
        case "extra_forbidden" if len(first["loc"]) == 1:
            known = ", ".join(sorted(model.model_fields))
            raise WorkerConfigError(f"worker {kind!r} has no option {names!r}; its options are {known}")
        case "extra_forbidden":
            raise WorkerConfigError(f"worker {kind!r} has no option {names!r}; check how it is spelt")
        case "missing":
            missing = ".".join(map(str, first["loc"]))
            raise WorkerConfigError(f"worker {kind!r} needs the option {missing!r}")
        case _:
            given = f"option {names!r} is {value!r}" if names else "its options do not go together"
            what = first["msg"].replace("a valid tuple", "a list")
            raise WorkerConfigError(f"worker {kind!r}: {given}: {what}")


def _place(loc: Sequence[int | str], options: Mapping[str, JsonValue]) -> tuple[str, JsonValue]:
    """The innermost named option that an error is about, as far as it was given, and its value."""
    names: list[str] = []
    value: Any = options
    for step in loc:
        if not isinstance(value, Mapping) or step not in value:  # an item of a list, or a part of the declared type
            break
        value = value[step]
        names.append(str(step))
    return ".".join(names), value


def input_report(error: InputError) -> Stuck | Failed:
    """The report for inputs that cannot be read: too large may be split, missing may be found, outside is refused."""
    match error:
        case InputTooLargeError():
            return Stuck(kind=StuckKind.SCOPE_TOO_LARGE, blocker=str(error), summary="The inputs do not fit at once.")
        case OutsideWorkspaceError():
            return Failed(kind=FailedKind.REFUSED, reason=str(error))
        case _:
            return Stuck(kind=StuckKind.INFORMATION_MISSING, blocker=str(error), summary="An input cannot be read.")

"""What the worker kinds have in common: reading their options, shared settings, reports on unreadable inputs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

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
        WorkerConfigError: Names the first wrong option, its value and what it may be.
    """
    try:
        return model.model_validate(dict(options))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    match first["type"]:
        case "extra_forbidden":
            known = ", ".join(sorted(model.model_fields))
            raise WorkerConfigError(f"worker {kind!r} has no option {name!r}; its options are {known}")
        case "missing":
            raise WorkerConfigError(f"worker {kind!r} needs the option {name!r}")
        case _:
            given = f"option {name!r} is {options.get(name)!r}" if name else "its options do not go together"
            raise WorkerConfigError(f"worker {kind!r}: {given}: {first['msg']}")


def input_report(error: InputError) -> Stuck | Failed:
    """The report for inputs that cannot be read: too large may be split, missing may be found, outside is refused."""
    match error:
        case InputTooLargeError():
            return Stuck(kind=StuckKind.SCOPE_TOO_LARGE, blocker=str(error), summary="The inputs do not fit at once.")
        case OutsideWorkspaceError():
            return Failed(kind=FailedKind.REFUSED, reason=str(error))
        case _:
            return Stuck(kind=StuckKind.INFORMATION_MISSING, blocker=str(error), summary="An input cannot be read.")

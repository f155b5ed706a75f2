"""What all commands share: options, and faults as one line with an exit code. Loads next to nothing."""

import inspect
import os
import shlex
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from enum import IntEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from luna.errors import LunaError, WeightsError
from luna.workspaces import IsolationMode
from sol.errors import ConflictError, NotFoundError, PlannerError, SolError, StoreError, UsageError

if TYPE_CHECKING:
    from sol.cli._output import Shown
    from sol.solver import Sol

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
    from luna.text import redact, strip_controls  # noqa: PLC0415 - only needed when something went wrong

    if os.environ.get(DEBUG, "") not in {"", "0"}:
        traceback.print_exception(error)
    message = str(error)
    if not isinstance(error, SolError | LunaError):
        message = f"Sol itself is broken: {type(error).__name__}: {message}. {DEBUG}=1 shows where."
    with suppress(OSError):  # a terminal that has gone away
        print(f"error: {redact(strip_controls(message))}", file=sys.stderr)
    return code_of(error)


RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, a unique beginning of it, or latest.")]
RunOrLatest = Annotated[
    str, typer.Argument(metavar="[RUN]", help="Id of the run, a unique beginning of it, or latest.", show_default=False)
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store", metavar="URL", help="Where runs are kept: SOL_STORE, or else .sol/runs.db in the workspace."
    ),
]
Workspace = Annotated[
    Path | None,
    typer.Option("--workspace", metavar="DIR", help="Directory to work in: the task file's own, or the current one."),
]
Isolated = Annotated[
    IsolationMode | None,
    typer.Option(
        "--isolation", metavar="HOW", help="How Lunas are kept apart, in place of the task's: in_place, copy, worktree."
    ),
]
Strategy = Annotated[
    str | None, typer.Option("--strategy", metavar="NAME", help="Name or file of the strategy, in place of the task's.")
]
WorkerKind = Annotated[
    str | None, typer.Option("--worker", metavar="KIND", help="Which Luna works, in place of the task's.")
]
Model = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="Model for both, planning and working: openai:NAME, …")
]
SolModel = Annotated[str | None, typer.Option("--sol-model", metavar="NAME", help="Model that plans; SOL_MODEL.")]
LunaModel = Annotated[str | None, typer.Option("--luna-model", metavar="NAME", help="Model that works; LUNA_MODEL.")]
BaseUrl = Annotated[
    str | None,
    typer.Option("--base-url", metavar="URL", help="Address of an OpenAI-compatible server; SOL_BASE_URL."),
]
MaxDepth = Annotated[
    int | None, typer.Option("--max-depth", metavar="N", min=0, help="Deepest level of splits; 0: never split.")
]
BudgetText = Annotated[
    str | None,
    typer.Option("--budget", metavar="LIMITS", help="Limits of the run: calls=…,tokens=…,cost=…,seconds=…"),
]
Concurrency = Annotated[
    int | None, typer.Option("--concurrency", metavar="N", min=1, help="Most workers at the same time.")
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="Write the result as JSON to this file; - for standard output."
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print events as JSON lines; the last line is a summary of the run.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but the result and errors.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="Use no colours; so does NO_COLOR=1.")]
NodePath = Annotated[str, typer.Option("--node", metavar="PATH", help="Path of the node, as sol show has it.")]

_LIMITS = {"calls": int, "tokens": int, "cost": float, "seconds": float}


def budget_of(text: str | None) -> dict[str, Any] | None:
    """The limits that `calls=…,tokens=…,cost=…,seconds=…` names; None when nothing was given.

    Raises:
        UsageError: If something else is named, or no number is given.
    """
    if text is None:
        return None
    limits: dict[str, Any] = {}
    for part in text.split(","):
        name, _, value = (piece.strip() for piece in part.partition("="))
        if name not in _LIMITS:
            raise UsageError(f"--budget {text!r}: there is no limit {name!r}. Write {_example()}.")
        if name in limits:
            raise UsageError(f"--budget {text!r}: {name} is given twice. Give it once.")
        try:
            limits[name] = _LIMITS[name](value)
        except ValueError:
            raise UsageError(
                f"--budget {text!r}: {name} is {value!r}, which is no number. Write {_example()}."
            ) from None
    return limits


def _example() -> str:
    return "one or more of calls=50,tokens=100000,cost=0.5,seconds=600"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """Where runs are: the options that every command has which knows runs."""

    workspace: Workspace = None
    store: Store = None

    def sol(self, **settings: Any) -> "Sol":  # noqa: ANN401 - those of `Sol`
        """A `Sol` for the runs that are there."""
        from sol.solver import Sol  # noqa: PLC0415 - loads the engine, which help does not need

        return Sol(workspace=self.workspace, store=self.store, **settings)

    @property
    def again(self) -> str:
        """The options that a proposed command needs to find the same runs; starts with a space, or is empty."""
        found = "" if self.workspace is None else f" --workspace {shlex.quote(str(self.workspace))}"
        return found if self.store is None else f"{found} --store {shlex.quote(self.store)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOptions(StoreOptions):
    """The options of commands that work on a run: beside where it is, how it is shown."""

    base_url: BaseUrl = None
    output: Output = None
    as_json: AsJson = False
    quiet: Quiet = False
    no_color: NoColor = False

    def sol(self, **settings: Any) -> "Sol":  # noqa: ANN401 - as above
        """A `Sol` for the runs that are there, with the server that was named."""
        return StoreOptions.sol(self, base_url=self.base_url, **settings)

    def shown(self) -> "Shown":
        """How the run is shown."""
        from sol.cli._output import Shown  # noqa: PLC0415 - loads the engine, which help does not need

        return Shown(
            output=self.output, as_json=self.as_json, quiet=self.quiet, no_color=self.no_color, again=self.again
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Which models plan and work, and how much they may be used."""

    model: Model = None
    sol_model: SolModel = None
    luna_model: LunaModel = None
    budget: BudgetText = None
    concurrency: Concurrency = None

    def settings(self) -> dict[str, Any]:
        """What `Sol` is set to because of them."""
        return {
            "model": self.model,
            "sol_model": self.sol_model,
            "luna_model": self.luna_model,
            "budget": budget_of(self.budget),
            "concurrency": self.concurrency,
        }


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of its parameters that are dataclasses, such as `StoreOptions`."""
    signature = inspect.signature(command)
    hints = get_type_hints(command, include_extras=True)
    sets: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters = []
    for name, parameter in signature.parameters.items():
        if name not in sets:
            parameters.append(parameter.replace(annotation=hints[name]))
            continue
        types = get_type_hints(sets[name], include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=field.default, annotation=types[field.name]
            )
            for field in fields(sets[name])
        ]

    @wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401 - whatever the options are
        for name, kind in sets.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    del run.__wrapped__  # its signature is not that of the command
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run

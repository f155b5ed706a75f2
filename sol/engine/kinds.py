"""What there is to a kind of run beside its program: what it is started with, from which files, and resumed how.

A program is pure; whatever reads files to make one stands behind this. `sol.run` knows all kinds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from luna.protocol import WorkerSpec
from luna.workspaces import IsolationMode
from sol.engine.program import AnyProgram, AnyReading
from sol.strategy.schema import Strategy
from sol.tree.effects import Request
from sol.tree.events import Resumed, RunStarted
from sol.tree.values import Json

if TYPE_CHECKING:
    from sol.dispatch.handlers import Handler


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a caller said beside the thing to start or the run to resume.

    Attributes:
        task: What a workflow is to be run on.
        max_steps: Most steps of a workflow in place of the file's own; 0 means none; None: the file's.
        interactive: Somebody is there to answer.
        accept_changes: Of a resume: go on although the definition has changed since.
        asked: Of a resume: it carries out somebody's request on the way.
        definition: Of a resume: the definition to go on with; None: read anew from its file.
    """

    task: str = ""
    max_steps: int | None = None
    interactive: bool = False
    accept_changes: bool = False
    asked: bool = False
    definition: object = None


class Settings(Protocol):
    """What a `Sol` lends to whoever prepares a run."""

    @property
    def home(self) -> Path:
        """Where `.sol` is."""
        ...

    @property
    def judges(self) -> bool:
        """Whether Sol can judge words."""
        ...

    def workspace_of(self, own: Path | None) -> Path:
        """The directory to work in, given the one that the task names.

        Raises:
            UsageError: If it is no directory.
        """
        ...

    def worker_of(self, own: WorkerSpec | None) -> WorkerSpec:
        """Who does what names nobody, given whom the task names."""
        ...

    def require_worker(self, spec: WorkerSpec) -> None:
        """Find out, before anything is started, that a worker cannot be made or its model cannot be had.

        Raises:
            UsageError, luna.errors.LunaError: If that is so.
        """
        ...

    def strategy_of(self, own: str | Strategy | None, workspace: Path) -> "ChosenStrategy":
        """The strategy, given the one that the task names; with the limits of the caller.

        Raises:
            StrategyError: If it cannot be used.
        """
        ...

    def limits_again(self, strategy: Strategy) -> Strategy:
        """A stored strategy with the limits that the caller gives now."""
        ...

    def started_with(self, workspace: Path, worker: WorkerSpec) -> dict[str, Any]:
        """Fields of `RunStarted` that say what a resume needs to know of these settings."""
        ...


@dataclass(frozen=True, slots=True)
class ChosenStrategy:
    """A strategy with limits narrowed, the file it came from, and what that file holds; None: from no file."""

    strategy: Strategy
    file: str | None = None
    content: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A run that can be started: everything was read and checked, nothing was done.

    Attributes:
        program: What follows from what.
        strategy: Limits and detectors.
        started: What its first event says.
        title: One line for people.
        goal: What it is about, for noticing runs that start themselves from inside.
        isolation: How Lunas are kept apart where the caller does not say; None: they cannot be, all nodes work in the
            workspace itself.
        meta: What lists of runs tell beside the title.
    """

    program: AnyProgram
    strategy: Strategy
    started: RunStarted
    title: str
    goal: str
    isolation: IsolationMode | None = None
    meta: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """A run that can be taken up again; `resumed` is what its event says."""

    program: AnyProgram
    strategy: Strategy
    resumed: Resumed
    goal: str


class RunKind(Protocol):
    """One kind of run: how it is started, resumed and read. States that it is given are those of its own program."""

    @property
    def name(self) -> str:
        """Stored with each run."""
        ...

    @property
    def noun(self) -> str:
        """What people call a node of it."""
        ...

    @property
    def reading(self) -> AnyReading:
        """Reads the state of a run; needs no files."""
        ...

    @property
    def handlers(self) -> "Mapping[type[Request], Handler]":
        """Who carries out requests of its own."""
        ...

    def takes(self, thing: object) -> bool:
        """Whether this is a thing that a run of this kind is started with."""
        ...

    def prepare(self, settings: Settings, thing: object, options: Options, *, run: str) -> Prepared:
        """Read and check all that a new run needs. Blocks.

        Raises:
            UsageError: If something of it cannot be used. Nothing was started.
        """
        ...

    def again(self, settings: Settings, run: str, state: Any, options: Options) -> Again:  # noqa: ANN401 - its own
        """Read and check what a resume needs. Blocks.

        Raises:
            ConflictError: If there is nothing to resume, or a definition has changed.
        """
        ...

    def as_stored(self, run: str, state: Any, *, request: str) -> AnyProgram:  # noqa: ANN401 - its own
        """The program for recording a request on a run that nobody works on.

        Raises:
            ConflictError: If the definition is not what it was, and the request needs it.
        """
        ...

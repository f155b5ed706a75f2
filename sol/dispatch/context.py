"""What the effects of one run work with, made once, and what a run inherits that starts inside another."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec
from pydantic import TypeAdapter
from typing_extensions import override

from luna.attempt import AttemptLimits
from luna.clock import Clock
from luna.criteria import Criterion
from luna.gate import Gates
from luna.process.group import ProcessRegistry
from luna.process.sandbox import Confinement, Confining
from luna.protocol import Assignment, ExpectedOutput, Gated, Usage, Worker, WorkerSpec
from luna.workspaces import Workspaces
from sol.errors import TaskError
from sol.planner import Planner
from sol.strategy.schema import Budget, Strategy
from sol.tree.effects import SolveRequest
from sol.tree.events import Event
from sol.tree.listeners import Listener, Listeners
from sol.tree.node import Spending
from sol.tree.values import AssignmentData, ReportData, WorkerData

CHAIN_LIMIT = 8
"""Most runs inside one another."""


@dataclass(frozen=True, slots=True)
class Enclosing:
    """What the run around this one leaves.

    Attributes:
        depth_left: Levels that its depth limit leaves below the node that is being worked on.
        left: Says what its budget leaves now.
        chain: Goals of the runs around this one, outermost first.
        charge: Books what this run uses on the one around it.

    Source: S13, case DEPTH-02.
    """

    depth_left: int
    left: Callable[[], Budget]
    chain: tuple[str, ...]
    charge: Callable[[Usage], None]


ENCLOSING: ContextVar[Enclosing | None] = ContextVar("sol_enclosing", default=None)


def narrowed(strategy: Strategy) -> Strategy:
    """The strategy with no more than what the run around this one leaves, if there is any. Source: S13."""
    around = ENCLOSING.get()
    return strategy if around is None else strategy.narrowed(max_depth=around.depth_left, budget=around.left())


class Charging(Listener):
    """Books on the enclosing run what this one spends.

    As it is spent, so that runs inside one another stop at the outermost budget however many there are.

    Source: S13.
    """

    __slots__ = ("_booked", "_enclosing", "_spent")

    def __init__(self, enclosing: Enclosing, spent: Spending) -> None:
        self._enclosing = enclosing
        self._spent = spent
        self._booked = Usage(calls=spent.calls, tokens=spent.tokens, cost=spent.cost)

    @override
    def on_event(self, event: Event) -> None:
        """Book what was spent since the last event."""
        spent, booked = self._spent, self._booked
        now = Usage(calls=spent.calls, tokens=spent.tokens, cost=spent.cost)
        if now != booked:
            cost = max(now.cost - booked.cost, 0.0)
            self._enclosing.charge(Usage(calls=now.calls - booked.calls, tokens=now.tokens - booked.tokens, cost=cost))
            self._booked = now


def enter(goal: str) -> tuple[str, ...]:
    """The chain of goals with this one at its end.

    Raises:
        TaskError: If the goal is in the chain already, or the chain is too long; the message shows it.
    """
    around = ENCLOSING.get()
    chain = (*(around.chain if around else ()), goal)
    if goal in chain[:-1] or len(chain) > CHAIN_LIMIT:
        shown = " > ".join(repr(one) for one in chain)
        raise TaskError(f"A run may not start itself again from inside, nor {CHAIN_LIMIT} deep: {shown}.")
    return chain


_CRITERIA: TypeAdapter[tuple[Criterion, ...]] = TypeAdapter(tuple[Criterion, ...])
_OUTPUT: TypeAdapter[ExpectedOutput] = TypeAdapter(ExpectedOutput)
_KEPT = 1_000

T = TypeVar("T")
Solving: TypeAlias = Callable[[SolveRequest, tuple[str, str, int], Callable[[str], None]], Awaitable[ReportData]]
"""Solves a task by a run of its own: the request, the key of its effect, and who is told the id of the run."""


@dataclass(frozen=True, slots=True)
class MadeWorker:
    """A worker with all that is asked about it once. `gate`: whose limits its calls respect; "": nobody's."""

    worker: Worker
    spec: WorkerSpec
    gate: str
    confinement: Confinement | None


@dataclass(slots=True)
class Workers:
    """Workers by their specification, each made once: most nodes share their parent's.

    Args:
        make: Makes one of a specification.
        model: Name of the Luna model; None: none is set.
    """

    make: Callable[[WorkerSpec], Worker]
    model: str | None = None
    _made: dict[bytes, MadeWorker] = field(default_factory=dict)
    _known: dict[int, tuple[WorkerData, MadeWorker]] = field(default_factory=dict)

    def of(self, data: WorkerData) -> MadeWorker:
        """The worker of a specification.

        Raises:
            WorkerConfigError: If it cannot be made.
        """
        known = self._known.get(id(data))
        if known is not None and known[0] is data:
            return known[1]
        key = msgspec.json.encode(data)
        if key not in self._made:
            self._made[key] = self._new(WorkerSpec.model_validate(msgspec.to_builtins(data)))
        self._known[id(data)] = data, self._made[key]
        return self._made[key]

    def _new(self, spec: WorkerSpec) -> MadeWorker:
        """Make a worker and find out about it."""
        worker = self.make(spec)
        gate = worker.gate(self.model) if isinstance(worker, Gated) else ""
        confinement = worker.confinement if isinstance(worker, Confining) else None
        return MadeWorker(worker, spec, gate, confinement)


class Assignments:
    """Assignments as Lunas get them, made of what was checked before. Parts that many tasks share are made once."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[object, Any]] = {}

    def of(self, data: AssignmentData) -> Assignment:
        """The assignment of these seven fields."""
        criteria: tuple[Criterion, ...] = self._once(data.success_criteria, _CRITERIA)
        return Assignment.trusted(
            goal=data.goal,
            context=data.context,
            # What is handed over is the worker's: the run's own state must not change with it.
            inputs=msgspec.json.decode(msgspec.json.encode(data.inputs)),
            constraints=data.constraints,
            expected_output=self._once(data.expected_output, _OUTPUT),
            success_criteria=criteria,
            stop_conditions=data.stop_conditions,
        )

    def _once(self, part: object, adapter: TypeAdapter[T]) -> T:
        """A part of an assignment as the class that Lunas know, made once for as long as there is this object."""
        known = self._made.get(id(part))
        if known is None or known[0] is not part:
            if len(self._made) >= _KEPT:
                self._made.clear()
            known = self._made[id(part)] = part, adapter.validate_python(msgspec.to_builtins(part))
        made: T = known[1]
        return made


@dataclass(slots=True, kw_only=True)
class RunContext:
    """What effects of a run need.

    Attributes:
        run: Id of the run.
        workspace: Where workers and checks work.
        clock: Time.
        token: Random, unique to this process's work on the run; fences untrusted text.
        strategy: For monitors and the limits of an attempt.
        planner: Sol's own thinking. `sol_provider`: whose gate its calls respect; "" for none.
        workers: Makes Lunas.
        gates: Of the providers, shared by all runs of the process.
        limiter: Most effects at the same time over all runs; None: only the strategy's own limit.
        processes: Where child processes are recorded; None: nowhere.
        workspaces: Gives each attempt a workspace of its own; None: all work in the workspace itself.
        chain: Goals of this run and those around it, outermost first.
        solve: Solves tasks by runs of their own; None: that cannot be asked for here.
        inherit: Called inside an effect's task with the level of its node and a way to book usage on it, so that runs
            which are started from there inherit limits; None: they do not.
        listeners: Whoever looks on at the run.
    """

    run: str
    workspace: Path
    clock: Clock
    token: str
    strategy: Strategy
    planner: Planner
    workers: Workers
    gates: Gates
    sol_provider: str = ""
    limiter: asyncio.Semaphore | None = None
    processes: ProcessRegistry | None = None
    workspaces: Workspaces | None = None
    chain: tuple[str, ...] = ()
    solve: Solving | None = None
    inherit: Callable[[int, Callable[[Usage], None]], None] | None = None
    assignments: Assignments = field(default_factory=Assignments)
    listeners: Listeners = field(init=False)
    attempt_limits: AttemptLimits = field(init=False)

    def __post_init__(self) -> None:
        self.listeners = Listeners(self.run)
        limits = self.strategy.limits
        self.attempt_limits = AttemptLimits(timeout_s=limits.timeout_s, inactivity_s=limits.inactivity_s)

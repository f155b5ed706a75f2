"""Bring a run to work in this process: open or take it, drive it through the graph, let go of it. Not public."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from luna.clock import Clock
from luna.gate import Gates
from luna.leftovers import ProcessRegistry
from luna.protocol import Usage, Worker, WorkerSpec
from luna.workspaces import Workspaces
from sol.ambient import AMBIENT, Ambient
from sol.core.control import given_up
from sol.core.decide import step
from sol.dispatch.local import LocalDispatcher, Resources
from sol.journal import Journal, Lease, NewRecord, RunInfo, this_process
from sol.planner import Planner
from sol.session import Listener, Session, shielded, wind_down
from sol.strategy.schema import Budget, Strategy
from sol.telemetry import recording
from sol.tree.events import Command, Event, EventType
from sol.tree.fold import fold
from sol.tree.node import Tree

Entering: TypeAlias = Callable[[Command], None]
Inherit: TypeAlias = Callable[[int, Callable[[Usage], None]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What this process brings to a run.

    Attributes:
        token: Random, unique to this object; names the owner and fences untrusted text.
        sol_provider: Whose gate Sol's calls respect; "" for none.
        luna_model: Name of the Luna model; None when none is set.
        spaces: Gives each attempt a place of its own; None: all work in the workspace itself.
    """

    journal: Journal
    clock: Clock
    token: str
    workspace: Path
    planner: Planner
    make_worker: Callable[[WorkerSpec], Worker]
    gates: Gates
    limiter: asyncio.Semaphore | None = None
    processes: ProcessRegistry | None = None
    sol_provider: str = ""
    luna_model: str | None = None
    spaces: Workspaces | None = None

    async def create(self, run: RunInfo) -> Lease:
        """Begin a run in the journal."""
        return await self.journal.create(run, this_process(self.token))

    def session(self, lease: Lease, tree: Tree, strategy: Strategy, chain: tuple[str, ...]) -> Session:
        """A session for a run that this process holds."""
        session: Session

        def inherit(depth: int, charge: Callable[[Usage], None]) -> None:
            ambient(session, chain, depth, charge)

        dispatcher, entering = self.dispatcher(lease.run, tree, strategy, inherit)
        started = self.clock.monotonic()
        session = Session(
            lease, self.journal, tree, strategy, dispatcher, self.clock, entering=entering, started=started
        )
        return session

    def dispatcher(
        self, run: str, tree: Tree, strategy: Strategy, inherit: Inherit
    ) -> tuple[LocalDispatcher, list[Entering]]:
        """Who runs the effects of a run, and what is called in the task of each before it does anything.

        Args:
            run: Its id.
            tree: Its state.
            strategy: Its limits.
            inherit: Sets what runs that are started from inside an effect inherit.
        """
        from sol.tracing import effect_marks, mark  # noqa: PLC0415 - loads LangChain, which looking at runs needs not

        entering: list[Entering] = [
            lambda command: mark(effect_marks(run, command, state=str(tree.nodes[command.node].state)))
        ]
        dispatcher = LocalDispatcher(
            Resources(
                run=run,
                planner=self.planner,
                make_worker=self.make_worker,
                workspace=self.workspace,
                clock=self.clock,
                gates=self.gates,
                strategy=strategy,
                limiter=self.limiter,
                processes=self.processes,
                spaces=self.spaces,
                luna_model=self.luna_model,
                sol_provider=self.sol_provider,
                fence=self.token,
                around=inherit,
                entering=entering,
            )
        )
        return dispatcher, entering

    async def take(self, run_id: str) -> Lease:
        """Take an existing run that nobody alive holds.

        Raises:
            ConflictError: If a live process holds it; says which.
        """
        return await self.journal.claim(run_id, this_process(self.token), now=self.clock.now())


def ambient(session: Session, chain: tuple[str, ...], depth: int, charge: Callable[[Usage], None]) -> None:
    """Let runs that a worker starts inherit what this run leaves. Called inside the task of the worker's attempt."""
    budget, spent, held = session.strategy.budget, session.tree.spent, session.tree.reserved
    left = Budget(
        calls=None if budget.calls is None else max(budget.calls - spent.calls - held.calls, 0),
        tokens=None if budget.tokens is None else max(budget.tokens - spent.tokens, 0),
        cost=None if budget.cost is None else max(budget.cost - spent.cost, 0.0),
        seconds=None if budget.seconds is None else max(budget.seconds - session.elapsed_s, 0.001),
    )
    AMBIENT.set(Ambient(session.strategy.max_depth - depth, left, chain, charge))


async def read_tree(journal: Journal, run_id: str) -> tuple[Tree, list[Event]]:
    """The tree of a run as committed, and its events."""
    events = [Event(EventType(r.type), r.node, r.data, r.t) for r in await journal.read(run_id)]
    return fold(events), events


async def drive(session: Session, arrived: Sequence[Event], *, listeners: Sequence[Listener] = ()) -> None:
    """Work on a run until nothing is left to do, it is interrupted, or only questions are left; then let go of it.

    Raises:
        ConflictError: If another process has taken the run over.
        Exception: Whatever broke Sol itself; what was committed stays, and the run can be resumed.
    """
    from sol.graph import LoopContext, build_graph, loop_config  # noqa: PLC0415 - loads LangGraph, as above

    session.listeners.extend(listeners)
    # What a killed process had started and has no outcome is submitted again with the same key.
    session.commands.extend(session.tree.inflight.values())
    run = session.lease.run
    with recording(session):
        try:
            await build_graph().ainvoke(
                {"run_id": run, "epoch": session.lease.epoch},
                loop_config(run=run, strategy=session.strategy.name),
                context=LoopContext(session, list(arrived)),
            )
        finally:
            await shielded(lambda: _let_go(session))


async def _let_go(session: Session) -> None:
    try:
        if session.active or session.tree.status == "running":
            await wind_down(session)
        await session.close()
    finally:
        await session.journal.release(session.lease)


async def record(journal: Journal, lease: Lease, tree: Tree, event: Event, *, now: float) -> None:
    """Commit a request on a run that nobody works on, and what follows from it, without starting anything."""
    strategy = Strategy.model_validate(tree.config["strategy"])
    await record_by(
        lambda facts: step(tree, facts, strategy, stopping=True, now=now).events, journal, lease, tree, event, now=now
    )


async def record_by(
    take: Callable[[Sequence[Event]], list[Event]],
    journal: Journal,
    lease: Lease,
    tree: Tree,
    event: Event,
    *,
    now: float,
) -> None:
    """As `record`, where `take` folds facts into the tree and returns all events that follow."""
    events = take([event])
    events += take(given_up(tree))
    records = [NewRecord(now, one.type, one.node, one.data) for one in events]
    await journal.append(lease, records, status=tree.status)

"""`Sol`: start runs of any kind, resume them, answer, cancel and retry. The public face, with `Task` and `Run`."""

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

import msgspec
from msgspec import structs

from luna.clock import Clock, SystemClock
from luna.gate import Gates
from luna.models import gate_name
from luna.process.group import ProcessRegistry
from luna.workers.registry import AnyWorker, make
from luna.workspaces import IsolationMode
from sol._settings import Environment, Lent, let_inherit, prepare, prepare_again
from sol.dispatch.context import ENCLOSING, Charging, RunContext, Workers
from sol.dispatch.isolation import IN_PLACE, isolation_again, open_isolation
from sol.dispatch.local import LocalDispatcher
from sol.engine.kinds import Again, Options, Prepared, RunKind
from sol.engine.program import AnyProgram
from sol.engine.requests import asked, held, post, read_state, require_resumable
from sol.engine.session import Session
from sol.errors import NotFoundError
from sol.journal import (
    Journal,
    Lease,
    RunInfo,
    SqlJournal,
    StoredRun,
    default_url,
    new_run_id,
    this_process,
)
from sol.journal.protocol import run_exists
from sol.planner import Planner, resolve_planner
from sol.run import Run, kind_for, kind_of, run_blocking
from sol.strategy.schema import Budget, Strategy
from sol.task import Task, TaskFile
from sol.tree.effects import SolveRequest
from sol.tree.events import Event, RunStarted
from sol.tree.node import AnyState
from sol.tree.values import Json, ReportData, plain

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from sol.workflow import Workflow

Startable: TypeAlias = "Task | TaskFile | Workflow | Mapping[str, Any] | str | Path"
"""What a run can be started with; a registered kind of run may take other things."""

DEFAULT_LUNA = "local"
CHILD_ID = 10
"""Length of the ids of runs that solve a step of another run."""


@dataclass(kw_only=True)
class Sol:
    """Solves tasks by recursive decomposition, and runs workflows.

    Attributes:
        strategy: Name, path or object; comes before the task's own. None for both: `binary`.
        worker: Which Luna does tasks that name none: a kind, a specification, or a `Worker` object or plain function.
        model: Name of the model for both, planning and work.
        sol_model: Name or object of the model that plans; None: `SOL_MODEL`, and without it no model plans.
        luna_model: Name of the model that works; None: `LUNA_MODEL`, and without it the local default.
        base_url: Address of an OpenAI-compatible server for both.
        workspace: Directory that tasks work in; None: a task file's own, or the current one.
        isolation: How Lunas are kept apart, in place of the task's own: `in_place`, `copy`, `worktree`.
        store: Journal or its URL; None: `SOL_STORE`, or `.sol/runs.db` in the workspace given here or the current one.
        max_depth: Narrows the strategy's depth limit.
        budget: Narrows the strategy's budget.
        concurrency: Most effects at the same time over all runs of this object; None: only the strategies' limits.
        planner: Replaces Sol's own. With an attribute `judges` that is False it is never asked to judge words.
        progress: Show the tree while solving: in the notebook's cell, or in the terminal on standard error.
    """

    strategy: str | Path | Strategy | None = None
    worker: AnyWorker = None
    model: str | None = None
    sol_model: "str | BaseChatModel | None" = None
    luna_model: str | None = None
    base_url: str | None = None
    workspace: Path | str | None = None
    isolation: IsolationMode | None = None
    store: "str | Journal | None" = None
    max_depth: int | None = None
    budget: Budget | Mapping[str, Any] | None = None
    concurrency: int | None = None
    planner: Planner | None = None
    progress: bool = False
    clock: Clock = field(default_factory=SystemClock)
    rng: random.Random = field(default_factory=random.SystemRandom)
    last: Run | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        environment = Environment()
        self.sol_model = self.sol_model or self.model or environment.sol_model
        self._luna_is_given = bool(self.luna_model or self.model)
        self.luna_model = self.luna_model or self.model or environment.luna_model or DEFAULT_LUNA
        self.base_url = self.base_url or environment.sol_base_url
        if self.store is None:
            self.store = environment.sol_store
        self._gates = Gates(clock=self.clock, rng=self.rng)
        self._limits: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    # --- new runs ----------------------------------------------------------------------------------------------------

    def solve(
        self, thing: Startable, *, task: str = "", max_steps: int | None = None, interactive: bool = False
    ) -> Run:
        """Solve a task, or run a workflow on one, and return the run when it has ended, waits, or cannot go on.

        Works inside a running event loop too (in a thread of its own); there `await asolve(…)` is the better way.

        Args:
            thing: A task, a mapping with its fields, a sentence, the path of a task file, or a `Workflow`.
            task: What a workflow is to be run on.
            max_steps: Most steps of a workflow in place of the file's own; 0 means none.
            interactive: Somebody is there to answer a workflow's questions.

        Raises:
            UsageError: If something of it cannot be used. Nothing was started.
            KeyboardInterrupt: After all workers were stopped; `last` is the run, which can be resumed.
        """
        return run_blocking(lambda: self.asolve(thing, task=task, max_steps=max_steps, interactive=interactive))

    async def asolve(
        self, thing: Startable, *, task: str = "", max_steps: int | None = None, interactive: bool = False
    ) -> Run:
        """Like `solve`, for coroutines. Cancelling it interrupts the run in good order."""
        run = await self.start(thing, task=task, max_steps=max_steps, interactive=interactive)
        return await run.wait(progress=self.progress)

    async def start(
        self,
        thing: Startable,
        *,
        task: str = "",
        max_steps: int | None = None,
        interactive: bool = False,
        run_id: str | None = None,
    ) -> Run:
        """Like `asolve`, returning the run at once: follow `events()`, then `wait()`.

        Args:
            thing: What `solve` takes.
            task: As of `solve`.
            max_steps: As of `solve`.
            interactive: As of `solve`.
            run_id: Id for the run; None: a new one.

        Raises:
            ConflictError: If there is a run with this id.
        """
        run = run_id or new_run_id(self.rng)
        kind = kind_for(thing)
        lent = Lent(self, self.workers())
        options = Options(task=task, max_steps=max_steps, interactive=interactive)
        # Files are read and models set up; none of it may hold up the caller's event loop.
        make_context = partial(self._context, run, workers=lent.workers, loop=asyncio.get_running_loop())
        prepared, chain, context = await asyncio.to_thread(prepare, kind, lent, thing, options, run, make_context)
        journal = self._journal()
        try:
            await journal.open()
            started = await self._isolate(journal, context, prepared)
            info = RunInfo(
                id=run,
                created_t=self.clock.now(),
                title=prepared.title,
                meta={"kind": kind.name, **prepared.meta},
            )
            lease = await held(journal, journal.create(info, this_process(context.token)))
        except BaseException:
            await self._done_with(journal)
            raise
        state: AnyState = kind.reading.empty()
        session = self._session(kind, journal, lease, state, prepared.program, context, chain)
        return self._launch(session, kind, [Event("", started)], context)

    async def _isolate(self, journal: Journal, context: RunContext, prepared: Prepared) -> RunStarted:
        """Keep the Lunas of a new run apart, if that is asked for; what its first event says then."""
        kind = IN_PLACE if prepared.isolation is None else self.isolation or prepared.isolation
        if kind != IN_PLACE:
            with suppress(NotFoundError):
                await journal.info(context.run)
                raise run_exists(context.run)  # its places must not become ours
        home = self.home / ".sol"
        context.workspaces, fields = await open_isolation(
            kind, context.workspace, run=context.run, home=home, processes=context.processes
        )
        return structs.replace(prepared.started, **fields)

    def _session(
        self,
        kind: RunKind,
        journal: Journal,
        lease: Lease,
        state: AnyState,
        program: AnyProgram,
        context: RunContext,
        chain: tuple[str, ...],
    ) -> Session:
        from sol.dispatch.tracing import Marking  # noqa: PLC0415 - loads LangChain, which looking at runs needs not

        session = Session(
            lease,
            journal,
            state,
            program,
            LocalDispatcher(context, kind.handlers),
            self.clock,
            context.listeners,
            started=self.clock.monotonic(),
        )
        context.inherit = partial(let_inherit, session, context.strategy, chain)
        context.solve = _Children(self, context).solve
        context.listeners.add(Marking(context.run, state))
        return session

    def _launch(self, session: Session, kind: RunKind, arrived: Sequence[Event], context: RunContext) -> Run:
        run = Run(session.lease.run, kind, session.state, self.open_journal, session)
        if (enclosing := ENCLOSING.get()) is not None:
            run.listen(Charging(enclosing, session.state.spent))
        run.task = asyncio.create_task(self._work(session, arrived, context), name=f"sol run {run.id}")
        run.task.add_done_callback(lambda _task: run.changed.set())
        self.last = run
        return run

    async def _work(self, session: Session, arrived: Sequence[Event], context: RunContext) -> None:
        from sol.engine.loop import drive  # noqa: PLC0415 - loads LangGraph, as above
        from sol.telemetry import spans_of  # noqa: PLC0415 - as above

        name, listeners = context.strategy.name, session.listeners
        spans = spans_of(run=context.run, state=session.state, strategy=name, clock=self.clock)
        if spans is not None:
            listeners.add(spans)
        try:
            await drive(session, arrived, strategy=name)
        except BaseException as error:
            listeners.on_end(error)
            raise
        else:
            listeners.on_end(None)
        finally:
            await self._done_with(session.journal)

    # --- existing runs -----------------------------------------------------------------------------------------------

    async def load(self, run_id: str) -> Run:
        """A run as it stands in the journal, for looking at. A unique beginning of its id, or `latest`, is enough.

        Raises:
            NotFoundError: If there is no such run.
        """
        async with self.open_journal() as journal:
            info = await journal.info(await journal.resolve(run_id))
            kind = kind_of(info)
            state = await read_state(journal, kind.reading, info.id)
        return Run(info.id, kind, state, self.open_journal)

    def resume(
        self,
        run_id: str,
        *,
        accept_changes: bool = False,
        max_steps: int | None = None,
        definition: "Workflow | None" = None,
    ) -> Run:
        """Take up a run again that was interrupted, killed, blocked, or stopped by a limit; wait as `solve` does.

        Args:
            run_id: Id, unique beginning, or `latest`.
            accept_changes: Go on although a file behind it has changed since. Of a workflow, results of unchanged steps
                are kept, and it is walked through again with them.
            max_steps: Grants a workflow more steps.
            definition: The workflow to go on with; None: read anew from its file.

        Raises:
            NotFoundError: If there is no such run.
            ConflictError: If a live process holds it, a file behind it has changed, or there is nothing to resume.
        """
        return run_blocking(
            lambda: self.aresume(run_id, accept_changes=accept_changes, max_steps=max_steps, definition=definition)
        )

    async def aresume(
        self,
        run_id: str,
        *,
        accept_changes: bool = False,
        max_steps: int | None = None,
        definition: "Workflow | None" = None,
    ) -> Run:
        """Like `resume`, for coroutines."""
        run = await self.start_again(run_id, accept_changes=accept_changes, max_steps=max_steps, definition=definition)
        return await run.wait(progress=self.progress)

    async def start_again(
        self,
        run_id: str,
        *,
        accept_changes: bool = False,
        ask: Mapping[str, Any] | None = None,
        max_steps: int | None = None,
        definition: "Workflow | None" = None,
    ) -> Run:
        """Like `aresume`, returning at once.

        Args:
            run_id: Id, unique beginning, or `latest`.
            accept_changes: As of `resume`.
            ask: A request to carry out first: `kind` (`answer` or `retry`) with what belongs to it.
            max_steps: As of `resume`.
            definition: As of `resume`.
        """
        options = Options(
            max_steps=max_steps, accept_changes=accept_changes, asked=ask is not None, definition=definition
        )
        async with self.open_journal() as journal:
            info = await journal.info(await journal.resolve(run_id))
            kind = kind_of(info)
            before = await read_state(journal, kind.reading, info.id)
        if ask is None or not before.nodes:
            require_resumable(info.id, before)
        lent = Lent(self, self.workers(before.started))
        make_context = partial(
            self._context, info.id, workers=lent.workers, loop=asyncio.get_running_loop(), before=before.started
        )
        again, chain, context = await asyncio.to_thread(
            prepare_again, kind, lent, info.id, before, options, make_context
        )
        journal = self._journal()
        try:
            await journal.open()
            claim = journal.claim(info.id, this_process(context.token), now=self.clock.now())
            lease = await held(journal, claim)
            try:
                state, arrived = await self._taken(journal, kind, info, again, ask)
                told = (await journal.info(info.id)).summary or {}
                session = self._session(kind, journal, lease, state, again.program, context, chain)
            except BaseException:
                await journal.release(lease)
                raise
        except BaseException:
            await self._done_with(journal)
            raise
        session.before_s = float(told.get("elapsed_s", 0.0))
        return self._launch(session, kind, arrived, context)

    async def _taken(
        self, journal: Journal, kind: RunKind, info: StoredRun, again: Again, ask: Mapping[str, Any] | None
    ) -> tuple[AnyState, list[Event]]:
        """The state of a run that is ours now, and the facts to go on with."""
        state = await read_state(journal, kind.reading, info.id)
        resumed = Event("", again.resumed)
        if ask is None:
            require_resumable(info.id, state)
            return state, [resumed]
        by = str(ask.get("by", ""))
        return state, [asked(info.id, kind, state, ask, by=by, at=self.clock.now()), resumed]

    async def request(self, run_id: str, kind: str, payload: Mapping[str, Any], *, by: str) -> str:
        """Ask something of a run: of the process that works on it, or, when there is none, of its journal directly.

        Args:
            run_id: Id, unique beginning, or `latest`.
            kind: `cancel`, `answer`, `retry` or `stop`.
            payload: `node` (path; "" is the root) and what belongs to the kind: `reason`, `text`, `note`.
            by: Who asks, for the record.

        Returns:
            `posted` when a live process will act on it, `done` when it was recorded here.

        Raises:
            NotFoundError: If there is no such run or node.
            ConflictError: If the node's state does not allow it.
        """
        async with self.open_journal() as journal:
            info = await journal.info(await journal.resolve(run_id))
            return await post(journal, info.id, kind_of(info), kind, payload, by=by, now=self.clock.now())

    # --- what a run needs --------------------------------------------------------------------------------------------

    def workers(self, before: RunStarted | None = None) -> Workers:
        """Makes workers with these settings; of a run that was started before, models not given here are taken on."""
        base_url = self.base_url or (before.base_url if before is not None else None)
        luna_model = self.luna_model
        if before is not None and not self._luna_is_given:
            luna_model = before.luna_model or self.luna_model
        processes = self.processes
        return Workers(
            lambda spec: make(spec, self.worker, processes=processes, base_url=base_url),
            luna_model,
        )

    def _context(
        self,
        run: str,
        workspace: Path,
        strategy: Strategy,
        *,
        workers: Workers,
        loop: asyncio.AbstractEventLoop,
        before: RunStarted | None = None,
    ) -> RunContext:
        """What a run has to work with; of one that was started before, models not given here are taken on."""
        token = secrets.token_hex(8)
        sol_model = self.sol_model or (before.sol_model if before is not None else None)
        base_url = self.base_url or (before.base_url if before is not None else None)
        processes = self.processes
        return RunContext(
            run=run,
            workspace=workspace,
            clock=self.clock,
            token=token,
            strategy=strategy,
            planner=self.planner or resolve_planner(sol_model, workspace=workspace, delimiter=token, base_url=base_url),
            workers=workers,
            gates=self._gates,
            sol_provider=gate_name(sol_model, base_url=base_url) if isinstance(sol_model, str) else "",
            limiter=self._limiter(loop),
            processes=processes,
            workspaces=None if before is None else isolation_again(before, run=run, processes=processes),
        )

    @property
    def judges(self) -> bool:
        """Whether Sol's planner can judge words; without a model it cannot."""
        return getattr(self.planner, "judges", True) if self.planner is not None else self.sol_model is not None

    def _limiter(self, loop: asyncio.AbstractEventLoop) -> asyncio.Semaphore | None:
        """The limit over all runs of this object, one for each event loop (a semaphore cannot change its loop)."""
        if self.concurrency is None:
            return None
        return self._limits.setdefault(loop, asyncio.Semaphore(self.concurrency))

    # --- the journal -------------------------------------------------------------------------------------------------

    @property
    def home(self) -> Path:
        """Where `.sol` is: the workspace given here, or the current directory."""
        return Path(self.workspace if self.workspace is not None else Path.cwd()).resolve()

    @cached_property
    def processes(self) -> ProcessRegistry:
        """Where running child processes are recorded; one for all runs of this object, so that it can end them all."""
        return ProcessRegistry(self.home / ".sol" / "processes")

    def _journal(self) -> Journal:
        if self.store is None:
            return SqlJournal(default_url(self.home))
        return SqlJournal(self.store) if isinstance(self.store, str) else self.store

    async def _done_with(self, journal: Journal) -> None:
        if journal is not self.store:
            await journal.close()

    @asynccontextmanager
    async def open_journal(self) -> AsyncIterator[Journal]:
        """The journal, open for as long as the context lasts."""
        journal = await asyncio.to_thread(self._journal)
        try:
            await journal.open()
            yield journal
        finally:
            await self._done_with(journal)


@dataclass(frozen=True, slots=True)
class _Children:
    """Solves tasks by runs of their own, with the settings of the Sol around.

    A child's id follows from the key of the effect that it was begun for, so it is found again after any crash.
    """

    sol: Sol
    context: RunContext

    async def solve(self, request: SolveRequest, key: tuple[str, str, int], begun: Callable[[str], None]) -> ReportData:
        run = await self._begin(request, key)
        begun(run.id)
        await run.wait()
        return run.report

    async def _begin(self, request: SolveRequest, key: tuple[str, str, int]) -> Run:
        store = self.sol.store if self.sol.store is not None else str(default_url(self.sol.home))
        strategy = request.strategy or self.sol.strategy
        sol = replace(self.sol, strategy=strategy, workspace=self.context.workspace, store=store)
        node, kind, n = key
        begun, run_id = await self._begun(sol, f"{self.context.run}/{node}/{kind}/{n}")
        while begun is None and request.resumed and n > 1:
            n -= 1
            begun, _ = await self._begun(sol, f"{self.context.run}/{node}/{kind}/{n}")
        if begun is not None:
            return await sol.start_again(begun.id) if begun.resumable else begun
        task: dict[str, Json] = {**plain(request.assignment), "worker": msgspec.to_builtins(request.worker)}
        return await sol.start(task, run_id=run_id)

    @staticmethod
    async def _begun(sol: Sol, key: str) -> tuple[Run | None, str]:
        """The run begun for an effect's key; without one the first id for it that can be used."""
        ids = random.Random(key)  # noqa: S311 - a name that can be found again, not a secret
        while True:
            run_id = new_run_id(ids, length=CHILD_ID)
            try:
                run = await sol.load(run_id)
            except NotFoundError:
                return None, run_id
            if run.state.nodes:  # else it was killed before its task was recorded, and cannot be resumed
                return run, run_id

"""`Sol`: start runs of any kind, resume them, answer, cancel and retry. The public face, with `Task` and `Run`."""

import asyncio
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from pydantic_settings import BaseSettings, SettingsConfigDict

from luna.clock import Clock, SystemClock
from luna.gate import Gates
from luna.workspaces import IsolationMode
from sol.engine.kinds import Again, Options, RunKind
from sol.engine.requests import asked, post, read_state, require_resumable
from sol.engine.session import Session
from sol.journal import (
    Journal,
    RunInfo,
    SqlJournal,
    StoredRun,
    default_url,
    new_run_id,
    this_process,
)
from sol.journal.protocol import held
from sol.run import Run, kind_for, kind_of, run_blocking
from sol.strategy.schema import Budget, Strategy
from sol.task import Task, TaskFile
from sol.tree.events import Event
from sol.tree.node import AnyState

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from luna.process.group import ProcessRegistry
    from luna.workers.registry import AnyWorker
    from sol.dispatch.context import RunContext
    from sol.planner import Planner
    from sol.workflow import Workflow

Startable: TypeAlias = "Task | TaskFile | Workflow | Mapping[str, Any] | str | Path"
"""What a run can be started with; a registered kind of run may take other things."""

DEFAULT_LUNA = "local"
CHILD_ID = 10
"""Length of the ids of runs that solve a step of another run."""


class Environment(BaseSettings):
    """What the environment says; whatever a caller gives comes before it.

    Attributes:
        sol_model: `SOL_MODEL`: name of the model that plans; None: the planner that needs no model.
        luna_model: `LUNA_MODEL`: name of the model that works; None: the local default.
        sol_store: `SOL_STORE`: URL of the journal; None: `.sol/runs.db` in the workspace.
        sol_base_url: `SOL_BASE_URL`: address of an OpenAI-compatible server for both models.
    """

    model_config = SettingsConfigDict(extra="ignore")

    sol_model: str | None = None
    luna_model: str | None = None
    sol_store: str | None = None
    sol_base_url: str | None = None


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
        max_depth: In place of the strategy's depth limit; inside another run never more than that one leaves.
        budget: In place of the strategy's limits that it names; likewise.
        concurrency: Most effects at the same time over all runs of this object; None: only the strategies' limits.
        planner: Replaces Sol's own. With an attribute `judges` that is False it is never asked to judge words.
        progress: Show the tree while solving: in the notebook's cell, or in the terminal on standard error.
    """

    strategy: str | Path | Strategy | None = None
    worker: "AnyWorker" = None
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
    planner: "Planner | None" = None
    progress: bool = False
    clock: Clock = field(default_factory=SystemClock)
    rng: random.Random = field(default_factory=random.SystemRandom)
    last: Run | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        environment = Environment()
        self.sol_model = self.sol_model or self.model or environment.sol_model
        self.luna_is_given = bool(self.luna_model or self.model)
        self.luna_model = self.luna_model or self.model or environment.luna_model or DEFAULT_LUNA
        self.base_url = self.base_url or environment.sol_base_url
        if self.store is None:
            self.store = environment.sol_store
        self.gates = Gates(clock=self.clock, rng=self.rng)
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
        await asyncio.to_thread(_load_engine)
        from sol import _prepare as ready  # noqa: PLC0415 - loaded by now

        run = run_id or new_run_id(self.rng)
        kind = kind_for(thing)
        lent = ready.Lent(self, ready.workers_of(self))
        options = Options(task=task, max_steps=max_steps, interactive=interactive)
        # Files are read and models set up; none of it may hold up the caller's event loop.
        make_context = partial(ready.context_of, lent, run, asyncio.get_running_loop())
        prepared, context = await asyncio.to_thread(ready.prepare, kind, lent, thing, options, run, make_context)
        journal = self._journal()
        try:
            await journal.open()
            started = await ready.isolate(self, journal, context, prepared)
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
        session = ready.session_of(self, kind, journal, lease, state, prepared.program, context)
        return self._launch(session, kind, [Event("", started)], context)

    def _launch(self, session: Session, kind: RunKind, arrived: Sequence[Event], context: "RunContext") -> Run:
        run = Run(session.lease.run, kind, session.state, self.open_journal, session)
        run.task = asyncio.create_task(self._work(session, arrived, context), name=f"sol run {run.id}")
        run.task.add_done_callback(lambda _task: run.changed.set())
        self.last = run
        return run

    async def _work(self, session: Session, arrived: Sequence[Event], context: "RunContext") -> None:
        from sol.engine.loop import drive  # noqa: PLC0415 - loaded by now
        from sol.telemetry import spans_of  # noqa: PLC0415 - not needed for looking at runs

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
        await asyncio.to_thread(_load_engine)
        from sol import _prepare as ready  # noqa: PLC0415 - loaded by now

        options = Options(
            max_steps=max_steps, accept_changes=accept_changes, asked=ask is not None, definition=definition
        )
        async with self.open_journal() as journal:
            info = await journal.info(await journal.resolve(run_id))
            kind = kind_of(info)
            before = await read_state(journal, kind.reading, info.id)
        if ask is None or not before.nodes:
            require_resumable(info.id, before)
        lent = ready.Lent(self, ready.workers_of(self, before.started))
        make_context = partial(ready.context_of, lent, info.id, asyncio.get_running_loop(), before=before.started)
        again, context = await asyncio.to_thread(
            ready.prepare_again, kind, lent, info.id, before, options, make_context
        )
        journal = self._journal()
        try:
            await journal.open()
            claim = journal.claim(info.id, this_process(context.token), now=self.clock.now())
            lease = await held(journal, claim)
            try:
                state, arrived = await self._taken(journal, kind, info, again, ask)
                told = (await journal.info(info.id)).summary or {}
                session = ready.session_of(self, kind, journal, lease, state, again.program, context)
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

    @property
    def judges(self) -> bool:
        """Whether Sol's planner can judge words; without a model it cannot."""
        return getattr(self.planner, "judges", True) if self.planner is not None else self.sol_model is not None

    def limiter(self, loop: asyncio.AbstractEventLoop) -> asyncio.Semaphore | None:
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
    def processes(self) -> "ProcessRegistry":
        """Where running child processes are recorded; one for all runs of this object, so that it can end them all."""
        from luna.process.group import ProcessRegistry  # noqa: PLC0415 - as above

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


def _load_engine() -> None:
    """Load what working on runs needs and looking at them does not, LangChain and LangGraph among it.

    Before a run is created, which could not go on without it; in a thread, so that the event loop does not stand still.
    """
    import sol._prepare  # noqa: PLC0415
    import sol.engine.loop  # noqa: PLC0415, F401

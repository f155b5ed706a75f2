"""`Sol`: solve tasks, resume runs, answer, cancel and retry. The public face, together with `Task` and `Run`."""

import asyncio
import random
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from luna.clock import Clock, SystemClock
from luna.gate import Gates
from luna.leftovers import ProcessRegistry
from luna.models import gate_name, resolve_chat_model
from luna.protocol import Worker, WorkerSpec
from luna.workspaces import Isolation
from sol.ambient import charging, enter, narrowed
from sol.asking import to_resume
from sol.blocking import run_blocking
from sol.definition import input_hashes, recheck
from sol.errors import ConflictError, SolError, StrategyError, UsageError
from sol.isolation import IN_PLACE, isolated, isolated_again
from sol.journal import Journal, RunInfo, SqlJournal, default_url, new_run_id
from sol.lunas import WITH_MODEL, AnyWorker, make, spec_of
from sol.planner import Planner, resolve_planner
from sol.posting import post
from sol.run import Run
from sol.runner import Setup, drive, read_tree
from sol.session import Session
from sol.settings import Settings
from sol.strategy.catalog import find, load_strategy
from sol.strategy.schema import Budget, Strategy
from sol.task import GivenTask, Task, TaskFile
from sol.tree.events import Event, EventType
from sol.tree.node import Tree

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

DEFAULT_LUNA = "local"
_STARTED = EventType.RUN_STARTED


@dataclass(kw_only=True)
class Sol:
    """Solves tasks by recursive decomposition.

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
    isolation: Isolation | None = None
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
        settings = Settings()
        self.sol_model = self.sol_model or self.model or settings.sol_model
        self._luna_is_given = bool(self.luna_model or self.model)
        self.luna_model = self.luna_model or self.model or settings.luna_model or DEFAULT_LUNA
        self.base_url = self.base_url or settings.sol_base_url
        if self.store is None:
            self.store = settings.sol_store
        self._gates = Gates(clock=self.clock, rng=self.rng)
        self._limits: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    # --- solve -------------------------------------------------------------------------------------------------------

    def solve(self, task: "Task | TaskFile | Mapping[str, Any] | str | Path") -> Run:
        """Solve a task and return its run when it has ended, waits for an answer, or cannot go on.

        Works inside a running event loop too (in a thread of its own); there `await asolve(…)` is the better way.

        Raises:
            UsageError: If the task, the strategy or a setting cannot be used. Nothing was started.
            KeyboardInterrupt: After all workers were stopped; `last` is the run, which can be resumed.
        """
        return run_blocking(lambda: self.asolve(task))

    async def asolve(self, task: "Task | TaskFile | Mapping[str, Any] | str | Path") -> Run:
        """Like `solve`, for coroutines. Cancelling it interrupts the run in good order."""
        return await (await self.start(task)).wait(progress=self.progress)

    async def start(
        self, task: "Task | TaskFile | Mapping[str, Any] | str | Path", *, run_id: str | None = None
    ) -> Run:
        """Start to solve a task and return its run at once: follow `events()`, then `wait()`.

        Args:
            task: What `solve` takes.
            run_id: Id for the run; None: a new one.

        Raises:
            ConflictError: If there is a run with this id.
        """
        loop = asyncio.get_running_loop()
        # Files are read and models set up; none of it may hold up the caller's event loop.
        given, strategy, chain, data, setup = await asyncio.to_thread(self._prepare, task, loop)
        title = given.task.goal.splitlines()[0][:120]
        info = RunInfo(id=run_id or new_run_id(self.rng), created_t=self.clock.now(), title=title, meta={})
        kind = self.isolation or given.task.isolation or IN_PLACE
        try:
            await setup.journal.open()
            setup, places = await isolated(setup, kind, run=info.id, home=self.home / ".sol")
            data |= places
            lease = await setup.create(info)
        except BaseException:
            await self._done_with(setup.journal)
            raise
        return self._launch(setup, setup.session(lease, Tree(), strategy, chain), [Event(_STARTED, "", data)])

    def _prepare(
        self, task: "Task | TaskFile | Mapping[str, Any] | str | Path", loop: asyncio.AbstractEventLoop
    ) -> tuple[GivenTask, Strategy, tuple[str, ...], dict[str, Any], Setup]:
        """Read and check all that a run needs, before anything is started."""
        given = GivenTask.of(task)
        workspace = self._workspace_of(given)
        strategy, file = self._strategy_of(given.task, workspace)
        spec = self._spec_of(given.task)
        self._make_worker(spec, self.processes, self.base_url)  # tells what is wrong with it
        self._require_model(spec)
        if strategy.asks_judge and not self._judges:
            raise StrategyError(
                f"Strategy {strategy.name!r} has ai(…) rules and needs a model that plans; "
                "give sol_model (--sol-model) or set SOL_MODEL."
            )
        chain = enter(given.task.goal)
        strategy = narrowed(strategy)
        data = self._run_data(given, workspace, spec) | {"strategy": strategy.model_dump(mode="json")}
        if file:
            data["files"]["strategy"] = file
            data["file_strategy"] = load_strategy(file).model_dump(mode="json")
        return given, strategy, chain, data, self._setup(workspace, loop=loop)

    def _run_data(self, given: "GivenTask", workspace: Path, spec: WorkerSpec) -> dict[str, Any]:
        """Data of a run's first event: all that a resume needs to know. Source: S01."""
        assignment = given.task.assignment
        return self._settings_data(workspace, spec) | {
            "assignment": assignment,
            "inputs": input_hashes(assignment["inputs"], workspace),
            "result_file": given.task.result_file,
            "files": {"task": str(given.path.resolve())} if given.path else {},
        }

    def _settings_data(self, workspace: Path, spec: WorkerSpec) -> dict[str, Any]:
        """What a resume needs to know of this object's settings."""
        return {
            "worker": spec.model_dump(mode="json", exclude_defaults=True),
            "sol": "model" if self._judges else "rules",
            "sol_model": self.sol_model if isinstance(self.sol_model, str) else None,
            "luna_model": self.luna_model,
            "base_url": None if "@" in (self.base_url or "") else self.base_url,  # an address may carry a password
            "workspace": str(workspace),
        }

    def _launch(self, setup: Setup, session: Session, arrived: Sequence[Event]) -> Run:
        run = Run(session.lease.run, session.tree, self.open_journal, session)

        charge = charging(session.tree.spent)

        def told(_event: Event) -> None:
            run.changed.set()
            charge()

        async def work() -> None:
            try:
                await drive(session, arrived, listeners=[told])
            finally:
                await self._done_with(setup.journal)

        run.task = asyncio.create_task(work(), name=f"sol run {run.id}")
        run.task.add_done_callback(lambda _task: run.changed.set())
        self.last = run
        return run

    # --- existing runs -----------------------------------------------------------------------------------------------

    async def load(self, run_id: str) -> Run:
        """A run as it stands in the journal, for looking at. A unique beginning of its id, or `latest`, is enough.

        Raises:
            NotFoundError: If there is no such run.
        """
        async with self.open_journal() as journal:
            found = await journal.resolve(run_id)
            tree, _ = await read_tree(journal, found)
        return Run(found, tree, self.open_journal)

    def resume(self, run_id: str, *, accept_changes: bool = False) -> Run:
        """Take up a run again that was interrupted, killed, blocked, or ran out of budget; wait as `solve` does.

        Raises:
            NotFoundError: If there is no such run.
            ConflictError: If a live process holds it, a file behind it has changed, or there is nothing to resume.
        """
        return run_blocking(lambda: self.aresume(run_id, accept_changes=accept_changes))

    async def aresume(self, run_id: str, *, accept_changes: bool = False) -> Run:
        """Like `resume`, for coroutines."""
        run = await self.start_again(run_id, accept_changes=accept_changes)
        return await run.wait(progress=self.progress)

    async def start_again(
        self, run_id: str, *, accept_changes: bool = False, ask: Mapping[str, Any] | None = None
    ) -> Run:
        """Like `aresume`, returning at once.

        Args:
            run_id: Id, unique beginning, or `latest`.
            accept_changes: Go on although the strategy file has changed since.
            ask: A request to carry out first: `kind` (`answer` or `retry`) with what belongs to it.
        """
        async with self.open_journal() as journal:
            found = await journal.resolve(run_id)
            before, _ = await read_tree(journal, found)
        if not before.nodes:
            raise ConflictError(f"Run {found} was killed before its task was recorded; start it anew.")
        strategy, changed = await asyncio.to_thread(recheck, before.config, accept_changes=accept_changes)
        strategy = narrowed(strategy.with_limits(max_depth=self.max_depth, budget=self.budget))
        chain = enter(before.root.assignment["goal"])
        loop = asyncio.get_running_loop()
        setup = await asyncio.to_thread(self._setup, Path(before.config["workspace"]), before.config, loop=loop)
        setup = isolated_again(setup, before.config, run=found)
        await setup.journal.open()
        try:
            lease = await setup.take(found)
            tree, _ = await read_tree(setup.journal, found)
            try:
                arrived = to_resume(found, tree, ask, now=self.clock.now(), changed=changed, strategy=strategy)
            except SolError:
                await setup.journal.release(lease)
                raise
        except BaseException:
            await self._done_with(setup.journal)
            raise
        session = setup.session(lease, tree, strategy, chain)
        session.before_s = ((await setup.journal.info(found)).summary or {}).get("elapsed_s", 0.0)
        return self._launch(setup, session, arrived)

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
            return await post(journal, run_id, kind, payload, by=by, now=self.clock.now())

    # --- what a run needs --------------------------------------------------------------------------------------------

    def _workspace_of(self, given: "GivenTask") -> Path:
        own = self.workspace if self.workspace is not None else given.directory
        workspace = Path(own if own is not None else Path.cwd()).resolve()
        if not workspace.is_dir():
            raise UsageError(f"The workspace {str(workspace)!r} is not a directory. Create it, or give another.")
        return workspace

    def _strategy_of(self, task: Task, workspace: Path) -> tuple[Strategy, str | None]:
        """The strategy with the limits given here, and the file it came from."""
        chosen = self.strategy if self.strategy is not None else task.strategy or "binary"
        if isinstance(chosen, Strategy):
            return chosen.with_limits(max_depth=self.max_depth, budget=self.budget), None
        path = find(str(chosen), workspace)
        strategy = load_strategy(str(path)).with_limits(max_depth=self.max_depth, budget=self.budget)
        return strategy, str(path.resolve())

    def _spec_of(self, task: Task) -> WorkerSpec:
        return spec_of(task.worker, self.worker)

    def _require_model(self, spec: WorkerSpec) -> None:
        """Find out before anything is started that the Luna model cannot be had."""
        if spec.kind in WITH_MODEL and self.luna_model and not spec.options.get("model"):
            resolve_chat_model(self.luna_model, base_url=self.base_url)

    def _make_worker(self, spec: WorkerSpec, processes: ProcessRegistry, base_url: str | None) -> Worker:
        return make(spec, self.worker, processes=processes, base_url=base_url)

    def _setup(
        self,
        workspace: Path,
        started: Mapping[str, Any] | None = None,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
    ) -> Setup:
        """What this process brings to a run; of a run that was started before, models not given here are taken on."""
        token = secrets.token_hex(8)
        before = started or {}
        sol_model = self.sol_model or before.get("sol_model")
        base_url = self.base_url or before.get("base_url")
        luna_model = self.luna_model if self._luna_is_given else before.get("luna_model") or self.luna_model
        processes = self.processes
        return Setup(
            journal=self._journal(),
            clock=self.clock,
            token=token,
            workspace=workspace,
            planner=self.planner or resolve_planner(sol_model, workspace=workspace, fence=token, base_url=base_url),
            make_worker=lambda spec: self._make_worker(spec, processes, base_url),
            gates=self._gates,
            limiter=self._limiter(loop),
            processes=processes,
            sol_provider=gate_name(sol_model, base_url=base_url) if isinstance(sol_model, str) else "",
            luna_model=luna_model,
        )

    @property
    def _judges(self) -> bool:
        """Whether Sol's planner can judge words; without a model it cannot."""
        return getattr(self.planner, "judges", True) if self.planner is not None else self.sol_model is not None

    def _limiter(self, loop: asyncio.AbstractEventLoop | None) -> asyncio.Semaphore | None:
        """The limit over all runs of this object, one for each event loop (a semaphore cannot change its loop)."""
        if self.concurrency is None:
            return None
        return self._limits.setdefault(loop or asyncio.get_running_loop(), asyncio.Semaphore(self.concurrency))

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
        await journal.open()
        try:
            yield journal
        finally:
            await self._done_with(journal)

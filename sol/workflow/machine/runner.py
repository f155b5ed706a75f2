"""`WorkflowSol`: a `Sol` that runs machine workflows too, and takes up, answers and cancels their runs.

It adds what workflows need; journal, dispatcher, workers, limits and the loop are those of the task tree.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

from luna.protocol import Spent, Usage, WorkerSpec
from sol.ambient import enter, narrowed
from sol.blocking import run_blocking
from sol.errors import ConflictError, NotFoundError, SolError, TaskError
from sol.journal import Journal, Lease, RunInfo, StoredRun, default_url, new_run_id, this_process
from sol.run import RESUMABLE, Run
from sol.runner import Setup, ambient, record_by
from sol.session import request_event
from sol.solver import Sol
from sol.strategy.catalog import load_strategy
from sol.strategy.schema import Strategy
from sol.task import Task
from sol.tree.events import Event, EventType
from sol.workflow.machine.control import may_retry
from sol.workflow.machine.core import Rules, advance
from sol.workflow.machine.effects import MachineDispatcher, SolveRequest
from sol.workflow.machine.errors import DefinitionChangedError
from sol.workflow.machine.program import Program, Texts, changes, load_program
from sol.workflow.machine.ready import ready
from sol.workflow.machine.session import MachineSession
from sol.workflow.machine.state import Machine, fold_events

KIND = "workflow"
"""Marks runs of workflows in the journal."""

DEFAULT_STRATEGY = "binary"
DEEPEST = 10_000
"""Depth limit of a workflow that sets none: runs that solve its steps keep to that of their own strategy."""

REPORTS = "sol-reports"
CHILD_ID = 10
"""Length of the ids of runs that solve steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a workflow is run.

    Attributes:
        max_steps: Most steps in place of the file's own; 0 means none. None: the file's.
        interactive: Somebody is there to answer: rules with `interactive_only` count.
        texts: Finds texts that no file has.
    """

    max_steps: int | None = None
    interactive: bool = False
    texts: Texts | None = None


@dataclass(kw_only=True)
class WorkflowSol(Sol):
    """A Sol that runs machine workflows. All that `Sol` does, it does too.

    Attributes:
        warned: Warnings about the workflow that was started last.
    """

    warned: tuple[str, ...] = field(default=(), init=False)

    def run_workflow(self, path: Path | str, task: str, options: Options | None = None) -> Run:
        """Run a workflow on a task and return its run when it has ended, waits for an answer, or cannot go on.

        Raises:
            WorkflowError: If the workflow cannot be used. Nothing was started.
            UsageError: If the task or a setting cannot be used.
        """
        return run_blocking(lambda: self.arun_workflow(path, task, options))

    async def arun_workflow(self, path: Path | str, task: str, options: Options | None = None) -> Run:
        """Like `run_workflow`, for coroutines. Cancelling it interrupts the run in good order."""
        return await (await self.start_workflow(path, task, options)).wait()

    async def start_workflow(self, path: Path | str, task: str, options: Options | None = None) -> Run:
        """Like `arun_workflow`, returning the live run at once."""
        options = options or Options()
        if not task.strip():
            raise TaskError("The task is empty. Say what is to be done.")
        program = load_program(Path(path), texts=options.texts)
        spec = self._workflow_worker()
        self.warned = tuple(str(one) for one in ready(program, spec, judges=self._judges))
        for used in {one.kind: one for one in _workers(program, spec)}.values():
            self._require_model(used)
        chain = enter(f"workflow {program.workflow.name}: {task}")
        strategy = narrowed(self._limits_of_steps())
        workspace = self.home
        setup = self._setup(workspace)
        await setup.journal.open()
        run_id = new_run_id(self.rng)
        limit = program.workflow.max_steps if options.max_steps is None else options.max_steps
        data = self._settings_data(workspace, spec) | {
            "kind": KIND,
            "name": program.workflow.name,
            "file": str(program.file),
            "program": program.root,
            "task": task,
            "max_steps": limit,
            "interactive": options.interactive,
            "report_dir": f"{REPORTS}/{run_id}",
            "definition": program.fingerprint(),
            "warnings": list(self.warned),
            "strategy": strategy.model_dump(mode="json"),
        }
        title = f"{program.workflow.name}: {task.splitlines()[0]}"[:120]
        lease = await setup.create(
            RunInfo(id=run_id, created_t=self.clock.now(), title=title, meta={"kind": KIND, "name": data["name"]})
        )
        session = self._machine_session(setup, lease, Machine(), Rules(program, strategy), chain)
        return self._launch(setup, session, [Event(EventType.RUN_STARTED, "", data)])

    # --- existing runs -----------------------------------------------------------------------------------------------

    async def load(self, run_id: str) -> Run:
        """A run of either kind as it stands in the journal, for looking at.

        Raises:
            NotFoundError: If there is no such run.
        """
        async with self.open_journal() as journal:
            info = await journal.info(await journal.resolve(run_id))
            if info.meta.get("kind") == KIND:
                return Run(info.id, await read_machine(journal, info.id), self.open_journal)
        return await super().load(run_id)

    async def start_again(
        self,
        run_id: str,
        *,
        accept_changes: bool = False,
        ask: Mapping[str, Any] | None = None,
        options: Options | None = None,
    ) -> Run:
        """Take up a run of either kind again, returning the live run at once.

        Args:
            run_id: Id, unique beginning, or `latest`.
            accept_changes: Go on although the definition has changed: results of unchanged steps are kept, and the
                workflow is walked through again with them.
            ask: A request to carry out first: `kind` (`answer` or `retry`) with what belongs to it.
            options: Of a workflow: `max_steps` grants more steps; `texts` as when it was started.

        Raises:
            NotFoundError: If there is no such run.
            ConflictError: If a live process holds it, or there is nothing to resume.
            DefinitionChangedError: If the workflow was changed and `accept_changes` is not given, or `ask` is.
        """
        async with self.open_journal() as journal:
            info = await journal.info(await journal.resolve(run_id))
            if info.meta.get("kind") != KIND:
                return await super().start_again(run_id, accept_changes=accept_changes, ask=ask)
            before = await read_machine(journal, info.id)
        return await self._resume_workflow(info, before, options or Options(), accept_changes=accept_changes, ask=ask)

    async def _resume_workflow(
        self,
        info: StoredRun,
        before: Machine,
        options: Options,
        *,
        accept_changes: bool,
        ask: Mapping[str, Any] | None,
    ) -> Run:
        if not before.nodes:
            raise ConflictError(f"Run {info.id} was killed before its task was recorded; start it anew.")
        _require_open(info.id, before, ask)
        config = before.config
        program = load_program(Path(config["file"]), texts=options.texts)
        ready(program, WorkerSpec.model_validate(config["worker"]), judges=self._judges)
        found = program.fingerprint()
        differing = changes(config["definition"], found)
        if differing and (ask is not None or not accept_changes):
            raise DefinitionChangedError(info.id, differing)
        strategy = Strategy.model_validate(config["strategy"]).with_limits(max_depth=self.max_depth, budget=self.budget)
        update: dict[str, Any] = {"definition": found, "program": program.root}
        update["strategy"] = strategy.model_dump(mode="json")
        if options.max_steps is not None:
            update["max_steps"] = options.max_steps
        resumed = Event(EventType.RESUMED, "", {"config": update, "replay": bool(differing), "changes": differing})
        setup = self._setup(Path(config["workspace"]), config)
        await setup.journal.open()
        try:
            lease = await setup.take(info.id)
            machine = await read_machine(setup.journal, info.id)
            try:
                arrived = [*_carried(info.id, machine, ask, now=self.clock.now()), resumed]
            except SolError:
                await setup.journal.release(lease)
                raise
        except BaseException:
            await self._done_with(setup.journal)
            raise
        chain = (f"workflow {program.workflow.name}: {config['task']}",)
        session = self._machine_session(setup, lease, machine, Rules(program, strategy), chain)
        session.before_s = (info.summary or {}).get("elapsed_s", 0.0)
        return self._launch(setup, session, arrived)

    async def request(self, run_id: str, kind: str, payload: Mapping[str, Any], *, by: str) -> str:
        """Ask something of a run of either kind; see `Sol.request`."""
        async with self.open_journal() as journal:
            info = await journal.info(await journal.resolve(run_id))
            if info.meta.get("kind") != KIND:
                return await super().request(run_id, kind, payload, by=by)
            machine = await read_machine(journal, info.id)
            now = self.clock.now()
            if kind != "stop":
                _asked(info.id, machine, {"kind": kind, **payload}, by=by, now=now)
            try:
                lease = await journal.claim(info.id, this_process(secrets.token_hex(8)), now=now)
            except ConflictError:
                await journal.post(info.id, kind, dict(payload), t=now, by=by)
                return "posted"
            try:
                if kind == "stop":
                    raise ConflictError(f"Nobody works on run {info.id}; there is nothing to stop.")
                event = _asked(info.id, machine, {"kind": kind, **payload}, by=by, now=now)
                await self._record(journal, lease, machine, event, now=now)
            finally:
                await journal.release(lease)
        return "done"

    @staticmethod
    async def _record(journal: Journal, lease: Lease, machine: Machine, event: Event, *, now: float) -> None:
        """Commit a request on a run that nobody works on, and what follows from it, without starting anything.

        Raises:
            WorkflowError, DefinitionChangedError: If it is about a step, and the step cannot be looked up any more.
        """
        config = machine.config
        path = Path(config["file"])
        if event.type == EventType.CANCEL_REQUESTED:
            program = Program(path, config["program"], {}, {})  # ends everything, whatever has become of the files
        else:
            program = load_program(path)
        rules = Rules(program, Strategy.model_validate(config["strategy"]))

        def take(facts: Sequence[Event]) -> list[Event]:
            try:
                return advance(machine, facts, rules, stopping=True, now=now).events
            except LookupError as error:
                raise DefinitionChangedError(lease.run, changes(config["definition"], program.fingerprint())) from error

        await record_by(take, journal, lease, machine, event, now=now)

    # --- what a run needs --------------------------------------------------------------------------------------------

    def _workflow_worker(self) -> WorkerSpec:
        return self._spec_of(Task.from_text("Run a workflow."))

    def _limits_of_steps(self) -> Strategy:
        """The strategy whose limits and stuck detectors hold for the attempts of steps."""
        chosen = self.strategy
        if chosen is None:
            chosen = load_strategy(DEFAULT_STRATEGY).with_limits(max_depth=DEEPEST, budget=None)
        strategy = chosen if isinstance(chosen, Strategy) else load_strategy(str(chosen), self.home)
        return strategy.with_limits(max_depth=self.max_depth, budget=self.budget)

    def _machine_session(
        self, setup: Setup, lease: Lease, machine: Machine, rules: Rules, chain: tuple[str, ...]
    ) -> MachineSession:
        session: MachineSession

        def inherit(_depth: int, charge: Callable[[Usage], None]) -> None:
            ambient(session, chain, 0, charge)  # steps are no levels of a tree

        inner, entering = setup.dispatcher(lease.run, machine, rules.strategy, inherit)
        solver = _Children(
            self, lease.run, setup.workspace, lambda key: inherit(0, lambda usage: _book(session, key, usage))
        )
        effects = MachineDispatcher(inner, workspace=setup.workspace, solver=solver)
        session = MachineSession(
            lease=lease,
            journal=setup.journal,
            tree=machine,
            strategy=rules.strategy,
            dispatcher=effects,
            clock=self.clock,
            entering=entering,
            started=self.clock.monotonic(),
            machine=machine,
            program=rules.program,
            effects=effects,
        )
        return session


@dataclass(frozen=True, slots=True)
class _Children:
    """Starts child runs with the settings of the Sol around them. `inherit` hands the run's limits on.

    A child's id follows from the key of the effect that it was begun for, so it is found again after any crash.
    """

    sol: WorkflowSol
    run: str
    workspace: Path
    inherit: Callable[[tuple[str, str, int]], None]

    async def begin(self, request: SolveRequest, *, key: tuple[str, str, int]) -> Run:
        self.inherit(key)
        store = self.sol.store if self.sol.store is not None else str(default_url(self.sol.home))
        strategy = request.strategy or self.sol.strategy
        sol = replace(self.sol, strategy=strategy, workspace=self.workspace, store=store)
        node, kind, n = key
        begun, run_id = await self._begun(sol, f"{self.run}/{node}/{kind}/{n}")
        while begun is None and request.resumed and n > 1:
            n -= 1
            begun, _ = await self._begun(sol, f"{self.run}/{node}/{kind}/{n}")
        if begun is not None:
            return await sol.start_again(begun.id) if begun.resumable else begun
        return await sol.start({**request.assignment, "worker": dict(request.worker)}, run_id=run_id)

    @staticmethod
    async def _begun(sol: Sol, key: str) -> tuple[Run | None, str]:
        """The run begun for an effect's key; without one the first id for it that can be used."""
        ids = Random(key)  # noqa: S311 - a name that can be found again, not a secret
        while True:
            run_id = new_run_id(ids, length=CHILD_ID)
            try:
                run = await sol.load(run_id)
            except NotFoundError:
                return None, run_id
            if run.state.nodes:  # else it was killed before its task was recorded, and cannot be resumed
                return run, run_id


def _book(session: MachineSession, key: tuple[str, str, int], usage: Usage) -> None:
    session.effects.book(key, Spent(usage=usage))


def _workers(program: Program, spec: WorkerSpec) -> list[WorkerSpec]:
    steps = [step for workflow in program.workflows.values() for step, _ in workflow.every_step()]
    return [step.worker or spec for step in steps if not step.call and not step.parallel]


async def read_machine(journal: Journal, run_id: str) -> Machine:
    """The state of a workflow's run as committed."""
    records = await journal.read(run_id)
    return fold_events(Event(EventType(one.type), one.node, one.data, one.t) for one in records)


def _require_open(run_id: str, machine: Machine, ask: Mapping[str, Any] | None) -> None:
    if ask is None and machine.status not in RESUMABLE and not machine.root.resumable:
        raise ConflictError(f"Run {run_id} has ended: {machine.status}. There is nothing to resume.")


def _carried(run_id: str, machine: Machine, ask: Mapping[str, Any] | None, *, now: float) -> Sequence[Event]:
    return [] if ask is None else [_asked(run_id, machine, ask, by=str(ask.get("by", "")), now=now)]


def _asked(run_id: str, machine: Machine, ask: Mapping[str, Any], *, by: str, now: float) -> Event:
    """The event of a request.

    Raises:
        NotFoundError: If there is no such step.
        ConflictError: If its state does not allow it.
    """
    path = str(ask.get("node", ""))
    if path not in machine.nodes:
        waiting = [node.path for node in machine.nodes.values() if node.question]
        hint = f" Waiting: {', '.join(waiting)}." if waiting else ""
        raise NotFoundError(f"Run {run_id} has no step {path!r}. `sol show {run_id}` lists them.{hint}")
    said = {"by": by, "at": now}
    event = request_event(machine, str(ask["kind"]), ask, said, may_retry=lambda node: may_retry(machine, node))
    if event is None:
        state = machine.nodes[path].state
        raise ConflictError(f"Step {path or 'root'!r} of run {run_id} is {state}; it cannot be asked to {ask['kind']}.")
    return event

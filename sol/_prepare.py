"""How a run is prepared with what a `Sol` is set to. Loaded when one is started or resumed, not for looking at runs."""

import asyncio
import random
import secrets
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs, to_builtins

from luna.models import gate_name, resolve_chat_model
from luna.protocol import Usage, WorkerSpec
from luna.strictjson import require_json
from luna.workers.registry import WITH_MODEL, make, spec_of
from luna.workspaces import IN_PLACE
from sol.dispatch.context import ENCLOSING, Charging, Enclosing, RunContext, Workers, enter, narrowed
from sol.dispatch.isolation import isolation_again, open_isolation
from sol.dispatch.local import LocalDispatcher
from sol.dispatch.tracing import Marking
from sol.engine.kinds import Again, ChosenStrategy, Options, Prepared, RunKind
from sol.engine.program import AnyProgram
from sol.engine.session import Session
from sol.errors import NotFoundError, UsageError
from sol.journal import Journal, Lease, default_url, new_run_id
from sol.journal.protocol import run_exists
from sol.planner import resolve_planner
from sol.run import Run
from sol.solver import CHILD_ID, Sol
from sol.strategy.catalog import find, read_strategy
from sol.strategy.schema import Budget, Strategy
from sol.tree.effects import SolveRequest
from sol.tree.events import RunStarted
from sol.tree.node import AnyState
from sol.tree.values import Json, ReportData, plain, worker_data


@dataclass(frozen=True, slots=True)
class Lent:
    """What a `Sol` lends to whoever prepares one run. See `sol.engine.kinds.Settings`."""

    sol: Sol
    workers: Workers

    @property
    def home(self) -> Path:
        """Where `.sol` is."""
        return self.sol.home

    @property
    def judges(self) -> bool:
        """Whether Sol can judge words."""
        return self.sol.judges

    def workspace_of(self, own: Path | None) -> Path:
        """The directory to work in: the caller's, the task's, or the current one."""
        given = self.sol.workspace if self.sol.workspace is not None else own
        workspace = Path(given if given is not None else Path.cwd()).resolve()
        if not workspace.is_dir():
            raise UsageError(f"The workspace {str(workspace)!r} is not a directory. Create it, or give another.")
        return workspace

    def worker_of(self, own: WorkerSpec | None) -> WorkerSpec:
        """Who does what names nobody."""
        return spec_of(own, self.sol.worker)

    def require_worker(self, spec: WorkerSpec) -> None:
        """Make a worker, which tells what is wrong with it; find out that its model can be had."""
        try:
            require_json([spec.options, spec.on_error], what="its settings")
        except ValueError as error:
            raise UsageError(f"The worker {spec.kind!r} cannot be used: {error}.") from error
        self.workers.of(worker_data(spec))
        self.require_model(spec)

    def require_model(self, spec: WorkerSpec) -> None:
        """Find out that the Luna model of a worker can be had."""
        sol = self.sol
        if spec.kind in WITH_MODEL and sol.luna_model and not spec.options.get("model"):
            resolve_chat_model(sol.luna_model, base_url=sol.base_url)

    def strategy_of(self, own: str | Strategy | None, workspace: Path) -> ChosenStrategy:
        """The caller's strategy, or the one that is named; with the caller's limits, and those of a run around."""
        sol = self.sol
        chosen = sol.strategy if sol.strategy is not None else own or "binary"
        if isinstance(chosen, Strategy):
            return ChosenStrategy(self.limits_again(chosen))
        path = find(str(chosen), workspace)
        strategy = read_strategy(path)
        content = strategy.model_dump(mode="json")
        return ChosenStrategy(self.limits_again(strategy), str(path.resolve()), content)

    def limits_again(self, strategy: Strategy) -> Strategy:
        """The strategy with the caller's limits, and no more than what a run around this one leaves."""
        return narrowed(strategy.with_limits(max_depth=self.sol.max_depth, budget=self.sol.budget))

    def started_with(self, workspace: Path, worker: WorkerSpec) -> dict[str, Any]:
        """Fields of `RunStarted` that say what a resume needs to know of these settings."""
        sol = self.sol
        return {
            "worker": worker_data(worker),
            "sol": "model" if self.judges else "rules",
            "sol_model": sol.sol_model if isinstance(sol.sol_model, str) else None,
            "luna_model": sol.luna_model,
            "base_url": None if "@" in (sol.base_url or "") else sol.base_url,  # an address may carry a password
            "workspace": str(workspace),
        }


def prepare(
    kind: RunKind,
    lent: Lent,
    thing: object,
    options: Options,
    run: str,
    make_context: Callable[[Path, Strategy], RunContext],
) -> tuple[Prepared, RunContext]:
    """Read and check all that a run needs, before anything is started."""
    prepared = kind.prepare(lent, thing, options, run=run)
    _require_kept(prepared.started, "This cannot be started")
    chain = enter(prepared.goal)
    context = make_context(Path(prepared.started.workspace), prepared.strategy)
    context.chain = chain
    return prepared, context


def prepare_again(
    kind: RunKind,
    lent: Lent,
    run: str,
    state: AnyState,
    options: Options,
    make_context: Callable[[Path, Strategy], RunContext],
) -> tuple[Again, RunContext]:
    """The same for a run that is resumed."""
    again = kind.again(lent, run, state, options)
    _require_kept(again.resumed, "This cannot be resumed")
    chain = enter(again.goal)
    context = make_context(Path(state.config.workspace), again.strategy)
    context.chain = chain
    return again, context


def _require_kept(data: Struct, what: str) -> None:
    """Refuse what the journal cannot hold; written as JSON first, NaN would have become null already."""
    try:
        require_json(to_builtins(data), what="the run")
    except ValueError as error:
        raise UsageError(f"{what}: {error}.") from error


def let_inherit(session: Session, context: RunContext, level: int, charge: Callable[[Usage], None]) -> None:
    """Let runs that are started from inside inherit what this run leaves. Called inside the task of an effect."""
    strategy = context.strategy

    def left() -> Budget:
        budget, spent, held = strategy.budget, session.state.spent, session.state.reserved
        return Budget(
            calls=None if budget.calls is None else max(budget.calls - spent.calls - held.calls, 0),
            tokens=None if budget.tokens is None else max(budget.tokens - spent.tokens, 0),
            cost=None if budget.cost is None else max(budget.cost - spent.cost, 0.0),
            seconds=None if budget.seconds is None else max(budget.seconds - session.elapsed_s, 0.001),
        )

    ENCLOSING.set(Enclosing(strategy.max_depth - level, left, context.chain, charge))


def workers_of(sol: Sol, before: RunStarted | None = None) -> Workers:
    """Makes workers as a `Sol` is set; of a run that was started before, models not given here are taken on."""
    base_url = sol.base_url or (before.base_url if before is not None else None)
    luna_model = sol.luna_model
    if before is not None and not sol.luna_is_given:
        luna_model = before.luna_model or sol.luna_model
    processes = sol.processes
    return Workers(
        lambda spec: make(spec, sol.worker, processes=processes, base_url=base_url),
        luna_model,
    )


def context_of(
    lent: Lent,
    run: str,
    loop: asyncio.AbstractEventLoop,
    workspace: Path,
    strategy: Strategy,
    *,
    before: RunStarted | None = None,
) -> RunContext:
    """What a run has to work with; of one that was started before, models not given here are taken on."""
    sol, token = lent.sol, secrets.token_hex(8)
    sol_model = sol.sol_model or (before.sol_model if before is not None else None)
    base_url = sol.base_url or (before.base_url if before is not None else None)
    processes = sol.processes
    return RunContext(
        run=run,
        workspace=workspace,
        clock=sol.clock,
        token=token,
        strategy=strategy,
        planner=sol.planner or resolve_planner(sol_model, workspace=workspace, delimiter=token, base_url=base_url),
        workers=lent.workers,
        gates=sol.gates,
        sol_provider=gate_name(sol_model, base_url=base_url) if isinstance(sol_model, str) else "",
        limiter=sol.limiter(loop),
        processes=processes,
        workspaces=None if before is None else isolation_again(before, run=run, processes=processes),
    )


async def isolate(sol: Sol, journal: Journal, context: RunContext, prepared: Prepared) -> RunStarted:
    """Keep the Lunas of a new run apart, if that is asked for; what its first event says then."""
    kind = IN_PLACE if prepared.isolation is None else sol.isolation or prepared.isolation
    if kind == IN_PLACE:
        return prepared.started
    with suppress(NotFoundError):
        await journal.info(context.run)
        raise run_exists(context.run)  # its checkouts must not become ours
    home = sol.home / ".sol"
    context.workspaces, fields = await open_isolation(
        kind, context.workspace, run=context.run, home=home, processes=context.processes
    )
    return structs.replace(prepared.started, **fields)


def session_of(
    sol: Sol,
    kind: RunKind,
    journal: Journal,
    lease: Lease,
    state: AnyState,
    program: AnyProgram,
    context: RunContext,
) -> Session:
    """A session of a run whose lease is held."""
    session = Session(
        lease,
        journal,
        state,
        program,
        LocalDispatcher(context, kind.handlers),
        sol.clock,
        context.listeners,
        started=sol.clock.monotonic(),
    )
    context.inherit = partial(let_inherit, session, context)
    context.solve = _Children(sol, context).solve
    context.listeners.add(Marking(context.run, state))
    if (enclosing := ENCLOSING.get()) is not None:
        context.listeners.add(Charging(enclosing, state.spent))
    return session


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

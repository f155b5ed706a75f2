"""What a `Sol` is set to, by its caller and the environment, and what it lends to whoever prepares a run."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, to_builtins
from pydantic_settings import BaseSettings, SettingsConfigDict

from luna.models import resolve_chat_model
from luna.protocol import Usage, WorkerSpec
from luna.strictjson import require_json
from luna.workers.registry import WITH_MODEL, spec_of
from sol.dispatch.context import ENCLOSING, Enclosing, RunContext, Workers, enter, narrowed
from sol.engine.kinds import Again, ChosenStrategy, Options, Prepared, RunKind
from sol.engine.session import Session
from sol.errors import UsageError
from sol.strategy.catalog import find, read_strategy
from sol.strategy.schema import Budget, Strategy
from sol.tree.node import AnyState
from sol.tree.values import worker_data

if TYPE_CHECKING:
    from sol.solver import Sol


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


@dataclass(frozen=True, slots=True)
class Lent:
    """What a `Sol` lends to whoever prepares one run. See `sol.engine.kinds.Settings`."""

    sol: "Sol"
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
) -> tuple[Prepared, tuple[str, ...], RunContext]:
    """Read and check all that a run needs, before anything is started."""
    prepared = kind.prepare(lent, thing, options, run=run)
    _require_kept(prepared.started, "This cannot be started")
    chain = enter(prepared.goal)
    return prepared, chain, make_context(Path(prepared.started.workspace), prepared.strategy)


def prepare_again(
    kind: RunKind,
    lent: Lent,
    run: str,
    state: AnyState,
    options: Options,
    make_context: Callable[[Path, Strategy], RunContext],
) -> tuple[Again, tuple[str, ...], RunContext]:
    """The same for a run that is resumed."""
    again = kind.again(lent, run, state, options)
    _require_kept(again.resumed, "This cannot be resumed")
    chain = enter(again.goal)
    return again, chain, make_context(Path(state.config.workspace), again.strategy)


def _require_kept(data: Struct, what: str) -> None:
    """Refuse what the journal cannot hold; written as JSON first, NaN would have become null already."""
    try:
        require_json(to_builtins(data), what="the run")
    except ValueError as error:
        raise UsageError(f"{what}: {error}.") from error


def let_inherit(
    session: Session, strategy: Strategy, chain: tuple[str, ...], level: int, charge: Callable[[Usage], None]
) -> None:
    """Let runs that are started from inside inherit what this run leaves. Called inside the task of an effect."""

    def left() -> Budget:
        budget, spent, held = strategy.budget, session.state.spent, session.state.reserved
        return Budget(
            calls=None if budget.calls is None else max(budget.calls - spent.calls - held.calls, 0),
            tokens=None if budget.tokens is None else max(budget.tokens - spent.tokens, 0),
            cost=None if budget.cost is None else max(budget.cost - spent.cost, 0.0),
            seconds=None if budget.seconds is None else max(budget.seconds - session.elapsed_s, 0.001),
        )

    ENCLOSING.set(Enclosing(strategy.max_depth - level, left, chain, charge))

"""Kinds of workers by name, and which one a task gets. Imports a kind's module only when a worker of that kind is made.

Other packages add kinds by the entry-point group `sol.workers`; they cannot replace those that are built in.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from luna.errors import WorkerConfigError
from luna.process.group import ProcessRegistry
from luna.protocol import Worker, WorkerSpec
from luna.workers.function import FunctionWorker
from luna.workers.shared import WorkerSettings

ENTRY_POINT_GROUP: Final = "sol.workers"
_EXTRAS: Final = {"acp": ("acp", "agent-client-protocol")}
"""Kinds whose module imports an optional package: the module it imports, and its package."""
_BUILT_IN: Final = {kind: f"luna.workers.{kind}" for kind in ("acp", "agent", "command", "function", "model")}

Factory: TypeAlias = Callable[..., Any]
"""Makes a worker: `create(options: dict)`, or `create(options: dict, *, settings: WorkerSettings)`."""


def make_worker(spec: WorkerSpec, *, settings: WorkerSettings | None = None) -> Worker:
    """Make the worker that `spec` describes.

    Args:
        spec: Kind and options. `on_error` is not looked at.
        settings: What all workers share; given to factories that have a parameter of this name.

    Raises:
        WorkerConfigError: If there is no such kind, it cannot be imported, an option is wrong, or what it makes is no
            worker.
    """
    factory = _factory(spec.kind)
    options = dict(spec.options)
    extras = {"settings": settings or WorkerSettings()} if _takes_settings(factory) else {}
    worker = factory(options, **extras)
    if not isinstance(worker, Worker):
        raise WorkerConfigError(f"worker kind {spec.kind!r} made a {type(worker).__name__}, which has no run method")
    return worker


def known_kinds() -> tuple[str, ...]:
    """All kinds, built in or installed, in alphabetical order."""
    return tuple(sorted({*_BUILT_IN, *(point.name for point in entry_points(group=ENTRY_POINT_GROUP))}))


def _factory(kind: str) -> Factory:
    if module := _BUILT_IN.get(kind):
        return _loaded(kind, lambda: importlib.import_module(module).create)
    points: list[EntryPoint] = [point for point in entry_points(group=ENTRY_POINT_GROUP) if point.name == kind]
    if len(points) == 1:
        return _loaded(kind, points[0].load)
    known = known_kinds()
    if points:
        packages = ", ".join(sorted(point.dist.name if point.dist else "?" for point in points))
        raise WorkerConfigError(f"worker kind {kind!r} comes from several packages ({packages}); uninstall all but one")
    near = get_close_matches(kind, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise WorkerConfigError(f"there is no worker kind {kind!r}; {hint}known are {', '.join(known)}")


def _takes_settings(factory: Factory) -> bool:
    try:
        return "settings" in inspect.signature(factory).parameters
    except ValueError:  # some built-in callables have no signature
        return False


def _loaded(kind: str, load: Callable[[], Factory]) -> Factory:
    try:
        factory = load()
    except (ImportError, AttributeError) as error:
        module, package = _EXTRAS.get(kind, ("", ""))
        if module and isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == module:
            raise WorkerConfigError(
                f"worker {kind!r} needs the package {package}, which is not installed: pip install 'sol-luna[{kind}]'"
            ) from error
        raise WorkerConfigError(f"worker kind {kind!r} cannot be imported: {error}; is its package whole?") from error
    if not callable(factory):
        raise WorkerConfigError(f"worker kind {kind!r} names {factory!r}, which is no factory")
    return factory


GIVEN = "given"
"""Kind of a worker that was handed over as an object; such a run can only be resumed with the object at hand."""

WITH_MODEL = ("model", "agent")
"""Kinds that call the Luna model."""

_WHAT_IT_IS: Final = "give a kind, a mapping with kind and options, an object with a run method, or a function"

AnyWorker: TypeAlias = "WorkerSpec | Mapping[str, Any] | str | Worker | Callable[..., Any] | None"


def spec_of(own: WorkerSpec | None, given: AnyWorker) -> WorkerSpec:
    """The specification of the Luna that a task names, or else of the one given; without both it is a model.

    Raises:
        WorkerConfigError: If what is given specifies none.
    """
    if own is not None:
        return own
    if given is None:
        return WorkerSpec(kind="model")
    if isinstance(given, WorkerSpec | Mapping | str):
        try:
            return WorkerSpec.parse(given)
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
            raise WorkerConfigError(f"worker {given!r} cannot be read ({wrong}); {_WHAT_IT_IS}") from error
    return WorkerSpec(kind=GIVEN)


def make(spec: WorkerSpec, given: AnyWorker, *, processes: ProcessRegistry, base_url: str | None) -> Worker:
    """Make a Luna.

    Args:
        spec: What it is.
        given: The object that `GIVEN` stands for; None where it is not at hand.
        processes: Where its child processes are recorded.
        base_url: Address of another server for the Luna model.

    Raises:
        WorkerConfigError: If it cannot be made from this.
    """
    if spec.kind == GIVEN:
        if isinstance(given, Worker):
            return given
        if callable(given):
            return FunctionWorker(given)
        if given is None:
            raise WorkerConfigError("This run's worker was an object of a Python program. Resume it from that program.")
        raise WorkerConfigError(f"worker is {given!r} ({type(given).__name__}); {_WHAT_IT_IS}")
    if spec.kind in WITH_MODEL and base_url and "base_url" not in spec.options:
        spec = spec.model_copy(update={"options": {**spec.options, "base_url": base_url}})
    return make_worker(spec, settings=WorkerSettings(processes=processes))

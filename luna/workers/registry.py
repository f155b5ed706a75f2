"""Kinds of workers by name. Imports a kind's module only when a worker of that kind is made.

Other packages add kinds by the entry-point group `sol.workers`; they cannot replace those that are built in.
"""

import importlib
import inspect
from collections.abc import Callable
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, TypeAlias

from luna.errors import WorkerConfigError
from luna.protocol import Worker, WorkerSpec
from luna.workers.shared import WorkerSettings

__all__ = ["ENTRY_POINT_GROUP", "Factory", "WorkerSettings", "known_kinds", "make_worker"]

ENTRY_POINT_GROUP: Final = "sol.workers"
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
        raise WorkerConfigError(f"worker kind {kind!r} cannot be imported: {error}; is its package whole?") from error
    if not callable(factory):
        raise WorkerConfigError(f"worker kind {kind!r} names {factory!r}, which is no factory")
    return factory

"""Which Luna a task gets, and how it is made. Knows workers only; what a run is, it does not know. Not public."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from luna.errors import WorkerConfigError
from luna.leftovers import ProcessRegistry
from luna.protocol import Worker, WorkerSpec
from luna.workers.function import FunctionWorker
from luna.workers.registry import WorkerSettings, make_worker

GIVEN = "given"
"""Kind of a worker that was handed over as an object; such a run can only be resumed with the object at hand."""

WITH_MODEL = ("model", "agent")
"""Kinds that call the Luna model."""

AnyWorker: TypeAlias = "WorkerSpec | Mapping[str, Any] | str | Worker | Callable[..., Any] | None"


def spec_of(own: WorkerSpec | None, given: AnyWorker) -> WorkerSpec:
    """The specification of the Luna that a task names, or else of the one given; without both it is a model."""
    if own is not None:
        return own
    if given is None:
        return WorkerSpec(kind="model")
    if isinstance(given, WorkerSpec | Mapping | str):
        return WorkerSpec.parse(given)
    return WorkerSpec(kind=GIVEN)


def make(spec: WorkerSpec, given: AnyWorker, *, processes: ProcessRegistry, base_url: str | None) -> Worker:
    """Make a Luna.

    Args:
        spec: What it is.
        given: The object that `GIVEN` stands for.
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
        raise WorkerConfigError("This run's worker was an object of a Python program. Resume it from that program.")
    if spec.kind in WITH_MODEL and base_url and "base_url" not in spec.options:
        spec = spec.model_copy(update={"options": {**spec.options, "base_url": base_url}})
    return make_worker(spec, settings=WorkerSettings(processes=processes))

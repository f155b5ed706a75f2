"""Sol: plans, splits, verifies and integrates; never does a task's own work.

from sol import Sol, Task
run = Sol(strategy="binary", worker=my_function).solve(Task.make("…"))
"""

from typing import TYPE_CHECKING, Any

from sol._version import __version__

if TYPE_CHECKING:
    from sol.run import Run
    from sol.solver import Sol
    from sol.strategy.schema import Strategy
    from sol.task import Task, load_task
    from sol.workflow import Workflow

__all__ = ["Run", "Sol", "Strategy", "Task", "Workflow", "__version__", "load_task"]

_WHERE = {
    "Run": "sol.run",
    "Sol": "sol.solver",
    "Strategy": "sol.strategy.schema",
    "Task": "sol.task",
    "Workflow": "sol.workflow",
    "load_task": "sol.task",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - lazily, so that the command line starts fast
    if name not in _WHERE:
        raise AttributeError(f"module 'sol' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(_WHERE[name]), name)

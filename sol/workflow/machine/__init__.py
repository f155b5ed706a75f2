"""Machine workflows: steps, rules that lead from one to the next, parallel reviews, loop monitors.

Reading and checking loads no engine; running does, and is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sol.workflow.machine.check import check, check_program
from sol.workflow.machine.definition import Workflow
from sol.workflow.machine.errors import DefinitionChangedError, Finding, NotAWorkflowError, WorkflowError
from sol.workflow.machine.load import load_workflow, parse_workflow
from sol.workflow.machine.mermaid import to_mermaid
from sol.workflow.machine.program import Program, load_program

if TYPE_CHECKING:
    from sol.workflow.machine.embed import compile_workflow
    from sol.workflow.machine.runner import Options, WorkflowSol

__all__ = [
    "DefinitionChangedError",
    "Finding",
    "NotAWorkflowError",
    "Options",
    "Program",
    "Workflow",
    "WorkflowError",
    "WorkflowSol",
    "check",
    "check_program",
    "compile_workflow",
    "load_program",
    "load_workflow",
    "parse_workflow",
    "to_mermaid",
]

_WHERE = {"Options": "runner", "WorkflowSol": "runner", "compile_workflow": "embed"}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)

"""Machine workflows: steps, rules that lead from one to the next, parallel reviews, loop monitors.

`Sol.start(Workflow.load(path), task=…)` runs one; nothing here needs the engine.
"""

from sol.workflow.machine.check import check, check_workflow
from sol.workflow.machine.definition import Definition
from sol.workflow.machine.errors import DefinitionChangedError, Finding, NotAWorkflowError, WorkflowError
from sol.workflow.machine.load import load_definition, parse_definition
from sol.workflow.machine.mermaid import to_mermaid
from sol.workflow.machine.workflow import Workflow

__all__ = [
    "Definition",
    "DefinitionChangedError",
    "Finding",
    "NotAWorkflowError",
    "Workflow",
    "WorkflowError",
    "check",
    "check_workflow",
    "load_definition",
    "parse_definition",
    "to_mermaid",
]

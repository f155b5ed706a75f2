"""Machine workflows: steps, rules that lead from one to the next, parallel reviews, loop monitors.

`Sol.start(Workflow.load(path), task=…)` runs one; nothing here needs the engine.
"""

from sol.workflow.check import check, check_workflow, to_mermaid
from sol.workflow.definition import Definition, DefinitionChangedError, Finding, NotAWorkflowError, WorkflowError
from sol.workflow.linked import Workflow
from sol.workflow.load import load_definition, parse_definition

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

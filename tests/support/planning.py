"""Requests to planners, from what a test says of them in plain values, and parts of tasks."""

from typing import Any

from sol.tree.effects import Part, SplitRequest
from sol.tree.values import AssignmentData, ReportData, read

TASK: dict[str, Any] = {
    "goal": "Convert the records.",
    "context": "none",
    "inputs": {},
    "constraints": [],
    "expected_output": {"description": "the converted records", "json_schema": {"type": "array"}},
    "success_criteria": [{"command": "check"}],
    "stop_conditions": ["a record cannot be read"],
}


def assigned(**changes: Any) -> AssignmentData:
    """The task with other fields."""
    return read(AssignmentData, TASK | changes)


def reported(report: dict[str, Any] | None) -> ReportData | None:
    return None if report is None else read(ReportData, {"status": "STUCK"} | report)


def split_request(**changes: Any) -> SplitRequest:
    fields: dict[str, Any] = {
        "assignment": assigned(inputs=changes.pop("inputs", {})),
        "report": reported(changes.pop("report", None)),
        "dimensions": (),
        "splitter": "auto",
        "arity": 2,
        "depth_left": 3,
    }
    return SplitRequest(**(fields | changes))


def half(path: str, inputs: Any, state: str = "success", result: Any = None) -> Part:
    return Part(path, "g", state, result, inputs={"n": inputs})


def part(path: str, result: Any, state: str = "success") -> Part:
    return Part(path, f"part {path}", state, result, reason="" if state == "success" else "no luck")

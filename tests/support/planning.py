"""Requests to planners, and parts of tasks."""

from typing import Any

from sol.core.requests import Part, SplitRequest

TASK: dict[str, Any] = {
    "goal": "Convert the records.",
    "context": "none",
    "inputs": {},
    "constraints": [],
    "expected_output": {"description": "the converted records", "json_schema": {"type": "array"}, "files": []},
    "success_criteria": [{"command": "check", "exit_code": 0, "timeout_s": 120.0}],
    "stop_conditions": ["a record cannot be read"],
}


def split_request(**changes: Any) -> SplitRequest:
    fields: dict[str, Any] = {
        "assignment": TASK | {"inputs": changes.pop("inputs", {})},
        "report": None,
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

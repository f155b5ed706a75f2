"""A complete task, of which a test gives only what matters to it."""

from typing import Any

from luna.protocol import Assignment


def assignment(**fields: Any) -> Assignment:
    given = {
        "goal": "count",
        "context": "none",
        "inputs": "none",
        "constraints": "none",
        "expected_output": "a number",
        "success_criteria": ["it is right"],
        "stop_conditions": ["there is nothing to count"],
    }
    return Assignment.model_validate({**given, **fields})

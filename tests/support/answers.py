"""Reads answers of chat models."""

from typing import Any

from luna.models.answers import ParsedAnswer, read_answer

PLAN = {"type": "object", "required": ["left", "right"]}
STATUS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"enum": ["SUCCESS", "FAILED"]},
        "result": {"type": "string"},
        "link": {"type": "string", "format": "uri"},
    },
    "required": ["status"],
    "additionalProperties": False,
}
SUCCESS = '{"status":"SUCCESS"}'
FENCE = "```"


def read(text: str, schema: dict[str, Any] | None = STATUS, **options: Any) -> Any:
    """The value, or the kind of fault."""
    answer = read_answer(text, schema=schema, **options)
    return answer.value if isinstance(answer, ParsedAnswer) else answer.kind

"""JSON Schemas whose root is an object, as providers of structured output demand. Builds schemas; checks nothing."""

from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

Schema = dict[str, JsonValue]
RESULT = "result"


def closed(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The schema of an object with exactly these properties, all of them required, in this order.

    Definitions (`$defs`, `definitions`) of the properties move to the root, where their references look for them. Of
    equal names the first wins, so use at most one property with definitions.
    """
    schema: dict[str, Any] = {"type": "object"}
    inner: dict[str, Any] = {}
    for name, given in properties.items():
        for key in ("$defs", "definitions"):
            if key in given:
                schema[key] = {**given[key], **schema.get(key, {})}
        inner[name] = {key: value for key, value in given.items() if key not in {"$defs", "definitions", "$schema"}}
    return {**schema, "properties": inner, "required": list(properties), "additionalProperties": False}


def is_object(schema: Mapping[str, Any]) -> bool:
    """Whether every value that satisfies the schema is an object, as far as its `type` says."""
    return schema.get("type") == "object"

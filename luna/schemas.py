"""Values against JSON Schemas (draft 2020-12), formats included. Never fetches a schema from elsewhere."""

import json
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from luna.errors import WorkerConfigError
from luna.text import clip

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

MAX_LISTED_ERRORS = 5
MAX_ERROR_BYTES = 300


class SchemaUnusableError(WorkerConfigError):
    """A schema is no JSON Schema (2020-12), refers outside itself, or refers to itself without end."""


class Schema:
    """A JSON Schema, ready to check values.

    Raises:
        SchemaUnusableError: If it is none.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        from jsonschema import SchemaError  # noqa: PLC0415 - takes seconds where packages for all formats are installed

        try:
            self._validator = _validator(json.dumps(schema))
        except SchemaError as error:
            raise SchemaUnusableError(f"the schema is wrong at {error.json_path}: {_clipped(error.message)}") from None

    def errors(self, value: JsonValue) -> list[str]:
        """What about `value` does not fit: at most 5 messages with JSON pointers and "and more"; empty when it fits.

        Raises:
            SchemaUnusableError: If the schema refers outside itself or, for this value, to itself without end.
        """
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

        try:
            found = list(islice(self._validator.iter_errors(value), MAX_LISTED_ERRORS + 1))
        except Unresolvable as error:
            message = f"the schema refers to {error.ref!r}, which is not in it; put it under '$defs'"
            raise SchemaUnusableError(message) from None
        except RecursionError:
            raise SchemaUnusableError("the value or the schema is nested too deeply to be checked") from None
        lines = [f"at {_pointer(error)}: {_clipped(error.message)}" for error in found[:MAX_LISTED_ERRORS]]
        return [*lines, "and more"] if len(found) > MAX_LISTED_ERRORS else lines


def schema_errors(value: JsonValue, schema: Mapping[str, JsonValue]) -> list[str]:
    """What about `value` does not fit `schema`, as `Schema.errors` gives it.

    A schema that cannot be used is an error as well: nothing fits it.
    """
    try:
        return Schema(schema).errors(value)
    except SchemaUnusableError as error:
        return [str(error)]


@lru_cache(maxsize=64)
def _validator(schema: str) -> "Draft202012Validator":
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - as above
    from referencing import Registry  # noqa: PLC0415

    read = json.loads(schema)
    Draft202012Validator.check_schema(read)
    # An empty registry: a reference to another document is never fetched.
    return Draft202012Validator(read, registry=Registry(), format_checker=Draft202012Validator.FORMAT_CHECKER)


def _clipped(text: str) -> str:
    return clip(text, limit_bytes=MAX_ERROR_BYTES).text


def _pointer(error: "ValidationError") -> str:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in error.absolute_path)
    return json.dumps("".join(f"/{step}" for step in steps), ensure_ascii=False)

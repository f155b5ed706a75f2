"""Values against JSON Schemas (draft 2020-12), formats included. Never fetches a schema from elsewhere."""

import json
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice

from jsonschema import Draft202012Validator, SchemaError, ValidationError
from pydantic import JsonValue
from referencing import Registry
from referencing.exceptions import Unresolvable

from luna.text import clip

MAX_LISTED_ERRORS = 5
MAX_ERROR_BYTES = 300


def schema_errors(value: JsonValue, schema: Mapping[str, JsonValue]) -> list[str]:
    """What about `value` does not fit `schema`: at most 5 messages with JSON pointers; empty when it fits.

    A schema that is wrong itself, or refers to another document, is an error as well: nothing fits it.
    """
    try:
        validator = _validator(json.dumps(schema))
        found = list(islice(validator.iter_errors(value), MAX_LISTED_ERRORS + 1))
    except SchemaError as error:
        return [f"the schema itself is wrong at {error.json_path}: {_clipped(error.message)}"]
    except Unresolvable as error:
        return [f"the schema refers to {error.ref!r}, which is not in it; put it under '$defs'"]
    except RecursionError:
        return ["the value or the schema is nested too deeply to be checked"]
    lines = [f"at {_pointer(error)}: {_clipped(error.message)}" for error in found[:MAX_LISTED_ERRORS]]
    return [*lines, "and more"] if len(found) > MAX_LISTED_ERRORS else lines


@lru_cache(maxsize=64)
def _validator(schema: str) -> Draft202012Validator:
    read = json.loads(schema)
    Draft202012Validator.check_schema(read)
    # An empty registry: a reference to another document is never fetched.
    return Draft202012Validator(read, registry=Registry(), format_checker=Draft202012Validator.FORMAT_CHECKER)


def _clipped(text: str) -> str:
    return clip(text, limit_bytes=MAX_ERROR_BYTES).text


def _pointer(error: ValidationError) -> str:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in error.absolute_path)
    return json.dumps("".join(f"/{step}" for step in steps), ensure_ascii=False)

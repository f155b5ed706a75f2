"""Values against JSON Schemas (draft 2020-12), formats included, and schemas for structured output.

Never fetches a schema from elsewhere.
"""

import json
import math
import threading
from collections.abc import Callable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pydantic import JsonValue

from luna.errors import WorkerConfigError
from luna.text import clip

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError


_SCHEMAS_KEPT = 256
_LOCK = threading.Lock()
_known: dict[str, "_Compiled"] = {}  # by their text

MAX_LISTED_ERRORS = 5
MAX_ERROR_BYTES = 300


class SchemaUnusableError(WorkerConfigError):
    """A schema is no JSON Schema (2020-12), refers outside itself, or refers to itself without end."""


class Schema:
    """A JSON Schema, ready to check values. Compiled once for all that are written alike.

    Raises:
        SchemaUnusableError: If it is none.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        from jsonschema import SchemaError  # noqa: PLC0415 - takes seconds where packages for all formats are installed

        text = json.dumps(schema)
        try:
            self._compiled = _known.get(text) or _compile(text)
        except SchemaError as error:
            raise SchemaUnusableError(f"the schema is wrong at {error.json_path}: {_clipped(error.message)}") from None

    @classmethod
    def known(cls, schema: Mapping[str, Any]) -> "Schema | None":
        """The schema if it was made before, so that it takes no time now; else None."""
        compiled = _known.get(json.dumps(schema))
        if compiled is None:
            return None
        made = cls.__new__(cls)
        made._compiled = compiled  # noqa: SLF001 - its own
        return made

    @property
    def refers(self) -> bool:
        """Whether it refers to parts of itself, so that its size does not tell how long a check takes."""
        return self._compiled.refers

    def surely_fits(self, value: JsonValue) -> bool:
        """Whether `value` fits, as far as is quickly told: False means that `errors` knows."""
        quick = self._compiled.quick
        return quick is not None and quick(value)

    def errors(self, value: JsonValue) -> list[str]:
        """What about `value` does not fit: at most 5 messages with JSON pointers and "and more"; empty when it fits.

        Raises:
            SchemaUnusableError: If the schema refers outside itself or, for this value, to itself without end.
        """
        if self.surely_fits(value):
            return []
        from referencing.exceptions import Unresolvable  # noqa: PLC0415 - as above

        try:
            found = list(islice(self._compiled.validator.iter_errors(value), MAX_LISTED_ERRORS + 1))
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


class _Compiled(NamedTuple):
    validator: "Draft202012Validator"
    quick: "_Quick | None"
    refers: bool


def _compile(text: str) -> _Compiled:
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - as above
    from referencing import Registry  # noqa: PLC0415

    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    # An empty registry: a reference to another document is never fetched.
    validator = Draft202012Validator(schema, registry=Registry(), format_checker=Draft202012Validator.FORMAT_CHECKER)
    compiled = _Compiled(validator, _quick(schema), '"$' in text)
    with _LOCK:
        while len(_known) >= _SCHEMAS_KEPT:
            del _known[next(iter(_known))]
        _known[text] = compiled
    return compiled


# --- the quick way, for values that fit ------------------------------------------------------------------------------

_Quick: TypeAlias = Callable[[Any], bool]
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}
_UNDERSTOOD = frozenset(
    """type enum const properties required additionalProperties items minItems maxItems minLength maxLength minimum
    maximum $schema $comment title description default examples""".split()
)


def _quick(schema: Any) -> _Quick | None:  # noqa: ANN401 - any part of a schema
    """What tells that a value surely fits a schema, some thirty times as fast; None if it has any rarer keyword.

    What it says no to may fit all the same (1.0 is an integer).
    """
    if schema is True or schema is False:
        return lambda _: schema
    if not _UNDERSTOOD.issuperset(schema) or schema.get("$schema", _DIALECT) != _DIALECT:
        return None
    named = schema.get("type", [*_TYPES])
    kinds = {kind for name in ([named] if isinstance(named, str) else named) for kind in _TYPES[name]}
    tests: dict[type, _Quick] = {}
    try:
        if {"enum", "const"} & schema.keys():
            kinds &= {str}
            tests[str] = _quick_choice(schema)
        elif {"minLength", "maxLength"} & schema.keys():
            tests[str] = _quick_size(schema, "Length")
        if {"properties", "required", "additionalProperties"} & schema.keys():
            tests[dict] = _quick_object(schema)
        if {"items", "minItems", "maxItems"} & schema.keys():
            tests[list] = _quick_list(schema)
    except _NotQuickError:
        return None
    if {"minimum", "maximum"} & schema.keys():
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        tests[int] = tests[float] = lambda value: low <= value <= high

    def fits(value: object) -> bool:
        kind = type(value)
        return kind in kinds and ((test := tests.get(kind)) is None or test(value))

    return fits


class _NotQuickError(Exception):
    """A part of a schema has a rarer keyword."""


def _quick_part(schema: object) -> _Quick:
    quick = _quick(schema)
    if quick is None:
        raise _NotQuickError
    return quick


def _quick_choice(schema: Mapping[str, Any]) -> _Quick:
    choices = {each for each in schema.get("enum", [schema.get("const")]) if isinstance(each, str)}
    if "const" in schema:
        choices &= {schema["const"]} if isinstance(schema["const"], str) else set()
    size = _quick_size(schema, "Length")
    return lambda value: value in choices and size(value)


def _quick_size(schema: Mapping[str, Any], of: str) -> _Quick:
    fewest, most = schema.get(f"min{of}", 0), schema.get(f"max{of}", math.inf)
    return lambda value: fewest <= len(value) <= most


def _quick_object(schema: Mapping[str, Any]) -> _Quick:
    parts = {name: _quick_part(part) for name, part in schema.get("properties", {}).items()}
    others = _quick_part(schema.get("additionalProperties", True))
    required = frozenset(schema.get("required", ()))

    def fits(value: dict[str, object]) -> bool:
        return required <= value.keys() and all(parts.get(name, others)(inner) for name, inner in value.items())

    return fits


def _quick_list(schema: Mapping[str, Any]) -> _Quick:
    item, size = _quick_part(schema.get("items", True)), _quick_size(schema, "Items")
    return lambda value: size(value) and all(map(item, value))


def _clipped(text: str) -> str:
    return clip(text, limit_bytes=MAX_ERROR_BYTES).text


def _pointer(error: "ValidationError") -> str:
    steps = (str(step).replace("~", "~0").replace("/", "~1") for step in error.absolute_path)
    return json.dumps("".join(f"/{step}" for step in steps), ensure_ascii=False)


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

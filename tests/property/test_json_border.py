"""What comes in as JSON goes out unchanged, and the quick ways (schemas, copies) never say more than the slow ones."""

import json
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from luna.inputs import InputTooLargeError, materialise_all
from luna.schemas import Schema
from luna.strictjson import MAX_DEPTH, require_json

WHOLE = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
GOOD = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), WHOLE)
BAD = st.sampled_from([math.nan, math.inf, -math.inf, "\ud800", "a\udfff", b"x", {1}, object()])


def nested(leaves: st.SearchStrategy[Any], keys: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.lists(inner, max_size=3).map(tuple),
            st.dictionaries(keys, inner, max_size=4),
            st.lists(inner, max_size=1).map(lambda part: part * 300),
        ),
        max_leaves=8,
    )


ANYTHING = nested(st.one_of(GOOD, GOOD, GOOD, BAD), st.one_of(WHOLE, WHOLE, st.sampled_from([1, None, "\ud800"])))


def with_lists(value: Any) -> Any:
    """The value with lists for tuples; raises for what no JSON holds, told the plain way."""
    match value:
        case None | bool():
            return value
        case int():
            return value
        case float() if math.isfinite(value):
            return value
        case str():
            value.encode()
            return value
        case list() | tuple():
            return [with_lists(part) for part in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {with_lists(key): with_lists(part) for key, part in value.items()}
        case _:
            raise ValueError(type(value))


@given(ANYTHING)
def test_what_is_let_in_survives_and_nothing_else_is_refused(value: Any) -> None:
    try:
        expected = with_lists(value)
    except ValueError:
        with pytest.raises(ValueError, match=r"^it(\[.*\])? (is|has|holds) "):
            require_json(value, what="it")
    else:
        require_json(value, what="it")
        read = msgspec.json.decode(msgspec.json.encode(value))
        assert read == expected
        assert json.dumps(read) == json.dumps(expected)  # 1, 1.0 and True are equal, but not the same


@given(st.lists(st.booleans(), min_size=MAX_DEPTH - 2, max_size=MAX_DEPTH + 2), st.integers(0, 300))
def test_nesting_is_let_in_to_its_limit_however_wide(shape: list[bool], width: int) -> None:
    value: Any = None
    for is_list in shape:
        value = [value] if is_list else {"a": value}
    wide = [value, *[[]] * width]
    if len(shape) + 1 <= MAX_DEPTH:
        require_json(wide)
    else:
        with pytest.raises(ValueError, match="nested more than 200 levels deep"):
            require_json(wide)


LIMIT = st.integers(-2, 3)
SCHEMAS = st.deferred(
    lambda: (
        st.booleans()
        | st.fixed_dictionaries(
            {},
            optional={
                "type": st.sampled_from([*TYPES, ["null", "integer"], ["string", "object"]]),
                "enum": st.lists(SMALL, min_size=1, max_size=3),
                "const": SMALL,
                "properties": st.dictionaries(NAMES, SCHEMAS, max_size=2),
                "required": st.lists(NAMES, max_size=2, unique=True),
                "additionalProperties": SCHEMAS,
                "items": SCHEMAS,
                "title": st.just("t"),
                "$schema": st.just("https://json-schema.org/draft/2020-12/schema"),
            }
            | {f"{end}imum": LIMIT for end in ("min", "max")}
            | {f"{end}{of}": st.integers(0, 2) for end in ("min", "max") for of in ("Length", "Items")},
        )
    )
)
TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
NAMES = st.sampled_from(["a", "b", "c"])
SMALL = st.one_of(st.none(), st.booleans(), LIMIT, st.sampled_from([1.0, 0.5, -0.0]), NAMES, st.just([]), st.just({}))
VALUES = st.recursive(
    SMALL, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3), max_leaves=6
)


@given(SCHEMAS.filter(lambda schema: isinstance(schema, dict)), VALUES)
def test_quick_check_of_a_schema_never_lets_pass_what_does_not_fit(schema: Any, value: Any) -> None:
    fits = Draft202012Validator(schema).is_valid(value)
    made = Schema(schema)
    assert fits or not made.surely_fits(value)
    assert (made.errors(value) == []) is fits


@given(st.dictionaries(WHOLE, nested(st.one_of(GOOD, st.sampled_from([math.nan, "\ud800"])), WHOLE), max_size=3))
def test_plain_inputs_are_copied_and_measured_as_they_are_written(inputs: dict[str, Any]) -> None:
    parts = [part for value in inputs.values() for part in (value if isinstance(value, list) else [value])]
    size = len(json.dumps(parts, ensure_ascii=False).encode("utf-8", "surrogatepass")) if parts else 0
    before = repr(inputs)
    copied: Any = materialise_all(inputs, Path("nowhere"), limit_bytes=size)
    assert repr(copied) == before
    assert all(copied[name] is not value for name, value in inputs.items() if isinstance(value, list | dict) and value)
    if size:
        with pytest.raises(InputTooLargeError, match=f"the input has {size} bytes"):
            materialise_all(inputs, Path("nowhere"), limit_bytes=size - 1)

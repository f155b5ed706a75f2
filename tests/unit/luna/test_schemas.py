"""Values against JSON Schemas, strict JSON, and values against their sources."""

import pytest
from pydantic import JsonValue

from luna.schemas import Schema, schema_errors
from luna.strictjson import loads, require_json
from luna.verify import Source

SCHEMA: dict[str, JsonValue] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b/c": {"type": "array", "items": {"type": "string"}}},
    "required": ["a"],
}


def test_schema_errors_of_a_fitting_value_are_none() -> None:
    assert schema_errors({"a": 1, "b/c": ["x"]}, SCHEMA) == []


def test_schema_errors_point_into_the_value() -> None:
    [first, second] = sorted(schema_errors({"b/c": ["x", 2]}, SCHEMA))
    assert first == "at \"\": 'a' is a required property"
    assert second == "at \"/b~1c/1\": 2 is not of type 'string'"


def test_schema_errors_are_at_most_five() -> None:
    errors = schema_errors([str(i) for i in range(9)], {"items": {"type": "integer"}})
    assert len(errors) == 6
    assert errors[-1] == "and more"
    assert schema_errors("x" * 10_000, {"type": "integer"})[0].count("x") < 300


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "numbre"}, "the schema is wrong at $.type"),
        ({"$ref": "https://example.org/other.json"}, "refers to 'https://example.org/other.json', which is not in it"),
        ({"$ref": "#"}, "nested too deeply"),
    ],
)
def test_schema_errors_tell_of_a_wrong_schema(schema: dict[str, JsonValue], message: str) -> None:
    [error] = schema_errors({}, schema)
    assert message in error


def test_schema_errors_check_formats() -> None:
    assert schema_errors("not a date", {"format": "date"})
    assert schema_errors("2024-02-29", {"format": "date"}) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Expecting value"),
        ("[1] [2]", "Extra data"),
        ("NaN", "NaN is no JSON value"),
        ("[-Infinity]", "-Infinity is no JSON value"),
        ("1e999", "1e999 is too large"),
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' is there twice"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_loads_refuses_what_readers_would_read_differently(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        loads(text)


def test_loads_reads_json() -> None:
    assert loads(' {"a": [1, 2.5, null, true, "x"]}\n') == {"a": [1, 2.5, None, True, "x"]}


@pytest.mark.parametrize(
    ("source", "value", "found"),
    [
        ("Berlin  has\n3.60 million", "Berlin has", True),
        ("Berlin has", "berlin has", False),
        ("Berlin", "", True),
        ("costs 12.50 now", 12.5, True),
        ("costs 12.50 now", 12, False),
        ("costs 12.50 now", 50, False),
        ("in 2015", 15, False),
        ("in 2015", 2015, True),
        ("in 2015", 2015.0, True),
        ("-5 degrees", -5, True),
        ("\u22125 degrees", -5, True),
        ("5 degrees", -5, False),
        ("3-5", 5, True),
        ("weighs .5 kg", 0.5, True),
        ("about 1e-05", 1e-05, True),
        ("none", float("nan"), False),
        ({"Berlin": [3.6, True, None]}, "Berlin", True),
        ({"Berlin": [3.6, True, None]}, 3.6, True),
        ({"Berlin": [3.6, True, None]}, "3.6", True),
        ({"Berlin": [3.6, True, None]}, "True", False),
        (["one", "two"], "one two", False),
    ],
)
def test_source_holds_what_stands_in_it(source: JsonValue, value: str | float, found: bool) -> None:
    assert Source(source).has(value) is found


def test_source_lists_missing_values_in_order() -> None:
    result = {"x": ["here", "gone"], "a/b": {"~": 7}, "yes": True, "no": None}
    assert list(Source("here").missing(result)) == [("/x/1", "gone"), ("/a~1b/~0", 7)]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), "it is nan, which JSON cannot hold"),
        ({"a": [1, {"b": float("-inf")}]}, "it['a'][1]['b'] is -inf, which JSON cannot hold"),
        ([10**4300], "it[0] is an integer of more than 4,300 digits"),
        ({"a": {1: 2}}, "it['a'] has the key 1; keys must be text"),
        ({"\ud800": 1}, "it has a key with half of a surrogate pair: '\\ud800'"),
        (["x", "\ud83c"], "it[1] holds half of a surrogate pair: '\\ud83c'"),
        ([({1},)], "it[0][0] is a set, which is not JSON"),
    ],
)
def test_require_json_names_the_place(value: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its whole text is compared
        require_json(value, what="it")
    assert str(caught.value) == message


def test_require_json_refuses_what_contains_itself() -> None:
    value: list[object] = [1]
    value.append({"again": value})
    with pytest.raises(ValueError, match=r"the value.* is nested more than 200 levels deep"):
        require_json(value)


@pytest.mark.parametrize("value", [-(10**4300) + 1, [10**4300 - 1], "é", (1, ("x",)), {"a": {}}, 1e300])
def test_require_json_lets_json_pass(value: object) -> None:
    require_json(value)


def test_schema_is_known_once_it_was_made() -> None:
    schema = {"type": "integer", "title": "known once it was made"}
    assert Schema.known(schema) is None
    assert Schema(schema).errors(1) == []
    known = Schema.known(dict(schema))
    assert known is not None
    assert (known.surely_fits(1), known.surely_fits(1.0), known.errors(1.0), known.refers) == (True, False, [], False)

"""Answers of chat models: what is refused and why."""

import json
import pickle
from typing import Any

import pytest

from luna.errors import LunaError
from luna.models.answers import BadAnswer, BadAnswerKind, read_answer
from luna.schemas import SchemaUnusableError
from tests.support.answers import STATUS, SUCCESS, read


@pytest.mark.parametrize("text", ["", "  \n\t"])
def test_empty_reply_is_empty(text: str) -> None:
    assert read(text) == "empty"


@pytest.mark.req("S52")
@pytest.mark.case("STAT-01")
@pytest.mark.parametrize(
    "text",
    [
        '{"status":"SUCC',
        '{"status":',
        '{"status":"SUCCESS"',
        '{"status":"SUCCESS","result":tr',
        '```json\n{"status":"SUCC',
        f'{SUCCESS} and then {{"status":"FAI',
        f'{{"plan": {SUCCESS}, "x',
        '[{"status":"SUCCESS"},',
    ],
)
def test_json_cut_off_is_truncated(text: str) -> None:
    assert read(text) == "truncated"


@pytest.mark.parametrize("reason", ["length", "MAX_TOKENS", "max_tokens", "content_filter"])
def test_cut_reply_is_truncated_whatever_it_holds(reason: str) -> None:
    assert read(SUCCESS, finish_reason=reason) == "truncated"
    assert read("", finish_reason=reason) == "truncated"


@pytest.mark.parametrize("reason", [None, "stop", "end_turn"])
def test_finished_reply_is_read(reason: str | None) -> None:
    assert read(SUCCESS, finish_reason=reason) == {"status": "SUCCESS"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"status":"FAILED","status":"SUCCESS"}', "duplicate_keys"),
        (f'{{"status":"FAILED","status":"SUCCESS"}} so {SUCCESS}', "duplicate_keys"),
        ('{"status":"SUCCESS","deep":[{"a":1,"a":1}]}', "duplicate_keys"),
        ('{"status":NaN}', "invalid"),
        (f'{{"status":-Infinity}} {SUCCESS}', "invalid"),
        ('{"status":1e999}', "invalid"),
        ('{"status":' + "1" * 500 + "}", "invalid"),
        ('{"status":"SUCCESS","result":"\\ud800"}', "invalid"),
        ('{"a":' * 65 + "1" + "}" * 65, "invalid"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "invalid"),
        ("[" * 100_000, "invalid"),
        ("{}" * 2000, "ambiguous"),
        ('{"a"}' * 2000, "no_json"),
        ('{"s": oops "' + "</think>" * 100_000 + '"}', "no_json"),
    ],
)
def test_value_that_readers_take_differently_is_refused(text: str, kind: str) -> None:
    assert read(text) == kind


def test_nesting_up_to_the_limit_is_read() -> None:
    text = '{"left":' * 64 + "1" + "}" * 64
    assert read(text, None) == json.loads(text)


def test_large_reply_is_refused_by_its_bytes() -> None:
    text = json.dumps({"status": "SUCCESS", "result": "あ"}, ensure_ascii=False)
    size = len(text.encode())
    assert read(text, limit_bytes=size) == {"status": "SUCCESS", "result": "あ"}
    answer = read_answer(text, schema=STATUS, limit_bytes=size - 1)
    assert answer == BadAnswer(BadAnswerKind.TOO_LARGE, f"The reply has {size} bytes; at most {size - 1} are read.")


@pytest.mark.case("LOOP-07")
def test_runaway_reply_over_the_limit_is_not_read() -> None:
    assert read("lantern " * 50_000 + SUCCESS, limit_bytes=100_000) == "too_large"


def test_schema_errors_are_listed_with_pointers_up_to_five() -> None:
    answer = read_answer('{"status":"OK","link":"::","a/b~":1}', schema=STATUS)
    assert isinstance(answer, BadAnswer)
    assert answer.kind == "invalid"
    assert "at \"/status\": 'OK' is not one of" in answer.message
    assert "at \"/link\": '::' is not a 'uri'" in answer.message
    assert 'at "": Additional properties' in answer.message
    many = {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "string"}}}
    answer = read_answer(json.dumps([{"a/b~": i} for i in range(9)]), schema=many)
    assert isinstance(answer, BadAnswer)
    assert 'at "/0/a~1b~0": 0 is not of type' in answer.message
    assert answer.message.count("- at") == 5
    assert answer.message.endswith("- and more")


def test_schema_errors_are_those_of_the_nearest_value() -> None:
    answer = read_answer('{"status":"OK","link":"::","x":1} {"status":"NO"}', schema=STATUS)
    assert isinstance(answer, BadAnswer)
    assert "'NO'" in answer.message
    assert "'OK'" not in answer.message


def test_schema_error_shows_a_part_of_a_long_value() -> None:
    answer = read_answer(json.dumps({"status": "x" * 10_000}), schema=STATUS)
    assert isinstance(answer, BadAnswer)
    assert len(answer.message) < 500


@pytest.mark.parametrize("schema", [{"type": "thing"}, {"$ref": "https://example.org/schema.json"}])
def test_schema_that_cannot_be_used_is_misuse(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaUnusableError) as caught:
        read_answer(SUCCESS, schema=schema)
    assert isinstance(caught.value, LunaError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)

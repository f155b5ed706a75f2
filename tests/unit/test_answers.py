"""Answers of chat models: what counts as one, what is refused and why, and how a model is asked again."""

import json
import pickle
from collections.abc import Sequence
from typing import Any

import pytest

from luna.answers import (
    Answer,
    Answered,
    AnswerSchemaError,
    BadAnswer,
    BadAnswerKind,
    FormatFailure,
    Message,
    Reply,
    ask,
    read_answer,
)
from luna.errors import LunaError
from luna.protocol import Usage

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
    return answer.value if isinstance(answer, Answer) else answer.kind


# --- where an answer may stand ---------------------------------------------------------------------------------------


@pytest.mark.case("JSON-01")
def test_answer_in_a_block_keeps_inner_fences_and_ignores_other_blocks() -> None:
    text = (
        "Here is the plan:\n```bash\nls\n```\n```json\n"
        '{"left":"write ```py\\nprint(1)\\n``` to a.md","right":"check it"}\n```\nDone.'
    )
    assert read(text, PLAN) == {"left": "write ```py\nprint(1)\n``` to a.md", "right": "check it"}


@pytest.mark.parametrize(
    "text",
    [
        SUCCESS,
        f"  \n{SUCCESS}\n",
        f"The result is {SUCCESS}, as asked.",
        f"```json\n{SUCCESS}\n```",
        f"```JSON\n{SUCCESS}\n```",
        f"```\n{SUCCESS}\n```",
        f"~~~json\n{SUCCESS}\n~~~",
        f"````json\n{SUCCESS}\n```\n````",
        f"```json {SUCCESS}```",
        f"```json\n{SUCCESS}",
        f"```json\n{SUCCESS}\n``` Done, see below.",
        f"```json\n{SUCCESS}\n```json\n{SUCCESS}\n```",
        f"As [1] says {SUCCESS} in [0, 1) or {{x or [see].",
        f'The form {{"status": ...}} gives {SUCCESS}',
        f"The form {{status: x}} gives {SUCCESS}",
        f"Run ```ls``` first. {SUCCESS}",
        f"```bash\nls\n```\n{SUCCESS}",
        f'The input {{"a": [1, 2]}} gives {SUCCESS}',
    ],
)
def test_answer_is_found_past_prose_and_blocks(text: str) -> None:
    assert read(text) == {"status": "SUCCESS"}


@pytest.mark.parametrize(
    "text",
    [
        "I am done. SUCCESS",
        f"```bash\necho {SUCCESS}\n```",
        f"```python\nx = {SUCCESS}\n",
        f"```\ncurl -d {SUCCESS}\n```",
        f"~~~~sh\n~~~\n{SUCCESS}\n~~~~",
        f"```json\n# a comment\n{SUCCESS}\n```",
        "{'status': 'SUCCESS'}",
        '{"status":"SUCCESS",}',
        '{"status":"SUCCESS" // done\n}',
        '{"status":"SUCCESS","result":"he said "hi"}',
        '{"status":"SUCCESS","result":"a\nb"}',
        "NaN",
    ],
)
def test_reply_without_proper_json_gives_no_answer(text: str) -> None:
    assert read(text) == "no_json"


@pytest.mark.parametrize(
    "text",
    [
        f'{{"plan": {SUCCESS}, oops}}',
        f"{{plan: {SUCCESS}}}",
        f'[{SUCCESS}, "x" oops]',
        f"```json\n[1, {SUCCESS}, oops]\n```",
        f'{{"plan": {SUCCESS}, "x" "y',
    ],
)
def test_part_of_broken_json_is_never_an_answer(text: str) -> None:
    assert read(text) == "no_json" if not text.endswith("y") else "truncated"


def test_broken_json_is_explained_with_its_place() -> None:
    answer = read_answer('x\n{"left": 1, right: 2}', schema=PLAN)
    assert isinstance(answer, BadAnswer)
    assert "line 2 column 13" in answer.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2]", [1, 2]),
        ("<think>x</think> [1]", [1]),
        ("Here:\n```json\n[1]\n```", [1]),
        ('As [1] says: {"a": 1} for f() {}', {"a": 1}),
        ("42", 42),
        ("null", None),
        ('"text"', "text"),
        ("{}", {}),
        ("As [1] says {}.", "no_json"),
        ("42 apples", "no_json"),
        ("1e999", "no_json"),
    ],
)
def test_answer_without_a_schema_is_a_full_object_or_stands_alone(text: str, value: object) -> None:
    assert read(text, None) == value


def test_scalar_that_stands_alone_may_be_an_answer() -> None:
    assert read("42", {"type": "integer"}) == 42
    assert read("42", {"type": "string"}) == "invalid"


# --- more than one ---------------------------------------------------------------------------------------------------


@pytest.mark.case("JSON-01")
@pytest.mark.parametrize(
    "text",
    [
        '{"status":"FAILED"} no, {"status":"SUCCESS"}',
        '```json\n{"status":"FAILED"}\n```\n```json\n{"status":"SUCCESS"}\n```',
        '```json\n{"status":"FAILED"}\n``` or\n```json\n{"status":"SUCCESS"}\n```',
        '{"status":"FAILED"}\n```json\n{"status":"SUCCESS"}\n```',
        '{"status":"FAILED"} <think>no</think> {"status":"SUCCESS"}',
        '<think>x</think>{"status":"FAILED"}</think>{"status":"SUCCESS"}',
    ],
)
def test_two_different_answers_are_ambiguous(text: str) -> None:
    assert read(text) == "ambiguous"


def test_equal_answers_are_one() -> None:
    assert read('{"left":1,"right":2} again {"right":2, "left":1}', PLAN) == {"left": 1, "right": 2}


def test_values_that_python_takes_for_equal_are_different_answers() -> None:
    assert read('{"left":1,"right":2} {"left":true,"right":2}', PLAN) == "ambiguous"


def test_value_that_does_not_fit_is_no_second_answer() -> None:
    assert read('{"left":1,"right":2} {"left":1}', PLAN) == {"left": 1, "right": 2}


# --- reasoning -------------------------------------------------------------------------------------------------------


@pytest.mark.case("JSON-03")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        (
            (
                '<think>maybe {"status":"FAILED"}? or [1,2]</think>'
                '{"status":"SUCCESS","result":"the tag <think> is text here"}'
            ),
            {"status": "SUCCESS", "result": "the tag <think> is text here"},
        ),
        (
            'reasoning without opening tag ... {"status":"FAILED"} </think> {"status":"SUCCESS"}',
            {"status": "SUCCESS"},
        ),
        ('<think>never closed {"status":"SUCCESS"}', "no_json"),
    ],
)
def test_reasoning_gives_no_answer(text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    "text",
    [
        '<thinking>{"status":"FAILED"}</thinking>' + SUCCESS,
        f'<THINK>{{"status":"FA</think>{SUCCESS}',
        f'no opening {{"status":"FA</think>{SUCCESS}',
        f'no opening {{"a": NaN}} {{"a":1,"a":2}}</think>{SUCCESS}',
        f"no opening ```bash\nls {{ </think>\n```json\n{SUCCESS}\n```",
        f'no opening {{"a": oops "b" </think> here: {SUCCESS}',
        f"no opening ```json\n{{ </think>\n{SUCCESS}",
        "no opening" + ' {"a"}' * 200 + f"</think>{SUCCESS}",
        "no opening" + " [1]" * 2000 + f"</think>{SUCCESS}",
        f"<think>a</think><think>b {{</think>{SUCCESS}",
        f"{SUCCESS}<think>it is done</think>",
        f"<think>a</think></think>{SUCCESS}</think>",
    ],
)
def test_answer_after_reasoning_is_found(text: str) -> None:
    assert read(text) == {"status": "SUCCESS"}


def test_closing_tag_in_the_answer_is_text() -> None:
    assert read('{"status":"SUCCESS","result":"a </think> b"}') == {"status": "SUCCESS", "result": "a </think> b"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f'{{"a":"</think>","b":{SUCCESS},"c', "truncated"),
        (f'{{"a":"</think>","b":{SUCCESS}, oops}}', "no_json"),
        (f'{{"a": oops, "s":"</think>", "b":{SUCCESS}}}', "no_json"),
        (f'{{"a":"</think>" "b":{SUCCESS}}}', "no_json"),
        (f'{{"a":"</think> {{" "b":{SUCCESS}}}', "no_json"),
        (f'{{"s":1,"s":"</think>","b":{SUCCESS}}}', "duplicate_keys"),
        (f'{{"s":"</think></think>","t":"</think>","s":NaN,"b":{SUCCESS}', "invalid"),
        (f"```bash\necho '</think>'\necho {SUCCESS}\n```", "no_json"),
        (f"```bash\necho '</think>'\necho {SUCCESS}", "no_json"),
    ],
)
def test_closing_tag_in_broken_json_or_a_block_opens_no_way_to_its_parts(text: str, kind: str) -> None:
    assert read(text) == kind


def test_reply_that_ends_in_reasoning_gives_no_answer() -> None:
    assert read(f"{SUCCESS}<think>or rather") == "no_json"
    assert read(f"{SUCCESS}</think>") == "no_json"


# --- faults ----------------------------------------------------------------------------------------------------------


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
    with pytest.raises(AnswerSchemaError) as caught:
        read_answer(SUCCESS, schema=schema)
    assert isinstance(caught.value, LunaError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


# --- asking ----------------------------------------------------------------------------------------------------------

QUESTION = (Message("system", "Be brief."), Message("user", "Is it done?"))


class Model:
    """A chat model that gives prepared replies and keeps what it was sent."""

    def __init__(self, *replies: Reply | str) -> None:
        self.replies = [Reply(r, usage=Usage(calls=1, tokens=10)) if isinstance(r, str) else r for r in replies]
        self.sent: list[tuple[Message, ...]] = []

    async def __call__(self, messages: Sequence[Message]) -> Reply:
        self.sent.append(tuple(messages))
        return self.replies[len(self.sent) - 1]


async def test_ask_returns_the_first_usable_answer_and_the_cost_of_all_calls() -> None:
    model = Model("no", SUCCESS, "never asked")
    answer = await ask(model, messages=QUESTION, schema=STATUS, retries=2)
    assert answer == Answered({"status": "SUCCESS"}, Usage(calls=2, tokens=20))
    assert len(model.sent) == 2


@pytest.mark.case("RETRY-01")
async def test_ask_ends_after_its_retries_with_every_raw_reply() -> None:
    replies = ("first, no JSON", '{"status":"OK"}', '{"status":"SUCC')
    model = Model(*replies)
    failure = await ask(model, messages=QUESTION, schema=STATUS, retries=2)
    assert isinstance(failure, FormatFailure)
    assert len(model.sent) == 3
    assert failure.raw_replies == replies
    assert [error.kind for error in failure.errors] == ["no_json", "invalid", "truncated"]
    assert failure.usage == Usage(calls=3, tokens=30)


@pytest.mark.case("RETRY-01")
async def test_each_retry_shows_only_the_last_bad_answer_and_its_error() -> None:
    model = Model("first, no JSON", '{"status":"OK"}', SUCCESS)
    await ask(model, messages=QUESTION, schema=STATUS, retries=2)
    first, second, third = model.sent
    assert first == QUESTION
    assert second[:2] == third[:2] == QUESTION
    assert [m.role for m in second[2:]] == [m.role for m in third[2:]] == ["assistant", "user"]
    assert second[2].text == "first, no JSON"
    assert "no_json" in second[3].text
    assert third[2].text == '{"status":"OK"}'
    assert "'OK' is not one of" in third[3].text
    assert "first" not in "".join(m.text for m in third)


async def test_long_and_empty_bad_replies_are_shown_clipped_and_never_empty() -> None:
    model = Model("x" * 50_000, "", SUCCESS)
    await ask(model, messages=QUESTION, schema=STATUS, retries=2)
    assert len(model.sent[1][2].text.encode()) <= 4_000
    assert "bytes left out" in model.sent[1][2].text
    assert model.sent[2][2].text == "(empty reply)"


async def test_stored_replies_are_clipped() -> None:
    failure = await ask(Model("x" * 50_000), messages=QUESTION, schema=STATUS, retries=0)
    assert isinstance(failure, FormatFailure)
    assert len(failure.raw_replies[0].encode()) <= 16_000


async def test_ask_heeds_the_finish_reason_and_unreported_usage() -> None:
    model = Model(Reply(SUCCESS, finish_reason="length"), Reply(SUCCESS, finish_reason="stop"))
    answer = await ask(model, messages=QUESTION, schema=STATUS, retries=1)
    assert answer == Answered({"status": "SUCCESS"}, Usage(calls=2, reported=False))


async def test_ask_refuses_misuse_before_any_call() -> None:
    model = Model(SUCCESS)
    with pytest.raises(ValueError, match="retries is -1"):
        await ask(model, messages=QUESTION, schema=STATUS, retries=-1)
    with pytest.raises(AnswerSchemaError):
        await ask(model, messages=QUESTION, schema={"type": "thing"}, retries=1)
    assert model.sent == []


async def test_ask_lets_what_the_call_raises_pass() -> None:
    async def broken(messages: Sequence[Message]) -> Reply:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        await ask(broken, messages=QUESTION, schema=None, retries=3)

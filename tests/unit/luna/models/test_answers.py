"""Answers of chat models: what counts as one."""

import pytest

from luna.models.answers import BadAnswer, read_answer
from tests.support.answers import PLAN, SUCCESS, read

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

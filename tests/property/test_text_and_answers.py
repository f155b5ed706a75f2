"""Properties of the bottom layer: cuts keep their limit, wrapped answers come back, the YAML loader has one error."""

import json
import re
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from luna.models.answers import BadAnswer, ParsedAnswer, read_answer
from luna.text import clip, delimited, repeated, size_bytes, strip_controls
from sol.strictyaml import StrictYamlError, load_yaml

TOKEN = "a1b2c3d4"
NASTY = st.sampled_from(
    ["🇯🇵", "👨\u200d👩\u200d👧",
     "e\u0301", "\\ud83c\\udf63", "\r\n", "あ", "\ud800", "```", "</think>", "<think>", "{", "[",
     '"', f"[END DATA {TOKEN}]", TOKEN, "\x1b[31m", "\x9d", "\x1b]", "a: ", "- ", "\n  ", "&x ", "*x",
     "? ", ": ", "|", "%"]
)  # fmt: skip
TEXTS = st.lists(st.one_of(NASTY, st.text(max_size=8)), max_size=60).map("".join)
JSON_TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["```", "a ```json\n{} ```", "a</think>{", "</think>", "<think>", '{"a":1}', "~~~", "\n"]),
)
JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), JSON_TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(JSON_TEXT, inner, max_size=4)),
    max_leaves=12,
)
OBJECTS = st.dictionaries(JSON_TEXT, JSON_VALUES, min_size=1, max_size=4)
PROSE = st.text(st.characters(exclude_characters="{[`~<", exclude_categories=["Cs"]), max_size=30)


@given(TEXTS, st.integers(64, 200), st.sampled_from(["head", "head_tail"]))
def test_clip_keeps_its_limit_and_counts_what_it_leaves_out(text: str, limit: int, keep: Any) -> None:
    clipped = clip(text, limit_bytes=limit, keep=keep)
    assert len(clipped.text.encode("utf-8")) <= limit
    assert (clipped.omitted_bytes == 0) == (size_bytes(text) <= limit)
    if clipped.omitted_bytes:
        note = re.search(rf"\n\[{clipped.omitted_bytes} bytes left out\]\n?", clipped.text)
        assert note is not None
        assert size_bytes(clipped.text) - size_bytes(note[0]) + clipped.omitted_bytes == size_bytes(text)
        whole = re.sub("[\ud800-\udfff]", "\ufffd", text)
        assert whole.startswith(clipped.text[: note.start()]) or clipped.text.count(note[0]) > 1
    assert clip(clipped.text, limit_bytes=limit, keep=keep).text == clipped.text


@given(TEXTS, TEXTS)
def test_fence_has_one_beginning_and_one_end(text: str, source: str) -> None:
    block = delimited(text, label="data", source=source, token=TOKEN)
    assert block.lower().count(TOKEN) == 2
    assert len(re.findall(r"\[\s*(?:begin|end)\s+data", block, re.IGNORECASE)) == 2
    assert block.endswith(f"\n[END DATA {TOKEN}]")


@given(TEXTS)
def test_stripped_text_has_no_controls_and_stays_as_it_is(text: str) -> None:
    clean = strip_controls(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", clean)
    assert strip_controls(clean) == clean


@given(st.text("abc ", min_size=1, max_size=40), st.integers(60, 90), st.text("xyz", max_size=50))
def test_repeated_finds_every_long_stretch(unit: str, count: int, around: str) -> None:
    found = repeated(around + unit * count + around, min_repeats=50, min_characters=64) if len(unit) > 1 else None
    if len(unit) > 1:
        assert found is not None
        assert len(found.unit) <= len(unit)
        assert found.unit * found.count in found.unit + around + unit * (count + 2)


@given(
    OBJECTS,
    PROSE,
    PROSE,
    st.sampled_from(["```json\n{}\n```", "```\n{}\n```", "~~~json\n{}\n~~~", "````json\n{}\n````"]),
)
def test_fenced_object_in_prose_comes_back(value: dict[str, Any], before: str, after: str, block: str) -> None:
    text = f"{before}\n{block.replace('{}', json.dumps(value, ensure_ascii=False))}\n{after}"
    assert read_answer(text, schema={"type": "object"}) == ParsedAnswer(value)
    assert read_answer(text, schema=None) == ParsedAnswer(value)


@given(OBJECTS, OBJECTS, PROSE)
def test_two_answers_are_never_one_of_them(first: dict[str, Any], second: dict[str, Any], between: str) -> None:
    one, two = (json.dumps(value, sort_keys=True) for value in (first, second))
    answer = read_answer(f"{one} {between} {two}", schema={"type": "object"})
    if one == two:
        assert isinstance(answer, ParsedAnswer)
    else:
        assert isinstance(answer, BadAnswer)
        assert answer.kind == "ambiguous"


@given(OBJECTS, PROSE, st.data())
def test_object_that_is_cut_off_is_never_an_answer(value: dict[str, Any], before: str, data: Any) -> None:
    whole = json.dumps(value)
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert isinstance(read_answer(f"{before} {whole[:cut]}", schema={"type": "object"}), BadAnswer)


@given(TEXTS)
def test_any_reply_is_an_answer_or_a_fault(text: str) -> None:
    answer = read_answer(text, schema=None)
    if isinstance(answer, ParsedAnswer):
        json.dumps(answer.value, allow_nan=False, ensure_ascii=False).encode("utf-8")


@given(st.one_of(TEXTS, st.binary(max_size=40)))
def test_yaml_loader_raises_one_kind_of_error(text: str | bytes) -> None:
    with suppress(StrictYamlError):
        json.dumps(load_yaml(text, source="f").value, ensure_ascii=False, allow_nan=False).encode("utf-8")


@given(OBJECTS)
def test_json_is_read_by_the_yaml_loader_as_json(value: dict[str, Any]) -> None:
    # The one exception: an exponent without a point stays text.
    text = re.sub(r"(?<![.\d])(\d+)e", r"\1.0e", json.dumps(value))
    with suppress(StrictYamlError):
        assert load_yaml(text, source="f").value == json.loads(text)

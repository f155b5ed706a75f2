"""Status tags in texts."""

import time

import pytest

from sol.rules import TagFound, TagMissing, TagOutOfRange, find_tag, format_tag


@pytest.mark.req("R15")
def test_tag_name_is_the_step_in_upper_case() -> None:
    assert format_tag("ai-review", 2) == "[AI-REVIEW:2]"


@pytest.mark.req("R15")
@pytest.mark.parametrize(
    ("text", "step", "index"),
    [
        ("[PLAN:1]", "plan", 0),
        ("done\n[plan:2]", "plan", 1),
        ("[Plan:02]", "PLAN", 1),
        ("first [PLAN:1], no: [PLAN:2]", "plan", 1),
        ("[MY STEP:1]", "my step", 0),
        ("[A.B:1]", "a.b", 0),
        ("[STRASSE:1]", "straße", 0),
        ("[straße:1]", "straße", 0),
        ("[計画:2]", "計画", 1),
        ("`[PLAN:1]`", "plan", 0),
        ("```\n[PLAN:2]\n```\n[PLAN:1]", "plan", 0),
        ("[PLAN:1]\n```\n[PLAN:2]\n```", "plan", 0),
        ("[PLAN:1]\n- ~~~ text\n  [PLAN:2]\n  ~~~\n", "plan", 0),
        ("> ```\n> [PLAN:2]\n> ```\n> [PLAN:1]", "plan", 0),
        ("````\n```\n[PLAN:2]\n````\n[PLAN:1]", "plan", 0),
        ("```\n~~~\n``` not closed\n[PLAN:2]\n```\n[PLAN:1]", "plan", 0),
        ("``` one line ```\n[PLAN:2]", "plan", 1),
        ("[PLAN:1]\n[REVIEW:2]", "plan", 0),
        ("[PLAN:1] [PLAN: 2] [PLAN:-1] [PLAN:x]", "plan", 0),
    ],
)
def test_last_tag_outside_fences_counts(text: str, step: str, index: int) -> None:
    found = find_tag(text, step, 2)
    assert isinstance(found, TagFound)
    assert found.index == index


@pytest.mark.req("R15")
@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("", "plan"),
        ("[REVIEW:1] [XPLAN:1]", "plan"),
        ("[AI_REVIEW:1]", "ai-review"),
        ("[AXB:1]", "a.b"),
        ("[PLAN: 1] [PLAN:-1] [PLAN] ［PLAN:1］ [PLAN：1] [PLAN:１]", "plan"),
        ("```text\n[PLAN:1]\n```", "plan"),
        ("```\n[PLAN:1]", "plan"),
    ],
)
def test_other_texts_have_no_tag(text: str, step: str) -> None:
    assert find_tag(text, step, 2) == TagMissing()


@pytest.mark.req("R15")
@pytest.mark.parametrize("number", ["0", "3", "9" * 5000])
def test_tag_out_of_range_is_reported_and_hides_earlier_ones(number: str) -> None:
    assert find_tag(f"[PLAN:1] [plan:{number}]", "plan", 2) == TagOutOfRange(f"[PLAN:{number}]", 2)


def test_find_tag_is_linear_in_hostile_texts() -> None:
    started = time.process_time()
    for text in (" " * 200_000 + "x", "`" * 200_000, "[PLAN:1" * 30_000, "[PLAN:" + "1" * 200_000, "> " * 100_000):
        assert find_tag(text, "plan", 2) == TagMissing()
    assert time.process_time() - started < 30  # of processor time; otherwise it would be minutes

"""Verdicts come from a structured field and from nowhere else."""

import pytest

from sol.rules import read_verdict

ALLOWED = ("pass", "fail")


@pytest.mark.req("R23")
@pytest.mark.case("RULE-02")
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Not approved.", None),
        ("**VERDICT: pass**", None),
        ("verdict: fail - the earlier draft had passed", None),
        ('{"verdict": "PASS"}', "pass"),
        ("pass/fail: unclear", None),
        ("", None),
        ("verdict: pass\nverdict: fail", None),
    ],
)
def test_verdict_of_a_reply_is_only_in_its_field(reply: str, expected: str | None) -> None:
    assert read_verdict(reply, ALLOWED) == expected


@pytest.mark.req("R23")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"verdict": "fail"}, "fail"),
        ({"verdict": " Fail\n"}, "fail"),
        ({"verdict": "not fail"}, None),
        ({"verdict": True}, None),
        ({"verdict": ["pass"]}, None),
        ({"result": "pass"}, None),
        (["pass"], None),
        (None, None),
        ('["pass"]', None),
        ('"pass"', None),
        ('{"verdict": "pass", "verdict": "fail"}', None),
        ('The answer: {"verdict": "pass"}', None),
        ('{"verdict": "pass"} or {"verdict": "fail"}', None),
        ("[" * 100_000, None),
    ],
)
def test_verdict_needs_one_allowed_text(data: object, expected: str | None) -> None:
    assert read_verdict(data, ALLOWED) == expected


@pytest.mark.req("R22", "R23")
def test_verdict_is_not_guessed_between_labels_that_differ_in_case() -> None:
    assert read_verdict({"verdict": "Done"}, ("done", "Done")) == "Done"
    assert read_verdict({"verdict": "DONE"}, ("done", "Done")) is None


def test_verdict_can_stand_in_another_field() -> None:
    assert read_verdict({"status": "stuck"}, ("STUCK",), field="status") == "STUCK"

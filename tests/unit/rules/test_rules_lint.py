"""Warnings about rules that read well and mean something else."""

from collections.abc import Sequence

import pytest

from sol.rules import Rule, Warned, lint_rules, near_miss, parse_condition

TWO = [("approved", "rejected")] * 2


def rules_of(*conditions: str) -> list[Rule]:
    return [Rule(parse_condition(text), "x", None, (index + 1, 5)) for index, text in enumerate(conditions)]


def codes(found: Sequence[Warned]) -> list[tuple[str, int | None]]:
    return [(warned.code, warned.rule_index) for warned in found]


@pytest.mark.req("R17")
@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ('all ("X")', 'all("X")'),
        ('ALL("X")', 'all("X")'),
        ("Any(X)", 'any("X")'),
        ("all('X')", 'all("X")'),
        ("any ('X', 'Y')", 'any("X", "Y")'),
        ("at_least(2, 'X')", 'at_least(2, "X")'),
        ("all（“X”）", 'all("X")'),
        ('ai ("q")', 'ai("q")'),
        ("a || b", "two rules with the same next, condition: a and condition: b"),
        ("a && b", "the field when: {value: …, equals: …}, next to condition or alone"),
        ("when(x == 1)", "the field when: {value: …, equals: …}, next to condition or alone"),
        ("otherwise", "the field otherwise: true"),
        ('not all("x")', 'a rule all("x") before this one, or at_most(0, …)'),
        ("!any('x')", 'a rule any("x") before this one, or at_most(0, …)'),
    ],
)
def test_near_miss_shows_what_was_meant(text: str, intent: str) -> None:
    assert near_miss(text) == intent
    (warned,) = lint_rules(rules_of("fine", text), step="review")
    assert (warned.code, warned.rule_index, warned.position) == ("near-miss", 1, (2, 5))
    assert "'review'" in warned.message
    assert repr(text) in warned.message
    assert intent in warned.message


@pytest.mark.req("R17")
@pytest.mark.parametrize(
    "text",
    [
        "approved",
        "all ready",
        "All (minor) findings",
        "any (minor)",
        "No fix needed (verified files)",
        'allx("y")',
        "!approved",
        "ALL()",
        "not all ('x\"')",
        "when ready",
    ],
)
def test_plain_labels_are_left_alone(text: str) -> None:
    assert near_miss(text) is None
    assert lint_rules(rules_of(text), step="review") == ()


@pytest.mark.req("R07")
def test_aggregates_without_children_are_warned_about_with_the_step() -> None:
    found = lint_rules(rules_of("done", 'all("a")', 'at_most(0, "a")'), step="plan", children=())
    assert codes(found) == [("no-children", 1), ("no-children", 2)]
    assert all("'plan'" in warned.message and "no children" in warned.message for warned in found)
    assert lint_rules(rules_of('all("a")'), step="plan") == ()


def test_label_that_no_child_gives_is_warned_about() -> None:
    rules = rules_of('any("approved", "aproved")', 'at_most(0, "Rejected")', 'all("approved")')
    found = lint_rules(rules, step="s", children=TWO)
    assert codes(found) == [("unknown-label", 0), ("unknown-label", 1)]
    assert "'aproved'" in found[0].message
    assert lint_rules(rules, step="s", children=[*TWO, None]) == ()


def test_quorum_larger_than_the_children_is_warned_about() -> None:
    found = lint_rules(rules_of('at_least(3, "approved")', "done"), step="s", children=TWO)
    assert codes(found) == [("quorum-too-large", 0)]
    assert lint_rules(rules_of('at_least(3, "approved")'), step="s", children=[None] * 3) == ()


@pytest.mark.req("R21")
def test_gap_is_warned_about_with_its_verdicts() -> None:
    found = lint_rules(rules_of('all("approved")'), step="s", children=[("approved", "rejected"), ("approved", None)])
    assert codes(found) == [("not-covered", None)]
    assert "('approved', none)" in found[0].message
    assert lint_rules(rules_of('all("approved")', 'any("rejected")'), step="s", children=TWO) == ()
    assert lint_rules([], step="s", children=TWO) == ()


@pytest.mark.req("R21")
def test_coverage_that_cannot_be_told_is_said() -> None:
    verdicts = [f"v{index}" for index in range(12)]
    rules = rules_of(*(f'at_most(6, "{verdict}")' for verdict in verdicts))
    assert codes(lint_rules(rules, step="s", children=[verdicts] * 12)) == [("coverage-unknown", None)]

"""Combinations of verdicts without a rule."""

import time

import pytest

from sol.rules import (
    Coverage,
    Label,
    Rule,
    When,
    check_coverage,
    first_uncovered,
    parse_condition,
)


def rules_of(*conditions: str) -> list[Rule]:
    return [Rule(parse_condition(text), "x") for text in conditions]


PAIR = [["approved", "rejected"]] * 2


@pytest.mark.req("R21")
@pytest.mark.parametrize(
    ("conditions", "children", "expected"),
    [
        (['all("approved")', 'any("rejected")'], PAIR, None),
        (['all("approved")'], PAIR, ("approved", "rejected")),
        (['any("rejected")'], PAIR, ("approved", "approved")),
        (['all("approved")', 'all("rejected")'], PAIR, ("approved", "rejected")),
        (['all("approved", "rejected")', 'all("rejected")', 'all("approved")'], PAIR, ("rejected", "approved")),
        (['at_least(1, "approved")', 'at_most(0, "approved")'], PAIR, None),
        (['at_least(2, "approved")', 'at_most(0, "approved")'], PAIR, ("approved", "rejected")),
        (['all("approved")', 'any("rejected")'], [["approved", None], ["approved"]], (None, "approved")),
        (['any("approved")', 'at_most(0, "approved")'], [["approved", None]] * 2, (None, None)),
        (['all("approved")', 'any("rejected")'], [["approved"], []], ("approved", None)),
        (['all("a", "b", "c")'], PAIR, ("approved", "approved")),
        (['all("b")'], [frozenset({"b", None, "a"})], ("a",)),
        ([], PAIR, ("approved", "approved")),
    ],
)
def test_first_gap_is_named_in_the_order_given(
    conditions: list[str], children: list[list[str | None]], expected: tuple[str | None, ...] | None
) -> None:
    assert check_coverage(rules_of(*conditions), children) == Coverage(expected)
    assert first_uncovered(rules_of(*conditions), children) == expected


@pytest.mark.req("R21")
def test_rules_that_read_more_than_verdicts_may_cover_anything() -> None:
    for extra in ("done", 'ai("q")'):
        assert first_uncovered(rules_of('all("approved")', extra), PAIR) is None
    guard = When("{{ a }}", True)
    assert first_uncovered([Rule(parse_condition('any("approved")'), "x", guard)], PAIR) == ("rejected", "rejected")
    assert first_uncovered([Rule(Label("a"), "x", guard)], PAIR) is None


@pytest.mark.req("R21")
def test_search_is_quick_for_a_hundred_million_combinations() -> None:
    verdicts = [f"v{index}" for index in range(10)]
    rules = rules_of(*(f'at_least(2, "{verdict}")' for verdict in verdicts[:3]), 'all("v9")', 'any("v4", "v5")')
    started = time.process_time()
    assert first_uncovered(rules, [verdicts] * 8) == ("v0", "v1", "v2", "v3", "v3", "v3", "v3", "v3")
    assert first_uncovered([*rules, *rules_of('at_least(1, "v3")')], [verdicts] * 8) is not None
    assert first_uncovered(rules_of('any("v0")', 'at_most(0, "v0")'), [verdicts] * 400) is None
    assert time.process_time() - started < 30  # of processor time; otherwise it would be minutes


@pytest.mark.req("R21")
def test_search_says_when_it_gave_up() -> None:
    verdicts = [f"v{index}" for index in range(12)]
    rules = rules_of(*(f'at_most(6, "{verdict}")' for verdict in verdicts))
    assert check_coverage(rules, [verdicts] * 12, max_steps=500) == Coverage(None, capped=True)
    assert check_coverage(rules, [verdicts] * 12) == Coverage(None, capped=True)

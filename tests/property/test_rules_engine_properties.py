"""The engine against a reference of a few lines, and what no order or repetition may change."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sol.rules import (
    Aggregate,
    Ai,
    Child,
    Condition,
    Context,
    Judgement,
    Label,
    Matched,
    NeedJudge,
    NoMatch,
    Quorum,
    Rule,
    aggregate_holds,
    check_coverage,
    evaluate,
)
from tests.support.judging import decide_with

LABELS = ("a", "b", "c")
labels = st.sampled_from(LABELS)
verdicts = st.lists(st.one_of(st.none(), labels), max_size=5)
aggregates: st.SearchStrategy[Aggregate | Quorum] = st.one_of(
    st.builds(Aggregate, st.sampled_from(["all", "any"]), st.lists(labels, min_size=1, max_size=3).map(tuple)),
    st.builds(Quorum, st.just("at_least"), st.integers(1, 4), labels),
    st.builds(Quorum, st.just("at_most"), st.integers(0, 4), labels),
)
conditions: st.SearchStrategy[Condition] = st.one_of(
    aggregates, st.builds(Label, labels), st.builds(Ai, st.sampled_from(["yes", "no"]))
)


def rules_of(*items: Condition) -> list[Rule]:
    return [Rule(condition, f"next-{index}") for index, condition in enumerate(items)]


def context_of(given_verdicts: list[str | None], *names: str) -> Context:
    children = tuple(Child(str(index), verdict) for index, verdict in enumerate(given_verdicts))
    return Context(children=children, labels=frozenset(names))


def reference(items: list[Condition], children: list[str | None], names: set[str]) -> tuple[int | None, int]:
    """The first condition that holds, and how many questions were put, straight from the requirements."""
    asked = 0
    for index, condition in enumerate(items):
        asked += isinstance(condition, Ai)
        match condition:
            case Aggregate("all", (x,)):
                holds = len(children) > 0 and set(children) == {x}
            case Aggregate("all", xs):
                holds = list(xs) == children
            case Aggregate("any", xs):
                holds = not set(xs).isdisjoint(children)
            case Quorum("at_least", n, x):
                holds = sum(v == x for v in children) >= n
            case Quorum("at_most", n, x):
                holds = set(children) - {None} != set() and sum(v == x for v in children) <= n
            case Label(x):
                holds = x in names
            case Ai(question):
                holds = question == "yes"
            case _:
                raise AssertionError(condition)
        if holds:
            return index, asked
    return None, asked


@pytest.mark.req("R01", "R02", "R03", "R04", "R05", "R06", "R09", "R10", "R11", "R18")
@given(st.lists(conditions, max_size=6), verdicts, st.sets(labels, max_size=2))
def test_engine_agrees_with_the_reference(items: list[Condition], children: list[str | None], names: set[str]) -> None:
    asked: list[int] = []

    def judge(need: NeedJudge) -> Judgement:
        asked.append(need.rule_index)
        return Judgement(need.question == "yes", "scripted")

    outcome = decide_with(rules_of(*items), context_of(children, *names), judge)
    found = outcome.decision.rule_index if isinstance(outcome, Matched) else None
    assert (found, len(asked)) == reference(items, children, names)
    assert asked == sorted(set(asked))
    seen = outcome.decision.passed if isinstance(outcome, Matched) else outcome.seen
    assert [each.rule_index for each in seen] == list(range(len(items) if found is None else found))


@pytest.mark.req("R01", "R02", "R18")
@given(st.data(), verdicts)
def test_order_of_children_changes_nothing_for_a_single_label(data: st.DataObject, children: list[str | None]) -> None:
    condition = data.draw(aggregates.filter(lambda c: isinstance(c, Quorum) or c.op == "any" or len(c.targets) == 1))
    shuffled = data.draw(st.permutations(children))
    assert aggregate_holds(condition, children) == aggregate_holds(condition, shuffled)


@pytest.mark.req("R09")
@given(st.lists(conditions, max_size=6), verdicts, st.lists(conditions, max_size=3))
def test_rules_after_the_one_that_holds_change_nothing(
    items: list[Condition], children: list[str | None], more: list[Condition]
) -> None:
    context = context_of(children, "a")
    outcome = evaluate(rules_of(*items), context)
    if not isinstance(outcome, NoMatch):
        assert evaluate(rules_of(*items, *more), context) == outcome


@pytest.mark.req("R21")
@given(st.lists(aggregates, max_size=4), st.lists(st.lists(st.one_of(st.none(), labels), unique=True), max_size=4))
def test_coverage_finds_what_trying_every_combination_finds(
    items: list[Aggregate | Quorum], sets: list[list[str | None]]
) -> None:
    combinations = product(*(each or [None] for each in sets))
    gaps = (combination for combination in combinations if not any(aggregate_holds(c, combination) for c in items))
    coverage = check_coverage(rules_of(*items), sets)
    assert not coverage.capped
    assert coverage.first_uncovered == next(gaps, None)

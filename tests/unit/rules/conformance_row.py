"""One row of the conformance table, and the small checks that rows are made of.

The table says for each fact of the reference engine what ours does, which requirement decides that, and proves it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import pytest

from sol.rules import (
    Child,
    Condition,
    ConditionSyntaxError,
    Context,
    Label,
    Matched,
    NeedJudge,
    Rule,
    TagFound,
    aggregate_holds,
    evaluate,
    find_tag,
    near_miss,
    parse_condition,
)
from sol.rules.syntax import Aggregate, Quorum

Stance = Literal["same", "different by design"]
Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Row:
    """What ours does about the fact `id`; `req` is the requirement that decides it."""

    id: str
    req: str
    ours: str
    stance: Stance
    check: Check


def same(row_id: str, req: str, ours: str, check: Check) -> Row:
    """Ours agrees with the reference engine."""
    return Row(row_id, req, ours, "same", check)


def differs(row_id: str, req: str, ours: str, check: Check) -> Row:
    """Ours does something else, because the requirement says so."""
    return Row(row_id, req, ours, "different by design", check)


def every(*checks: Check) -> Check:
    """All of the checks, in order."""

    def check() -> None:
        for each in checks:
            each()

    return check


def label(*texts: str) -> Check:
    """Each text is a plain label."""

    def check() -> None:
        for text in texts:
            assert parse_condition(text) == Label(text.strip())

    return check


def suspect(*texts: str) -> Check:
    """Each text is a plain label with a warning."""

    def check() -> None:
        for text in texts:
            assert parse_condition(text) == Label(text.strip())
            assert near_miss(text) is not None

    return check


def refused(*texts: str) -> Check:
    """Each text is an error with a place."""

    def check() -> None:
        for text in texts:
            with pytest.raises(ConditionSyntaxError, match=r"^Line 1, column [0-9]+: "):
                parse_condition(text)

    return check


def reads(expected: Condition, *texts: str) -> Check:
    """Each text is this condition."""

    def check() -> None:
        for text in texts:
            assert parse_condition(text) == expected

    return check


def tag(text: str, index: int | None, *, step: str = "plan", count: int = 2) -> Check:
    """The text chooses this rule, or none."""

    def check() -> None:
        found = find_tag(text, step, count)
        assert (found.index if isinstance(found, TagFound) else None) == index

    return check


def holds(text: str, verdicts: Sequence[str | None], *, expected: bool) -> Check:
    """The aggregate holds, or does not, for these verdicts."""

    def check() -> None:
        condition = parse_condition(text)
        assert isinstance(condition, Aggregate | Quorum)
        assert aggregate_holds(condition, verdicts) is expected

    return check


def children(*verdicts: str | None) -> tuple[Child, ...]:
    """Children with these verdicts."""
    return tuple(Child(f"sub{index}", verdict) for index, verdict in enumerate(verdicts))


def rules(*items: str | Rule) -> list[Rule]:
    """Rules from texts, or as they are."""
    return [item if isinstance(item, Rule) else Rule(parse_condition(item), "next") for item in items]


def decides(items: list[Rule], context: Context, expected: int | str | None) -> Check:
    """Evaluation ends with this rule, with none, or with "judge" where a judge is needed."""

    def check() -> None:
        assert result(items, context) == expected

    return check


def result(items: list[Rule], context: Context) -> int | str | None:
    """The index of the rule that held, None, or "judge"."""
    match evaluate(items, context):
        case Matched(decision):
            return decision.rule_index
        case NeedJudge():
            return "judge"
        case _:
            return None

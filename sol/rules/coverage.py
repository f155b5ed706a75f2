"""Which combination of child verdicts no rule covers, found without running anything.

Walks the children once and merges what the rules cannot tell apart, so large verdict sets cost little.
"""

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import assert_never

from sol.rules.aggregate import aggregate_holds
from sol.rules.rule import Rule
from sol.rules.syntax import Aggregate, Quorum

Verdicts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """The first combination that no rule covers, or None. With `capped` the search was given up before it was sure."""

    first_uncovered: Verdicts | None
    capped: bool = False


def check_coverage(
    rules: Sequence[Rule], children: Sequence[Collection[str | None]], *, max_steps: int = 20_000
) -> Coverage:
    """Find the first combination of child verdicts for which no rule can hold.

    A rule that depends on more than verdicts (a label, `ai()`, `when`, `otherwise`) may always hold, so a list with one
    has no gap; a guard counts as holding.

    Args:
        rules: The rules of the step.
        children: For each child all verdicts it can have, None for undetermined. The order given is the order in which
            combinations come; a set is sorted. An empty collection means that the child never has a verdict.
        max_steps: Steps to take at most, at least 1.

    Source: R21.
    """
    aggregates = [rule.condition for rule in rules if isinstance(rule.condition, Aggregate | Quorum)]
    if len(aggregates) < len(rules):
        return Coverage(None)
    open_beginnings: list[Verdicts] = [()]
    for child in children:
        verdicts = _ordered(child)
        max_steps -= len(open_beginnings) * len(verdicts)
        if max_steps < 0:
            return Coverage(None, capped=True)
        open_beginnings = _extended(open_beginnings, verdicts, aggregates)
    for whole in open_beginnings:
        if not any(aggregate_holds(condition, whole) for condition in aggregates):
            return Coverage(whole)
    return Coverage(None)


def first_uncovered(rules: Sequence[Rule], children: Sequence[Collection[str | None]]) -> Verdicts | None:
    """Return the first combination that no rule covers; None also where `check_coverage` says that it gave up.

    Source: R21.
    """
    return check_coverage(rules, children).first_uncovered


def _ordered(verdicts: Collection[str | None]) -> Verdicts:
    """Put a child's verdicts in a fixed order; undetermined comes last in a set."""
    if isinstance(verdicts, AbstractSet):
        return tuple(sorted(verdicts, key=lambda verdict: (verdict is None, verdict or ""))) or (None,)
    return tuple(verdicts) or (None,)


def _extended(
    beginnings: Sequence[Verdicts], verdicts: Verdicts, aggregates: Sequence[Aggregate | Quorum]
) -> list[Verdicts]:
    """Lengthen each beginning by each verdict; of those that the rules cannot tell apart, the first is kept."""
    found: dict[tuple[object, ...], Verdicts] = {}
    for beginning in beginnings:
        for verdict in verdicts:
            longer = (*beginning, verdict)
            if not any(_settled(condition, longer) for condition in aggregates):
                found.setdefault(tuple(_state(condition, longer) for condition in aggregates), longer)
    return list(found.values())


def _settled(condition: Aggregate | Quorum, begun: Verdicts) -> bool:
    """Tell whether a condition holds whatever the children still to come say."""
    return condition.op in {"any", "at_least"} and aggregate_holds(condition, begun)


def _state(condition: Aggregate | Quorum, begun: Verdicts) -> object:
    """Reduce unsettled verdicts to what still matters to a condition: equal states have equal futures."""
    match condition:
        case Aggregate("all", targets):
            wanted = targets if len(targets) > 1 else targets * len(begun)
            return begun == wanted[: len(begun)]
        case Aggregate():
            return False
        case Quorum(_, count, target):
            return min(begun.count(target), count + 1), any(verdict is not None for verdict in begun)
        case _:
            assert_never(condition)

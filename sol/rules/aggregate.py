"""Whether `all`, `any`, `at_least` and `at_most` hold for the verdicts of children.

Compares labels; it must not know where they come from.
"""

from collections.abc import Sequence
from typing import assert_never

from sol.rules.syntax import Aggregate, Quorum


def aggregate_holds(condition: Aggregate | Quorum, verdicts: Sequence[str | None]) -> bool:
    """Tell whether an aggregate holds.

    Without children it never does. A child without a verdict makes `all` false; the others act as if it were not there,
    so `at_most` needs one child that has a verdict.

    Args:
        condition: What must hold.
        verdicts: The children's verdicts in their order, trimmed; None for a child that has none.

    Source: R01-R06, R16, R18, R22.
    """
    match condition:
        case Aggregate("all", (target,)):
            return bool(verdicts) and all(verdict == target for verdict in verdicts)
        case Aggregate("all", targets):
            return len(targets) == len(verdicts) and tuple(verdicts) == targets
        case Aggregate(_, targets):
            return any(verdict in targets for verdict in verdicts)
        case Quorum("at_least", count, target):
            return verdicts.count(target) >= count
        case Quorum(_, count, target):
            return verdicts.count(target) <= count and any(verdict is not None for verdict in verdicts)
        case _:
            assert_never(condition)

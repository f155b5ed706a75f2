"""What aggregates mean, row by row."""

import pytest

from sol.rules import Aggregate, Quorum, aggregate_holds, parse_condition


def holds(text: str, verdicts: list[str | None]) -> bool:
    condition = parse_condition(text)
    assert isinstance(condition, Aggregate | Quorum)
    return aggregate_holds(condition, verdicts)


@pytest.mark.req("R01", "R02", "R03", "R04", "R05", "R06")
@pytest.mark.parametrize(
    ("verdicts", "all_x", "any_x"),
    [
        (["X", "X"], True, True),
        (["X", "Y"], False, True),
        (["Y", "Z"], False, False),
        (["X", None], False, True),
        (["Y", None], False, False),
        ([None, None], False, False),
        ([], False, False),
    ],
)
def test_all_and_any_follow_their_table(verdicts: list[str | None], all_x: bool, any_x: bool) -> None:
    assert holds('all("X")', verdicts) is all_x
    assert holds('any("X")', verdicts) is any_x


@pytest.mark.req("R16")
@pytest.mark.parametrize(
    ("verdicts", "all_ab", "any_ab"),
    [
        (["a", "b"], True, True),
        (["b", "a"], False, True),
        (["a", None], False, True),
        (["a"], False, True),
        (["a", "b", "c"], False, True),
        (["c", None], False, False),
        ([], False, False),
    ],
)
def test_several_labels_are_positional_for_all_and_alternatives_for_any(
    verdicts: list[str | None], all_ab: bool, any_ab: bool
) -> None:
    assert holds('all("a", "b")', verdicts) is all_ab
    assert holds('any("a", "b")', verdicts) is any_ab


@pytest.mark.req("R18", "R06")
@pytest.mark.parametrize(
    ("text", "verdicts", "expected"),
    [
        ('at_least(2, "X")', ["X", "Y", "X"], True),
        ('at_least(2, "X")', ["X", "Y", None], False),
        ('at_least(2, "X")', ["X", None, "X"], True),
        ('at_least(1, "X")', [], False),
        ('at_most(0, "X")', ["Y", "Y"], True),
        ('at_most(0, "X")', ["Y", None], True),
        ('at_most(0, "X")', ["X", "Y"], False),
        ('at_most(1, "X")', ["X", "Y"], True),
        ('at_most(0, "X")', [None, None], False),
        ('at_most(0, "X")', [], False),
    ],
)
def test_quorum_counts_determined_children(text: str, verdicts: list[str | None], expected: bool) -> None:
    assert holds(text, verdicts) is expected

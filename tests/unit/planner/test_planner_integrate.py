"""The planner without a model: parts put together by rule."""

from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sol.planner.by_rule import integrate_by_rule, merge
from sol.planner.divide import halve_inputs
from sol.tree.effects import CHECKS_OF_INTEGRATION, CannotSplit, IntegrateAnswer, IntegrateRequest, Part
from tests.support.planning import assigned, half, part, split_request

# --- integrate -------------------------------------------------------------------------------------------------------


def integrate(*parts: Part, how: str = "inputs", sequential: bool = False) -> IntegrateAnswer:
    answer = integrate_by_rule(IntegrateRequest(assigned(), parts, sequential, how), Path())
    assert tuple(answer.checks) == tuple(CHECKS_OF_INTEGRATION)
    return answer


def oks(answer: IntegrateAnswer) -> list[bool | None]:
    return [answer.checks[name].ok for name in CHECKS_OF_INTEGRATION]


@pytest.mark.req("S60")
def test_halves_are_merged_and_the_checks_say_what_is_known() -> None:
    answer = integrate(part("0", [1]), part("1", [2]))
    assert (answer.result, answer.open) == ([1, 2], ())
    assert oks(answer) == [True, True, None, True, True]


@pytest.mark.req("S60")
def test_halves_made_later_are_merged_in_the_order_of_the_inputs() -> None:
    task = assigned(inputs={"n": [1, 2, 3, 4]})
    parts = (half("1", [3, 4], result=["c", "d"]), half("2", [1], result=["a"]), half("3", [2], result=["b"]))
    answer = integrate_by_rule(IntegrateRequest(task, parts, False, "inputs"), Path())
    assert answer.result == ["a", "b", "c", "d"]
    assert oks(answer) == [True, True, None, True, True]


def test_parts_whose_place_cannot_be_told_leave_open_whether_they_are_the_whole(tmp_path: Path) -> None:
    task = assigned(inputs={"n": {"file": "gone.txt", "unit": "lines"}})
    parts = (half("1", {"file": "gone.txt", "unit": "lines", "start": 1}, result=[2]), half("2", [1], result=[1]))
    answer = integrate_by_rule(IntegrateRequest(task, parts, False, "inputs"), tmp_path)
    assert answer.result == [2, 1]
    assert oks(answer) == [True, True, None, True, None]


@pytest.mark.req("S62")
def test_missing_half_is_open_and_the_whole_is_not_claimed() -> None:
    answer = integrate(part("0", [1]), part("1", None, "failed"))
    assert answer.result == [1]
    assert answer.open == ("1 failed: part 1 (no luck)",)
    assert oks(answer) == [True, True, None, False, False]


def test_halves_set_aside_are_neither_open_nor_hidden() -> None:
    answer = integrate(part("0", [1]), part("1", None, "skipped"))
    assert answer.open == ()
    assert oks(answer) == [True, True, None, True, None]
    assert "1" in answer.checks["parts_imply_whole"].note


def test_halves_that_disagree_are_a_contradiction() -> None:
    answer = integrate(part("0", {"unit": "m", "n": [1]}), part("1", {"unit": "ft", "n": [2]}))
    assert answer.result == {"unit": "m", "n": [1, 2]}
    assert oks(answer) == [False, True, None, True, False]
    assert answer.open == ("/unit: 'm' and 'ft'",)


def test_halves_of_different_types_do_not_agree_on_the_interface() -> None:
    assert oks(integrate(part("0", [1]), part("1", {"n": 1}))) == [False, False, None, True, False]


def test_equal_numbers_leave_open_whether_the_parts_imply_the_whole() -> None:
    answer = integrate(part("0", {"count": 2}), part("1", {"count": 2}))
    assert answer.result == {"count": 2}
    assert oks(answer) == [True, True, None, True, None]


def test_last_of_sequential_parts_is_the_whole() -> None:
    answer = integrate(part("0", "found it"), part("1", [1]), how="suggested", sequential=True)
    assert answer.result == [1]
    assert oks(answer) == [None, None, None, True, True]
    assert integrate(part("0", "x"), part("1", None), how="suggested", sequential=True).result == "x"
    assert integrate(part("0", None), how="suggested", sequential=True).result is None


def test_answers_to_unknowns_are_never_the_whole() -> None:
    answer = integrate(part("0", "csv"), part("1", "by date"), how="unknowns")
    assert answer.result == {"parts": {"0": "csv", "1": "by date"}}
    assert answer.checks["parts_imply_whole"].ok is False


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (([1], [2]), [1, 2]),
        (({"a": 1}, {"b": 2}), {"a": 1, "b": 2}),
        (({"a": 1}, {"a": 2}), {"parts": {"0": {"a": 1}, "1": {"a": 2}}}),
        (("x", "y"), {"parts": {"0": "x", "1": "y"}}),
        (([1], "y"), {"parts": {"0": [1], "1": "y"}}),
    ],
)
def test_other_parts_are_merged_only_when_that_is_safe(results: tuple[Any, Any], expected: Any) -> None:
    parts = [part(str(number), result) for number, result in enumerate(results)]
    answer = integrate(*parts, how="suggested")
    assert answer.result == expected
    assert oks(answer) == [None, None, None, True, None]


# --- merge -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], None),
        ([None, [1], None, [2]], [1, 2]),
        (["a\n", "b"], "a\nb"),
        (["a", "b"], "a\nb"),
        (["", "b"], "b"),
        ([{"t": "a\nb\n"}, {"t": "c"}], {"t": "a\nb\nc"}),
        ([{"t": "same", "ok": True}, {"t": "same", "ok": True}], {"t": "same", "ok": True}),
        ([{"a": {"x": [1]}}, {"a": {"x": [2], "y": None}}], {"a": {"x": [1, 2], "y": None}}),
    ],
)
def test_merge_without_conflict(values: list[Any], expected: Any) -> None:
    merged = merge(values)
    assert (merged.value, merged.conflicts, merged.unsure) == (expected, [], [])


@pytest.mark.parametrize(
    ("values", "conflict"),
    [
        ([3, 3], "result: 3 and 3"),
        ([3, 4.0], "result: 3 and 4.0"),
        ([{"a": 1}, {"a": True}], "/a: 1 and True"),
        ([{"a": "x"}, {"a": "y"}], "/a: 'x' and 'y'"),
        ([True, False], "result: True and False"),
        ([{"a": ["x" * 99]}, {"a": 1}], f"/a: ['{'x' * 57}… and 1"),
    ],
)
def test_merge_names_conflicts(values: list[Any], conflict: str) -> None:
    assert merge(values).conflicts == [conflict]


def test_merge_is_unsure_of_equal_lists_inside_objects() -> None:
    merged = merge([{"columns": ["a"]}, {"columns": ["a"]}])
    assert merged.value == {"columns": ["a", "a"]}
    assert merged.unsure == ["/columns: equal lists, put one after the other"]


LISTS = st.lists(st.integers() | st.text(max_size=3) | st.none(), min_size=1, max_size=40)


LINES = st.lists(st.text(st.characters(exclude_characters="\n", codec="utf-8"), max_size=5), min_size=1, max_size=40)


TEXTS = LINES.map("\n".join)


@pytest.mark.req("S60")
@given(value=LISTS | TEXTS, limit=st.integers(1, 5))
def test_halving_covers_the_inputs_once_and_merging_gives_back_the_whole(value: Any, limit: int) -> None:
    """A worker that hands its input back, and can only take `limit` units."""
    workspace = Path()
    leaves: list[Any] = []

    def solve(given: Any) -> Any:
        answer = halve_inputs(split_request(inputs={"v": given}), workspace)
        units = len(given) if isinstance(given, list) else given.count("\n") + 1
        if isinstance(answer, CannotSplit) or units <= limit:
            leaves.append(given)
            return given
        parts = [
            part(str(number), solve(child.inputs["v"])) for number, child in enumerate(answer.children) if child.inputs
        ]
        whole = integrate(*parts)
        assert whole.checks["parts_imply_whole"].ok
        return whole.result

    assert solve(value) == value
    joined = list(chain.from_iterable(leaves)) if isinstance(value, list) else "".join(leaves)
    assert joined == value

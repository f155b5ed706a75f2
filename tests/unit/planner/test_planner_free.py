"""The planner without a model: splits, merges and reassessments by rule."""

from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luna.protocol import Usage
from sol.core.requests import (
    CHECKS_OF_INTEGRATION,
    AtomicAnswer,
    AtomicRequest,
    CannotSplit,
    ChildPlan,
    Finding,
    IntegrateAnswer,
    IntegrateRequest,
    JudgeRequest,
    Part,
    ReassessRequest,
    Remedy,
    ReviewRequest,
    RuleRequest,
    SplitAnswer,
    SplitRequest,
)
from sol.errors import PlannerError
from sol.planner import FreePlanner, Planner, resolve_planner
from sol.planner.divide import halve_inputs
from sol.planner.integrate import integrate_by_rule
from sol.planner.merge import merge

TASK: dict[str, Any] = {
    "goal": "Convert the records.",
    "context": "none",
    "inputs": {},
    "constraints": [],
    "expected_output": {"description": "the converted records", "json_schema": {"type": "array"}, "files": []},
    "success_criteria": [{"command": "check", "exit_code": 0, "timeout_s": 120.0}],
    "stop_conditions": ["a record cannot be read"],
}


def split_request(**changes: Any) -> SplitRequest:
    fields: dict[str, Any] = {
        "assignment": TASK | {"inputs": changes.pop("inputs", {})},
        "report": None,
        "dimensions": (),
        "splitter": "auto",
        "arity": 2,
        "depth_left": 3,
    }
    return SplitRequest(**(fields | changes))


async def split(workspace: Path, **changes: Any) -> SplitAnswer | CannotSplit:
    answered = await FreePlanner(workspace).answer(split_request(**changes))
    assert answered.usage == Usage()
    assert isinstance(answered.answer, SplitAnswer | CannotSplit)
    return answered.answer


def goals(answer: SplitAnswer | CannotSplit) -> list[str]:
    assert isinstance(answer, SplitAnswer), answer
    return [child.goal for child in answer.children]


# --- split -----------------------------------------------------------------------------------------------------------


@pytest.mark.req("S14", "S23", "S24")
async def test_suggested_split_is_taken_first_and_is_sequential(tmp_path: Path) -> None:
    report = {"suggested_split": ["read the records", " write the records "], "unknown": ["a", "b"]}
    answer = await split(tmp_path, report=report, inputs={"n": [1, 2]})
    assert isinstance(answer, SplitAnswer)
    first, last = answer.children
    assert (answer.how, answer.sequential, goals(answer)) == (
        "suggested",
        True,
        ["read the records", "write the records"],
    )
    assert first.expected_output == {"description": "The outcome of: read the records"}
    assert last.expected_output == TASK["expected_output"]
    assert first.success_criteria == ({"text": "The result shows that this was done: read the records"},)
    assert last.success_criteria[1:] == tuple(TASK["success_criteria"])


@pytest.mark.req("S12")
async def test_more_suggestions_than_arity_make_two_groups(tmp_path: Path) -> None:
    report = {"suggested_split": ["a step", "b step", "c step"]}
    assert goals(await split(tmp_path, report=report)) == ["- a step\n- b step", "c step"]
    assert goals(await split(tmp_path, report=report, arity=3)) == ["a step", "b step", "c step"]


@pytest.mark.parametrize("suggested", [[], ["only one"], ["Same thing", "same  THING.", " "]])
async def test_unusable_suggestions_are_passed_over(tmp_path: Path, suggested: list[str]) -> None:
    answer = await split(tmp_path, report={"suggested_split": suggested, "unknown": ["which format", "which order"]})
    assert goals(answer) == ["Find out: which format", "Find out: which order"]


@pytest.mark.req("S22")
async def test_unknowns_are_split_among_independent_children(tmp_path: Path) -> None:
    answer = await split(tmp_path, report={"unknown": ["format", "order", "size"]})
    assert isinstance(answer, SplitAnswer)
    assert (answer.how, answer.sequential, answer.dimension) == ("unknowns", False, "unknown_a_unknown_b")
    assert goals(answer) == ["Find out:\n- format\n- order", "Find out: size"]
    assert all(child.claim == "independent" and child.success_criteria for child in answer.children)


async def test_inputs_are_halved_when_the_report_says_nothing(tmp_path: Path) -> None:
    answer = await split(tmp_path, report={}, inputs={"few": [1, 2], "many": [1, 2, 3], "n": 7})
    assert isinstance(answer, SplitAnswer)
    assert answer.how == "inputs"
    assert answer.children == (
        ChildPlan("Convert the records.", "simpler", inputs={"few": [1, 2], "many": [1, 2], "n": 7}),
        ChildPlan("Convert the records.", "simpler", inputs={"few": [1, 2], "many": [3], "n": 7}),
    )


async def test_splitter_inputs_looks_at_nothing_else(tmp_path: Path) -> None:
    report = {"suggested_split": ["a step", "b step"], "unknown": ["a", "b"]}
    answer = await split(tmp_path, report=report, splitter="inputs", inputs={"n": [1, 2]})
    assert isinstance(answer, SplitAnswer)
    assert answer.how == "inputs"


@pytest.mark.req("S16")
async def test_splits_tried_before_are_not_proposed_again(tmp_path: Path) -> None:
    report = {"suggested_split": ["A step", "b step"], "unknown": ["format", "order"]}
    tried: tuple[tuple[str, ...], ...] = (("a step", "b step"),)
    assert goals(await split(tmp_path, report=report, tried=tried)) == ["Find out: format", "Find out: order"]
    tried = (*tried, ("find out: format", "find out: order"))
    answer = await split(tmp_path, report=report, tried=tried, inputs={"n": [1, 2]})
    assert isinstance(answer, SplitAnswer)
    assert answer.how == "inputs"


@pytest.mark.parametrize("inputs", [{}, {"n": 5, "one": [1], "line": "x"}, {"gone": {"file": "gone.txt"}}])
async def test_nothing_to_split_along_is_said(tmp_path: Path, inputs: dict[str, Any]) -> None:
    answer = await split(tmp_path, inputs=inputs)
    assert isinstance(answer, CannotSplit)
    assert "no input" in answer.reason


async def test_lines_of_a_file_are_halved_by_reference(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("1\n2\n3\n")
    answer = await split(tmp_path, inputs={"r": {"file": "r.txt", "unit": "lines"}})
    assert isinstance(answer, SplitAnswer)
    halves = [child.inputs["r"] for child in answer.children if child.inputs]
    assert [(half["start"], half["stop"]) for half in halves] == [(0, 2), (2, 3)]


@pytest.mark.req("S25")
async def test_only_the_failed_half_is_halved_again(tmp_path: Path) -> None:
    done, failed = Part("0", "g", "success", [1, 2]), Part("1", "g", "failed")
    answer = await split(tmp_path, inputs={"n": [1, 2, 3, 4]}, done=(done,), failed=(failed,))
    assert isinstance(answer, SplitAnswer)
    assert [child.inputs for child in answer.children] == [{"n": [3]}, {"n": [4]}]


@pytest.mark.parametrize(
    ("inputs", "done", "failed", "words"),
    [
        ([1, 2], ["0"], ["1"], "needs two"),
        ([1, 2, 3, 4], ["1"], ["0"], "not the last"),
        ([1, 2, 3, 4], [], ["0", "1"], "not the last"),
        ([1, 2, 3, 4], ["0", "2"], ["1", "3"], "not the last"),
    ],
)
async def test_halving_again_that_would_mix_up_the_order_is_refused(
    tmp_path: Path, inputs: list[int], done: list[str], failed: list[str], words: str
) -> None:
    answer = await split(
        tmp_path,
        inputs={"n": inputs},
        done=tuple(Part(path, "g", "success") for path in done),
        failed=tuple(Part(path, "g", "failed") for path in failed),
    )
    assert isinstance(answer, CannotSplit)
    assert words in answer.reason


# --- integrate -------------------------------------------------------------------------------------------------------


def integrate(*parts: Part, how: str = "inputs", sequential: bool = False) -> IntegrateAnswer:
    answer = integrate_by_rule(IntegrateRequest(TASK, parts, sequential, how))
    assert tuple(answer.checks) == tuple(CHECKS_OF_INTEGRATION)
    return answer


def part(path: str, result: Any, state: str = "success") -> Part:
    return Part(path, f"part {path}", state, result, reason="" if state == "success" else "no luck")


def oks(answer: IntegrateAnswer) -> list[bool | None]:
    return [answer.checks[name]["ok"] for name in CHECKS_OF_INTEGRATION]


@pytest.mark.req("S60")
def test_halves_are_merged_and_the_checks_say_what_is_known() -> None:
    answer = integrate(part("0", [1]), part("1", [2]))
    assert (answer.result, answer.open) == ([1, 2], ())
    assert oks(answer) == [True, True, None, True, True]


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
    assert "1" in answer.checks["parts_imply_whole"]["note"]


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
    assert answer.checks["parts_imply_whole"]["ok"] is False


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
        assert whole.checks["parts_imply_whole"]["ok"]
        return whole.result

    assert solve(value) == value
    joined = list(chain.from_iterable(leaves)) if isinstance(value, list) else "".join(leaves)
    assert joined == value


# --- the rest --------------------------------------------------------------------------------------------------------


@pytest.mark.req("S57", "S58")
@pytest.mark.parametrize(
    ("report", "finding", "remedy"),
    [
        ({"kind": "verification", "evidence": ["check failed"]}, Finding.DEFINITION_WRONG, Remedy.REDEFINE),
        ({"kind": "verification", "evidence": []}, Finding.DEFINITION_WRONG, Remedy.GIVE_UP),
        ({"kind": "information_missing", "question": "Which year?"}, Finding.INFORMATION_MISSING, Remedy.ASK),
        ({"kind": "access_missing", "question": None}, Finding.ARCHITECTURE_PROBLEM, Remedy.GIVE_UP),
        ({"kind": "refused"}, Finding.GOAL_IMPOSSIBLE, Remedy.GIVE_UP),
        ({"kind": "no_progress"}, Finding.WRONG_DIMENSION, Remedy.GIVE_UP),
        (None, Finding.WRONG_DIMENSION, Remedy.GIVE_UP),
    ],
)
async def test_reassessment_reads_the_kind_of_the_report(
    report: Any, finding: str, remedy: str, tmp_path: Path
) -> None:
    answered = await FreePlanner(tmp_path).answer(ReassessRequest(TASK, report, "depth_limit"))
    answer: Any = answered.answer
    assert (answer.finding, answer.remedy) == (finding, remedy)
    assert "check failed" in answer.information if remedy == Remedy.REDEFINE else not answer.information
    assert answer.question == ("Which year?" if remedy == Remedy.ASK else "")


async def test_task_is_atomic_unless_its_inputs_can_be_halved(tmp_path: Path) -> None:
    planner = FreePlanner(tmp_path)
    one = await planner.answer(AtomicRequest(TASK))
    two = await planner.answer(AtomicRequest(TASK | {"inputs": {"n": [1, 2]}}))
    assert one.answer == AtomicAnswer(atomic=True, reason="no input can be halved")
    assert two.answer == AtomicAnswer(atomic=False, reason="input 'n' has 2 units")


@pytest.mark.parametrize(
    "request_", [JudgeRequest(TASK, 1, ("ok?",)), ReviewRequest(TASK, ()), RuleRequest(TASK, "really?", {})]
)
async def test_judging_words_needs_a_model(request_: Any, tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="--sol-model"):
        await FreePlanner(tmp_path).answer(request_)


async def test_planner_of_no_model_is_the_free_one_and_splits_without_one(tmp_path: Path) -> None:
    planner = resolve_planner(None, workspace=tmp_path, fence="f00dfeedcafe")
    assert isinstance(planner, FreePlanner)
    assert isinstance(planner, Planner)
    answered = await planner.answer(IntegrateRequest(TASK, (part("0", [1]),), False, "inputs"))
    assert isinstance(answered.answer, IntegrateAnswer)

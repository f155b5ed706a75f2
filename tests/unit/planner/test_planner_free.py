"""The planner without a model: splits, reassessments, and what it leaves to others."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from luna.inputs import InputError
from luna.protocol import Usage
from sol.errors import PlannerError
from sol.planner import FreePlanner, Planner, resolve_planner
from sol.tree.effects import (
    AtomicAnswer,
    AtomicRequest,
    CannotSplit,
    Finding,
    IntegrateAnswer,
    IntegrateRequest,
    JudgeRequest,
    Part,
    ReassessRequest,
    Remedy,
    ReviewRequest,
    RuleRequest,
)
from sol.tree.values import ChildPlan, SplitAnswer
from tests.support.planning import TASK, assigned, half, part, reported, split_request


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
    halves: list[Any] = [child.inputs["r"] for child in answer.children if child.inputs]
    assert [(half["start"], half["stop"]) for half in halves] == [(0, 2), (2, 3)]


async def split_again(workspace: Path, inputs: Any, *parts: Part) -> SplitAnswer | CannotSplit:
    done = tuple(part for part in parts if part.state == "success")
    failed = tuple(part for part in parts if part.state != "success")
    return await split(workspace, inputs={"n": inputs}, done=done, failed=failed)


def halves_of(answer: SplitAnswer | CannotSplit) -> list[Any]:
    assert isinstance(answer, SplitAnswer), answer
    return [child.inputs["n"] for child in answer.children if child.inputs]


@pytest.mark.req("S25")
async def test_only_the_failed_half_is_halved_again_whichever_it_is(tmp_path: Path) -> None:
    answer = await split_again(tmp_path, [1, 2, 3, 4], half("0", [1, 2]), half("1", [3, 4], "failed"))
    assert halves_of(answer) == [[3], [4]]
    first = half("0", [1, 2, 3], "failed")
    answer = await split_again(tmp_path, [1, 2, 3, 4, 5, 6], first, half("1", [4, 5, 6]))
    assert halves_of(answer) == [[1, 2], [3]]
    parts = (first, half("1", [4, 5, 6]), half("2", [1, 2], "failed"), half("3", [3]))
    assert halves_of(await split_again(tmp_path, [1, 2, 3, 4, 5, 6], *parts)) == [[1], [2]]


async def test_failed_half_among_equal_ones_is_halved_again(tmp_path: Path) -> None:
    answer = await split_again(tmp_path, [1, 1, 1, 1], half("0", [1, 1]), half("1", [1, 1], "failed"))
    assert halves_of(answer) == [[1], [1]]


async def test_failed_slice_of_a_file_is_halved_again(tmp_path: Path) -> None:
    (tmp_path / "r.txt").write_text("1\n2\n3\n4\n")
    whole = {"file": "r.txt", "unit": "lines"}
    parts = [half(str(n), {**whole, "start": 2 * n, "stop": 2 * n + 2}, "success" if n else "failed") for n in (0, 1)]
    found = halves_of(await split_again(tmp_path, whole, *parts))
    assert [(one["start"], one["stop"]) for one in found] == [(0, 1), (1, 2)]


async def test_inputs_are_halved_after_failed_parts_of_another_kind(tmp_path: Path) -> None:
    for inputs in ([1, 2], [1]):
        parts = [half("0", inputs, "failed"), half("1", inputs, "failed")]
        assert halves_of(await split_again(tmp_path, [1, 2], *parts)) == [[1], [2]]


@pytest.mark.parametrize(
    ("inputs", "parts", "words"),
    [
        ([1, 2], [half("0", [1]), half("1", [2], "failed")], "no input has two"),
        ([1, 2, 3, 4], [half("0", [1, 2], "failed"), half("1", [3, 4], "failed")], "there are 2"),
        ([1, 2, 3, 4], [half("0", [1, 2], "skipped"), half("1", [3, 4], "failed")], "there are 2"),
        ([1, 2], [half("0", [1]), half("1", [2])], "there are 0"),
        ([1, 2, 3], [structs.replace(half("0", [1, 2], "failed"), halved=True), half("1", [3])], "so was part 0"),
        ([1, 2, 3, 4], [half("0", [1, 2, 3, 4]), half("1", [1, 2, 3, 4], "failed")], "another kind"),
        ([1, 2, 3, 4], [half("0", [1]), half("1", [2, 3, 4], "failed")], "another kind"),
        ([1, 2, 3, 4], [Part("0", "g", "success"), Part("1", "g", "failed")], "another kind"),
        (list(range(999)), [half("0", [998])], "another kind"),
    ],
)
async def test_halving_again_where_one_open_part_cannot_be_told_is_refused(
    tmp_path: Path, inputs: list[int], parts: list[Part], words: str
) -> None:
    answer = await split_again(tmp_path, inputs, *parts)
    assert isinstance(answer, CannotSplit)
    assert words in answer.reason


async def test_file_that_changes_meanwhile_is_not_halved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def changed(value: Any, workspace: Path) -> Any:
        raise InputError("it has 0 lines")

    monkeypatch.setattr("sol.planner.divide.halve", changed)
    assert isinstance(await split(tmp_path, inputs={"n": [1, 2]}), CannotSplit)


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
    answered = await FreePlanner(tmp_path).answer(ReassessRequest(assigned(), reported(report), "depth_limit"))
    answer: Any = answered.answer
    assert (answer.finding, answer.remedy) == (finding, remedy)
    assert "check failed" in answer.information if remedy == Remedy.REDEFINE else not answer.information
    assert answer.question == ("Which year?" if remedy == Remedy.ASK else "")


async def test_task_is_atomic_unless_its_inputs_can_be_halved(tmp_path: Path) -> None:
    planner = FreePlanner(tmp_path)
    one = await planner.answer(AtomicRequest(assigned()))
    two = await planner.answer(AtomicRequest(assigned(inputs={"n": [1, 2]})))
    assert one.answer == AtomicAnswer(atomic=True, reason="no input can be halved")
    assert two.answer == AtomicAnswer(atomic=False, reason="input 'n' has 2 units")


@pytest.mark.parametrize(
    "request_",
    [JudgeRequest(assigned(), 1, ("ok?",)), ReviewRequest(assigned(), ()), RuleRequest(assigned(), "really?", {})],
)
async def test_judging_words_needs_a_model(request_: Any, tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="--sol-model"):
        await FreePlanner(tmp_path).answer(request_)


async def test_planner_of_no_model_is_the_free_one_and_splits_without_one(tmp_path: Path) -> None:
    planner = resolve_planner(None, workspace=tmp_path, delimiter="f00dfeedcafe")
    assert isinstance(planner, FreePlanner)
    assert isinstance(planner, Planner)
    answered = await planner.answer(IntegrateRequest(assigned(), (part("0", [1]),), False, "inputs"))
    assert isinstance(answered.answer, IntegrateAnswer)

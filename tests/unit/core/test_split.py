"""Splits: when one is asked for, what is taken, what is refused."""

from typing import Any

import pytest
from msgspec import structs

from sol.core.split import is_portion, same_task, vague
from sol.strategy.schema import DIMENSIONS
from sol.tree.effects import normalised
from sol.tree.events import EventType
from sol.tree.values import ChildPlan, read
from tests.support.core import GOAL, Scenario, assignment_of, child, failed, parts, stuck

LAMP = "build 1 blue lamp from 1 blue pane and 1 bulb"


def stuck_run(**options: Any) -> Scenario:
    """A run whose root is stuck and waits for a split."""
    run = Scenario(**options)
    run.reports(stuck())
    return run


def refused(run: Scenario, path: str = "") -> str:
    return str(run.data(EventType.REFUSED, path).reason)


@pytest.mark.req("S11")
@pytest.mark.case("DEPTH-01")
@pytest.mark.parametrize(("limit", "nodes"), [(0, 1), (1, 3), (2, 7), (3, 15)])
def test_depth_limit_is_exact(limit: int, nodes: int) -> None:
    run = Scenario(max_depth=limit, max_replans=0, concurrency=64)
    splits = 0
    while run.doing:
        path, kind = run.doing[0].split(":")
        match kind:
            case "attempt":
                run.reports(stuck(), path)
            case "split":
                splits += 1
                run.splits(f"find the red {splits}", f"find the blue {splits}", path=path)
            case _:
                run.answers({"finding": "wrong_dimension", "remedy": "give_up", "reason": "so"}, path)
    assert max(node.depth for node in run.tree.nodes.values()) == limit
    assert len(run.tree.nodes) == nodes
    assert splits == (nodes - 1) / 2
    leaves = [node for node in run.tree.nodes.values() if not node.children]
    assert {(str(node.state), node.kind) for node in leaves} == {("failed", "depth_limit")}
    assert run.status == "failed"


@pytest.mark.req("S12")
@pytest.mark.parametrize(("count", "arity", "taken"), [(1, 2, False), (2, 2, True), (3, 2, False), (3, 3, True)])
def test_split_has_two_children_or_as_many_as_the_strategy_allows(count: int, arity: int, taken: bool) -> None:
    run = stuck_run(arity=arity)
    run.splits(*(f"sort box {number}" for number in range(count)))
    assert ("0" in run.tree.nodes) is taken
    if taken:
        assert list(run[""].children) == [str(number) for number in range(count)]
    else:
        assert f"2 to {arity} children, not {count}" in refused(run)


@pytest.mark.req("S14")
def test_child_without_criteria_of_its_own_is_refused_and_may_come_back_with_them() -> None:
    run = stuck_run()
    run.splits(child("find red", success_criteria=()), "find blue")
    assert "no success criteria of its own" in refused(run)
    assert run.asked().refused == refused(run)
    run.splits("find red", "find blue")
    assert run.data(EventType.CREATED, "0").claim == "simpler"


@pytest.mark.req("S14")
def test_child_says_whether_it_is_independent_simpler_or_testable() -> None:
    run = stuck_run()
    run.splits(child("find red", claim="nicer"), "find blue")
    assert "'nicer'" in refused(run)
    assert "independent, simpler, testable" in refused(run)


@pytest.mark.req("S15")
@pytest.mark.case("PLAN-01")
@pytest.mark.parametrize("copy", ["Gather 6 clay bricks.", "gather  6 clay bricks", "“GATHER 6 CLAY BRICKS”."])
def test_child_equal_to_its_parent_is_refused_once_then_the_node_ends(copy: str) -> None:
    run = stuck_run(assignment=assignment_of("gather 6 clay bricks"))
    run.splits(copy, "stack the bricks by the gate")
    assert "the same task as its parent" in refused(run)
    assert run.doing == [":split"]
    run.splits("stack the bricks by the gate", copy)
    assert (run.status, run[""].kind) == ("failed", "no_progress_split")
    assert list(run.tree.nodes) == [""]
    assert run[""].counts == {"attempt": 1, "split": 2}


@pytest.mark.req("S15")
@pytest.mark.case("PLAN-01")
def test_mere_portions_are_reviewed_and_never_taken_twice_on_one_path() -> None:
    run = stuck_run(assignment=assignment_of("gather 6 clay bricks"))
    halves = ("do the first half of: gather 6 clay bricks", "do the rest of: gather 6 clay bricks")
    run.splits(*halves)
    assert run.doing == [":review"]
    run.answers({"holds": True, "reason": "three each is less"})
    assert run["0"].portion
    run.reports(stuck(), "0")
    run.splits(f"do the first half of: {halves[0]}", f"do the rest of: {halves[0]}", path="0")
    assert "once more a mere portion" in refused(run, "0")


@pytest.mark.req("S15")
def test_portion_that_the_review_rejects_counts_as_no_progress() -> None:
    run = stuck_run()
    run.splits(f"do the first half of: {GOAL}", "sort by touch")
    run.answers({"holds": False, "reason": "nothing gets easier"})
    assert "nothing gets easier" in refused(run)
    run.splits(f"do the second half of: {GOAL}", "sort by touch")
    run.answers({"holds": False, "reason": "nor this"})
    assert (run.status, run[""].kind) == ("failed", "no_progress_split")


@pytest.mark.req("S15")
@pytest.mark.case("PLAN-02")
def test_last_child_may_restate_its_parent_once_on_a_path() -> None:
    run = Scenario(assignment=assignment_of(LAMP))
    run.reports(stuck("have no blue pane"))
    run.splits("get 1 blue pane", LAMP, sequential=True)
    assert run["1"].restates
    assert run["1"].after == "0"
    run.solves("0", result="a pane")
    run.reports(stuck("have no blue pane"), "1")
    run.splits("get 1 blue pane", LAMP, path="1", sequential=True)
    assert "repeated once on this path" in refused(run, "1")
    assert set(run.tree.nodes) == {"", "0", "1"}


@pytest.mark.req("S15")
def test_restated_parent_needs_a_sequential_split_and_the_last_place() -> None:
    for sequential, goals in ((False, ("get a pane", LAMP)), (True, (LAMP, "get a pane"))):
        run = stuck_run(assignment=assignment_of(LAMP))
        run.splits(*goals, sequential=sequential)
        assert "the same task as its parent" in refused(run)


@pytest.mark.req("S15")
def test_child_equal_to_a_task_further_up_is_refused() -> None:
    run = stuck_run()
    run.splits("find the lamp", "sort by touch")
    run.reports(stuck(), "0")
    run.splits(GOAL, "ask for a lamp", path="0")
    assert "one further up" in refused(run, "0")


@pytest.mark.req("S16")
def test_split_tried_before_is_refused_in_any_order() -> None:
    run = stuck_run()
    run.splits("find red", "find blue")
    run.reports(failed(), "0")
    run.solves("1")
    assert run.doing == [":split"]
    assert run.asked().tried == (("find red", "find blue"),)
    run.splits("Find blue.", "find red")
    assert "tried or refused before" in refused(run)


def test_two_children_that_are_the_same_task_are_refused() -> None:
    run = stuck_run()
    run.splits("find red", "Find red!")
    assert "two children are the same task" in refused(run)


@pytest.mark.req("S17", "S18", "S19", "S20", "S21", "S22")
def test_strategy_names_the_dimensions_for_the_planner_in_its_order() -> None:
    assert set(DIMENSIONS) == {
        "discovery_execution",
        "reproduction_fix",
        "interface_implementation",
        "data_logic",
        "local_integration",
        "unknown_a_unknown_b",
    }
    chosen = ["local_integration", "data_logic"]
    run = stuck_run(dimensions=chosen)
    assert list(run.asked().dimensions) == chosen
    run.splits("find red", "find blue", dimension="data_logic")
    assert run[""].dimension == "data_logic"


@pytest.mark.req("S23")
def test_planner_sees_the_report_and_children_what_is_known() -> None:
    run = Scenario()
    run.reports(stuck("two causes", known=["the box is full"], unknown=["why", "since when"], attempted=["emptied it"]))
    asked = run.asked()
    assert asked.report.unknown == ("why", "since when")
    assert (asked.splitter, asked.arity, asked.depth_left) == ("auto", 2, 5)
    run.splits("find out why", "find out since when")
    context = run.asked("0").assignment.context
    for line in (
        f"This is part of: {GOAL}",
        "Known: the box is full",
        "Already tried on the whole: emptied it",
        "What stopped it: two causes",
    ):
        assert line in context


@pytest.mark.req("S24")
def test_independent_children_start_together_and_sequential_ones_do_not() -> None:
    run = stuck_run()
    run.splits("find red", "find blue")
    assert run.doing == ["0:attempt", "1:attempt"]
    run = stuck_run()
    run.splits("find red", "stack red", sequential=True)
    assert run.doing == ["0:attempt"]
    run.solves("0", result=["red 1"])
    assert run.doing == ["1:attempt"]
    assert run.asked("1").assignment.inputs["previous"] == ["red 1"]


@pytest.mark.req("S24")
def test_part_whose_predecessor_fails_is_blocked_and_so_are_those_behind_it() -> None:
    run = stuck_run(arity=3)
    run.splits("find red", "stack red", "paint red", sequential=True)
    run.reports(failed(), "0")
    assert run.states == {"": "split", "0": "failed", "1": "blocked", "2": "blocked"}
    assert run["1"].reason == "It needs part 0, which is failed."
    assert run.doing == [":split"]


@pytest.mark.req("S25")
@pytest.mark.case("PLAN-05")
@pytest.mark.parametrize("sequential", [False, True])
def test_accepted_sibling_is_never_done_again_and_its_result_is_passed_on(sequential: bool) -> None:
    run = stuck_run()
    run.splits("write a.txt", "use a.txt", sequential=sequential)
    run.solves("0", result="a.txt is there")
    run.reports(stuck(), "1")
    run.splits("read a.txt", "sum up a.txt", path="1")
    told = run.asked("10").assignment
    assert "a.txt is there" in str(told.inputs.get("previous", told.context))
    run.solves("10")
    run.reports(stuck(), "11")
    run.splits("count lines", "add the lines", path="11")
    told = run.asked("110").assignment
    assert "a.txt is there" in str(told.inputs.get("previous", told.context))
    for path in ("110", "111"):
        run.solves(path)
    for path in ("11", "1", ""):
        run.answers(parts(), path)
        run.judges(True, path=path)
    assert run.status == "success"
    assert run["0"].counts["attempt"] == 1
    assert all(node.ended for node in run.tree.nodes.values())


@pytest.mark.req("S25", "S56")
def test_replan_keeps_accepted_parts_and_tells_the_planner_of_both() -> None:
    run = stuck_run()
    run.splits("find red", "find blue")
    run.solves("0", result="3 red")
    run.reports(failed(reason="nothing is blue"), "1")
    asked = run.asked()
    assert [(part.path, part.result) for part in asked.done] == [("0", "3 red")]
    assert [(part.path, part.reason) for part in asked.failed] == [("1", "nothing is blue")]
    run.splits("find green", "find grey")
    assert list(run[""].children) == ["0", "1", "2", "3"]
    assert "3 red" in run.asked("2").assignment.context
    for path in ("2", "3"):
        run.solves(path)
    assert [part.path for part in run.asked().parts] == ["0", "2", "3"]


@pytest.mark.req("S34")
@pytest.mark.parametrize(
    "goal",
    ["fix everything here", "Please do it properly.", "make it work", "この辺を全部直して", "handle all of this"],
)
def test_vague_goal_is_refused_with_the_reason(goal: str) -> None:
    reason = vague(goal)
    assert reason is not None
    assert repr(goal) in reason
    run = stuck_run()
    run.splits(goal, "find blue")
    assert "names no object" in refused(run)


@pytest.mark.req("S34")
@pytest.mark.parametrize("goal", [GOAL, "fix the login page", "add 2 and 3", "請求書を直して"])
def test_goal_that_names_something_is_not_vague(goal: str) -> None:
    assert vague(goal) is None


@pytest.mark.case("DELEG-01")
def test_child_that_names_the_planner_as_its_worker_is_refused() -> None:
    run = stuck_run()
    run.splits(child("find red", worker="planner"), child("find blue", worker="planner"))
    assert "'planner'" in refused(run)
    run.splits(child("find red", worker="function"), child("find blue", worker="function"))
    assert run.doing == ["0:attempt", "1:attempt"]


@pytest.mark.parametrize("criterion", [{"command": "rm -rf ."}, {"python": "os:remove"}])
def test_planner_may_not_bring_in_criteria_that_run_something(criterion: dict[str, Any]) -> None:
    run = stuck_run()
    run.splits(child("find red", success_criteria=[criterion]), "find blue")
    assert "would run something that the task does not name" in refused(run)
    own = stuck_run(assignment=assignment_of(success_criteria=[criterion]))
    own.splits(child("find red", success_criteria=[criterion]), "find blue")
    assert own.doing == ["0:attempt", "1:attempt"]


def test_criterion_that_cannot_be_read_is_refused() -> None:
    run = stuck_run()
    run.splits(child("find red", success_criteria=[{"smell": "good"}]), "find blue")
    assert "criterion" in refused(run)


def test_planner_that_finds_no_split_leads_to_an_attempt_or_a_reassessment() -> None:
    run = Scenario(attempt="never")
    run.answers({"cannot": "one piece"})
    assert run.doing == [":attempt"]
    run.reports(stuck())
    run.answers({"cannot": "one piece"})
    assert run.doing == [":reassess"]
    assert run.asked().trigger == "unsplittable"


def test_halved_inputs_keep_goal_and_criteria_and_need_no_words_about_the_whole() -> None:
    run = stuck_run()
    halves = [child(GOAL, inputs={"bricks": half}, success_criteria=()) for half in (["red", "blue"], ["green"])]
    run.splits(*halves, how="inputs", dimension="inputs")
    told = run.asked("0").assignment
    assert told == structs.replace(run[""].assignment, inputs={"bricks": ["red", "blue"]})


def test_replans_are_counted_and_then_reassessed() -> None:
    run = Scenario(attempt="never", max_replans=1)
    for number in range(2):
        run.splits(f"find red {number}", f"find blue {number}")
        for path in run[""].current_children:
            run.reports(failed(), path)
    assert run.doing == [":reassess"]
    assert run.asked().trigger == "replans"
    assert run[""].splits == 2


def test_sameness_looks_at_goal_and_inputs() -> None:
    node = Scenario()[""]

    def plan(goal: str, **changes: Any) -> ChildPlan:
        return read(ChildPlan, child(goal, **changes))

    assert normalised(" “Sort  the Bricks”. ") == "sort the bricks"
    assert same_task(node, plan(GOAL.upper()))
    assert not same_task(node, plan(GOAL, inputs={"bricks": []}))
    assert is_portion(node, plan(f"second part: {GOAL}"))
    assert not is_portion(node, plan("sort the first brick"))
    assert not is_portion(node, plan(f"first half of {GOAL}", inputs={"bricks": ["red"]}))

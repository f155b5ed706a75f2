"""FAILED reports, and the limit where nothing can be split any more."""

from typing import Any

import pytest

from sol.tree.effects import Finding
from sol.tree.events import EventType
from tests.support.core import GOAL, Scenario, failed, reassessed, stuck


def at_the_limit(**options: Any) -> Scenario:
    run = Scenario(max_depth=0, **options)
    run.reports(stuck())
    assert run.doing == [":reassess"]
    return run


@pytest.mark.req("S56")
def test_failed_child_makes_its_parent_plan_anew_with_what_was_learnt() -> None:
    run = Scenario()
    run.reports(stuck())
    run.splits("find red", "find blue")
    run.reports(failed(reason="there is no red"), "0")
    assert run.doing == ["1:attempt"], "the parent is planned anew when all parts have ended"
    run.solves("1")
    assert run.doing == [":split"]
    assert run.asked().failed[0].reason == "there is no red"


@pytest.mark.req("S56")
def test_stuck_child_is_split_itself() -> None:
    run = Scenario()
    run.reports(stuck())
    run.splits("find red", "find blue")
    run.reports(stuck(), "0")
    assert run.doing == ["1:attempt", "0:split"]


@pytest.mark.req("S56")
@pytest.mark.parametrize("max_replans", [0, 2])
def test_replans_are_bounded(max_replans: int) -> None:
    run = Scenario(max_replans=max_replans)
    run.reports(stuck())
    rounds = 0
    while run.doing == [":split"]:
        rounds += 1
        run.splits(f"find red {rounds}", f"find blue {rounds}")
        for path in run[""].current_children:
            run.reports(failed(), path)
    assert rounds == 1 + max_replans
    assert run.asked().trigger == "replans"


@pytest.mark.req("S56")
def test_failed_premise_of_the_root_is_reassessed_since_no_parent_can_be_planned_anew() -> None:
    run = Scenario()
    run.reports(failed())
    assert run.asked().trigger == "premise"


@pytest.mark.req("S57")
@pytest.mark.parametrize("finding", list(Finding))
def test_finding_at_the_limit_is_one_of_five_and_recorded(finding: Finding) -> None:
    assert len(Finding) == 5
    run = at_the_limit()
    assert run.asked().trigger == "depth_limit"
    run.answers(reassessed(finding))
    assert run[""].reassessment is not None
    assert run[""].reassessment.finding == finding
    assert (run.status, run[""].kind) == ("failed", "depth_limit")
    assert f"Reassessed as {finding}" in run[""].reason


@pytest.mark.req("S58")
def test_reassessment_may_end_in_one_more_attempt_and_no_further_one() -> None:
    run = at_the_limit()
    run.answers(reassessed("definition_wrong", "redefine", information="use a lamp"))
    run.reports(stuck())
    assert (run.status, run[""].kind, run[""].counts["reassess"]) == ("failed", "depth_limit", 1)


@pytest.mark.req("S58")
def test_reassessment_may_end_in_a_question() -> None:
    run = at_the_limit()
    run.answers(reassessed("information_missing", "ask", question="which lamp?"))
    assert (run.status, run[""].question) == ("waiting", "which lamp?")
    assert run.data(EventType.ASKED).kind == "information_missing"


@pytest.mark.req("S58")
def test_giving_up_keeps_the_partial_tree() -> None:
    run = Scenario(max_depth=1, max_replans=0)
    run.reports(stuck())
    run.splits("find red", "find blue")
    run.solves("0", result="3 red")
    run.reports(stuck(), "1")
    run.answers(reassessed(), "1")
    run.answers(reassessed())
    assert run.states == {"": "failed", "0": "success", "1": "failed"}
    assert run["0"].result == "3 red"


@pytest.mark.req("S53", "S58")
def test_redefinition_without_anything_new_is_no_attempt() -> None:
    run = at_the_limit()
    run.answers(reassessed("definition_wrong", "redefine"))
    assert run.status == "failed"
    assert run[""].counts["attempt"] == 1


@pytest.mark.req("S01", "S58")
def test_goal_of_the_root_stays_as_it_was_set_and_that_of_a_part_may_be_restated() -> None:
    run = at_the_limit()
    run.answers(reassessed("definition_wrong", "redefine", goal="sort by size"))
    assert run[""].assignment.goal == GOAL
    assert "New: The goal was restated: sort by size" in run.asked().assignment.context
    run = Scenario(max_depth=1)
    run.reports(stuck())
    run.splits("find red", "find blue")
    run.reports(stuck(), "0")
    run.answers(reassessed("definition_wrong", "redefine", goal="find pink"), "0")
    assert run["0"].assignment.goal == "find pink"
    run.reports(stuck(), "1")
    run.answers(reassessed("definition_wrong", "redefine", goal="fix everything"), "1")
    assert run["1"].assignment.goal == "find blue", "a vague goal is not taken"


def test_stored_parts_do_not_outlive_a_redefinition() -> None:
    run = Scenario(max_depth=0)
    progress = {"kind": "attempt", "n": 1, "event": {"type": "partial", "key": "1", "value": "wrong"}}
    run.takes(EventType.PROGRESSED, "", progress)
    assert run[""].partial == {"1": "wrong"}
    run.reports(stuck())
    run.answers(reassessed("definition_wrong", "redefine", information="item 1 is wrong"))
    assert run.asked().partial == {}


@pytest.mark.req("S63")
@pytest.mark.parametrize(
    ("condition", "then", "state"),
    [
        ("depth_limit", "set_aside", "skipped"),
        ("kind:other", "give_up", "failed"),
        ("wrong_dimension", "ask", "waiting"),
        ("remedy:give_up", "as_proposed", "failed"),
        ("remedy:give_up", "redefine", "failed"),
    ],
)
def test_rules_may_match_finding_trigger_kind_and_remedy(condition: str, then: str, state: str) -> None:
    base = {name: list(rules) for name, rules in Scenario().strategy.rules.items()}
    run = at_the_limit(rules={**base, "depth_limit": [{"condition": condition, "next": then}]})
    run.answers(reassessed())
    assert str(run[""].state) == state


def test_rule_at_the_limit_may_ask_the_judge_and_still_knows_what_led_there() -> None:
    base = {name: list(rules) for name, rules in Scenario().strategy.rules.items()}
    rules = [{"condition": 'ai("hopeless?")', "next": "set_aside"}, {"condition": "depth_limit", "next": "give_up"}]
    run = at_the_limit(rules={**base, "depth_limit": rules})
    run.answers(reassessed())
    assert run.doing == [":rule"]
    run.answers({"holds": True, "reason": "yes"})
    assert (run.status, run[""].kind) == ("skipped", "depth_limit")


def test_parts_set_aside_do_not_stand_in_the_way_of_the_others() -> None:
    run = Scenario("isolate", sol="rules")
    run.reports(failed("exit"))
    halves = [{"bricks": ["red"]}, {"bricks": ["blue"]}]
    children = [
        {"goal": GOAL, "claim": "simpler", "success_criteria": (), "inputs": half, "worker": None} for half in halves
    ]
    run.splits(*children, how="inputs", dimension="inputs")
    run.reports(failed("exit"), "0")
    run.answers({"cannot": "one item"}, "0")
    run.answers(reassessed(), "0")
    run.reports({"status": "SUCCESS", "summary": "done", "result": ["blue"]}, "1")
    assert run.states == {"": "split", "0": "skipped", "1": "success"}
    assert run.doing == [":integrate"]


def test_all_parts_set_aside_leave_the_whole_set_aside() -> None:
    run = Scenario("isolate", sol="rules")
    run.reports(failed("exit"))
    run.splits("find red", "find blue")
    for path in ("0", "1"):
        run.reports(failed("exit"), path)
        run.answers({"cannot": "one item"}, path)
        run.answers(reassessed(), path)
    assert run.states == {"": "skipped", "0": "skipped", "1": "skipped"}

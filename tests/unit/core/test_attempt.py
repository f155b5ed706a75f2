"""One node and its Luna: who tries, what a report means, in which order things are recorded."""

import pytest

from sol.tree.effects import AttemptRequest
from sol.tree.events import EventType, Started
from sol.tree.values import Cause, CriterionData
from tests.support.core import Scenario, assignment_of, fact, failed, stuck, success


@pytest.mark.req("S01")
def test_goal_and_criteria_are_recorded_before_anything_is_delegated() -> None:
    run = Scenario()
    assert run.types() == ["run_started", "created", "started"]
    assert run[""].assignment.success_criteria == (CriterionData(text="they are in order"),)


@pytest.mark.req("S04", "S08")
def test_atomic_task_is_attempted_once_and_its_result_accepted() -> None:
    run = Scenario()
    assert isinstance(run.asked(), AttemptRequest)
    run.solves(result=[1])
    assert (run.status, run[""].result) == ("success", [1])
    assert run[""].counts["attempt"] == 1
    assert run.doing == []


@pytest.mark.req("S02", "S61")
def test_task_is_only_ever_worked_on_by_attempts_of_a_luna() -> None:
    run = Scenario()
    run.reports(stuck())
    run.splits("find red", "find blue")
    works = [e for e in run.events if isinstance(e.data, Started) and e.data.kind == "attempt"]
    assert [event.node for event in works] == ["", "0", "1"]


@pytest.mark.req("S03", "S63")
def test_each_decision_is_on_the_node_with_the_rule_that_led_to_it() -> None:
    run = Scenario()
    run.reports(stuck())
    assert [(one.section, one.condition, one.next) for one in run[""].decisions] == [("report", "STUCK", "split")]
    run.splits("find red", "find blue")
    run.solves("0")
    run.reports(failed(), "1")
    assert run["1"].reason == "there are no bricks"
    assert run[""].decisions[-1].condition == 'any("failed")'
    assert run[""].decisions[-1].read["children"] == [["0", "success"], ["1", "failed"]]


@pytest.mark.req("S05")
def test_suggestions_of_a_report_are_kept_and_change_nothing() -> None:
    run = Scenario()
    before = run[""].assignment
    run.reports(success(suggestions={"tasks": ["buy bricks"], "success_criteria": []}))
    assert run[""].report is not None
    assert run[""].report.suggestions["tasks"] == ["buy bricks"]
    assert run[""].assignment == before
    assert list(run.tree.nodes) == [""]


@pytest.mark.req("S06")
def test_stop_for_leaving_the_scope_is_stuck_of_kind_scope() -> None:
    run = Scenario()
    run.reports(stuck("touched secrets.txt, which is excluded", kind="scope"))
    assert run.data(EventType.ANALYSED).kind == "scope"
    assert run.doing == [":split"]


@pytest.mark.req("S07", "S53")
def test_empty_blocker_is_asked_for_once_then_counts_as_unspecified() -> None:
    run = Scenario()
    run.reports(stuck("  "))
    assert run.doing == [":attempt"]
    assert run.tree.inflight["", "attempt", 2].cause == Cause("constraint", "name_blocker")
    assert "named no blocker" in run.asked().assignment.context
    run.reports(stuck(""))
    assert run.data(EventType.ANALYSED).kind == "unspecified"
    assert run.doing == [":split"]


@pytest.mark.req("S09")
@pytest.mark.parametrize(
    ("attempt", "first"),
    [("first", ":attempt"), ("never", ":split"), ("auto", ":atomic")],
)
def test_strategy_says_how_a_task_begins(attempt: str, first: str) -> None:
    assert Scenario(attempt=attempt).doing == [first]


@pytest.mark.req("S09")
@pytest.mark.parametrize(("atomic", "then"), [(True, ":attempt"), (False, ":split")])
def test_sol_judges_whether_the_task_is_atomic(atomic: bool, then: str) -> None:
    run = Scenario(attempt="auto")
    run.answers({"atomic": atomic, "reason": "so"})
    assert run.doing == [then]


@pytest.mark.req("S09")
def test_children_are_solved_one_level_deeper_and_integrated() -> None:
    run = Scenario(attempt="never")
    run.splits("find red", "find blue")
    assert [run[path].depth for path in ("", "0", "1")] == [0, 1, 1]


@pytest.mark.req("S10", "S54")
def test_luna_is_stopped_before_its_failure_is_analysed_and_split() -> None:
    run = Scenario()
    run.reports(stuck())
    run.splits("find red", "find blue")
    own = run.types("")
    order = ["reported", "stopped", "analysed", "decided", "started", "answer", "split"]
    assert own[own.index("reported") :] == order
    assert run.types("0") == ["created", "started"]
    assert run.types().index("split") < run.types().index("started", run.types().index("split"))


@pytest.mark.req("S55")
@pytest.mark.parametrize(
    ("report", "then"), [(success(), ":judge"), (stuck(), ":split"), (failed("exception"), ":split")]
)
def test_each_status_of_a_report_has_its_own_way(report: dict[str, object], then: str) -> None:
    run = Scenario()
    run.reports(report)
    assert run.doing == [then]


@pytest.mark.req("S53")
def test_the_same_task_is_never_attempted_again_without_anything_new() -> None:
    run = Scenario(max_depth=0)
    run.reports(stuck())
    run.answers({"finding": "information_missing", "remedy": "redefine", "reason": "so", "information": "use a lamp"})
    again = run.tree.inflight["", "attempt", 2]
    assert again.cause == Cause("information", "reassessment")
    assert "New: use a lamp" in run.asked().assignment.context
    run.reports(stuck())
    assert (run.status, run[""].kind) == ("failed", "depth_limit")
    assert run[""].counts["attempt"] == 2


@pytest.mark.case("ESC-01")
def test_question_waits_for_a_person_and_is_never_answered_by_default() -> None:
    run = Scenario()
    run.reports(stuck("may not decide", kind="needs_human", question="delete the table?"))
    assert (run.status, run[""].question, run.doing) == ("waiting", "delete the table?", [])
    run.tell("yes, delete it")
    assert run.data(EventType.ANSWERED).by == "ann"
    assert run.tree.inflight["", "attempt", 2].cause.what == "answer"
    assert "Answer to “delete the table?”: yes, delete it" in run.asked().assignment.context


def test_answer_to_a_node_that_does_not_wait_is_ignored() -> None:
    run = Scenario()
    assert run.tell("yes") == []


@pytest.mark.case("PAR-04")
def test_outcome_after_the_end_is_kept_as_late_and_changes_nothing() -> None:
    run = Scenario()
    outcome = run.outcome(EventType.REPORTED, report=success(), usage={"calls": 1, "tokens": 7})
    run.cancel()
    assert run.status == "cancelled"
    run.send(outcome)
    assert run.types()[-1] == "late"
    assert (run.status, run[""].result, run.tree.spent.tokens) == ("cancelled", None, 7)
    assert run.send(outcome) == []


def test_facts_that_mean_nothing_are_ignored() -> None:
    run = Scenario()
    for sent in (
        fact(EventType.RUN_STARTED, "", {"assignment": assignment_of(), "worker": {"kind": "x"}, "strategy": {}}),
        fact(EventType.REPORTED, "", {"kind": "attempt", "n": 9, "report": success()}),
        fact(EventType.REPORTED, "7", {"kind": "attempt", "n": 1, "report": success()}),
        fact(EventType.CHECKED, "", {"kind": "check", "n": 0, "results": []}),
        fact(EventType.PROGRESSED, "", {"kind": "split", "n": 1, "event": {"type": "said", "text": "x"}}),
        fact(EventType.CANCEL_REQUESTED, "7", {}),
        fact(EventType.RETRY_REQUESTED, "7", {}),
        fact(EventType.SETTLED, "", {"state": "success"}),
    ):
        assert run.send(sent) == [], sent


def test_two_facts_of_one_step_are_followed_one_after_the_other() -> None:
    run = Scenario()
    report = run.outcome(EventType.REPORTED, report=failed(), usage={"calls": 1})
    run.send(report, fact(EventType.CANCEL_REQUESTED, "", {"by": "ann"}))
    assert run.status == "cancelled"
    assert run.types().count("settled") == 1
    assert run.replayed() == run.tree


def test_rules_may_ask_the_judge_about_a_report() -> None:
    rules = {
        "report": [
            {"condition": 'ai("is it worth splitting?")', "next": "split"},
            {"condition": "STUCK", "next": "fail"},
            {"condition": "SUCCESS", "next": "validate"},
        ],
    }
    base = Scenario().strategy.rules
    run = Scenario(rules={**{name: list(one) for name, one in base.items()}, **rules})
    run.reports(stuck())
    assert run.doing == [":rule"]
    asked = run.asked()
    assert asked.question == "is it worth splitting?"
    assert asked.material["report"]["blocker"] == "the lamp is out"
    run.answers({"holds": False, "reason": "no"})
    assert (run.status, run[""].kind) == ("failed", "other")
    assert run[""].decisions[0].section == "report"


def test_missing_rule_ends_the_node_and_says_what_was_seen() -> None:
    base = {name: list(rules) for name, rules in Scenario().strategy.rules.items()}
    run = Scenario(rules={**base, "report": [{"condition": "SUCCESS", "next": "validate"}]})
    run.reports(stuck())
    assert (run.status, run[""].kind) == ("failed", "no_rule")
    assert "Seen: STUCK, STUCK:other" in run[""].reason


@pytest.mark.parametrize(
    ("then", "state", "doing"),
    [("fail", "failed", []), ("ask", "waiting", []), ("escalate", "running", [":reassess"])],
)
def test_rules_choose_what_a_report_leads_to(then: str, state: str, doing: list[str]) -> None:
    base = {name: list(rules) for name, rules in Scenario().strategy.rules.items()}
    run = Scenario(rules={**base, "report": [{"condition": "STUCK", "next": then}]})
    run.reports(stuck())
    assert (str(run[""].state), run.doing) == (state, doing)

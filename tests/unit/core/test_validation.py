"""From a claim to an accepted result: checks, the judge, integration, and what follows when they fail."""

import pytest

from sol.tree.effects import CHECKS_OF_INTEGRATION
from sol.tree.events import EventType
from sol.tree.values import Cause, ReportData, Usage, WorkerData, read
from tests.support.core import Scenario, assignment_of, parts, stuck, success

CHECKED = assignment_of(success_criteria=[{"command": "true"}, {"text": "in order"}])


def split_run(**options: object) -> Scenario:
    """A run whose two parts are accepted and wait to be put together."""
    run = Scenario(**options)  # type: ignore[arg-type]  # options of Scenario
    run.reports(stuck())
    run.splits("find red", "find blue")
    run.solves("0", result=["red"])
    run.solves("1", result=["blue"])
    return run


@pytest.mark.req("S59")
def test_executable_checks_come_first_and_the_judge_after_them() -> None:
    run = Scenario(assignment=CHECKED)
    run.reports(success())
    assert run.doing == [":check"]
    assert run.asked().started_t == run.events[2].t
    results = [
        {"criterion": "true", "kind": "command", "ok": True, "detail": ""},
        {"criterion": "in order", "kind": "text", "ok": None, "detail": "not checked here"},
    ]
    run.send(run.outcome(EventType.CHECKED, results=results))
    assert run.doing == [":judge"]
    assert run.asked().questions == ("in order",)
    run.judges(True)
    assert (run.status, [check.ok for check in run[""].checks]) == ("success", [True, True])


@pytest.mark.req("S59")
def test_judge_is_not_asked_when_a_check_has_failed_already() -> None:
    run = Scenario(assignment=CHECKED)
    run.reports(success())
    run.checks(False, None)
    assert run.doing == [":split"]


@pytest.mark.req("S59")
def test_rejected_success_counts_as_stuck_with_the_failed_checks_as_evidence() -> None:
    run = Scenario(assignment=CHECKED)
    run.reports(success(summary="all sorted"))
    run.checks(False, None)
    report = run.asked().report
    assert (report.status, report.kind) == ("STUCK", "verification")
    assert report.evidence == ("check 0: seen",)
    assert report.attempted == ("all sorted",)
    assert run[""].report == read(ReportData, success(summary="all sorted"))


@pytest.mark.req("S59")
@pytest.mark.case("STAT-02")
def test_missing_output_file_is_unverified_success_and_the_claim_is_kept() -> None:
    files = assignment_of(expected_output={"description": "a report", "files": ["report.csv"]})
    run = Scenario(assignment=files, max_depth=0)
    run.reports(success("wrote report.csv, all tests pass"))
    run.checks(False, None, kind="file")
    assert run.data(EventType.ANALYSED).kind == "unverified_success"
    run.answers({"finding": "definition_wrong", "remedy": "give_up", "reason": "so"})
    assert (run.status, run[""].result) == ("failed", "wrote report.csv, all tests pass")


@pytest.mark.req("S59")
@pytest.mark.case("STAT-02")
@pytest.mark.parametrize("sol", ["rules", "model"])
def test_result_that_nothing_has_checked_is_marked(sol: str) -> None:
    run = Scenario(sol=sol)
    run.reports(success())
    if sol == "model":
        run.judges(True)
    assert run.status == "success"
    assert (run[""].unchecked, run[""].kind) == ((True, "unchecked") if sol == "rules" else (False, ""))


def test_judge_that_rejects_leads_to_a_split() -> None:
    run = Scenario()
    run.reports(success())
    run.judges(False)
    assert run.doing == [":split"]
    assert run.asked().report.kind == "verification"


def test_checks_implied_by_the_expected_output_are_run() -> None:
    run = Scenario(assignment=assignment_of(expected_output={"description": "x", "json_schema": {"type": "array"}}))
    run.reports(success([]))
    assert run.doing == [":check"]


@pytest.mark.req("S60", "S62")
@pytest.mark.parametrize("name", CHECKS_OF_INTEGRATION)
def test_integration_in_which_one_of_five_checks_fails_is_never_a_result(name: str) -> None:
    run = split_run()
    run.answers(parts("half of it", wrong=[name]))
    assert set(run.data(EventType.ANSWER).answer.checks) == set(CHECKS_OF_INTEGRATION)
    assert run.status == "running"
    assert run.doing == [":attempt" if name == "parts_imply_whole" else ":split"]
    if name != "parts_imply_whole":
        assert run.asked().report.kind == "integration"
        assert run.asked().report.blocker == f"Integration left open: {name}: about {name}"


@pytest.mark.req("S60")
def test_integrated_result_is_verified_like_any_other() -> None:
    run = split_run()
    assert [(part.path, part.result) for part in run.asked().parts] == [("0", ["red"]), ("1", ["blue"])]
    run.answers(parts(["red", "blue"]))
    assert run.doing == [":judge"]
    run.judges(True)
    assert (run.status, run[""].result) == ("success", ["red", "blue"])
    assert "integrated" not in run[""].kind


@pytest.mark.req("S62")
def test_integrated_result_that_fails_its_checks_is_planned_anew() -> None:
    run = split_run()
    run.answers(parts())
    run.judges(False)
    assert run.doing == [":split"]
    assert run[""].decisions[-1].section == "validation"


def test_parts_that_are_not_the_whole_are_new_information_for_an_attempt() -> None:
    run = split_run()
    run.answers(parts(wrong=["parts_imply_whole"]))
    assert run.tree.inflight["", "attempt", 2].cause == Cause("information", "parts")
    assert 'Done already: find red. Result: ["red"]' in run.asked().assignment.context


@pytest.mark.req("S61")
def test_integration_may_be_a_task_of_its_own_for_a_luna() -> None:
    run = split_run(integrate="luna")
    assert run.asked().worker == WorkerData("function")
    assert run.tree.inflight["", "integrate", 1].reserve == Usage(calls=1)
    by_sol = split_run()
    assert by_sol.asked().worker is None


@pytest.mark.case("PLAN-04")
def test_open_issues_that_come_back_stop_the_ping_pong() -> None:
    run = Scenario(attempt="never", max_depth=1, max_replans=10, arity=2)
    for round_, open_ in enumerate((["A"], ["B"], ["A"])):
        run.splits(f"fix A {round_}", f"fix B {round_}")
        for path in run[""].current_children:
            run.solves(path)
        run.answers(parts(wrong=["goal_met"], left_open=open_))
    assert (run.status, run[""].kind) == ("failed", "oscillation")
    assert run[""].reason == "The same issues are open again: A. Open before: A; B."
    assert list(map(list, run.data(EventType.SETTLED).open)) == [["A"], ["B"], ["A"]]


@pytest.mark.case("PLAN-04")
def test_shrinking_set_of_open_issues_is_let_through() -> None:
    run = Scenario(attempt="never", max_depth=1, max_replans=10)
    for round_, open_ in enumerate((["A", "B", "C"], ["B", "A"], ["A"], [])):
        run.splits(f"fix A {round_}", f"fix B {round_}")
        for path in run[""].current_children:
            run.solves(path)
        run.answers(parts(wrong=["goal_met"] if open_ else [], left_open=open_))
    run.judges(True)
    assert run.status == "success"


@pytest.mark.case("DELEG-01")
def test_split_out_of_an_integration_goes_on_at_once() -> None:
    run = split_run()
    run.answers(parts(wrong=["goal_met"]))
    run.splits("find red again", "find blue again")
    assert run.doing == ["2:attempt", "3:attempt"]


@pytest.mark.req("S63")
@pytest.mark.parametrize(
    ("then", "state", "doing"),
    [
        ("accept", "success", []),
        ("fail", "failed", []),
        ("split", "running", [":split"]),
        ("replan", "running", [":reassess"]),
        ("escalate", "running", [":reassess"]),
        ("attempt", "running", [":reassess"]),
        ("ask", "waiting", []),
    ],
)
def test_rules_choose_what_a_failed_check_leads_to(then: str, state: str, doing: list[str]) -> None:
    base = {name: list(rules) for name, rules in Scenario().strategy.rules.items()}
    run = Scenario(rules={**base, "validation": [{"condition": "failed:verification", "next": then}]})
    run.reports(success())
    run.judges(False)
    assert (str(run[""].state), run.doing) == (state, doing)

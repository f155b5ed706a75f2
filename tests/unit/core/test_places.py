"""Lunas that are kept apart: where each starts, what is merged, what a conflict leads to, and where it all ends."""

import pytest

from sol.core.assign import checkouts_of
from sol.tree.effects import ApplyAnswer, ApplyRequest, Checkout
from sol.tree.events import EventType
from sol.tree.values import WorkerData
from tests.support.core import Scenario, assignment_of, parts, reassessed, stuck, success


def split_run(**changes: object) -> Scenario:
    """A run whose root was stuck and is split in two independent parts."""
    run = Scenario(apart=True, **changes)  # type: ignore[arg-type]
    run.reports(stuck(), snapshot="half-done")
    run.splits("fix the door", "fix the lamp")
    return run


def test_attempt_starts_from_the_snapshot_that_the_run_began_with() -> None:
    run = Scenario(apart=True)
    assert run.asked().checkout == Checkout("root.1", "base")


def test_attempt_in_place_has_no_place() -> None:
    assert Scenario().asked().checkout is None


def test_part_starts_where_its_parent_started_not_in_what_a_stuck_luna_left() -> None:
    run = split_run()
    assert run.asked("0").checkout == Checkout("0.1", "base")
    assert run.asked("1").checkout == Checkout("1.1", "base")


@pytest.mark.req("S24")
def test_sequential_part_starts_where_the_first_one_ended() -> None:
    run = Scenario(apart=True)
    run.reports(stuck())
    run.splits("find the fault", "mend it", sequential=True)
    run.solves("0", snapshot="found")
    assert run.asked("1").checkout == Checkout("1.1", "found")
    run.solves("1", snapshot="mended")
    assert run.asked().checkout == Checkout("root.merge", "base", (("0", "found"), ("1", "mended")))


def test_sequential_part_after_one_that_changed_nothing_starts_where_that_started() -> None:
    run = Scenario(apart=True)
    run.reports(stuck())
    run.splits("find the fault", "mend it", sequential=True)
    run.solves("0")
    assert run.asked("1").checkout == Checkout("1.1", "base")


@pytest.mark.req("S60", "S62")
def test_accepted_parts_are_merged_in_order_before_they_are_integrated_and_landed_once_accepted() -> None:
    run = split_run()
    run.solves("1", snapshot="lamp")
    run.solves("0", snapshot="door")
    assert run.doing == [":merge"]
    assert run.asked().checkout == Checkout("root.merge", "base", (("0", "door"), ("1", "lamp")))
    assert run.asked().worker is None
    run.merges("both", "0", "1")
    assert run.doing == [":integrate"]
    run.answers(parts())
    run.judges(True)
    assert run.doing == [":land"]
    assert run.asked() == ApplyRequest("both", "base")
    run.answers({"landed": True, "where": "", "note": "done", "changed": ["a.py"]})
    assert run.status == "success"
    assert run.tree.applied == ApplyAnswer(True, "", "done", ("a.py",))
    assert run.replayed() == run.tree


def test_task_that_one_luna_does_is_checked_at_its_place_and_landed() -> None:
    run = Scenario(apart=True, assignment=None, sol="rules")
    run.reports(success(), snapshot="done")
    assert run.doing == [":land"]
    assert run.asked() == ApplyRequest("done", "base")


def test_check_runs_at_the_place_of_the_attempt_or_of_the_merge() -> None:
    run = split_run(assignment=assignment_of(success_criteria=[{"command": "true"}]), sol="rules")
    run.reports(success(), "0", snapshot="door")
    run.reports(success(), "1", snapshot="lamp")
    run.merges("both", "0", "1")
    run.answers(parts())
    assert run.doing == [":check"]
    assert run.asked().checkout == Checkout("root.merge", "both")


def test_check_of_an_attempt_is_at_its_place() -> None:
    run = Scenario(apart=True, assignment=assignment_of(success_criteria=[{"command": "true"}]), sol="rules")
    run.reports(success(), snapshot="done")
    assert run.asked().checkout == Checkout("root.1", "done")


@pytest.mark.req("S61")
def test_conflict_is_settled_by_a_new_luna_and_the_merge_goes_on() -> None:
    run = split_run()
    run.solves("0", snapshot="door")
    run.solves("1", snapshot="lamp")
    before = run.tree.spent.calls
    run.merges("door only", "0", conflict="1")
    asked = run.asked()
    assert asked.checkout == Checkout("root.merge", "door only", (("1", "lamp"),))
    assert asked.worker == WorkerData("function")
    assert run.tree.reserved.calls == 1
    assert [part.goal for part in asked.parts] == ["fix the lamp", "fix the door"]
    run.merges("settled", "1")
    assert run.tree.spent.calls == before + 2
    assert run.doing == [":integrate"]
    assert run[""].merged == "settled"


@pytest.mark.req("S62")
def test_conflict_that_nobody_settles_is_a_failed_integration() -> None:
    run = split_run()
    run.solves("0", snapshot="door")
    run.solves("1", snapshot="lamp")
    run.merges("door only", "0", conflict="1")
    run.answers(parts(None, wrong=["no_contradiction"], left_open=["a.py"]))
    assert run[""].result is None
    assert run.doing == [":split"]


@pytest.mark.req("S25")
def test_parts_of_a_later_split_start_with_what_was_accepted_before() -> None:
    run = split_run()
    run.solves("0", snapshot="door")
    run.reports({"status": "FAILED", "kind": "premise", "reason": "there is no lamp"}, "1")
    run.splits("find a candle", "light it")
    assert run.asked("2").checkout == Checkout("2.1", "base", (("0", "door"),))
    run.reports(stuck(), "2")
    run.splits("look upstairs", "look downstairs", path="2")
    assert run.asked("20").checkout == Checkout("20.1", "base", (("0", "door"),))
    run.solves("20", snapshot="up")
    run.solves("21", snapshot="down")
    assert run.asked("2").checkout == Checkout("2.merge", "base", (("0", "door"), ("20", "up"), ("21", "down")))
    run.merges("candle", "0", "20", "21", path="2")
    run.answers(parts(), "2")
    run.judges(True, path="2")
    run.solves("3", snapshot="light")
    assert run.asked().checkout == Checkout("root.merge", "base", (("0", "door"), ("2", "candle"), ("3", "light")))


def test_attempt_and_split_after_a_merge_start_from_what_was_merged() -> None:
    run = split_run()
    run.solves("0", snapshot="door")
    run.solves("1", snapshot="lamp")
    run.merges("both", "0", "1")
    run.answers(parts(wrong=["parts_imply_whole"]))
    assert run.doing == [":attempt"]
    parts_before = (("0", "door"), ("1", "lamp"))
    assert run.asked().checkout == Checkout("root.2", "both", parts_before)
    run.reports(stuck(), snapshot="half-done again")
    run.splits("paint the door", "paint the lamp")
    assert run.asked("2").checkout == Checkout("2.1", "both", parts_before)
    run.solves("2", snapshot="painted")
    run.reports({"status": "FAILED", "kind": "premise", "reason": "there is no paint"}, "3")
    run.splits("buy paint", "paint the lamp with it")
    assert run.asked("4").checkout == Checkout("4.1", "both", (*parts_before, ("2", "painted")))


@pytest.mark.req("S25")
def test_retry_of_a_task_whose_parts_were_accepted_in_part_starts_with_these() -> None:
    run = split_run(max_replans=0)
    run.solves("0", snapshot="door")
    run.reports({"status": "FAILED", "kind": "premise", "reason": "there is no lamp"}, "1")
    run.answers(reassessed())
    run.retry()
    assert "Done already: fix the door" in run.asked().assignment.context
    assert run.asked().checkout == Checkout("root.2", "base", (("0", "door"),))


def test_merge_that_was_lost_is_made_again_on_resume() -> None:
    run = split_run()
    run.solves("0", snapshot="door")
    run.solves("1", snapshot="lamp")
    run.merges("door only", "0", conflict="1")
    run.lose(kind="workspace")
    assert run.status == "failed"
    run.resume()
    assert run.doing == [":merge"]
    assert run.asked().worker == WorkerData("function")
    assert run.asked().checkout == Checkout("root.merge", "door only", (("1", "lamp"),))


def test_places_of_a_node_are_those_of_its_attempts_and_its_merge() -> None:
    run = split_run()
    assert checkouts_of(run[""]) == ["root.1", "root.merge"]
    assert checkouts_of(run["0"]) == ["0.1", "0.merge"]


def test_work_that_came_home_although_the_run_was_cancelled_is_told() -> None:
    run = Scenario(apart=True, sol="rules")
    run.reports(success(), snapshot="done")
    landing = run.outcome(EventType.ANSWER, answer={"landed": True, "where": "", "note": "it is there", "changed": []})
    run.cancel()
    run.send(landing)
    assert run.status == "cancelled"
    assert run.tree.applied is not None
    assert run.tree.applied.note == "it is there"
    assert run.replayed() == run.tree


def test_answers_of_humans_reach_the_next_attempt_by_question() -> None:
    run = Scenario()
    run.reports(stuck(question="may I?"))
    run.tell("yes")
    assert run.asked().answers == {"may I?": "yes"}

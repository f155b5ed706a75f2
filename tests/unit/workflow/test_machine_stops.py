"""The pure core of machine workflows: interruptions, losses, cancelling, budgets, retries, changed definitions."""

from collections import Counter
from typing import Any

import pytest

from sol.tree.events import Answered, BudgetHit, CancelRequested, Event, Late, RetryRequested, Settled, Started
from sol.tree.node import State
from tests.unit.workflow.walk import (
    CHILD,
    LOOP,
    ONE,
    PARALLEL,
    REPLAYED,
    RESUMED,
    Walk,
    by_step,
    calling,
    failed,
    interrupted,
    lost,
    more_steps,
    stuck,
    success,
    tag,
    walk,
    workflow_in,
    workflow_of,
)


def test_interrupted_sub_steps_are_run_again_and_finished_ones_are_not() -> None:
    done = Walk(workflow_of(PARALLEL), by_step({"a": [1], "b": [1]})).begin()
    first, second = done.open
    done.open = []
    done.take(done.outcome(first), interrupted(second), stopping=True)
    assert done.status == "interrupted"
    done.take(RESUMED).run()
    assert (done.status, done.started) == ("success", ["reviews#1/a", "reviews#1/b", "reviews#1/b"])


def test_lost_sub_step_fails_the_run_until_it_is_resumed() -> None:
    done = walk(PARALLEL, {"a": [1], "b": [lost("no network")]})
    assert (done.status, done.machine.root.resumable) == ("failed", True)
    done.answer = by_step({"b": [1]})
    done.take(RESUMED).run()
    assert (done.status, done.started) == ("success", ["reviews#1/a", "reviews#1/b", "reviews#1/b"])


def test_cancel_ends_everything_and_late_outcomes_change_nothing() -> None:
    done = Walk(workflow_of(PARALLEL), by_step({"a": [1], "b": [1]})).begin()
    done.take(Event("", CancelRequested("enough")))
    done.run()
    assert (done.status, done.machine.root.reason) == ("cancelled", "enough")
    assert {str(node.state) for node in done.machine.nodes.values()} == {"cancelled"}
    assert sum(isinstance(event.data, Late) for event in done.events) == 2


def test_budget_ends_the_run_and_a_resume_takes_up_what_was_open() -> None:
    done = Walk(
        workflow_of(PARALLEL.replace("    parallel:", "    concurrency: 1\n    parallel:")),
        by_step({"a": [1], "b": [1]}),
    )
    done.begin()
    done.take(Event("", BudgetHit("seconds", 5)))
    assert done.machine.root.state == State.EXHAUSTED
    done.run()
    assert done.status == "exhausted"
    done.take(RESUMED).run()
    assert (done.status, done.started) == ("success", ["reviews#1/a", "reviews#1/a", "reviews#1/b"])


def test_retry_runs_the_failed_step_again_with_what_is_new() -> None:
    done = walk(ONE, {"plan": [failed("no plan")]})
    done.answer = by_step({"plan": [1]})
    done.take(Event("plan#1", RetryRequested("look at the readme"))).run()
    assert (done.status, done.started) == ("success", ["plan#1", "plan#1"])
    assert done.machine.nodes["plan#1"].notes == ("look at the readme",)


@pytest.mark.case("RES-03")
@pytest.mark.req("R26")
def test_changed_definition_is_walked_again_with_the_results_of_unchanged_steps() -> None:
    line = """
name: abc
steps:
  - {name: a, instruction: do a, rules: [{condition: ok, next: b}]}
  - {name: b, instruction: do b, rules: [{condition: ok, next: c}]}
  - {name: c, instruction: do c, rules: [{condition: ok, next: COMPLETE}]}
"""
    changed = line.replace("next: b}", "next: x}").replace(
        "  - {name: b,", "  - {name: x, instruction: do x, rules: [{condition: ok, next: b}]}\n  - {name: b,"
    )
    done = Walk(workflow_of(line), by_step({"a": [1], "b": [1], "c": [lost()]})).run()
    assert done.started == ["a#1", "b#1", "c#1"]
    done.workflow, done.answer = workflow_of(changed), by_step({"x": [1], "c": [1]})
    done.take(REPLAYED).run()
    assert (done.status, done.started[3:]) == ("success", ["x#1", "c#1"])

    stale = Walk(workflow_of(line), by_step({"a": [1], "b": [1], "c": [lost()]})).run()
    stale.workflow, stale.answer = workflow_of(line.replace("do b", "do b well")), by_step({"b": [1], "c": [1]})
    stale.take(REPLAYED).run()
    assert (stale.started[3:], stale.machine.nodes["b#1"].stale) == (["b#1", "c#1"], True)
    keys = [(e.node, e.data.kind, e.data.n) for e in stale.events if isinstance(e.data, Started)]
    assert len(set(keys)) == len(keys)


def test_retry_of_the_run_tries_again_what_it_ended_with(tmp_path: Any) -> None:
    aborted = walk(PARALLEL, {"a": [1, 1], "b": [2, 1], "fix": [2]})
    assert aborted.machine.root.kind == "aborted"
    aborted.answer = by_step({"fix": [1], "a": [1], "b": [1]})
    aborted.take(Event("", RetryRequested("it can be fixed"))).run()
    assert (aborted.status, aborted.started[2:4]) == ("success", ["fix#1", "fix#1"])

    half = walk(PARALLEL, {"a": [1], "b": [failed()]})
    half.answer = by_step({"b": [1]})
    half.take(Event("reviews#1", RetryRequested("n"))).run()
    assert (half.status, half.started) == ("success", ["reviews#1/a", "reviews#1/b", "reviews#1/b"])

    unmatched = walk(PARALLEL, {"a": [1], "b": [success("?")]})
    unmatched.answer = by_step({"b": [1]})
    unmatched.take(Event("", RetryRequested("n"))).run()
    assert (unmatched.status, unmatched.started.count("reviews#1/a")) == ("success", 1)

    inner = calling(tmp_path, {"check": [failed()]})
    inner.answer = by_step({"check": [1]})
    inner.take(Event("gate#1", RetryRequested("n"))).run()
    assert (inner.status, inner.started) == ("success", ["gate#1/check#1", "gate#1/check#1"])

    limited = walk(LOOP, {"review": [2], "fix": [1]}, max_steps=1)
    limited.take(Event("", RetryRequested("n"))).run()
    assert (limited.status, limited.started) == ("exhausted", ["review#1"])


def test_report_and_cancel_in_one_step_end_nothing_twice() -> None:
    cancel = Event("", CancelRequested("enough"))
    for first in (True, False):
        done = Walk(workflow_of(PARALLEL), by_step({"a": [2], "b": [2], "fix": [1]})).begin()
        done.finish(done.open[0])
        report = done.outcome(done.open.pop())
        done.take(*([report, cancel] if first else [cancel, report]))
        ended = Counter(event.node for event in done.events if isinstance(event.data, Settled))
        assert max(ended.values()) == 1
        assert done.status == "cancelled"
        # What follows from the report is there before the cancellation, or never.
        assert ("fix#1" in done.steps) == first


def test_late_outcome_of_a_retried_step_is_not_taken_for_the_new_one() -> None:
    done = Walk(workflow_of(ONE), by_step({"plan": [1]})).begin()
    old = done.outcome(done.open.pop())
    done.take(Event("", CancelRequested()))
    done.take(Event("plan#1", RetryRequested("do it after all")))
    done.take(old)
    assert isinstance(done.events[-1].data, Late)
    assert done.status == "running"
    assert (done.run().status, done.started) == ("success", ["plan#1", "plan#1"])


def test_resume_takes_up_nothing_that_the_run_has_gone_on_from() -> None:
    text = PARALLEL.replace("    rules:\n", '    rules:\n      - {condition: any("error"), next: fix}\n')
    done = Walk(workflow_of(text), by_step({"a": [1], "b": [lost()], "fix": [1]})).begin()
    while [one.node for one in done.open] != ["fix#1"]:
        done.finish(done.open[0])
    done.take(interrupted(done.open.pop()), stopping=True)
    done.take(RESUMED)
    assert [one.node for one in done.open] == ["fix#1"]


def test_limit_of_a_parallel_step_holds_after_a_resume() -> None:
    text = PARALLEL.replace("    parallel:", "    concurrency: 1\n    parallel:")
    done = Walk(workflow_of(text), by_step({"a": [1], "b": [1]})).begin()
    done.take(Event("", BudgetHit("seconds", 5)))
    done.finish(done.open[0])
    done.take(RESUMED).run()
    assert (done.status, done.most_open) == ("success", 1)


def test_step_limit_that_several_called_workflows_reach_is_lifted_for_all(tmp_path: Any) -> None:
    parent = """
name: parent
steps:
  - name: both
    parallel: [{name: left, call: child}, {name: right, call: child}]
    rules: [{condition: all("COMPLETE"), next: COMPLETE}]
"""
    done = Walk(workflow_in(tmp_path, parent=parent, child=CHILD), by_step({"check": [1]}), max_steps=1).run()
    assert (done.status, done.started) == ("exhausted", [])
    done.take(more_steps(9)).run()
    assert (done.status, done.started) == ("success", ["both#1/left/check#1", "both#1/right/check#1"])


def test_question_that_waits_is_asked_again_after_the_budget_was_widened() -> None:
    done = walk(ONE, lambda visit, command: tag(visit, 1) if command.n > 1 else stuck("which?", "Which one?"))
    done.take(Event("", BudgetHit("seconds", 5)))
    assert done.status == "exhausted"
    done.take(RESUMED)
    assert (done.status, done.started) == ("waiting", ["plan#1"])
    done.take(Event("plan#1", Answered("the second"))).run()
    assert done.status == "success"

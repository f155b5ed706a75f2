"""The pure core of machine workflows: interruptions, losses, cancelling, budgets, retries, changed definitions."""

from typing import Any

import pytest

from sol.tree.events import Event, EventType
from sol.tree.node import State
from tests.unit.workflow.walk import (
    LOOP,
    ONE,
    PARALLEL,
    Walk,
    by_step,
    calling,
    failed,
    lost,
    program_of,
    success,
    walk,
)


def interrupted(command: Any) -> Event:
    data = {"kind": command.kind, "n": command.n, "cause": "interrupt", "reason": "stopped"}
    return Event(EventType.INTERRUPTED, command.node, data)


def test_interrupted_sub_steps_are_run_again_and_finished_ones_are_not() -> None:
    done = Walk(program_of(PARALLEL), by_step({"a": [1], "b": [1]})).begin()
    first, second = done.open
    done.open = []
    done.take(done.outcome(first), interrupted(second), stopping=True)
    assert done.status == "interrupted"
    done.take(Event(EventType.RESUMED, "")).run()
    assert (done.status, done.started) == ("success", ["reviews#1/a", "reviews#1/b", "reviews#1/b"])


def test_lost_sub_step_fails_the_run_until_it_is_resumed() -> None:
    done = walk(PARALLEL, {"a": [1], "b": [lost("no network")]})
    assert (done.status, done.machine.root.resumable) == ("failed", True)
    done.answer = by_step({"b": [1]})
    done.take(Event(EventType.RESUMED, "")).run()
    assert (done.status, done.started) == ("success", ["reviews#1/a", "reviews#1/b", "reviews#1/b"])


def test_cancel_ends_everything_and_late_outcomes_change_nothing() -> None:
    done = Walk(program_of(PARALLEL), by_step({"a": [1], "b": [1]})).begin()
    done.take(Event(EventType.CANCEL_REQUESTED, "", {"reason": "enough"}))
    done.run()
    assert (done.status, done.machine.root.reason) == ("cancelled", "enough")
    assert {str(node.state) for node in done.machine.nodes.values()} == {"cancelled"}
    assert [event.type for event in done.events].count(EventType.LATE) == 2


def test_budget_ends_the_run_and_a_resume_takes_up_what_was_open() -> None:
    done = Walk(
        program_of(PARALLEL.replace("    parallel:", "    concurrency: 1\n    parallel:")),
        by_step({"a": [1], "b": [1]}),
    )
    done.begin()
    done.take(Event(EventType.BUDGET_HIT, "", {"what": "seconds", "limit": 5}))
    assert done.machine.root.state == State.EXHAUSTED
    done.run()
    assert done.status == "exhausted"
    done.take(Event(EventType.RESUMED, "")).run()
    assert (done.status, done.started) == ("success", ["reviews#1/a", "reviews#1/a", "reviews#1/b"])


def test_retry_runs_the_failed_step_again_with_what_is_new() -> None:
    done = walk(ONE, {"plan": [failed("no plan")]})
    done.answer = by_step({"plan": [1]})
    done.take(Event(EventType.RETRY_REQUESTED, "plan#1", {"note": "look at the readme"})).run()
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
    done = Walk(program_of(line), by_step({"a": [1], "b": [1], "c": [lost()]})).run()
    assert done.started == ["a#1", "b#1", "c#1"]
    done.program, done.answer = program_of(changed), by_step({"x": [1], "c": [1]})
    done.take(Event(EventType.RESUMED, "", {"replay": True})).run()
    assert (done.status, done.started[3:]) == ("success", ["x#1", "c#1"])

    stale = Walk(program_of(line), by_step({"a": [1], "b": [1], "c": [lost()]})).run()
    stale.program, stale.answer = program_of(line.replace("do b", "do b well")), by_step({"b": [1], "c": [1]})
    stale.take(Event(EventType.RESUMED, "", {"replay": True})).run()
    assert (stale.started[3:], stale.machine.visit("b#1").stale) == (["b#1", "c#1"], True)
    keys = [(e.node, e.data["kind"], e.data["n"]) for e in stale.events if e.type == EventType.STARTED]
    assert len(set(keys)) == len(keys)


def test_retry_of_the_run_tries_again_what_it_ended_with(tmp_path: Any) -> None:
    aborted = walk(PARALLEL, {"a": [1, 1], "b": [2, 1], "fix": [2]})
    assert aborted.machine.root.kind == "aborted"
    aborted.answer = by_step({"fix": [1], "a": [1], "b": [1]})
    aborted.take(Event(EventType.RETRY_REQUESTED, "", {"note": "it can be fixed"})).run()
    assert (aborted.status, aborted.started[2:4]) == ("success", ["fix#1", "fix#1"])

    half = walk(PARALLEL, {"a": [1], "b": [failed()]})
    half.answer = by_step({"b": [1]})
    half.take(Event(EventType.RETRY_REQUESTED, "reviews#1", {"note": "n"})).run()
    assert (half.status, half.started) == ("success", ["reviews#1/a", "reviews#1/b", "reviews#1/b"])

    unmatched = walk(PARALLEL, {"a": [1], "b": [success("?")]})
    unmatched.answer = by_step({"b": [1]})
    unmatched.take(Event(EventType.RETRY_REQUESTED, "", {"note": "n"})).run()
    assert (unmatched.status, unmatched.started.count("reviews#1/a")) == ("success", 1)

    inner = calling(tmp_path, {"check": [failed()]})
    inner.answer = by_step({"check": [1]})
    inner.take(Event(EventType.RETRY_REQUESTED, "gate#1", {"note": "n"})).run()
    assert (inner.status, inner.started) == ("success", ["gate#1/check#1", "gate#1/check#1"])

    limited = walk(LOOP, {"review": [2], "fix": [1]}, max_steps=1)
    limited.take(Event(EventType.RETRY_REQUESTED, "", {"note": "n"})).run()
    assert (limited.status, limited.started) == ("exhausted", ["review#1"])

"""The pure core of machine workflows: which step comes next, what ends a run, what goes on after a stop."""

from collections.abc import Sequence
from typing import Any

import pytest

from sol.tree.events import Event, EventType
from sol.tree.node import State
from sol.workflow.machine.state import text_of
from tests.unit.workflow.walk import (
    LOOP,
    PARALLEL,
    Walk,
    by_step,
    failed,
    lost,
    program_in,
    program_of,
    stuck,
    success,
    tag,
    walk,
)

ONE = """
name: one
steps:
  - name: plan
    instruction: plan {task}
    rules: [{condition: done, next: COMPLETE}, {condition: unclear, next: ABORT}]
"""


def test_complete_ends_the_run_with_the_last_answer() -> None:
    done = walk(ONE, {"plan": [1]})
    assert done.status == "success"
    assert done.machine.root.result == "plan#1 says [PLAN:1]"
    assert done.machine.nodes == done.replayed().nodes


def test_abort_ends_the_run_as_failed_and_says_where() -> None:
    done = walk(ONE, {"plan": [2]})
    assert (done.status, done.machine.root.kind) == ("failed", "aborted")
    assert done.machine.root.reason == "Step 'plan' led to ABORT: unclear."


@pytest.mark.req("R15", "R14")
def test_missing_tag_is_asked_for_once_and_then_no_rule_holds() -> None:
    done = walk(ONE, {"plan": [success("I think it is done.")]})
    assert done.started == ["plan#1", "plan#1"]
    assert (done.status, done.machine.root.kind) == ("failed", "no_rule")
    assert "no status tag" in done.machine.root.reason


@pytest.mark.case("RULE-02")
def test_verdict_is_never_read_from_prose() -> None:
    done = walk(ONE, {"plan": [success("**Status: done** Not unclear at all. done")]})
    assert done.status == "failed"


@pytest.mark.req("R23")
@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"verdict": "done"}, "success"),
        ({"verdict": "DONE"}, "success"),
        ({"verdict": "unclear"}, "failed"),
        ({"verdict": "mostly done"}, "failed"),
        ({"verdict": "nothing", "text": "[PLAN:1]"}, "success"),
    ],
)
def test_structured_verdict_chooses_the_rule(result: dict[str, str], status: str) -> None:
    report = {"status": "SUCCESS", "summary": "", "result": result}
    assert walk(ONE, {"plan": [report]}).status == status


def test_structured_values_are_read_by_when() -> None:
    text = """
name: one
steps:
  - name: plan
    instruction: plan
    rules:
      - {when: {value: "{{ result.ready }}", equals: true}, next: COMPLETE}
      - {otherwise: true, next: ABORT}
"""
    assert walk(text, {"plan": [success("x", ready=True)]}).status == "success"
    assert walk(text, {"plan": [success("x", ready=False)]}).machine.root.kind == "aborted"
    assert walk(text, {"plan": [success("x", ready="true")]}).machine.root.kind == "aborted"


@pytest.mark.req("R10", "R20", "R24")
def test_ai_rule_asks_the_judge_only_when_it_is_reached() -> None:
    text = """
name: one
steps:
  - name: plan
    instruction: plan
    rules:
      - {condition: done, next: COMPLETE}
      - {condition: 'ai("Good enough?")', next: COMPLETE}
      - {condition: 'ai("Hopeless?")', next: ABORT}
"""

    def answer(visit: Any, command: Any) -> Any:
        if command.kind == "rule":
            return {"holds": command.because["question"] == "Hopeless?", "reason": "since so"}
        return success("no tag")

    done = walk(text, answer)
    # The label above asks for a tag once more; then both questions are put, each once.
    assert done.started == ["plan#1", "plan#1 rule", "plan#1 rule"]
    assert done.machine.root.kind == "aborted"
    assert done.machine.nodes["plan#1"].decisions[-1]["reason"] == "since so"
    assert walk(text, {"plan": [1]}).started == ["plan#1"]

    broken = walk(text, lambda visit, command: lost() if command.kind == "rule" else success("x"))
    assert (broken.status, broken.machine.root.resumable) == ("failed", True)
    broken.answer = answer
    broken.take(Event(EventType.RESUMED, "")).run()
    assert broken.started == ["plan#1", "plan#1 rule", "plan#1 rule", "plan#1 rule"]
    assert broken.machine.root.kind == "aborted"


@pytest.mark.req("R01", "R02", "R08")
def test_parallel_step_goes_by_the_verdicts_of_its_sub_steps() -> None:
    done = walk(PARALLEL, {"a": [1, 1], "b": [2, 1], "fix": [1]})
    assert done.status == "success"
    assert done.started == ["reviews#1/a", "reviews#1/b", "fix#1", "reviews#2/a", "reviews#2/b"]
    assert done.machine.visit("reviews#1").verdict == 'any("needs_fix")'
    assert [done.machine.visit(f"reviews#1/{name}").verdict for name in "ab"] == ["approved", "needs_fix"]
    assert done.machine.iteration == 3


def test_combined_text_of_a_parallel_step_goes_to_the_next_in_file_order() -> None:
    done = walk(PARALLEL, {"a": [1], "b": [2], "fix": [2]})
    text = "## a\nreviews#1/a says [A:1]\n\n---\n\n## b\nreviews#1/b says [B:2]"
    assert done.machine.visit("reviews#1").text == text


@pytest.mark.req("R05")
def test_sub_step_without_verdict_is_undetermined() -> None:
    done = walk(PARALLEL, {"a": [success("?")], "b": [2], "fix": [2]})
    assert done.machine.visit("reviews#1/a").state == State.SUCCESS
    assert done.machine.visit("reviews#1/a").verdict is None
    assert done.machine.visit("reviews#1").verdict == 'any("needs_fix")'
    # Undetermined keeps all("approved") from holding, and then nothing holds.
    assert walk(PARALLEL, {"a": [success("?")], "b": [1]}).machine.root.kind == "no_rule"


def test_failed_sub_step_fails_its_step_after_the_others_are_done() -> None:
    done = walk(PARALLEL, {"a": [failed("boom")], "b": [1]})
    assert done.started == ["reviews#1/a", "reviews#1/b"]
    assert done.machine.visit("reviews#1/b").verdict == "approved"
    assert (done.status, done.machine.root.reason) == ("failed", "Step 'a': boom")


ERRORS = PARALLEL.replace(
    '- {condition: any("needs_fix"), next: fix}',
    '- {condition: any("needs_fix"), next: fix}\n      - {condition: any("error"), next: fix}',
)


def test_rule_for_failed_sub_steps_takes_them_three_times_in_a_row() -> None:
    done = walk(ERRORS, {"a": [failed()], "b": [1], "fix": [1]})
    assert done.machine.root.kind == "error_limit"
    assert [path for path in done.steps if path.startswith("fix")] == ["fix#1", "fix#2", "fix#3"]
    fine = walk(ERRORS, {"a": [failed(), failed(), failed(), 2, failed(), 1], "b": [1], "fix": [1]}, max_steps=30)
    assert fine.status == "success"


@pytest.mark.parametrize(("limit", "most"), [(None, 2), (1, 1)])
def test_parallel_step_runs_no_more_than_its_own_limit(limit: int | None, most: int) -> None:
    text = PARALLEL if limit is None else PARALLEL.replace("    parallel:", f"    concurrency: {limit}\n    parallel:")
    done = walk(text, {"a": [1], "b": [1]})
    assert (done.status, done.most_open) == ("success", most)


def test_run_starts_no_more_effects_than_the_strategy_allows() -> None:
    done = walk(PARALLEL, {"a": [1], "b": [1]}, concurrency=1)
    assert (done.status, done.most_open) == ("success", 1)


def test_stuck_step_ends_the_run_with_its_blocker() -> None:
    done = walk(ONE, {"plan": [stuck("the key is missing")]})
    assert (done.status, done.machine.root.kind) == ("failed", "stuck")
    assert done.machine.root.reason == "Step 'plan': the key is missing"


def test_question_waits_and_its_answer_runs_the_step_again() -> None:
    done = walk(ONE, lambda visit, command: tag(visit, 1) if command.n > 1 else stuck("which?", "Which one?"))
    assert done.status == "waiting"
    assert done.machine.nodes["plan#1"].question == "Which one?"
    done.take(Event(EventType.ANSWERED, "plan#1", {"text": "the second"})).run()
    assert (done.status, done.started, done.machine.inputs) == ("success", ["plan#1", "plan#1"], ["the second"])
    assert done.machine.iteration == 1


ASKING = """
name: ask
steps:
  - name: plan
    instruction: plan
    rules:
      - {condition: done, next: COMPLETE}
      - {condition: which one, next: COMPLETE, requires_user_input: true, interactive_only: true, appendix: "1 or 2"}
      - {condition: hopeless, next: ABORT}
"""


def test_rule_may_ask_before_it_runs_the_step_again() -> None:
    done = walk(ASKING, lambda visit, command: tag(visit, 1 if command.n > 1 else 2), interactive=True)
    assert done.status == "waiting"
    assert done.machine.nodes["plan#1"].question == "plan#1 says [PLAN:2]\n\n1 or 2"
    done.take(Event(EventType.ANSWERED, "plan#1", {"text": "1"})).run()
    assert (done.status, done.started) == ("success", ["plan#1", "plan#1"])


def test_interactive_rule_is_not_there_when_nobody_answers() -> None:
    done = walk(ASKING, {"plan": [2]})
    assert done.machine.root.kind == "aborted"


@pytest.mark.req("R25")
def test_step_limit_ends_the_run_and_more_steps_let_it_go_on() -> None:
    done = walk(LOOP.split("loop_monitors")[0], {"review": [2, 1], "fix": [1]}, max_steps=2)
    assert (done.status, done.machine.root.kind, done.machine.root.resumable) == ("exhausted", "step_limit", True)
    done.take(Event(EventType.RESUMED, "", {"config": {"max_steps": 5}})).run()
    assert (done.status, done.started) == ("success", ["review#1", "fix#1", "review#2"])


def test_step_limit_of_zero_starts_nothing() -> None:
    done = walk(ONE, {}, max_steps=0)
    assert (done.status, done.started) == ("exhausted", [])


CHILD = """
name: child
subworkflow: {callable: true, returns: [needs_fix]}
steps:
  - name: check
    instruction: check
    rules: [{condition: good, next: COMPLETE}, {condition: bad, return: needs_fix}, {condition: no, next: ABORT}]
"""
CALLER = """
name: caller
steps:
  - name: gate
    call: child
    rules:
      - {condition: COMPLETE, next: COMPLETE}
      - {condition: needs_fix, next: fix}
      - {condition: ABORT, next: ABORT}
  - name: fix
    instruction: fix
    rules: [{condition: fixed, next: gate}]
"""


def calling(directory: Any, table: dict[str, Sequence[Any]], **options: Any) -> Walk:
    return Walk(program_in(directory, caller=CALLER, child=CHILD), by_step(table), **options).run()


@pytest.mark.req("R25")
def test_called_workflow_answers_its_caller_and_shares_the_step_limit(tmp_path: Any) -> None:
    def answer(visit: Any, command: Any) -> Any:
        return tag(visit, 2 if visit.path == "gate#1/check#1" else 1)

    done = Walk(program_in(tmp_path, caller=CALLER, child=CHILD), answer).run()
    assert (done.status, done.machine.iteration) == ("success", 3)
    assert done.started == ["gate#1/check#1", "fix#1", "gate#2/check#1"]
    assert [done.machine.visit(path).verdict for path in ("gate#1", "gate#2")] == ["needs_fix", "COMPLETE"]
    assert done.machine.root.result == "gate#2/check#1 says [CHECK:1]"

    short = Walk(program_in(tmp_path, caller=CALLER, child=CHILD), answer, max_steps=2).run()
    assert (short.status, short.machine.root.reason.split(";")[0]) == (
        "exhausted",
        "Step 'gate': The limit of 2 steps is reached",
    )
    short.take(Event(EventType.RESUMED, "", {"config": {"max_steps": 3}})).run()
    assert (short.status, short.started) == ("success", ["gate#1/check#1", "fix#1", "gate#2/check#1"])


def test_called_workflow_that_aborts_or_fails(tmp_path: Any) -> None:
    assert calling(tmp_path, {"check": [3]}).machine.root.kind == "aborted"
    broken = calling(tmp_path, {"check": [failed("boom")]})
    assert (broken.status, broken.machine.root.reason) == ("failed", "Step 'check': boom")
    assert broken.machine.nodes["gate#1"].state == State.FAILED


def test_sub_step_may_be_a_called_workflow(tmp_path: Any) -> None:
    parent = """
name: parent
steps:
  - name: both
    parallel:
      - {name: own, instruction: look, rules: [{condition: COMPLETE}]}
      - {name: gate, call: child}
    rules: [{condition: all("COMPLETE"), next: COMPLETE}, {condition: any("needs_fix"), next: ABORT}]
"""
    program = program_in(tmp_path, parent=parent, child=CHILD)
    assert Walk(program, by_step({"own": [1], "check": [1]})).run().status == "success"
    done = Walk(program, by_step({"own": [1], "check": [2]})).run()
    assert done.machine.visit("both#1/gate").verdict == "needs_fix"
    assert done.machine.root.kind == "aborted"


@pytest.mark.req("R25")
def test_monitor_fires_on_re_entry_and_counts_as_a_step() -> None:
    done = walk(LOOP, {"review": [2], "fix": [1], "monitor-1": [1, 2]})
    assert done.started == [
        *["review#1", "fix#1", "review#2", "fix#2", "monitor-1#1"],
        *["review#3", "fix#3", "review#4", "fix#4", "monitor-1#2"],
    ]
    assert (done.status, done.machine.iteration) == ("success", 10)


@pytest.mark.req("R25")
@pytest.mark.parametrize("judge", [failed(), stuck("?", "a question"), lost(), success("no tag at all")])
def test_failing_monitor_never_ends_the_run(judge: Any) -> None:
    done = walk(LOOP, {"review": [2, 2, 1], "fix": [1], "monitor-1": [judge]})
    assert done.status == "success"
    assert "monitor-1#1" in done.steps
    assert done.steps[-1] == "review#3"


@pytest.mark.req("R25")
def test_monitor_does_not_fire_when_the_cycle_is_left_or_broken() -> None:
    left = walk(LOOP, {"review": [2, 2, 1], "fix": [1, 2], "other": [1], "monitor-1": [1]})
    assert "monitor-1#1" in left.steps  # `other` is ignored
    broken = walk(LOOP.replace("    ignore_steps: [other]\n", ""), {"review": [2, 2, 1], "fix": [1, 2], "other": [1]})
    assert "monitor-1#1" not in broken.steps
    assert walk(LOOP, {"review": [2, 3], "fix": [1]}).machine.root.kind == "aborted"


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


@pytest.mark.parametrize(
    ("report", "text"),
    [
        ({"result": "words"}, "words"),
        ({"result": {"text": "words", "more": 1}}, "words"),
        ({"result": {"a": 1}}, '{"a": 1}'),
        ({"result": None, "summary": "short"}, "short"),
        ({"status": "STUCK", "blocker": "wall"}, "wall"),
        ({}, ""),
    ],
)
def test_text_of_a_report(report: dict[str, Any], text: str) -> None:
    assert text_of(report) == text


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

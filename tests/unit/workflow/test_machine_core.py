"""The pure core of machine workflows: which step comes next, what a step asks for, loops and their limits."""

from typing import Any

import pytest

from sol.tree.effects import Judged
from sol.tree.events import Answered, Event
from sol.tree.values import ReportData
from sol.workflow.state import text_of
from tests.unit.workflow.walk import (
    LOOP,
    ONE,
    RESUMED,
    failed,
    lost,
    more_steps,
    stuck,
    success,
    tag,
    walk,
)


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
    assert walk(ONE, {"plan": [ReportData("SUCCESS", result=result)]}).status == status


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
            return Judged(command.cause.question == "Hopeless?", "since so")
        return success("no tag")

    done = walk(text, answer)
    # The label above asks for a tag once more; then both questions are put, each once.
    assert done.started == ["plan#1", "plan#1 rule", "plan#1 rule"]
    assert done.machine.root.kind == "aborted"
    assert done.machine.nodes["plan#1"].decisions[-1].reason == "since so"
    assert walk(text, {"plan": [1]}).started == ["plan#1"]

    broken = walk(text, lambda visit, command: lost() if command.kind == "rule" else success("x"))
    assert (broken.status, broken.machine.root.resumable) == ("failed", True)
    broken.answer = answer
    broken.take(RESUMED).run()
    assert broken.started == ["plan#1", "plan#1 rule", "plan#1 rule", "plan#1 rule"]
    assert broken.machine.root.kind == "aborted"


def test_stuck_step_ends_the_run_with_its_blocker() -> None:
    done = walk(ONE, {"plan": [stuck("the key is missing")]})
    assert (done.status, done.machine.root.kind) == ("failed", "stuck")
    assert done.machine.root.reason == "Step 'plan': the key is missing"


def test_question_waits_and_its_answer_runs_the_step_again() -> None:
    done = walk(ONE, lambda visit, command: tag(visit, 1) if command.n > 1 else stuck("which?", "Which one?"))
    assert done.status == "waiting"
    assert done.machine.nodes["plan#1"].question == "Which one?"
    done.take(Event("plan#1", Answered("the second"))).run()
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
    done.take(Event("plan#1", Answered("1"))).run()
    assert (done.status, done.started) == ("success", ["plan#1", "plan#1"])


def test_interactive_rule_is_not_there_when_nobody_answers() -> None:
    done = walk(ASKING, {"plan": [2]})
    assert done.machine.root.kind == "aborted"


@pytest.mark.req("R25")
def test_step_limit_ends_the_run_and_more_steps_let_it_go_on() -> None:
    done = walk(LOOP.split("loop_monitors")[0], {"review": [2, 1], "fix": [1]}, max_steps=2)
    assert (done.status, done.machine.root.kind, done.machine.root.resumable) == ("exhausted", "step_limit", True)
    done.take(more_steps(5)).run()
    assert (done.status, done.started) == ("success", ["review#1", "fix#1", "review#2"])


def test_step_limit_of_zero_starts_nothing() -> None:
    done = walk(ONE, {}, max_steps=0)
    assert (done.status, done.started) == ("exhausted", [])


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


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (ReportData("SUCCESS", result="words"), "words"),
        (ReportData("SUCCESS", result={"text": "words", "more": 1}), "words"),
        (ReportData("SUCCESS", result={"a": 1}), '{"a": 1}'),
        (ReportData("SUCCESS", summary="short"), "short"),
        (ReportData("STUCK", blocker="wall"), "wall"),
        (ReportData("SUCCESS"), ""),
    ],
)
def test_text_of_a_report(report: ReportData, text: str) -> None:
    assert text_of(report) == text

"""The pure core of machine workflows: sub-steps side by side, and workflows that steps call."""

from typing import Any

import pytest

from sol.tree.node import State
from tests.unit.workflow.walk import (
    CALLER,
    CHILD,
    PARALLEL,
    Walk,
    by_step,
    calling,
    failed,
    more_steps,
    success,
    tag,
    walk,
    workflow_in,
)


@pytest.mark.req("R01", "R02", "R08")
def test_parallel_step_goes_by_the_verdicts_of_its_sub_steps() -> None:
    done = walk(PARALLEL, {"a": [1, 1], "b": [2, 1], "fix": [1]})
    assert done.status == "success"
    assert done.started == ["reviews#1/a", "reviews#1/b", "fix#1", "reviews#2/a", "reviews#2/b"]
    assert done.machine.nodes["reviews#1"].verdict == 'any("needs_fix")'
    assert [done.machine.nodes[f"reviews#1/{name}"].verdict for name in "ab"] == ["approved", "needs_fix"]
    assert done.machine.iteration == 3


def test_combined_text_of_a_parallel_step_goes_to_the_next_in_file_order() -> None:
    done = walk(PARALLEL, {"a": [1], "b": [2], "fix": [2]})
    text = "## a\nreviews#1/a says [A:1]\n\n---\n\n## b\nreviews#1/b says [B:2]"
    assert done.machine.nodes["reviews#1"].text == text


@pytest.mark.req("R05")
def test_sub_step_without_verdict_is_undetermined() -> None:
    done = walk(PARALLEL, {"a": [success("?")], "b": [2], "fix": [2]})
    assert done.machine.nodes["reviews#1/a"].state == State.SUCCESS
    assert done.machine.nodes["reviews#1/a"].verdict is None
    assert done.machine.nodes["reviews#1"].verdict == 'any("needs_fix")'
    # Undetermined keeps all("approved") from holding, and then nothing holds.
    assert walk(PARALLEL, {"a": [success("?")], "b": [1]}).machine.root.kind == "no_rule"


def test_failed_sub_step_fails_its_step_after_the_others_are_done() -> None:
    done = walk(PARALLEL, {"a": [failed("boom")], "b": [1]})
    assert done.started == ["reviews#1/a", "reviews#1/b"]
    assert done.machine.nodes["reviews#1/b"].verdict == "approved"
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


@pytest.mark.req("R25")
def test_called_workflow_answers_its_caller_and_shares_the_step_limit(tmp_path: Any) -> None:
    def answer(visit: Any, command: Any) -> Any:
        return tag(visit, 2 if visit.path == "gate#1/check#1" else 1)

    done = Walk(workflow_in(tmp_path, caller=CALLER, child=CHILD), answer).run()
    assert (done.status, done.machine.iteration) == ("success", 3)
    assert done.started == ["gate#1/check#1", "fix#1", "gate#2/check#1"]
    assert [done.machine.nodes[path].verdict for path in ("gate#1", "gate#2")] == ["needs_fix", "COMPLETE"]
    assert done.machine.root.result == "gate#2/check#1 says [CHECK:1]"

    short = Walk(workflow_in(tmp_path, caller=CALLER, child=CHILD), answer, max_steps=2).run()
    assert (short.status, short.machine.root.reason.split(";")[0]) == (
        "exhausted",
        "Step 'gate': The limit of 2 steps is reached",
    )
    short.take(more_steps(3)).run()
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
    workflow = workflow_in(tmp_path, parent=parent, child=CHILD)
    assert Walk(workflow, by_step({"own": [1], "check": [1]})).run().status == "success"
    done = Walk(workflow, by_step({"own": [1], "check": [2]})).run()
    assert done.machine.nodes["both#1/gate"].verdict == "needs_fix"
    assert done.machine.root.kind == "aborted"

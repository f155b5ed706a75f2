"""Rows about the workflow runtime: loops, runs, parallel steps, and what the runner decides about rules."""

from pathlib import Path
from tempfile import TemporaryDirectory

from sol.tree.events import Answered, Event
from tests.unit.rules.conformance_row import Check, Row, differs, every, same
from tests.unit.rules.conformance_walks import ASK, ERRORS, PLAIN_LOOP, ROUNDS, ends, fires, goes, says
from tests.unit.workflow.walk import (
    LOOP,
    PARALLEL,
    RESUMED,
    Walk,
    by_step,
    failed,
    lost,
    more_steps,
    stuck,
    success,
    tag,
    walk,
    workflow_in,
)


def of_two_monitors_the_entered_one_fires() -> None:
    second = "  - {cycle: [fix, review], threshold: 2, judge: {instruction: x, rules: [{condition: a, next: ABORT}]}}\n"
    done = walk(LOOP + second, {"review": [2], "fix": [1], "monitor-1": [2], "monitor-2": [1]})
    assert [path for path in done.steps if path.startswith("monitor")] == ["monitor-1#1"]


def limit_is_shared_with_called_workflows() -> None:
    child = "name: c\nsteps: [{name: t, instruction: x, rules: [{condition: a, next: COMPLETE}]}]\n"
    text = "name: p\nsteps: [{name: s, call: child, rules: [{condition: COMPLETE, next: s}]}]\n"
    with TemporaryDirectory() as directory:
        workflow = workflow_in(Path(directory), parent=text, child=child)
        done = Walk(workflow, by_step({"t": [1]}), max_steps=3).run()
    assert (done.status, done.machine.iteration) == ("exhausted", 3)
    assert done.steps[-1] == "s#4"


def more_steps_are_granted_by_a_resume() -> None:
    done = walk(PLAIN_LOOP, {"review": [2, 1], "fix": [1]}, max_steps=2)
    assert done.status == "exhausted"
    done.take(more_steps(3)).run()
    assert done.status == "success"


def a_question_waits_and_an_answer_runs_the_step_again() -> None:
    done = walk(ASK, lambda visit, command: tag(visit, 1) if command.n > 1 else stuck("which?", "Which?"))
    assert done.status == "waiting"
    done.take(Event("plan#1", Answered("this"))).run()
    assert (done.status, done.started) == ("success", ["plan#1", "plan#1"])


def a_rule_that_asks_runs_its_own_step_again() -> None:
    done = walk(ASK, lambda visit, command: tag(visit, 1 if command.n == 1 else 2), interactive=True)
    assert done.status == "waiting"
    done.take(Event("plan#1", Answered("this"))).run()
    assert (done.status, done.steps) == ("success", ["plan#1"])


def rate_limit_uses_up_no_step() -> None:
    done = walk(PLAIN_LOOP, {"review": [lost("too many requests")]})
    assert (done.machine.root.resumable, done.machine.iteration) == (True, 1)
    done.answer = by_step({"review": [1]})
    done.take(RESUMED).run()
    assert (done.status, done.machine.iteration) == ("success", 1)


def text_is_combined_in_file_order() -> None:
    done = walk(PARALLEL, {"a": [success("A [A:1]")], "b": [success("B [B:1]")]})
    assert done.machine.root.result == "## a\nA [A:1]\n\n---\n\n## b\nB [B:1]"


def others_outputs_are_kept() -> None:
    done = walk(PARALLEL, {"a": [failed()], "b": [1]})
    assert (done.status, done.machine.nodes["reviews#1/b"].verdict) == ("failed", "approved")


def first_failed_sub_step_in_file_order_is_reported() -> None:
    done = walk(PARALLEL, {"a": [failed("first")], "b": [lost("second")]})
    assert done.machine.root.reason == "Step 'a': first"


def lost_sub_step_is_not_retried_by_the_step() -> None:
    done = walk(PARALLEL, {"a": [lost()], "b": [1]})
    assert (done.started, done.machine.root.resumable) == (["reviews#1/a", "reviews#1/b"], True)


def most_at_a_time(limit: int | None, most: int) -> Check:
    """A parallel step runs so many sub-steps at most at a time."""

    def check() -> None:
        line = "" if limit is None else f"    concurrency: {limit}\n"
        done = walk(PARALLEL.replace("    parallel:", f"{line}    parallel:"), {"a": [1], "b": [1]})
        assert done.most_open == most

    return check


def called_sub_step_has_the_end_as_verdict() -> None:
    child = "name: c\nsteps: [{name: t, instruction: x, rules: [{condition: a, next: ABORT}]}]\n"
    text = """
name: p
steps:
  - name: s
    parallel: [{name: u, call: child}]
    rules: [{condition: any("ABORT"), next: COMPLETE}]
"""
    with TemporaryDirectory() as directory:
        done = Walk(workflow_in(Path(directory), parent=text, child=child), by_step({"t": [1]})).run()
    assert (done.status, done.machine.nodes["s#1/u"].verdict) == ("success", "ABORT")


def structured_verdict_comes_before_tags() -> None:
    assert walk(PLAIN_LOOP, {"review": [success("[REVIEW:3]", verdict="good")]}).status == "success"
    assert walk(PLAIN_LOOP, {"review": [success("[REVIEW:1]", verdict="no such")]}).status == "success"


def last_answer_is_read_for_tags() -> None:
    done = walk(PLAIN_LOOP, lambda visit, command: success("no tag") if command.n == 1 else success("[REVIEW:1]"))
    assert (done.status, done.started) == ("success", ["review#1", "review#1"])


def children_of_this_round_count() -> None:
    done = walk(PARALLEL, {"a": [2, 1], "b": [1], "fix": [1]})
    assert done.machine.nodes["reviews#2"].verdict == 'all("approved")'


POOL = says(
    PARALLEL.replace("parallel:\n", "parallel:\n      pool: []\n      fixed:\n"), "sub-steps chosen at run time"
)
GATES = says(
    PLAIN_LOOP.replace("review it", "review it\n    quality_gates: [{type: command, command: x}]"), "quality_gates"
)
LOOPS: tuple[Row, ...] = (
    same("L01", "R25", "no warning", ends(PLAIN_LOOP, {"review": [2] * 9 + [1], "fix": [1]}, "success", max_steps=20)),
    differs(
        "L02",
        "R25",
        "no warning of its own; the step limit bounds it",
        ends(PLAIN_LOOP, {"review": [2], "fix": [1]}, "exhausted", max_steps=22),
    ),
    same(
        "L03",
        "R25",
        "another step in between breaks the row",
        fires(
            LOOP.replace("    ignore_steps: [other]\n", ""), {"review": [2, 2, 1], "fix": [1, 2], "other": [1]}, times=0
        ),
    ),
    differs(
        "L04",
        "R25",
        "the step limit ends the run as exhausted; it can be resumed",
        ends(PLAIN_LOOP, {"review": [2], "fix": [1]}, "step_limit", max_steps=3),
    ),
    differs("L05", "R25", "there is no warning to be switched off", fires(PLAIN_LOOP, ROUNDS, times=0)),
    same(
        "L06",
        "R25",
        "fires when the cycle is entered again",
        goes(LOOP, ROUNDS, "review#1", "fix#1", "review#2", "fix#2", "monitor-1#1", "review#3"),
    ),
    same(
        "L07",
        "R25",
        "does not fire",
        fires(LOOP, {"review": [2, 2, 3], "fix": [1, 2], "other": [1], "monitor-1": [1]}, times=1),
    ),
    same("L08", "R25", "the one that the next step enters", of_two_monitors_the_entered_one_fires),
    same(
        "L09",
        "R25",
        "counting starts again",
        goes(
            LOOP,
            {"review": [2, 2, 2, 1], "fix": [1], "monitor-1": [1]},
            "review#1",
            "fix#1",
            "review#2",
            "fix#2",
            "monitor-1#1",
            "review#3",
            "fix#3",
            "review#4",
        ),
    ),
    same(
        "L10",
        "R25",
        "ignored steps are taken out first",
        fires(LOOP, {"review": [2, 2, 1], "fix": [2], "other": [1], "monitor-1": [1]}, times=1),
    ),
    same("L11", "R25", "refused at load", says(LOOP.replace("[other]", "[fix]"), "in the cycle and ignored")),
    same(
        "L12",
        "R25",
        "an end is never overridden",
        fires(
            LOOP.replace("[review, fix]", "[fix, review]").replace("threshold: 2", "threshold: 1"),
            {"review": [2, 1], "fix": [1]},
            times=0,
        ),
    ),
    same(
        "L13",
        "R25",
        "the natural next step, and counting starts again",
        goes(
            LOOP,
            {**ROUNDS, "monitor-1": [failed()]},
            "review#1",
            "fix#1",
            "review#2",
            "fix#2",
            "monitor-1#1",
            "review#3",
        ),
    ),
    same(
        "L14", "R25", "refused at load", says(LOOP.replace("enough, next: COMPLETE", "enough, next: x"), "no step 'x'")
    ),
    same("L15", "R25", "counts as a step", ends(LOOP, ROUNDS, "step_limit", max_steps=5)),
)
RUNS: tuple[Row, ...] = (
    differs("M01", "R25", "ends as exhausted; a resume may grant more", more_steps_are_granted_by_a_resume),
    same("M02", "R25", "not counted, and the limit is shared", limit_is_shared_with_called_workflows),
    same("M03", "R25", "no limit", ends(PLAIN_LOOP, {"review": [2] * 50 + [1], "fix": [1]}, "success", max_steps=None)),
    same("M04", "R14", "ends the run as stuck", ends(PLAIN_LOOP, {"review": [stuck()]}, "stuck")),
    differs(
        "M05",
        "R14",
        "a question waits; the run can be answered later",
        ends(PLAIN_LOOP, {"review": [stuck("?", "Which?")]}, "waiting"),
    ),
    same("M06", "R14", "the same step again, with the answer", a_question_waits_and_an_answer_runs_the_step_again),
    same("M07", "R14", "rules are not tried", ends(PLAIN_LOOP, {"review": [failed("[REVIEW:1]")]}, "failed")),
    differs(
        "M08",
        "R25",
        "uses up no step; the same provider is waited for, there is no chain of providers",
        rate_limit_uses_up_no_step,
    ),
    same("M09", "R14", "asks, then the same step", a_rule_that_asks_runs_its_own_step_again),
    differs(
        "M10",
        "R14",
        "the field is known and not acted on; a step asks when it is stuck",
        says(
            PLAIN_LOOP.replace("review it", "review it\n    requires_user_input: true"),
            "'requires_user_input' is known, but not acted on",
            "warning",
        ),
    ),
    differs("M11", "R26", "gates that run commands are not offered; a step of its own runs them", GATES),
    same(
        "M12",
        "R26",
        "refused at load",
        every(
            says(PLAIN_LOOP.replace("fixed, next: review", "fixed, next: x"), "no step 'x'"),
            says(PLAIN_LOOP + "initial_step: x\n", "no step 'x'"),
        ),
    ),
    same(
        "M13",
        "R26",
        "refused at load",
        every(
            says(PLAIN_LOOP.replace("next: ABORT", "next: ABORT, return: x"), "next and return"),
            says(PLAIN_LOOP.replace("next: ABORT", "return: x"), "not declared"),
            says(PLAIN_LOOP.replace("next: ABORT", "return: ABORT"), "is written next: ABORT"),
        ),
    ),
)
PARALLEL_ROWS: tuple[Row, ...] = (
    same("X01", "R10", "headed by name, in file order", text_is_combined_in_file_order),
    same("X02", "R05", "fails the step; the others' outputs are kept", others_outputs_are_kept),
    same(
        "X03",
        "R02",
        "the rule takes it; the fourth in a row fails",
        ends(ERRORS, {"a": [failed()], "b": [1], "fix": [1]}, "error_limit"),
    ),
    differs(
        "X04",
        "R05",
        "undetermined: `any` leaves it out",
        goes(PARALLEL, {"a": [success("?")], "b": [2], "fix": [2]}, "reviews#1", "fix#1"),
    ),
    differs("X05", "R14", "the first failed one in file order", first_failed_sub_step_in_file_order_is_reported),
    differs(
        "X06",
        "R24",
        "the model's own policy retries; then the run can be resumed",
        lost_sub_step_is_not_retried_by_the_step,
    ),
    same(
        "X07",
        "R12",
        "at most N; unset, as many as the run allows",
        every(most_at_a_time(1, 1), most_at_a_time(None, 2)),
    ),
    same("X08", "R08", "the end that it came to", called_sub_step_has_the_end_as_verdict),
)
RUNNER: tuple[Row, ...] = (
    differs(
        "A21",
        "R12",
        "sub-steps are never chosen at run time; those of this visit count",
        every(POOL, children_of_this_round_count),
    ),
    differs("A22", "R26", "not offered, so refused at load", POOL),
    differs("P42", "R26", "sub-steps are never chosen at run time, so their number is known", POOL),
    differs(
        "P43",
        "R26",
        "sub-steps are never chosen at run time; labels that none gives are warned about",
        every(
            POOL, says(PARALLEL.replace('any("needs_fix")', 'any("other")'), "can have the verdict 'other'", "warning")
        ),
    ),
    same("R11", "R23", "an invalid value is none, and tags are read", structured_verdict_comes_before_tags),
    same("R14", "R15", "not there", ends(ASK, {"plan": [1]}, "success")),
    same("R15", "R15", "an ordinary rule", ends(ASK, {"plan": [1]}, "waiting", interactive=True)),
    differs(
        "R18",
        "R15",
        "there is one answer, and its last tag counts",
        ends(PLAIN_LOOP, {"review": [success("[REVIEW:3] or rather [REVIEW:1]")]}, "success"),
    ),
    differs(
        "R19",
        "R14",
        "an answer without a tag is asked for again once; only the new one counts",
        last_answer_is_read_for_tags,
    ),
    same("R24", "R15", "chooses nothing", ends(ASK, {"plan": [success("[PLAN:3]")]}, "no_rule")),
)

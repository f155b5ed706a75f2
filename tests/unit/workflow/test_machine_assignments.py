"""Machine workflows through the whole engine: what workers get, and the files that are kept."""

import re
from pathlib import Path
from typing import Any

import pytest

from luna.protocol import Assignment, Success, WorkerSpec
from luna.testing import ScriptedWorker
from sol.strategy.catalog import load_strategy
from sol.tree.effects import AttemptRequest
from sol.tree.events import Command
from sol.tree.values import ReportData, WorkerData
from sol.workflow import Workflow
from sol.workflow.compose import worker_for
from sol.workflow.definition import Step
from sol.workflow.machine import MachineProgram
from sol.workflow.prepare import ready
from sol.workflow.state import Visit
from tests.unit.workflow.running import ONE, agreeing, file, first_tag, loaded, sol_of
from tests.unit.workflow.walk import Walk, tag, workflow_of


@pytest.mark.req("R13", "R15", "S26")
async def test_worker_gets_the_seven_fields_of_its_step(tmp_path: Path) -> None:
    worker = ScriptedWorker(agreeing)
    run = await sol_of(tmp_path, worker).asolve(loaded(tmp_path, ONE), task="the big task")
    assert run.status == "success"
    first, second = (assignment for assignment, _ in worker.deliveries)
    directory = f"sol-reports/{run.id}"
    assert first.goal == (f"Plan this: the big task\nBefore: . Step 1/10, visit 1, in {directory}. {{unknown}}")
    assert first.context.startswith("Step 'plan' of the workflow 'one', visit 1 of it, step 1 of at most 10.")
    assert "some things that are known" in first.context
    assert first.constraints == (
        "Work in this role:\nYou plan.\nBriefly.",
        "every file is named",
        "Change no files; report what you find.",
    )
    assert first.inputs == {}
    expected = first.expected_output.description
    assert f"report file {directory}/plan.md" in expected
    assert "Form of plan.md:\n# Plan of all" in expected
    assert "- [PLAN:1] if: ready\n  and before it, in this form:\nFiles: {list}\n- [PLAN:2] if: unclear" in expected
    assert second.inputs == {"task": "the big task", "previous_response": "Plan this: the big task [PLAN:1]"}
    assert (tmp_path / directory / "plan.md").read_text(encoding="utf-8") == "Plan this: the big task [PLAN:1]"


@pytest.mark.case("TPL-01", "TPL-02")
async def test_texts_from_outside_are_never_templates(tmp_path: Path) -> None:
    task = "explain {x!r} and {{ 7*7 }} and {previous_response} and {0.__class__} and {task}"
    answer = "see {task} {{ task }} {report_dir}"
    worker = ScriptedWorker(lambda a: Success(summary="", result=f"{answer} {first_tag(a)}"))
    text = ONE.replace("Do it.", "Do {previous_response} of {task} at most {max_steps} times.")
    run = await sol_of(tmp_path, worker).asolve(loaded(tmp_path, text), task=task, max_steps=3)
    assert run.status == "success"
    goal = worker.deliveries[1][0].goal
    assert goal == f"Do {answer} [PLAN:1] of {task} at most 3 times."
    assert "{cycle_count}" not in goal


async def test_previous_response_is_kept_back_where_a_step_does_not_want_it(tmp_path: Path) -> None:
    worker = ScriptedWorker(agreeing)
    text = ONE.replace("instruction: Do it.", "instruction: Do it.\n    pass_previous_response: false")
    await sol_of(tmp_path, worker).asolve(loaded(tmp_path, text), task="x")
    assert worker.deliveries[1][0].inputs == {"task": "x"}


async def test_report_files_are_the_answer_the_named_texts_or_what_the_worker_wrote(tmp_path: Path) -> None:
    text = ONE.replace(
        'report: {name: plan.md, format: "# Plan of all"}', "report: [{Plan: plan.md}, {Own: own.md}, deep/x.md]"
    )
    visits = iter(range(9))

    def script(assignment: Assignment) -> Success:
        if "Plan" not in assignment.goal:
            return agreeing(assignment)
        number = next(visits)
        target = re.search(r"report file (\S+/own\.md)", assignment.expected_output.description)
        assert target is not None
        if number == 0:
            path = tmp_path / target[1]
            path.parent.mkdir(parents=True)
            path.write_text("by the worker", encoding="utf-8")
        return Success(summary="", result={"text": f"answer {number} [PLAN:1]", "reports": {"plan.md": f"# {number}"}})

    twice = text.replace("{condition: done, next: COMPLETE}", "{condition: done, next: plan}")
    run = await sol_of(tmp_path, ScriptedWorker(script)).asolve(loaded(tmp_path, twice), task="x", max_steps=2)
    reports = tmp_path / run.state.config.report_dir
    contents = {str(one.relative_to(reports)): one.read_text(encoding="utf-8") for one in reports.rglob("*.md")}
    assert contents == {"plan.md": "# 0", "own.md": "by the worker", "deep/x.md": "answer 0 [PLAN:1]"}
    # The next visit writes anew what it had written itself, and what the worker left as it was.
    again = await sol_of(tmp_path, ScriptedWorker(script)).asolve(loaded(tmp_path, twice), task="x", max_steps=3)
    reports = tmp_path / again.state.config.report_dir
    assert (reports / "deep" / "x.md").read_text(encoding="utf-8") == "answer 2 [PLAN:1]"


async def test_report_directory_that_leads_outside_stops_the_step(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "sol-reports").symlink_to(outside)
    run = await sol_of(inside, ScriptedWorker(agreeing)).asolve(loaded(tmp_path, ONE), task="x")
    assert (run.status, run.state.root.resumable) == ("failed", True)
    assert "leads out of the workspace" in run.reason
    assert list(outside.iterdir()) == []


def test_limits_of_tools_are_handed_to_agents_only() -> None:
    text = """
name: tools
steps:
  - name: look
    instruction: look at it
    edit: false
    allowed_tools: [Read, Grep, Write, Bash, WebSearch]
    worker: {kind: agent, model: m}
    rules: [{condition: a, next: run}]
  - name: run
    instruction: run it
    permission_mode: readonly
    worker: {kind: agent, tools: [read_file, run_command]}
    rules: [{condition: a, next: all}]
  - name: all
    instruction: all of it
    worker: agent
    rules: [{condition: a, next: other}]
  - name: other
    instruction: other of it
    allowed_tools: [Read]
    rules: [{condition: a, next: COMPLETE}]
"""
    workflow = workflow_of(text)
    program = MachineProgram(workflow, load_strategy("single"))
    tools: list[Any] = []

    def answer(visit: Visit, command: Command) -> ReportData:
        request = program.request(done.machine, command)
        assert isinstance(request, AttemptRequest)
        tools.append(request.worker.options.get("tools"))
        return tag(visit, 1)

    done = Walk(workflow, answer)
    assert done.run().status == "success"
    assert tools == [["list_files", "read_file", "search_files", "run_command"], ["read_file"], None, None]
    warnings = [one.message for one in ready(workflow, WorkerSpec(kind="given"), judges=False)]
    assert any("allowed_tools of other: a worker of kind 'given' cannot honour it" in one for one in warnings)
    assert any("there are no tools like WebSearch here" in one for one in warnings)


@pytest.mark.parametrize(
    ("allowed", "mode", "left"),
    [
        (None, "default", {"time": {"command": ["t"]}, "files": {"url": "http://f", "tools": ["a", "b"]}}),
        (None, "plan", None),
        (["Read"], "default", None),
        (["mcp__time"], "default", {"time": {"command": ["t"]}}),
        (["mcp__time__now", "mcp__files__b", "mcp__files__c"], "default", "some"),
        (["mcp__files"], "default", {"files": {"url": "http://f", "tools": ["a", "b"]}}),
        (["mcp__time"], "readonly", None),
    ],
)
def test_step_gets_the_servers_that_it_names_and_none_where_it_only_reads(
    allowed: list[str] | None, mode: str, left: Any
) -> None:
    servers = {"time": {"command": ["t"]}, "files": {"url": "http://f", "tools": ["a", "b"]}}
    step = Step(name="s", tag="s", allowed_tools=None if allowed is None else tuple(allowed), permission_mode=mode)
    found = worker_for(step, WorkerData("agent", {"mcp": servers})).options.get("mcp")
    if left == "some":
        left = {"time": {"command": ["t"], "tools": ["now"]}, "files": {"url": "http://f", "tools": ["b"]}}
    assert found == left


@pytest.mark.req("R25")
async def test_judge_of_a_cycle_is_told_of_it_and_a_missing_tag_is_asked_for(tmp_path: Path) -> None:
    text = """
name: loop
steps:
  - {name: a, instruction: do a, rules: [{condition: ok, next: b}]}
  - {name: b, instruction: do b, rules: [{condition: again, next: a}, {condition: end, next: COMPLETE}]}
loop_monitors:
  - cycle: [a, b]
    threshold: 1
    judge: {instruction: "worth it after {cycle_count} rounds?", rules: [{condition: no, next: COMPLETE}]}
"""
    told: list[Assignment] = []

    def script(assignment: Assignment) -> Success:
        told.append(assignment)
        if assignment.goal == "do a" and len(told) == 1:
            return Success(summary="", result="it is done, I think")
        return agreeing(assignment)

    run = await sol_of(tmp_path, ScriptedWorker(script)).asolve(loaded(tmp_path, text), task="x")
    assert run.status == "success"
    assert [one.goal for one in told] == ["do a", "do a", "do b", "worth it after 1 rounds?"]
    assert "no status tag that chooses a rule" in told[1].context
    assert told[1].context.endswith("It was:\nit is done, I think")
    assert told[3].context.startswith("Workflow 'loop' goes round in a cycle: a > b.")
    assert "[JUDGE:1] if: no" in told[3].expected_output.description
    assert run.state.nodes["a#1"].counts["attempt"] == 2


async def test_called_workflow_gets_the_texts_that_its_caller_gives(tmp_path: Path) -> None:
    file(tmp_path, "name: top\nsteps:\n  - name: s\n    call: mid\n    args: {what: from the top}\n"
         "    rules: [{condition: COMPLETE, next: COMPLETE}]\n")  # fmt: skip
    file(
        tmp_path,
        """
name: mid
subworkflow:
  params:
    what: {type: facet_ref, facet_kind: knowledge}
    style: {type: facet_ref, facet_kind: policy, default: be very brief}
steps:
  - name: t
    instruction: look at it
    knowledge: {$param: what}
    policy: {$param: style}
    quality_gates: ["it is {task}"]
    rules: [{condition: ok, next: COMPLETE}]
""",
        "mid.yaml",
    )
    worker = ScriptedWorker(agreeing)
    sol = sol_of(tmp_path, worker)
    run = await sol.asolve(Workflow.load(tmp_path / "w.yaml"), task="x")
    assert (run.status, list(run.state.nodes)) == ("success", ["", "s#1", "s#1/t#1"])
    given = worker.deliveries[0][0]
    assert "from the top" in given.context
    assert given.constraints == ("Keep to this policy:\nbe very brief", "it is {task}")

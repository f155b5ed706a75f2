"""Machine workflows through the whole engine: what workers get, report files, waiting, resume, changes, child runs."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from luna.protocol import Assignment, Failed, Stuck, Success, Usage
from luna.testing import ScriptedWorker
from sol.core.requests import Answered, Judged, RuleRequest
from sol.errors import ConflictError, NotFoundError, TaskError
from sol.journal import MemoryJournal
from sol.strategy.schema import Budget
from sol.workflow.machine import DefinitionChangedError, Options, WorkflowError, WorkflowSol, compile_workflow

ONE = """
name: one
steps:
  - name: plan
    persona: |
      You plan.
      Briefly.
    knowledge: some things that are known
    edit: false
    quality_gates: [every file is named]
    instruction: |
      Plan this: {task}
      Before: {previous_response}. Step {iteration}/{max_iterations}, visit {step_iteration}, in {report_dir}. {unknown}
    report: {name: plan.md, format: "# Plan of all"}
    rules:
      - {condition: ready, next: do, appendix: "Files: {list}"}
      - {condition: unclear, next: ABORT}
  - name: do
    instruction: Do it.
    rules: [{condition: done, next: COMPLETE}]
"""


def file(directory: Path, text: str, name: str = "w.yaml") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def first_tag(assignment: Assignment) -> str:
    found = re.search(r"\[[^\]]+:[0-9]+\]", assignment.expected_output.description)
    return found[0] if found else ""


def agreeing(assignment: Assignment) -> Success:
    return Success(summary="", result=f"{assignment.goal.splitlines()[0]} {first_tag(assignment)}")


def sol_of(directory: Path, worker: Any, **options: Any) -> WorkflowSol:
    return WorkflowSol(worker=worker, store=MemoryJournal(), workspace=directory, **options)


@pytest.mark.req("R13", "R15", "S26")
async def test_worker_gets_the_seven_fields_of_its_step(tmp_path: Path) -> None:
    worker = ScriptedWorker(agreeing)
    run = await sol_of(tmp_path, worker).arun_workflow(file(tmp_path, ONE), "the big task")
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
    run = await sol_of(tmp_path, worker).arun_workflow(file(tmp_path, text), task, Options(max_steps=3))
    assert run.status == "success"
    goal = worker.deliveries[1][0].goal
    assert goal == f"Do {answer} [PLAN:1] of {task} at most 3 times."
    assert "{cycle_count}" not in goal


async def test_step_limit_given_by_the_caller_counts_even_if_it_is_zero(tmp_path: Path) -> None:
    worker = ScriptedWorker(agreeing)
    run = await sol_of(tmp_path, worker).arun_workflow(file(tmp_path, ONE), "x", Options(max_steps=0))
    assert (run.status, worker.calls.total()) == ("exhausted", 0)


async def test_previous_response_is_kept_back_where_a_step_does_not_want_it(tmp_path: Path) -> None:
    worker = ScriptedWorker(agreeing)
    text = ONE.replace("instruction: Do it.", "instruction: Do it.\n    pass_previous_response: false")
    await sol_of(tmp_path, worker).arun_workflow(file(tmp_path, text), "x")
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
    run = await sol_of(tmp_path, ScriptedWorker(script)).arun_workflow(file(tmp_path, twice), "x", Options(max_steps=2))
    reports = tmp_path / run.state.config["report_dir"]
    contents = {str(one.relative_to(reports)): one.read_text(encoding="utf-8") for one in reports.rglob("*.md")}
    assert contents == {"plan.md": "# 0", "own.md": "by the worker", "deep/x.md": "answer 0 [PLAN:1]"}
    # The next visit writes anew what it had written itself, and what the worker left as it was.
    again = await sol_of(tmp_path, ScriptedWorker(script)).arun_workflow(
        file(tmp_path, twice), "x", Options(max_steps=3)
    )
    reports = tmp_path / again.state.config["report_dir"]
    assert (reports / "deep" / "x.md").read_text(encoding="utf-8") == "answer 2 [PLAN:1]"


async def test_report_directory_that_leads_outside_stops_the_step(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    (inside / "sol-reports").symlink_to(outside)
    run = await sol_of(inside, ScriptedWorker(agreeing)).arun_workflow(file(tmp_path, ONE), "x")
    assert (run.status, run.state.root.resumable) == ("failed", True)
    assert "leads out of the workspace" in run.reason
    assert list(outside.iterdir()) == []


async def test_limits_of_tools_are_handed_to_agents_only(tmp_path: Path) -> None:
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
    made: list[Any] = []
    worker = ScriptedWorker(agreeing)

    class Sols(WorkflowSol):
        def _make_worker(self, spec: Any, processes: Any) -> Any:
            made.append(spec)
            return worker

        def _require_model(self, spec: Any) -> None:
            """Whatever is asked for is there."""

    sol = Sols(worker=worker, store=MemoryJournal(), workspace=tmp_path)
    run = await sol.arun_workflow(file(tmp_path, text), "x")
    assert run.status == "success"
    assert [spec.options.get("tools") for spec in made] == [
        ["list_files", "read_file", "search_files", "run_command"],
        ["read_file"],
        None,
        None,
    ]
    warnings = run.state.config["warnings"]
    assert any("allowed_tools of other: a worker of kind 'given' cannot honour it" in one for one in warnings)
    assert any("there are no tools like WebSearch here" in one for one in warnings)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("Do it.", "doit"), "no text found for the instruction 'doit'"),
        (
            lambda text: text.replace("{condition: done,", "{condition: 'ai(\"q\")',"),
            "has an ai() rule and no model judges",
        ),
        (lambda text: text.replace("Do it.", "Do it.\n    solve: nope"), "No strategy is named 'nope'"),
        (
            lambda text: text.replace("Do it.", "Do it.\n    worker: agnet"),
            "no worker kind 'agnet'; did you mean 'agent'",
        ),
        (lambda text: text.replace("next: do,", "next: doo,"), "there is no step 'doo'"),
    ],
)
async def test_what_cannot_work_is_refused_before_anything_starts(
    change: Callable[[str], str], message: str, tmp_path: Path
) -> None:
    worker = ScriptedWorker(agreeing)
    with pytest.raises(WorkflowError) as error:
        await sol_of(tmp_path, worker).arun_workflow(file(tmp_path, change(ONE)), "x")
    assert message in str(error.value)
    assert worker.calls.total() == 0


async def test_empty_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError):
        await sol_of(tmp_path, ScriptedWorker(agreeing)).arun_workflow(file(tmp_path, ONE), " ")


class Judge:
    """A planner that answers questions from a table."""

    def __init__(self, table: dict[str, bool]) -> None:
        self.table = table
        self.asked: list[RuleRequest] = []

    async def answer(self, request: Any) -> Answered:
        self.asked.append(request)
        return Answered(Judged(self.table[request.question], "because"), Usage(calls=1))


@pytest.mark.req("R09", "R10", "R20")
async def test_ai_rules_are_asked_of_sol(tmp_path: Path) -> None:
    text = ONE.replace("- {condition: done, next: COMPLETE}", "- {condition: 'ai(\"Done?\")', next: COMPLETE}").replace(
        "rules: [{condition: done, next: COMPLETE}]",
        "rules: [{condition: 'ai(\"Bad?\")', next: ABORT}, {condition: 'ai(\"Done?\")', next: COMPLETE}]",
    )
    judge = Judge({"Bad?": False, "Done?": True})
    run = await sol_of(tmp_path, ScriptedWorker(agreeing), planner=judge).arun_workflow(file(tmp_path, text), "x")
    assert run.status == "success"
    assert [one.question for one in judge.asked] == ["Bad?", "Done?"]
    assert judge.asked[0].material == {"step": "do", "answer": "Do it. ", "children": []}
    assert "tags" not in judge.asked[0].assignment["expected_output"]["description"]
    assert run.spent.calls == 4


def asking(assignment: Assignment) -> Success | Stuck:
    if "user_inputs" not in assignment.inputs:
        return Stuck(blocker="two of them", question="Which one?")
    return Success(summary="", result=f"{assignment.inputs['user_inputs']} [S:1]")


ASK = "name: ask\nsteps:\n  - {name: s, instruction: choose one, rules: [{condition: chosen, next: COMPLETE}]}\n"


async def test_question_waits_for_an_answer_and_the_run_goes_on(tmp_path: Path) -> None:
    worker = ScriptedWorker(asking)
    sol = sol_of(tmp_path, worker)
    run = await sol.arun_workflow(file(tmp_path, ASK), "x")
    assert (run.status, run.questions) == ("waiting", {"s#1": "Which one?"})
    with pytest.raises(NotFoundError, match=r"has no step 'nope'.*Waiting: s#1"):
        await sol.request(run.id, "answer", {"node": "nope", "text": "x"}, by="me")
    assert await sol.request(run.id, "answer", {"node": "s#1", "text": "the red one"}, by="me") == "done"
    with pytest.raises(ConflictError):
        await sol.request(run.id, "answer", {"node": "s#1", "text": "again"}, by="me")
    again = await sol.aresume(run.id)
    assert (again.status, again.result, worker.calls.total()) == ("success", "the red one [S:1]", 2)
    with pytest.raises(ConflictError, match="nothing to resume"):
        await sol.aresume(run.id)
    loaded = await sol.load(run.id)
    assert loaded.state == again.state


async def test_workflow_is_a_graph_that_asks_by_interrupts(tmp_path: Path) -> None:
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.types import Command

    sol = sol_of(tmp_path, ScriptedWorker(asking))
    graph = compile_workflow(file(tmp_path, ASK), sol, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    state = await graph.ainvoke({"task": "x"}, config)
    assert state["__interrupt__"][0].value["questions"] == {"s#1": "Which one?"}
    state = await graph.ainvoke(Command(resume="the blue one"), config)
    assert (state["status"], state["result"]) == ("success", "the blue one [S:1]")
    plain = compile_workflow(file(tmp_path, ONE), sol_of(tmp_path, ScriptedWorker(agreeing)))
    assert (await plain.ainvoke({"task": "y"}))["status"] == "success"


PAR = """
name: par
steps:
  - name: both
    parallel:
      - {name: a, instruction: do a, rules: [{condition: ok}]}
      - {name: b, instruction: do b, rules: [{condition: ok}]}
    rules: [{condition: all("ok"), next: last}]
  - {name: last, instruction: the last, rules: [{condition: ok, next: COMPLETE}]}
"""


async def test_interrupted_run_goes_on_without_running_finished_sub_steps_again(tmp_path: Path) -> None:
    never = asyncio.Event()
    worker = ScriptedWorker({"do a": agreeing, "do b": [never, Success(summary="")], "the last": agreeing})
    sol = sol_of(tmp_path, worker)
    live = await sol.start_workflow(file(tmp_path, PAR), "x")
    async for event in live.events():
        if event.node == "both#1/a" and event.type == "settled":
            break
    live.interrupt()
    await live.wait()
    assert (live.status, live.resumable) == ("interrupted", True)
    sol.worker = ScriptedWorker(agreeing)
    again = await sol.aresume(live.id)
    assert again.status == "success"
    assert (dict(worker.calls), dict(sol.worker.calls)) == ({"do a": 1, "do b": 1}, {"do b": 1, "the last": 1})


async def test_cancel_reaches_a_live_run_and_ends_it(tmp_path: Path) -> None:
    never = asyncio.Event()
    worker = ScriptedWorker(lambda assignment: [never, agreeing(assignment)])
    sol = sol_of(tmp_path, worker)
    live = await sol.start_workflow(file(tmp_path, PAR), "x")
    async for event in live.events():
        if event.type == "started":
            break
    assert await sol.request(live.id, "cancel", {"reason": "enough"}, by="me") == "posted"
    await live.wait()
    assert (live.status, live.reason) == ("cancelled", "enough")
    with pytest.raises(ConflictError, match="Nobody works"):
        await sol.request(live.id, "stop", {}, by="me")


ABC = """
name: abc
steps:
  - {name: a, instruction: do a, rules: [{condition: ok, next: b}]}
  - {name: b, instruction: do b, rules: [{condition: ok, next: c}]}
  - {name: c, instruction: do c, knowledge: facts, rules: [{condition: ok, next: COMPLETE}]}
"""


@pytest.mark.case("RES-03")
async def test_changed_definition_is_refused_or_accepted_and_comments_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "knowledge").mkdir()
    facts = tmp_path / "knowledge" / "facts.md"
    facts.write_text("one", encoding="utf-8")
    never = asyncio.Event()
    worker = ScriptedWorker({"do a": agreeing, "do b": agreeing, "do c": [never]})
    sol = sol_of(tmp_path, worker)
    path = file(tmp_path, ABC)

    async def stopped() -> str:
        live = await sol.start_workflow(path, "x")
        async for event in live.events():
            if event.node == "c#1" and event.type == "started":
                break
        live.interrupt()
        await live.wait()
        return live.id

    runs = [await stopped() for _ in range(3)]
    sol.worker = worker = ScriptedWorker(agreeing)

    file(tmp_path, "# a comment\n" + ABC + "\n")
    assert (await sol.aresume(runs[0])).status == "success"
    assert dict(worker.calls) == {"do c": 1}

    worker.calls.clear()
    facts.write_text("two", encoding="utf-8")
    with pytest.raises(DefinitionChangedError) as error:
        await sol.aresume(runs[1])
    assert error.value.changes == ("w.yaml: step 'c': knowledge changed",)
    again = await sol.aresume(runs[1], accept_changes=True)
    assert (again.status, dict(worker.calls)) == ("success", {"do c": 1})
    assert again.state.visit("c#1").stale
    assert "two" in worker.deliveries[-1][0].context

    worker.calls.clear()
    inserted = "  - {name: x, instruction: do x, rules: [{condition: ok, next: b}]}\n  - {name: b,"
    file(tmp_path, ABC.replace("next: b}", "next: x}").replace("  - {name: b,", inserted))
    with pytest.raises(DefinitionChangedError, match=r"step 'a': rules changed\n.*\n.*step 'x' added"):
        await sol.aresume(runs[2])
    again = await sol.aresume(runs[2], accept_changes=True)
    assert (again.status, dict(worker.calls)) == ("success", {"do x": 1, "do c": 1})


async def test_step_may_be_solved_by_decomposition_within_the_limits_of_the_run(tmp_path: Path) -> None:
    text = """
name: deep
steps:
  - name: plan
    instruction: plan {task}
    rules: [{condition: ok, next: solve}]
  - name: solve
    instruction: solve what was planned in w.yaml
    solve: single
    rules: [{condition: solved, next: COMPLETE}]
"""
    worker = ScriptedWorker(agreeing)
    sol = sol_of(tmp_path, worker, budget=Budget(calls=5))
    run = await sol.arun_workflow(file(tmp_path, text), "x")
    assert run.status == "success"
    child = await sol.load(run.state.nodes["solve#1"].partial["run"])
    assert (child.status, child.result) == ("success", run.result)
    assert child.state.config["strategy"]["budget"]["calls"] == 4
    assert run.spent.calls == 2

    failing = sol_of(tmp_path, ScriptedWorker(lambda a: agreeing(a) if "plan " in a.goal else Failed(reason="no way")))
    failed = await failing.arun_workflow(file(tmp_path, text), "x")
    assert (failed.status, failed.state.root.kind) == ("failed", "not_solved")


async def test_interrupted_child_run_is_taken_up_again(tmp_path: Path) -> None:
    text = ASK.replace("instruction: choose one", "instruction: solve what is in w.yaml, solve: single")
    never = asyncio.Event()
    sol = sol_of(tmp_path, ScriptedWorker(lambda assignment: [never]))
    live = await sol.start_workflow(file(tmp_path, text), "x")
    async for event in live.events():
        if event.type == "progressed":
            break
    live.interrupt()
    await live.wait()
    child = live.state.nodes["s#1"].partial["run"]
    assert (live.status, (await sol.load(child)).status) == ("interrupted", "interrupted")
    sol.worker = worker = ScriptedWorker(agreeing)
    again = await sol.aresume(live.id)
    assert (again.status, worker.calls.total()) == ("success", 1)
    assert again.state.nodes["s#1"].partial["run"] == child


async def test_trees_are_loaded_resumed_and_asked_as_ever(tmp_path: Path) -> None:
    sol = sol_of(tmp_path, ScriptedWorker(agreeing), strategy="single")
    run = await sol.asolve("write a summary of report.md")
    assert (await sol.load(run.id)).status == run.status
    with pytest.raises(ConflictError):
        await sol.aresume(run.id)
    with pytest.raises(ConflictError):
        await sol.request(run.id, "cancel", {}, by="me")


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

    run = await sol_of(tmp_path, ScriptedWorker(script)).arun_workflow(file(tmp_path, text), "x")
    assert run.status == "success"
    assert [one.goal for one in told] == ["do a", "do a", "do b", "worth it after 1 rounds?"]
    assert "no status tag that chooses a rule" in told[1].context
    assert told[1].context.endswith("It was:\nit is done, I think")
    assert told[3].context.startswith("Workflow 'loop' goes round in a cycle: a > b.")
    assert "[JUDGE:1] if: no" in told[3].expected_output.description
    assert run.state.visit("a#1").counts["attempt"] == 2


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
    run = await sol.arun_workflow(tmp_path / "w.yaml", "x")
    assert (run.status, list(run.state.nodes)) == ("success", ["", "s#1", "s#1/t#1"])
    given = worker.deliveries[0][0]
    assert "from the top" in given.context
    assert given.constraints == ("Keep to this policy:\nbe very brief", "it is {task}")


@pytest.mark.req("S13")
async def test_budget_ends_the_run_and_a_wider_one_lets_it_go_on(tmp_path: Path) -> None:
    worker = ScriptedWorker(agreeing)
    sol = sol_of(tmp_path, worker, budget=Budget(calls=1))
    run = await sol.arun_workflow(file(tmp_path, ABC.replace(", knowledge: facts", "")), "x")
    assert (run.status, worker.calls.total(), run.resumable) == ("exhausted", 1, True)
    assert "budget of 1 calls" in run.reason
    sol.budget = Budget(calls=9)
    again = await sol.aresume(run.id)
    assert (again.status, dict(worker.calls)) == ("success", {"do a": 1, "do b": 1, "do c": 1})

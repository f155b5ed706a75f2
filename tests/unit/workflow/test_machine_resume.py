"""Machine workflows through the whole engine: stopped and taken up again, changed, and runs inside runs."""

import asyncio
from pathlib import Path

import pytest

from luna.protocol import Failed, Success
from luna.testing import ScriptedWorker
from sol.errors import ConflictError
from sol.strategy.schema import Budget
from sol.workflow import DefinitionChangedError, Workflow, WorkflowError
from tests.unit.workflow.running import ABC, ASK, PAR, agreeing, asking, file, loaded, sol_of


async def test_interrupted_run_goes_on_without_running_finished_sub_steps_again(tmp_path: Path) -> None:
    never = asyncio.Event()
    worker = ScriptedWorker({"do a": agreeing, "do b": [never, Success(summary="")], "the last": agreeing})
    sol = sol_of(tmp_path, worker)
    live = await sol.start(loaded(tmp_path, PAR), task="x")
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
        live = await sol.start(Workflow.load(path), task="x")
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
    assert again.state.nodes["c#1"].stale
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
    run = await sol.asolve(loaded(tmp_path, text), task="x")
    assert run.status == "success"
    child = await sol.load(run.state.nodes["solve#1"].partial["run"])
    assert (child.status, child.result) == ("success", run.result)
    assert child.state.config.strategy["budget"]["calls"] == 4
    assert run.spent.calls == 2

    failing = sol_of(tmp_path, ScriptedWorker(lambda a: agreeing(a) if "plan " in a.goal else Failed(reason="no way")))
    failed = await failing.asolve(loaded(tmp_path, text), task="x")
    assert (failed.status, failed.state.root.kind) == ("failed", "not_solved")


async def test_interrupted_child_run_is_taken_up_again(tmp_path: Path) -> None:
    text = ASK.replace("instruction: choose one", "instruction: solve what is in w.yaml, solve: single")
    never = asyncio.Event()
    sol = sol_of(tmp_path, ScriptedWorker(lambda assignment: [never]))
    live = await sol.start(loaded(tmp_path, text), task="x")
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


@pytest.mark.req("S13")
async def test_budget_ends_the_run_and_a_wider_one_lets_it_go_on(tmp_path: Path) -> None:
    worker = ScriptedWorker(agreeing)
    sol = sol_of(tmp_path, worker, budget=Budget(calls=1))
    run = await sol.asolve(loaded(tmp_path, ABC.replace(", knowledge: facts", "")), task="x")
    assert (run.status, worker.calls.total(), run.resumable) == ("exhausted", 1, True)
    assert "budget of 1 calls" in run.reason
    sol.budget = Budget(calls=9)
    again = await sol.aresume(run.id)
    assert (again.status, dict(worker.calls)) == ("success", {"do a": 1, "do b": 1, "do c": 1})


async def test_requests_about_a_changed_workflow_are_refused_but_cancelling_always_works(tmp_path: Path) -> None:
    sol = sol_of(tmp_path, ScriptedWorker(asking))
    path = file(tmp_path, ASK)
    first, second = [(await sol.asolve(Workflow.load(path), task="x")).id for _ in range(2)]
    file(tmp_path, ASK.replace("name: s", "name: t"))
    answer = {"node": "s#1", "text": "the red one"}
    with pytest.raises(DefinitionChangedError):
        await sol.request(first, "answer", answer, by="me")
    with pytest.raises(DefinitionChangedError):
        await sol.start_again(first, accept_changes=True, ask={"kind": "answer", **answer})
    path.unlink()
    assert await sol.request(second, "cancel", {}, by="me") == "done"
    assert (await sol.load(second)).status == "cancelled"


async def test_retry_of_a_run_is_refused_unless_it_has_ended_with_the_step(tmp_path: Path) -> None:
    sol = sol_of(tmp_path, ScriptedWorker({"do a": agreeing, "do b": Failed(reason="no way")}))
    run = await sol.asolve(loaded(tmp_path, ABC.replace(", knowledge: facts", "")), task="x")
    assert run.status == "failed"
    with pytest.raises(ConflictError, match=r"Step 'a#1' of run .* is success; it cannot be asked to retry"):
        await sol.start_again(run.id, ask={"kind": "retry", "node": "a#1", "note": "n"})
    assert await sol.request(run.id, "retry", {"node": "b#1", "note": "n"}, by="me") == "done"
    sol.worker = worker = ScriptedWorker(agreeing)
    again = await sol.aresume(run.id)
    assert (again.status, dict(worker.calls)) == ("success", {"do b": 1, "do c": 1})


async def test_run_whose_texts_its_caller_knows_goes_on_with_the_workflow_that_is_given(tmp_path: Path) -> None:
    path = file(tmp_path, ASK.replace("choose one", "unwritten"))
    workflow = Workflow.load(path, texts=lambda kind, name: f"{kind} {name}")
    sol = sol_of(tmp_path, ScriptedWorker(agreeing))
    run = await sol.asolve(workflow, task="x", max_steps=0)
    assert run.status == "exhausted"
    with pytest.raises(WorkflowError, match="no text found for the instruction 'unwritten'"):
        await sol.aresume(run.id, max_steps=1)
    again = await sol.aresume(run.id, max_steps=1, definition=workflow)
    assert (again.status, again.result) == ("success", "instruction unwritten [S:1]")

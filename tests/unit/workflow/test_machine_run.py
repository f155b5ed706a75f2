"""Machine workflows through the whole engine: what is refused, questions, requests, the graph."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from luna.protocol import Usage
from luna.testing import ScriptedWorker
from sol.errors import ConflictError, NotFoundError, TaskError
from sol.taskgraph import compile_workflow
from sol.tree.effects import Answered, Judged, RuleRequest
from sol.workflow import WorkflowError
from tests.unit.workflow.running import ASK, ONE, PAR, agreeing, asking, file, loaded, sol_of


async def test_step_limit_given_by_the_caller_counts_even_if_it_is_zero(tmp_path: Path) -> None:
    worker = ScriptedWorker(agreeing)
    run = await sol_of(tmp_path, worker).asolve(loaded(tmp_path, ONE), task="x", max_steps=0)
    assert (run.status, worker.calls.total()) == ("exhausted", 0)


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
        await sol_of(tmp_path, worker).asolve(loaded(tmp_path, change(ONE)), task="x")
    assert message in str(error.value)
    assert worker.calls.total() == 0


async def test_empty_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError):
        await sol_of(tmp_path, ScriptedWorker(agreeing)).asolve(loaded(tmp_path, ONE), task=" ")


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
    run = await sol_of(tmp_path, ScriptedWorker(agreeing), planner=judge).asolve(loaded(tmp_path, text), task="x")
    assert run.status == "success"
    assert [one.question for one in judge.asked] == ["Bad?", "Done?"]
    assert judge.asked[0].material == {"step": "do", "answer": "Do it. ", "children": []}
    assert "tags" not in judge.asked[0].assignment.expected_output.description
    assert run.spent.calls == 4


async def test_question_waits_for_an_answer_and_the_run_goes_on(tmp_path: Path) -> None:
    worker = ScriptedWorker(asking)
    sol = sol_of(tmp_path, worker)
    run = await sol.asolve(loaded(tmp_path, ASK), task="x")
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
    assert (await sol.load(run.id)).state == again.state


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


async def test_cancel_reaches_a_live_run_and_ends_it(tmp_path: Path) -> None:
    never = asyncio.Event()
    worker = ScriptedWorker(lambda assignment: [never, agreeing(assignment)])
    sol = sol_of(tmp_path, worker)
    live = await sol.start(loaded(tmp_path, PAR), task="x")
    async for event in live.events():
        if event.type == "started":
            break
    assert await sol.request(live.id, "cancel", {"reason": "enough"}, by="me") == "posted"
    await live.wait()
    assert (live.status, live.reason) == ("cancelled", "enough")
    with pytest.raises(ConflictError, match="Nobody works"):
        await sol.request(live.id, "stop", {}, by="me")


async def test_trees_are_loaded_resumed_and_asked_as_ever(tmp_path: Path) -> None:
    sol = sol_of(tmp_path, ScriptedWorker(agreeing), strategy="single")
    run = await sol.asolve("write a summary of report.md")
    assert (await sol.load(run.id)).status == run.status
    with pytest.raises(ConflictError):
        await sol.aresume(run.id)
    with pytest.raises(ConflictError):
        await sol.request(run.id, "cancel", {}, by="me")

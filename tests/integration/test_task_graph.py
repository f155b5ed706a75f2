"""Sol inside LangGraph: streams, checkpoints, questions as interrupts, and the file for LangGraph's own server."""

import importlib
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from luna.protocol import StuckKind
from luna.testing import ScriptedWorker
from sol import Sol
from sol.errors import TaskError
from sol.taskgraph import make_graph
from tests.support.planners import ScriptedPlanner, split_into
from tests.support.runs import GOAL, done, stuck, task

ROOT = Path(__file__).parents[2]
ASKED = stuck("may not decide", kind=StuckKind.NEEDS_HUMAN, question="red or pink?")


def asking() -> tuple[ScriptedWorker, ScriptedPlanner]:
    """A worker with a question on one half of the task, and a planner that splits it."""

    def script(assignment: Any) -> Any:
        if assignment.goal == GOAL:
            return stuck()
        if assignment.goal == "find red" and "Answer to" not in assignment.context:
            return ASKED
        return done(assignment.context)

    return ScriptedWorker(script), ScriptedPlanner({GOAL: split_into("find red", "find blue")})


async def test_graph_solves_the_task_of_its_input(sol: Callable[..., Sol]) -> None:
    state = await make_graph(sol(ScriptedWorker.succeeding())).ainvoke({"task": task().assignment})
    assert (state["status"], state["result"], state["reason"], state["questions"]) == ("success", GOAL, "", {})


async def test_graph_streams_the_events_of_the_run(sol: Callable[..., Sol]) -> None:
    made = sol(ScriptedWorker.succeeding())
    graph = make_graph(made)
    seen = [item async for item in graph.astream({"task": task().assignment}, stream_mode="custom")]
    assert made.last is not None
    assert [one["event"] for one in seen] == [str(event.type) async for event in made.last.events()]
    assert {one["run"] for one in seen} == {made.last.id}
    assert seen[-1]["event"] == "run_status"


@pytest.mark.case("ESC-01")
@pytest.mark.parametrize("answer", ["pink", {"0": "pink", "7": "nobody asked this"}])
async def test_questions_become_interrupts_and_take_their_answers(sol: Callable[..., Sol], answer: Any) -> None:
    worker, planner = asking()
    made = sol(worker, planner)
    graph = make_graph(made, checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "one"}}
    state = await graph.ainvoke({"task": task().assignment}, thread)
    (asked,) = state["__interrupt__"]
    assert asked.value == {"run": state["run_id"], "questions": {"0": "red or pink?"}}
    assert (await graph.aget_state(thread)).next == ("question",)
    state = await graph.ainvoke(Command(resume=answer), thread)
    assert state["status"] == "success"
    assert "Answer to “red or pink?”: pink" in state["result"]["0"]
    assert worker.calls == {GOAL: 1, "find red": 2, "find blue": 1}


async def test_without_a_checkpointer_the_graph_ends_waiting(sol: Callable[..., Sol]) -> None:
    state = await make_graph(sol(*asking())).ainvoke({"task": task().assignment})
    assert (state["status"], state["questions"]) == ("waiting", {"0": "red or pink?"})
    assert "__interrupt__" not in state


async def test_graph_is_a_part_of_another_and_keeps_its_own_turns_out_of_its_checkpoints(
    sol: Callable[..., Sol],
) -> None:
    class Outer(TypedDict, total=False):
        task: dict[str, Any]
        result: Any
        run_id: str
        status: str
        questions: dict[str, str]

    outer = StateGraph(Outer)
    outer.add_node("solve", make_graph(sol(*asking()), ask=True))
    outer.add_edge(START, "solve")
    outer.add_edge("solve", END)
    saver = InMemorySaver()
    graph = outer.compile(checkpointer=saver)
    thread: Any = {"configurable": {"thread_id": "one"}}
    state = await graph.ainvoke({"task": task().assignment}, thread)
    assert state["__interrupt__"][0].value["questions"] == {"0": "red or pink?"}
    state = await graph.ainvoke(Command(resume="pink"), thread)
    assert state["status"] == "success"
    names = {entry.config["configurable"]["checkpoint_ns"].split(":")[0] for entry in saver.list(thread)}
    assert names == {"", "solve"}


async def test_graph_that_was_stopped_goes_on_with_the_same_run(sol: Callable[..., Sol]) -> None:
    worker = ScriptedWorker.succeeding()
    made = sol(worker)
    graph = make_graph(made, checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "one"}}
    await graph.ainvoke({"task": task().assignment}, thread, interrupt_before=["work"])
    named = (await graph.aget_state(thread)).values["run_id"]
    state = await graph.ainvoke(None, thread)
    assert (state["status"], state["run_id"]) == ("success", named)
    before = [entry.config async for entry in graph.aget_state_history(thread) if entry.next == ("work",)]
    again = await graph.ainvoke(None, before[0])
    assert (again["result"], worker.calls) == (GOAL, {GOAL: 1}), "what has ended is not done again"


async def test_task_that_cannot_be_used_is_refused(sol: Callable[..., Sol]) -> None:
    with pytest.raises(TaskError, match="vague"):
        await make_graph(sol(ScriptedWorker.succeeding())).ainvoke({"task": "fix everything here"})


def test_file_for_the_server_names_a_factory_of_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (path,) = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"].values()
    file, _, name = path.partition(":")
    assert (ROOT / file).is_file()
    factory = getattr(importlib.import_module(file.removeprefix("./").removesuffix(".py").replace("/", ".")), name)
    assert list(inspect.signature(factory).parameters) == ["config"]
    made = factory({})
    assert {"begin", "work", "question"} <= set(made.get_graph().nodes)
    assert "task" in made.get_input_jsonschema()["properties"]

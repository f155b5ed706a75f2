"""Sol, or a workflow, as a LangGraph graph with a task as its input: for programs built of graphs, and its dev server.

The graph's checkpoints hold little more than the run's id; the run itself is in Sol's journal. Decides nothing.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StreamWriter, interrupt
from typing_extensions import TypedDict  # the one of `typing` has no JSON Schema before Python 3.12

from sol.errors import NotFoundError
from sol.journal import new_run_id
from sol.run import Run
from sol.solver import Sol
from sol.workflow import Workflow

BY = "interrupt"
"""Who answers, for the journal, when an answer comes through the graph."""


class TaskState(TypedDict, total=False):
    """State of the graph. Only `task` is needed as input.

    Attributes:
        task: A sentence, or the mapping of a task file.
        run_id: Id of the run in the journal.
        status: How the run stands: `success`, `waiting`, or why it ended otherwise.
        result: The accepted result; None while there is none.
        reason: Why there is none, in one sentence.
        questions: What people are asked, by path of the node.
    """

    task: str | dict[str, Any]
    run_id: str
    status: str
    result: Any
    reason: str
    questions: dict[str, str]


TaskGraph = CompiledStateGraph[TaskState, None, TaskState, TaskState]


def make_graph(
    sol: Sol | None = None, *, checkpointer: BaseCheckpointSaver[Any] | None = None, ask: bool | None = None
) -> TaskGraph:
    """A graph that solves the task of its input. It streams the run's events as custom data, as they are committed.

    A graph that is stopped and started again on the same thread goes on with the same run.

    Args:
        sol: Solves; None: one with the settings of the environment.
        checkpointer: The caller's; needed to be asked questions, unless the graph is a part of one that has it.
        ask: Hand questions that wait to the caller by `interrupt()`, with `{"run": id, "questions": {path: question}}`.
            It is resumed with an answer for all of them, or a mapping from path to answer. None: if there is a
            checkpointer. Otherwise the graph ends with status `waiting`.
    """
    solver = sol or Sol()
    asks = checkpointer is not None if ask is None else ask

    async def begin(state: TaskState) -> Run:
        return await solver.start(state["task"], run_id=state["run_id"])

    return _around(solver, begin, asks=asks).compile(checkpointer=checkpointer, name="sol")


def compile_workflow(
    workflow: Workflow | Path | str,
    sol: Sol | None = None,
    *,
    max_steps: int | None = None,
    interactive: bool = False,
    checkpointer: BaseCheckpointSaver[Any] | None = None,
    ask: bool | None = None,
) -> TaskGraph:
    """A graph that runs a workflow on the task of its input, to be used alone or as a node of another graph.

    Args:
        workflow: A workflow, or the path or name of one.
        sol: As of `make_graph`.
        max_steps: As of `Sol.start`.
        interactive: As of `Sol.start`.
        checkpointer: As of `make_graph`.
        ask: As of `make_graph`.

    Raises:
        NotFoundError, WorkflowError: If the workflow cannot be read. Whether it can be run is seen when it is invoked.
    """
    solver = sol or Sol()
    given = workflow if isinstance(workflow, Workflow) else Workflow.load(workflow)
    asks = checkpointer is not None if ask is None else ask

    async def begin(state: TaskState) -> Run:
        task = str(state["task"])
        return await solver.start(
            given, task=task, max_steps=max_steps, interactive=interactive, run_id=state["run_id"]
        )

    return _around(solver, begin, asks=asks).compile(checkpointer=checkpointer, name=given.name)


def _around(
    solver: Sol, start: Callable[[TaskState], Awaitable[Run]], *, asks: bool
) -> StateGraph[TaskState, None, TaskState, TaskState]:
    """The graph around a run that `start` starts."""

    async def begin(state: TaskState) -> TaskState:  # noqa: ARG001 - a node is called with it
        """Name the run before it exists, so that a second start of the graph finds it."""
        return {"run_id": new_run_id(solver.rng)}

    async def work(state: TaskState, writer: StreamWriter) -> TaskState:
        run = await _go_on(solver, start, state)
        telling = asyncio.ensure_future(_tell(run, writer))
        try:
            await run.wait()
            await telling
        finally:
            telling.cancel()
        return _outcome(run)

    async def question(state: TaskState) -> TaskState:
        given = interrupt({"run": state["run_id"], "questions": state["questions"]})
        still = (await solver.load(state["run_id"])).questions
        answers = given if isinstance(given, Mapping) else dict.fromkeys(still, given)
        for path, text in answers.items():
            if path in still:
                await solver.request(state["run_id"], "answer", {"node": path, "text": str(text)}, by=BY)
        return {"status": "answered"}

    graph = StateGraph(TaskState)
    graph.add_node("begin", begin)
    graph.add_node("work", work)
    graph.add_node("question", question)
    graph.add_edge(START, "begin")
    graph.add_edge("begin", "work")
    graph.add_conditional_edges("work", lambda state: _after_work(state, asks=asks), ["question", END])
    graph.add_edge("question", "work")
    return graph


def graph(config: RunnableConfig) -> TaskGraph:  # noqa: ARG001 - what LangGraph's server calls factories with
    """The graph of `langgraph.json`: Sol with the settings of the environment; the server keeps the checkpoints."""
    return make_graph(ask=True)


def _after_work(state: TaskState, *, asks: bool) -> str:
    return "question" if asks and state["status"] == "waiting" else END


async def _go_on(solver: Sol, start: Callable[[TaskState], Awaitable[Run]], state: TaskState) -> Run:
    """The run of this thread, working, or as it is when it has ended."""
    try:
        run = await solver.load(state["run_id"])
    except NotFoundError:
        return await start(state)
    return await solver.start_again(run.id) if run.resumable else run


async def _tell(run: Run, write: StreamWriter) -> None:
    async for event in run.events():
        write({"run": run.id, "event": str(event.type), "node": event.node, "t": event.t})


def _outcome(run: Run) -> TaskState:
    return {"status": run.status, "result": run.result, "reason": run.reason, "questions": run.questions}

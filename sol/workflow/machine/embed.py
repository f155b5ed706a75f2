"""A machine workflow as a LangGraph graph, to be run or to be a node of other graphs.

The steps run in the loop of the task tree; this graph starts a run, waits for it, and asks what the run asks.
"""

from pathlib import Path
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt

from sol.workflow.machine.runner import Options, WorkflowSol


class WorkflowState(TypedDict, total=False):
    """What goes in, and what comes out.

    Attributes:
        task: What is to be done. The only input.
        run_id: Id of the run in the journal.
        status: As the run's.
        result: The last step's answer when the workflow ended with COMPLETE.
        reason: Why it did not.
    """

    task: str
    run_id: str
    status: str
    result: Any
    reason: str


def compile_workflow(
    path: Path | str,
    sol: WorkflowSol,
    options: Options | None = None,
    *,
    checkpointer: Any = None,  # noqa: ANN401 - a LangGraph checkpointer, or None
) -> CompiledStateGraph[WorkflowState, None, WorkflowState, WorkflowState]:
    """Compile a workflow file to a graph.

    With a checkpointer, questions of the run become interrupts; resume with the answer, or with one for each step.

    Raises:
        WorkflowError: When the graph is invoked, if the workflow cannot be used.
    """

    async def work(state: WorkflowState) -> WorkflowState:
        run = await sol.arun_workflow(path, state["task"], options)
        return {"run_id": run.id, "status": run.status, "result": run.result, "reason": run.reason}

    async def ask(state: WorkflowState) -> WorkflowState:
        run = await sol.load(state["run_id"])
        answers = interrupt({"run": run.id, "questions": run.questions})
        given = answers if isinstance(answers, dict) else dict.fromkeys(run.questions, answers)
        for node in run.questions:
            if node in given:
                await sol.request(run.id, "answer", {"node": node, "text": str(given[node])}, by="interrupt")
        run = await (await sol.start_again(run.id, options=options)).wait()
        return {"status": run.status, "result": run.result, "reason": run.reason}

    def after(state: WorkflowState) -> str:
        return "ask" if checkpointer is not None and state.get("status") == "waiting" else END

    graph = StateGraph(WorkflowState)
    graph.add_node("work", work)
    graph.add_node("ask", ask)
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", after, ["ask", END])
    graph.add_conditional_edges("ask", after, ["ask", END])
    return graph.compile(checkpointer=checkpointer, name=Path(path).stem)

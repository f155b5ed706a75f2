"""THE LOOP: collect → decide → delegate, as a LangGraph state graph. Each turn is short; nothing waits for a level.

State is small: the tree lives in the session and in the journal, never in channels.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import interrupt

from sol.session import Session
from sol.tracing import Marks, tags_of
from sol.tree.events import Event, EventType
from sol.tree.node import State

STEPS = 10**9
"""Recursion limit of the graph: the strategy's own limits end a run, not the number of turns."""


class LoopState(TypedDict, total=False):
    """What the graph keeps between turns."""

    run_id: str
    epoch: int
    turns: int
    status: str
    last: list[str]


@dataclass(slots=True)
class LoopContext:
    """What the graph works on: the session, and what its last `collect` brought."""

    session: Session
    arrived: list[Event]
    ask: bool = False


async def collect(state: LoopState, runtime: Runtime[LoopContext]) -> LoopState:
    """Wait for the first outcomes, not for all."""
    context = runtime.context
    context.arrived = await context.session.collect()
    return {"run_id": state.get("run_id", "")}


async def decide(state: LoopState, runtime: Runtime[LoopContext]) -> LoopState:
    """Fold the outcomes in, decide, commit."""
    context = runtime.context
    arrived, context.arrived = context.arrived, []
    if arrived or context.session.stopping:
        await context.session.commit(arrived)
        runtime.stream_writer({"run": state.get("run_id"), "events": [[event.type, event.node] for event in arrived]})
    return {"status": context.session.tree.status, "last": [str(event.type) for event in arrived[-5:]]}


async def delegate(state: LoopState, runtime: Runtime[LoopContext]) -> LoopState:
    """Hand the commands that were committed to the dispatcher."""
    runtime.context.session.delegate()
    return {"turns": state.get("turns", 0) + 1}


async def ask(state: LoopState, runtime: Runtime[LoopContext]) -> LoopState:
    """Hand waiting questions to whoever runs the graph, as an interrupt, and take the answers in."""
    session = runtime.context.session
    waiting = {node.path: node.question for node in session.tree.nodes.values() if node.state == State.WAITING}
    answers = interrupt({"run": state.get("run_id"), "questions": waiting})
    given = answers if isinstance(answers, dict) else dict.fromkeys(waiting, answers)
    session.stopping = ""
    await session.commit(
        Event(EventType.ANSWERED, path, {"text": str(text), "by": "interrupt", "at": session.clock.now()})
        for path, text in given.items()
        if path in waiting
    )
    return {"status": session.tree.status}


def after_decide(_state: LoopState, runtime: Runtime[LoopContext]) -> Hashable:
    """Go on while anything runs; ask when only questions are left and the caller can be asked. Total and pure."""
    session = runtime.context.session
    if session.active:
        return "delegate"
    return "ask" if session.tree.status == "waiting" and runtime.context.ask else END


def build_graph(checkpointer: Any = None) -> CompiledStateGraph[LoopState, LoopContext, LoopState, LoopState]:  # noqa: ANN401
    """The compiled loop. Run it with a `LoopContext`; `sol.run` does."""
    graph = StateGraph(LoopState, context_schema=LoopContext)
    graph.add_node("collect", collect)
    graph.add_node("decide", decide)
    graph.add_node("delegate", delegate)
    graph.add_node("ask", ask)
    graph.add_edge(START, "decide")
    graph.add_conditional_edges("decide", after_decide, ["delegate", "ask", END])
    graph.add_edge("delegate", "collect")
    graph.add_edge("collect", "decide")
    graph.add_edge("ask", "delegate")
    return graph.compile(checkpointer=checkpointer, name="sol")


def loop_config(*, run: str, strategy: str) -> RunnableConfig:
    """A recursion limit that never ends a run, and what traces show of it."""
    marks: Marks = {"sol_run": run, "sol_strategy": strategy}
    return {"recursion_limit": STEPS, "metadata": dict(marks), "tags": tags_of(marks)}

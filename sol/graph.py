"""THE LOOP: collect → decide → delegate, as a LangGraph state graph. Each turn is short; nothing waits for a level.

State is small: the tree lives in the session and in the journal, never in channels.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from sol.session import Session
from sol.tracing import Marks, tags_of
from sol.tree.events import Event

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


def after_decide(_state: LoopState, runtime: Runtime[LoopContext]) -> Hashable:
    """Go on while anything runs. Total and pure."""
    return "delegate" if runtime.context.session.active else END


def build_graph() -> CompiledStateGraph[LoopState, LoopContext, LoopState, LoopState]:
    """The compiled loop. Run it with a `LoopContext`; `sol.runner` does.

    It keeps no checkpoints, nor does it write into those of a graph around it: the journal is the only memory.
    """
    graph = StateGraph(LoopState, context_schema=LoopContext)
    graph.add_node("collect", collect)
    graph.add_node("decide", decide)
    graph.add_node("delegate", delegate)
    graph.add_edge(START, "decide")
    graph.add_conditional_edges("decide", after_decide, ["delegate", END])
    graph.add_edge("delegate", "collect")
    graph.add_edge("collect", "decide")
    return graph.compile(checkpointer=False, name="sol")


def loop_config(*, run: str, strategy: str) -> RunnableConfig:
    """A recursion limit that never ends a run, and what traces show of it."""
    marks: Marks = {"sol_run": run, "sol_strategy": strategy}
    return {"recursion_limit": STEPS, "metadata": dict(marks), "tags": tags_of(marks)}

"""THE LOOP: collect → decide → delegate, as a LangGraph state graph. Each turn is short; nothing waits for a level.

Graph state is small: the run's state lives in the session and in the journal, never in channels. Loading this loads
LangGraph, so it is imported only when a run is worked on.
"""

import gc
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from sol.dispatch.tracing import Marks, tags_of
from sol.engine.session import Session, shielded
from sol.tree.events import Event

STEPS = 10**9
"""Recursion limit of the graph: the limits of the run itself end it, not the number of turns."""

THRESHOLDS = (50_000, 20, 100)
"""Of Python's garbage collector while the loop runs: a run's state is data that stays, without cycles."""


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


async def collect(state: LoopState, runtime: Runtime[LoopContext]) -> LoopState:  # noqa: ARG001 - a node is called so
    """Wait for the first outcomes, not for all."""
    context = runtime.context
    context.arrived = await context.session.collect()
    return {}


async def decide(state: LoopState, runtime: Runtime[LoopContext]) -> Command[str]:
    """Fold the outcomes in, decide, commit; go on while anything runs."""
    context = runtime.context
    session = context.session
    arrived, context.arrived = context.arrived, []
    if arrived or session.stopping:
        await session.commit(arrived)
        runtime.stream_writer({"run": state.get("run_id"), "events": [[event.type, event.node] for event in arrived]})
    told = {"status": session.state.status, "last": [event.type for event in arrived[-5:]]}
    return Command(update=told, goto="delegate" if session.active else END)


async def delegate(state: LoopState, runtime: Runtime[LoopContext]) -> LoopState:
    """Hand the commands that were committed to the dispatcher."""
    runtime.context.session.delegate()
    return {"turns": state.get("turns", 0) + 1}


@cache
def build_graph() -> CompiledStateGraph[LoopState, LoopContext, LoopState, LoopState]:
    """The compiled loop, one for all runs. Run it with a `LoopContext`; `drive` does.

    It keeps no checkpoints, nor does it write into those of a graph around it: the journal is the only memory.
    """
    graph = StateGraph(LoopState, context_schema=LoopContext)
    graph.add_node("collect", collect)
    graph.add_node("decide", decide, destinations=("delegate", END))
    graph.add_node("delegate", delegate)
    graph.add_edge(START, "decide")
    graph.add_edge("delegate", "collect")
    graph.add_edge("collect", "decide")
    return graph.compile(checkpointer=False, name="sol")


def loop_config(*, run: str, strategy: str) -> RunnableConfig:
    """A recursion limit that never ends a run, and what traces show of it."""
    marks: Marks = {"sol_run": run, "sol_strategy": strategy}
    return {"recursion_limit": STEPS, "metadata": dict(marks), "tags": tags_of(marks)}


async def drive(session: Session, arrived: Sequence[Event], *, strategy: str) -> None:
    """Work on a run until nothing is left to do, it is interrupted, or only questions are left; then let go of it.

    Args:
        session: The run.
        arrived: The facts to begin with.
        strategy: Name of its strategy, for traces.

    Raises:
        ConflictError: If another process has taken the run over.
        Exception: Whatever broke Sol itself; what was committed stays, and the run can be resumed.
    """
    # What a killed process had started and has no outcome is submitted again with the same key.
    session.commands.extend(session.state.inflight.values())
    run = session.lease.run
    with _patient_collector():
        try:
            async for _ in build_graph().astream(
                {"run_id": run, "epoch": session.lease.epoch},
                loop_config(run=run, strategy=strategy),
                context=LoopContext(session, list(arrived)),
                stream_mode=[],
            ):
                pass
        finally:
            await shielded(session.let_go)


_collector = threading.Lock()
_at_work = 0
_before = (0, 0, 0)


@contextmanager
def _patient_collector() -> Iterator[None]:
    """Let Python's collector look less often while loops are at work; what was set before comes back after the last.

    Looking through a large tree each time it has grown by a quarter costs as much as everything else for a node.
    """
    global _at_work, _before  # noqa: PLW0603 - the collector is one for the whole process
    with _collector:  # loops may run in several threads
        if not _at_work:
            _before = gc.get_threshold()
            if _before[0]:  # with 0 it is switched off, and stays so
                gc.set_threshold(*(max(pair) for pair in zip(_before, THRESHOLDS, strict=True)))
        _at_work += 1
    try:
        yield
    finally:
        with _collector:
            _at_work -= 1
            if not _at_work:
                gc.set_threshold(*_before)

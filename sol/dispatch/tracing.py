"""What Sol tells LangChain's callbacks, and so LangSmith, about itself: run, node and effect, as metadata and tags.

Only names and numbers that Sol gave itself, never a word of the task. Nothing is sent anywhere from here.
"""

from collections.abc import Mapping
from typing import TypeAlias

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, Callbacks
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config

from sol.tree.events import Command
from sol.tree.listeners import Listener
from sol.tree.node import AnyState

PREFIX = "sol_"
"""Begins the name of everything Sol adds."""

Marks: TypeAlias = Mapping[str, str | int]


def effect_marks(run: str, command: Command, *, state: str, depth: int) -> Marks:
    """What is told of each call that an effect makes: `sol_node` is the node's path, "" for the root.

    Args:
        run: Id of the run.
        command: The effect.
        state: Of its node.
        depth: Of its node; that of the root is 0.
    """
    return {
        "sol_run": run,
        "sol_node": command.node,
        "sol_depth": depth,
        "sol_kind": str(command.kind),
        "sol_attempt": command.n,
        "sol_state": state,
    }


class Marking(Listener):
    """Puts the marks of an effect on every call that it makes."""

    __slots__ = ("_run", "_state")

    def __init__(self, run: str, state: AnyState) -> None:
        self._run = run
        self._state = state

    def on_effect(self, command: Command) -> None:
        """Mark the effect's task."""
        node = self._state.nodes[command.node]
        mark(effect_marks(self._run, command, state=str(node.state), depth=node.depth))


def tags_of(marks: Marks) -> list[str]:
    """The same as tags, `name:value` each."""
    return [f"{name}:{value}" for name, value in marks.items()]


def mark(marks: Marks) -> None:
    """Let every LangChain or LangGraph call of the current task, and of tasks it starts, carry these marks.

    What the program around has set stays, but for the marks of a run that this one was started from.

    Args:
        marks: Name and value; names begin with `sol_`.
    """
    around = var_child_runnable_config.get()
    if around is None:
        var_child_runnable_config.set({"metadata": dict(marks), "tags": tags_of(marks)})
        return
    others = (around.get("metadata") or {}).items()
    metadata = {name: value for name, value in others if not name.startswith(PREFIX)} | dict(marks)
    tags = [tag for tag in around.get("tags") or () if not tag.startswith(PREFIX)]
    var_child_runnable_config.set({**around, "metadata": metadata, "tags": tags + tags_of(marks)})


def listen(handler: BaseCallbackHandler) -> None:
    """Let a handler hear of every LangChain or LangGraph call of the current task, and of tasks it starts, once."""
    around = var_child_runnable_config.get() or RunnableConfig()
    present = around.get("callbacks")
    if isinstance(present, BaseCallbackManager):
        manager = present.copy()
        manager.add_handler(handler, inherit=True)  # which looks whether it is there already
        callbacks: Callbacks = manager
    else:
        callbacks = [*(one for one in present or () if one is not handler), handler]
    var_child_runnable_config.set({**around, "callbacks": callbacks})

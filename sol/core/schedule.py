"""Which wanted command starts next: concurrency, and budgets with reservation before the start."""

from collections.abc import Callable
from typing import Any

from sol.core.requests import How, Kind
from sol.strategy.schema import Budget, Strategy
from sol.tree.events import Command, Event, EventType
from sol.tree.node import Node, State, Tree

_BY_SOL = frozenset(Kind) - {Kind.ATTEMPT, Kind.CHECK, Kind.MERGE, Kind.LAND}
"""Kinds of effects that Sol's model does, if there is one. Those that are not in `Kind` cost nothing themselves."""


def admit(tree: Tree, strategy: Strategy, *, may_start: Callable[[Command], bool] = lambda _: True) -> list[Event]:
    """Events that start the next queued command, or end its node for lack of budget; empty: nothing can start.

    A command that `may_start` does not let start yet is passed over.

    A command that the budget does not allow yet waits while others in flight may still free what they reserved.

    Source: S13.
    """
    if not tree.queue or len(tree.inflight) >= strategy.concurrency:
        return []
    command = next(filter(may_start, tree.queue), None)
    if command is None:
        return []
    reserve = reservation(tree, command, strategy)
    short = _short(tree, reserve, strategy.budget)
    if short is None:
        data: dict[str, Any] = {"kind": command.kind, "n": command.n}
        if command.because:
            data["because"] = command.because
        if reserve:
            data["reserve"] = reserve
        return [Event(EventType.STARTED, command.node, data)]
    if any(other.reserve for other in tree.inflight.values()):
        return []
    return [
        Event(EventType.DROPPED, command.node, {"keys": [[command.kind, command.n]]}),
        Event(
            EventType.SETTLED,
            command.node,
            {"state": State.EXHAUSTED, "kind": "budget", "reason": short, "resumable": True, **redo_of(command)},
        ),
    ]


def redo_of(command: Command) -> dict[str, Any]:
    """What an ended node must remember so that this command can be wanted again."""
    return {"redo": command.kind, "because": command.because}


def integrates_by_luna(node: Node, strategy: Strategy) -> bool:
    """Whether a Luna puts the parts of this node together. Halves of inputs need none. Source: S61."""
    return strategy.integrate == "luna" and node.how != How.INPUTS


def reservation(tree: Tree, command: Command, strategy: Strategy) -> dict[str, Any]:
    """What an effect may use at most; empty for effects that cost nothing."""
    kind, budget = command.kind, strategy.budget
    match kind:
        case Kind.INTEGRATE:
            by_luna = integrates_by_luna(tree.nodes[command.node], strategy)
        case Kind.MERGE:
            by_luna = "conflict" in command.because
        case _:
            by_luna = kind == Kind.ATTEMPT
    if not (by_luna or (kind in _BY_SOL and tree.config["sol"] == "model")):
        return {}
    reserve: dict[str, Any] = {"calls": 1}
    if budget.per_call.tokens:
        reserve["tokens"] = budget.per_call.tokens
    if budget.per_call.cost:
        reserve["cost"] = budget.per_call.cost
    return reserve


def _short(tree: Tree, reserve: dict[str, Any], budget: Budget) -> str | None:
    """Which budget does not allow this effect now, as a sentence; None when all do."""
    if not reserve:
        return None
    for name in ("calls", "tokens", "cost"):
        limit = getattr(budget, name)
        if limit is None:
            continue
        spent, held, need = getattr(tree.spent, name), getattr(tree.reserved, name), reserve.get(name, 0)
        if spent + held + need > limit or (not need and spent >= limit):
            return f"The budget of {limit:g} {name} is used up: {spent:g} spent, {need:g} more needed."
    return None


def passed(tree: Tree, budget: Budget) -> str | None:
    """Name of a budget that what was spent has gone beyond, or None. Source: S13."""
    for name in ("calls", "tokens", "cost"):
        limit = getattr(budget, name)
        if limit is not None and getattr(tree.spent, name) > limit:
            return name
    return None


def unwanted(tree: Tree) -> list[Command]:
    """Effects in flight whose node has ended since they started: to be stopped; what they still bring is late."""
    return [tree.inflight[key] for key in tree.inflight if key in tree.abandoned] if tree.abandoned else []

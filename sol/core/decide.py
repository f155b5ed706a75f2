"""The heart: from the tree and one event to new events and commands. Pure, total, and the same on replay.

`decide` looks at the tree after the event was folded in. `step` takes facts one by one and runs it to its fixed point.
"""

from collections.abc import Iterable

from sol.core.act import accept, on_reassessed, on_rule_answer
from sol.core.attempt import begin, conclude, on_atomic, on_checked, on_integrated, on_merged, on_reported
from sol.core.control import may_retry, on_budget_hit, on_cancel, on_reopened, on_resumed, on_retry
from sol.core.integrate import on_settled
from sol.core.outcome import Out
from sol.core.requests import Kind
from sol.core.split import on_proposed, on_reviewed
from sol.core.stepping import Laws, Step, take
from sol.strategy.schema import Strategy
from sol.tree.events import Command, Event, EventType
from sol.tree.fold import apply
from sol.tree.node import State, Tree


def decide(tree: Tree, event: Event, strategy: Strategy) -> tuple[list[Event], list[Command]]:
    """What follows from an event that has just been folded into the tree.

    Changes nothing; the caller commits the events, folds them in, and asks again for each.

    Source: strategy.md, all of it.
    """
    out = Out()
    node = tree.nodes.get(event.node)
    match event.type:
        case EventType.RUN_STARTED:
            out.event(EventType.CREATED, "", assignment=event.data["assignment"])
        case EventType.RESUMED:
            on_resumed(tree, out)
        case EventType.CANCEL_REQUESTED:
            on_cancel(tree, event, out)
        case EventType.RETRY_REQUESTED:
            on_retry(tree, event, out)
        case EventType.BUDGET_HIT:
            on_budget_hit(tree, event, out)
        case EventType.REOPENED:
            on_reopened(tree, event, strategy, out)
        case _ if node is not None:
            _decide_node(tree, event, strategy, out)
    return out.events, out.commands


def _decide_node(tree: Tree, event: Event, strategy: Strategy, out: Out) -> None:
    node = tree.nodes[event.node]
    match event.type:
        case EventType.CREATED:
            if not node.after:
                begin(node, strategy, out)
        case EventType.REPORTED:
            on_reported(tree, node, event.data["n"], strategy, out)
        case EventType.CHECKED:
            on_checked(tree, node, strategy, out)
        case EventType.ANSWER:
            _decide_answer(tree, event, strategy, out)
        case EventType.LOST:
            data = event.data
            out.settle(node, State.FAILED, kind=data["lost"], reason=data["reason"], resumable=True)
        case EventType.ANSWERED:
            out.want(node, Kind.ATTEMPT, new="information", what="answer")
        case EventType.REDEFINED:
            out.want(node, Kind.ATTEMPT, new="information", what="reassessment")
        case EventType.SETTLED:
            on_settled(tree, node, strategy, out)
        case _:
            pass


def _decide_answer(tree: Tree, event: Event, strategy: Strategy, out: Out) -> None:
    node, answer = tree.nodes[event.node], event.data["answer"]
    match event.data["kind"]:
        case Kind.ATOMIC:
            on_atomic(node, answer, out)
        case Kind.JUDGE:
            conclude(tree, node, strategy, out)
        case Kind.SPLIT:
            on_proposed(tree, node, answer, strategy, out)
        case Kind.REVIEW:
            on_reviewed(node, answer, out)
        case Kind.MERGE:
            on_merged(tree, node, answer, strategy, out)
        case Kind.INTEGRATE:
            on_integrated(tree, node, strategy, out)
        case Kind.LAND:
            accept(node, out)
        case Kind.REASSESS:
            on_reassessed(tree, node, strategy, out)
        case Kind.RULE:
            on_rule_answer(tree, node, strategy, out)


def step(
    tree: Tree, incoming: Iterable[Event], strategy: Strategy, *, stopping: bool = False, now: float = 0.0
) -> Step:
    """Take facts into the task tree; see `sol.core.stepping.take`."""
    laws = Laws(strategy, apply, lambda tree, event: decide(tree, event, strategy), may_retry)
    return take(tree, incoming, laws, stopping=stopping, now=now)

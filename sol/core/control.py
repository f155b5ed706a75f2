"""What people and limits ask of a run: cancel, take up again, try once more, stop at a budget."""

from collections.abc import Iterable
from typing import Any

from sol.core.integrate import follow
from sol.core.outcome import Out
from sol.core.requests import Kind
from sol.core.schedule import redo_of
from sol.strategy.schema import Strategy
from sol.tree.events import Command, Event, EventType
from sol.tree.node import Node, State, Tree

TRY_AGAIN = "Someone who knows of the last attempt asked for another one."
"""What a retry tells the Luna when nothing else is new. Source: S53."""


def close(tree: Tree, path: str, state: State, *, kind: str, reason: str, resumable: bool, out: Out) -> None:
    """End a node and everything below it that has not ended yet."""
    live = {command.node: command for command in (*reversed(tree.queue), *_running(tree))}
    queued = {command.node for command in tree.queue}
    for node in tree.subtree(path):
        if node.ended and not (node.paused and not resumable):
            continue
        command = live.get(node.path)
        if command is not None and node.path in queued:
            out.event(EventType.DROPPED, node.path, keys=[[command.kind, command.n]])
        more = {"resumable": True, **(redo_of(command) if command else {})} if resumable else {}
        out.settle(node, state, kind=kind, reason=reason, **more)


def _running(tree: Tree) -> list[Command]:
    return [command for command in tree.inflight.values() if command.key not in tree.abandoned]


def late(event: Event) -> Event:
    """What came after its node had ended: kept, booked, and without any effect. Source: case PAR-04."""
    return Event(EventType.LATE, event.node, {"was": event.type, **event.data})


def on_cancel(tree: Tree, event: Event, out: Out) -> None:
    """Someone has cancelled a node or, with the root, the run."""
    reason = event.data.get("reason") or "Cancelled on request."
    close(tree, event.node, State.CANCELLED, kind="cancelled", reason=reason, resumable=False, out=out)


def on_budget_hit(tree: Tree, event: Event, out: Out) -> None:
    """A budget was passed while effects were in flight: everything still open ends as exhausted, and can be resumed."""
    what = event.data["what"]
    reason = f"The budget of {event.data['limit']:g} {what} is used up."
    close(tree, "", State.EXHAUSTED, kind="budget", reason=reason, resumable=True, out=out)


def on_resumed(tree: Tree, out: Out) -> None:
    """Take up again all that was interrupted, lost or ran out of budget; nothing that was accepted is touched.

    A run is resumed by a process that has just taken it, so nobody runs its abandoned effects any more: they are closed
    and charged what was reserved for them.
    """
    out.events.extend(late(outcome) for outcome in given_up(tree))
    found, todo = [], [""]
    while todo:
        node = tree.nodes[todo.pop()]
        if node.ended and not node.resumable:
            continue
        if node.redo or node.resumable:
            found.append(node.path)
        todo.extend(node.generation)
    open_again(tree, found, out)


def given_up(tree: Tree) -> list[Event]:
    """The outcomes of all abandoned effects when the process that ran them is known to be gone."""
    said = {"lost": "killed", "reason": "The process that ran it has ended."}
    return [
        Event(
            EventType.LOST,
            command.node,
            {
                "kind": command.kind,
                "n": command.n,
                **said,
                "usage": {**command.reserve, "reported": not command.reserve},
            },
        )
        for command in tree.inflight.values()
        if command.key in tree.abandoned
    ]


def may_retry(tree: Tree, node: Node) -> bool:
    """Whether a node can be tried once more: it has ended without success, and its result can still be made use of.

    That is so while it is one of the newest parts of its parent, the part that it waits for is accepted, and everything
    above waits for its parts or has ended without success.
    """
    if not node.ended or node.state == State.SUCCESS:
        return False
    if node.after and tree.nodes[node.after].state != State.SUCCESS:
        return False
    busy = {command.node for command in (*tree.queue, *_running(tree))}
    while node.path:
        above = tree.nodes[node.parent]
        is_open = above.state == State.SPLIT and above.path not in busy and not above.redo
        if node.path not in above.generation or above.state == State.SUCCESS or not (is_open or above.ended):
            return False
        node = above
    return True


def on_retry(tree: Tree, event: Event, out: Out) -> None:
    """Someone wants a node tried once more, with what is new about it. Source: S53."""
    data = event.data
    note = data.get("note") or ("" if data.get("worker") else TRY_AGAIN)
    more = {name: value for name, value in {"note": note, "worker": data.get("worker")}.items() if value}
    open_again(tree, [event.node], out, redo=Kind.ATTEMPT, **more)


def open_again(tree: Tree, paths: Iterable[str], out: Out, *, redo: str = "", **more: Any) -> None:  # noqa: ANN401
    """Reopen nodes, the ancestors that ended because of them, and the siblings that were blocked by any of these."""
    targets = set(paths)
    above = {path[:end] for path in targets for end in range(len(path))} - targets
    opened: set[str] = set()
    for path in sorted(above | targets, key=lambda path: (len(path), path)):
        node = tree.nodes[path]
        if path in targets:
            again = redo or node.redo
            out.event(EventType.REOPENED, path, state=_state_again(node, again), redo=again, was=node.redo, **more)
        elif node.ended:
            out.event(EventType.REOPENED, path, state=State.SPLIT)
        else:
            continue
        blocked = [one for one in _blocked_by(tree, node) if one not in targets and one not in above | opened]
        opened.update(blocked)
        for sibling in blocked:
            out.event(EventType.REOPENED, sibling, state=State.PENDING)


def _state_again(node: Node, redo: str) -> State:
    if redo == Kind.ATTEMPT:
        return State.PENDING
    if node.question:
        return State.WAITING
    return State.SPLIT if node.generation else State.PENDING


def _blocked_by(tree: Tree, node: Node) -> list[str]:
    """Siblings that wait, directly or not, for a node and were blocked."""
    if not node.path:
        return []
    found = [node.path]
    for path in tree.nodes[node.parent].generation:
        sibling = tree.nodes[path]
        if sibling.state == State.BLOCKED and sibling.after in found:
            found.append(path)
    return found[1:]


def on_reopened(tree: Tree, event: Event, strategy: Strategy, out: Out) -> None:
    """A node is open again: start what it was doing; without that it waits for its parts, a sibling or an answer.

    The sibling may have ended while the node was not open.
    """
    node = tree.nodes[event.node]
    redo = event.data.get("redo")
    if redo:
        before = node.because if redo == event.data.get("was") else {}
        new = "information" if event.data.get("note") else "approach" if event.data.get("worker") else "resumed"
        out.want(node, redo, **{**before, "new": new})
    elif node.after and node.state == State.PENDING:
        before_it = tree.nodes[node.after]
        if before_it.ended and not before_it.paused:
            follow(before_it, node, strategy, out)

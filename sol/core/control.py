"""What people and limits ask of a run: cancel, take up again, try once more, stop at a budget."""

from collections.abc import Iterable
from typing import Any

from sol.core.attempt import begin
from sol.core.outcome import Out
from sol.core.requests import Kind
from sol.core.schedule import redo_of
from sol.strategy.schema import Strategy
from sol.tree.events import Command, Event, EventType
from sol.tree.node import Node, State, Tree


def close(tree: Tree, path: str, state: State, *, kind: str, reason: str, resumable: bool, out: Out) -> None:
    """End a node and everything below it that has not ended yet."""
    queued: dict[str, list[Command]] = {}
    for command in tree.queue:
        queued.setdefault(command.node, []).append(command)
    running = {command.node: command for command in tree.inflight.values()}
    for node in tree.subtree(path):
        if node.ended:
            continue
        mine = queued.get(node.path, [])
        if mine:
            out.event(EventType.DROPPED, node.path, keys=[[command.kind, command.n] for command in mine])
        was = running.get(node.path) or (mine[0] if mine else None)
        more = {"resumable": True, **redo_of(was)} if resumable else {}
        out.settle(node, state, kind=kind, reason=reason, **more)


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
    """Take up again all that was interrupted, lost or ran out of budget; nothing that was accepted is touched."""
    open_again(tree, [node.path for node in tree.nodes.values() if node.redo or node.resumable], out)


def on_retry(tree: Tree, event: Event, out: Out) -> None:
    """Someone wants a node tried once more, with what is new about it. Source: S53."""
    data = event.data
    more = {name: data[name] for name in ("note", "worker") if data.get(name)}
    open_again(tree, [event.node], out, redo=Kind.ATTEMPT, **more)


def open_again(tree: Tree, paths: Iterable[str], out: Out, *, redo: str = "", **more: Any) -> None:  # noqa: ANN401
    """Reopen nodes, the ancestors that ended because of them, and the siblings that were blocked by them."""
    targets = set(paths)
    above = {path[:end] for path in targets for end in range(len(path))} - targets
    for path in sorted(above | targets, key=len):
        node = tree.nodes[path]
        if path in targets:
            again = redo or node.redo
            state = State.SPLIT if node.generation and again != Kind.ATTEMPT else State.PENDING
            out.event(EventType.REOPENED, path, state=state, redo=again, was=node.redo, **more)
        elif node.ended and node.state != State.SUCCESS:
            out.event(EventType.REOPENED, path, state=State.SPLIT)
        for sibling in _blocked_by(tree, node) if path in targets else ():
            out.event(EventType.REOPENED, sibling, state=State.PENDING)


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
    """A node is open again: start what it was doing, unless it waits for its children or a sibling."""
    node = tree.nodes[event.node]
    redo = event.data.get("redo")
    if redo:
        before = node.because if redo == event.data.get("was") else {}
        out.want(node, redo, **{**before, "new": "information" if event.data.get("note") else "resumed"})
    elif event.data.get("redo") == "" and not node.after and not node.generation:
        begin(node, strategy, out)

"""What people ask of a run (cancel, answer, retry, resume), as the events that carry it out."""

from collections.abc import Mapping
from typing import Any

from sol.core.control import may_retry
from sol.errors import ConflictError, NotFoundError
from sol.session import request_event
from sol.strategy.schema import Strategy
from sol.tree.events import Event, EventType
from sol.tree.node import Tree


def asked(run_id: str, tree: Tree, ask: Mapping[str, Any], *, by: str, now: float) -> Event:
    """The event of a request.

    Raises:
        NotFoundError: If there is no such node.
        ConflictError: If the node's state does not allow it.
    """
    path = str(ask.get("node", ""))
    node = tree.nodes.get(path)
    if node is None:
        raise NotFoundError(f"Run {run_id} has no node {path!r}. `sol show {run_id}` lists them.")
    said = {"by": by, "at": now}
    event = request_event(tree, str(ask["kind"]), ask, said, may_retry=lambda node: may_retry(tree, node))
    if event is None:
        raise ConflictError(
            f"Node {path or 'root'!r} of run {run_id} is {node.state}; it cannot be asked to {ask['kind']}."
        )
    return event


def to_resume(
    run_id: str, tree: Tree, ask: Mapping[str, Any] | None, *, now: float, changed: list[str], strategy: Strategy
) -> list[Event]:
    """The first events of a resumed run.

    Raises:
        ConflictError: If there is nothing to resume.
    """
    resumed = Event(EventType.RESUMED, "", {"changed_inputs": changed, "strategy": strategy.model_dump(mode="json")})
    if ask is not None:
        return [asked(run_id, tree, ask, by=str(ask.get("by", "")), now=now), resumed]
    if tree.status in {"running", "interrupted", "waiting"} or tree.root.resumable:
        return [resumed]
    raise ConflictError(
        f"Run {run_id} has ended: {tree.status}. There is nothing to resume; "
        f"`sol retry {run_id} NODE` tries a node again."
    )

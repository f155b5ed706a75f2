"""Hand a request to whoever works on a run, or, when nobody does, carry it out in the journal."""

import secrets
from collections.abc import Mapping
from typing import Any

from sol.asking import asked
from sol.errors import ConflictError
from sol.journal import Journal, this_process
from sol.runner import read_tree, record


async def post(journal: Journal, run_id: str, kind: str, payload: Mapping[str, Any], *, by: str, now: float) -> str:
    """Post a request to the process that holds the run, or record it and what follows from it.

    Args:
        journal: Open.
        run_id: Id, unique beginning, or `latest`.
        kind: `cancel`, `answer`, `retry` or `stop`.
        payload: `node` (path) and what belongs to the kind.
        by: Who asks.
        now: Seconds since the epoch.

    Returns:
        `posted` or `done`.

    Raises:
        NotFoundError: If there is no such run or node.
        ConflictError: If the node's state does not allow it, or nobody works on a run that is to be stopped.
    """
    found = await journal.resolve(run_id)
    tree, _ = await read_tree(journal, found)
    event = None if kind == "stop" else asked(found, tree, {"kind": kind, **payload}, by=by, now=now)
    try:
        lease = await journal.claim(found, this_process(secrets.token_hex(8)), now=now)
    except ConflictError:
        await journal.post(found, kind, dict(payload), t=now, by=by)
        return "posted"
    try:
        if event is None:
            raise ConflictError(f"Nobody works on run {found}; there is nothing to stop.")
        await record(journal, lease, tree, event, now=now)
    finally:
        await journal.release(lease)
    return "done"

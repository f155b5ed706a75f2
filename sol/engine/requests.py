"""What people ask of a run (cancel, answer, retry, stop, resume), whatever its program.

A request becomes an event; it goes to whoever works on the run or, when nobody does, into the journal.
"""

import secrets
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from luna.protocol import WorkerSpec
from luna.strictjson import require_json
from sol.engine.kinds import RunKind
from sol.engine.program import AnyReading
from sol.engine.step import given_up, take
from sol.errors import ConflictError, NotFoundError, StoreError, UsageError
from sol.journal import Journal, Lease, NewRecord, this_process
from sol.journal.protocol import held
from sol.tree.events import Answered, CancelRequested, Event, RetryRequested
from sol.tree.node import AnyState, State
from sol.tree.values import Json, WorkerData, worker_data

RESUMABLE = frozenset({"running", "interrupted", "waiting"})
PAGE = 2_000
"""Most transitions that are read from a journal at once."""


async def read_state(journal: Journal, reading: AnyReading, run: str) -> AnyState:
    """The state of a run as committed.

    Raises:
        StoreError: If what is stored cannot be read, or does not fit together.
    """
    state: AnyState = reading.empty()
    after = 0
    while records := await journal.read(run, after=after, limit=PAGE):
        for record in records:
            try:
                for event in reading.codec.unfold(record):
                    reading.apply(state, event)
            except LookupError as error:
                raise StoreError(
                    f"Event {record.seq} of run {run} ({record.type!r} of node {record.node!r}) does not fit what came "
                    f"before it: there is no {error}. The journal is damaged; restore it from a copy."
                ) from error
        after = records[-1].seq
    return state


def is_resumable(state: AnyState) -> bool:
    """Whether a resume can take a run further as it is."""
    return state.status in RESUMABLE or (bool(state.nodes) and state.root.resumable)


def require_resumable(run: str, state: AnyState) -> None:
    """Do nothing if a resume can take a run further.

    Raises:
        ConflictError: Otherwise.
    """
    if not state.nodes:
        raise ConflictError(f"Run {run} was killed before its task was recorded; start it anew.")
    if not is_resumable(state):
        raise ConflictError(
            f"Run {run} has ended: {state.status}. There is nothing to resume; "
            f"`sol retry {run} NODE` tries a node again."
        )


def asked(run: str, kind: RunKind, state: AnyState, ask: Mapping[str, Json], *, by: str, at: float) -> Event:
    """The event of a request.

    Raises:
        UsageError: If it holds what cannot be kept.
        NotFoundError: If there is no such node.
        ConflictError: If the node's state does not allow it.
    """
    try:
        require_json([dict(ask), by], what="the request")
    except ValueError as error:
        raise UsageError(f"The request cannot be carried out: {error}.") from error
    path = str(ask.get("node", ""))
    node = state.nodes.get(path)
    if node is None:
        waiting = [node.path for node in state.nodes.values() if node.question]
        hint = f" Waiting: {', '.join(waiting)}." if waiting else ""
        raise NotFoundError(f"Run {run} has no {kind.noun} {path!r}. `sol show {run}` lists them.{hint}")
    event = request_event(kind.reading, state, str(ask["kind"]), ask, by=by, at=at)
    if event is None:
        raise ConflictError(
            f"{kind.noun.capitalize()} {path or 'root'!r} of run {run} is {node.state}; "
            f"it cannot be asked to {ask['kind']}."
        )
    return event


def request_event(
    reading: AnyReading, state: AnyState, kind: str, payload: Mapping[str, Any], *, by: str, at: float
) -> Event | None:
    """The event of what a person asked for; None when it names nothing that is there any more.

    Args:
        reading: Of the run's kind.
        state: Of the run.
        kind: `cancel`, `answer` or `retry`.
        payload: `node` and what belongs to the kind. It comes from outside.
        by: Who asked.
        at: When, in seconds since the epoch.
    """
    node = state.nodes.get(str(payload.get("node", "")))
    if node is None:
        return None
    match kind:
        case "cancel" if not node.ended or node.paused:
            return Event(node.path, CancelRequested(str(payload.get("reason", "")), by, at))
        case "answer" if node.state == State.WAITING:
            return Event(node.path, Answered(str(payload.get("text", "")), by, at))
        case "retry" if reading.may_retry(state, node.path):
            return _retry(node.path, payload, by=by, at=at)
        case _:
            return None


def _retry(path: str, payload: Mapping[str, Any], *, by: str, at: float) -> Event | None:
    """The event of a retry; None when the worker it names cannot be read."""
    worker: WorkerData | None = None
    if payload.get("worker"):
        try:
            worker = worker_data(WorkerSpec.parse(payload["worker"]))
        except ValidationError:
            return None
    return Event(path, RetryRequested(str(payload.get("note") or ""), worker, by, at))


async def post(
    journal: Journal, run: str, runs: RunKind, kind: str, payload: Mapping[str, Any], *, by: str, now: float
) -> str:
    """Post a request to the process that holds the run, or record it and what follows from it.

    Args:
        journal: Open.
        run: Its whole id.
        runs: Its kind.
        kind: `cancel`, `answer`, `retry` or `stop`.
        payload: `node` (path) and what belongs to the kind.
        by: Who asks.
        now: Seconds since the epoch.

    Returns:
        `posted` or `done`.

    Raises:
        NotFoundError: If there is no such node.
        ConflictError: If the node's state does not allow it, or nobody works on a run that is to be stopped.
    """
    ask = {**payload, "kind": kind}
    if kind != "stop":
        _asked_now(run, runs, await read_state(journal, runs.reading, run), ask, by=by, now=now)
    try:
        lease = await held(journal, journal.claim(run, this_process(secrets.token_hex(8)), now=now))
    except ConflictError:
        await journal.post(run, kind, dict(payload), t=now, by=by)
        return "posted"
    try:
        if kind == "stop":
            raise ConflictError(f"Nobody works on run {run}; there is nothing to stop.")
        await _record(journal, lease, runs, ask, by=by, now=now)
    finally:
        await journal.release(lease)
    return "done"


def _asked_now(run: str, runs: RunKind, state: AnyState, ask: Mapping[str, Any], *, by: str, now: float) -> Event:
    if not state.nodes:
        raise NotFoundError(f"Run {run} was killed before its task was recorded; it has no {runs.noun}s.")
    return asked(run, runs, state, ask, by=by, at=now)


async def _record(
    journal: Journal, lease: Lease, runs: RunKind, ask: Mapping[str, Any], *, by: str, now: float
) -> None:
    """Commit a request on a run that nobody works on, and what follows from it, without starting anything.

    The run is read only now that it is ours: whoever held it a moment ago may have gone on with it.
    """
    state = await read_state(journal, runs.reading, lease.run)
    event = _asked_now(lease.run, runs, state, ask, by=by, now=now)
    program = runs.as_stored(lease.run, state, request=str(ask["kind"]))
    done = take(program, state, [event], stopping=True, now=now).transitions
    done += take(program, state, given_up(state), stopping=True, now=now).transitions
    records = [NewRecord(now, *program.codec.encode(transition)) for transition in done]
    await journal.append(lease, records, status=state.status)

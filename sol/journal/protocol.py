"""The journal as its users see it: runs, records, requests between processes, ids, leases."""

import asyncio
import difflib
import re
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from types import TracebackType
from typing import Any, Final, Protocol, Self

from sol.errors import ConflictError, NotFoundError, StoreError, UsageError
from sol.journal.owner import Holding, Owner

LATEST: Final = "latest"
"""Stands for the newest run wherever an id may be abbreviated."""

_LETTERS = "bcdfghjkmnpqrstvwxz"  # no vowels: no words; no l: not taken for 1
_ALPHABET = _LETTERS + "23456789"
_WELL_FORMED = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_NAMED = 10


def new_run_id(rng: Random, *, length: int = 6) -> str:
    """A random id that is easy to read out and to type; starts with a letter. 6 characters make 270 million."""
    return rng.choice(_LETTERS) + "".join(rng.choices(_ALPHABET, k=length - 1))


def check_run_id(run_id: str) -> str:
    """Return the id if a run may have it.

    Raises:
        UsageError: Otherwise.
    """
    if run_id == LATEST or not _WELL_FORMED.fullmatch(run_id):
        raise UsageError(
            f"{run_id!r} cannot be a run id. Use 1 to 64 of a-z, 0-9, _ and -, starting with a letter or digit, "
            f"and not {LATEST!r}."
        )
    return run_id


def only_match(prefix: str, ids: Sequence[str], *, near: Sequence[str]) -> str:
    """The id equal to `prefix`, else the only one in `ids`, all of which start with it.

    Raises:
        UsageError: If there are several, or `prefix` is empty.
        NotFoundError: If there is none; names those of `near` that look alike.
    """
    if not prefix:
        raise UsageError(f"A run id is empty. Give the beginning of one, or {LATEST!r}.")
    if prefix in ids:
        return prefix
    if len(ids) > 1:
        more = ", ..." if len(ids) > _NAMED else ""
        raise UsageError(
            f"{prefix!r} is the beginning of several run ids: {', '.join(ids[:_NAMED])}{more}. Type more of it."
        )
    if not ids:
        raise run_not_found(prefix, near)
    return ids[0]


def run_not_found(run_id: str, known: Sequence[str]) -> NotFoundError:
    """The error for an unknown run; `known` holds ids, the newest first."""
    if not known:
        return NotFoundError(f"There is no run {run_id!r}: this journal holds no runs. Check which store is in use.")
    alike = difflib.get_close_matches(run_id, known, n=3)
    hint = f"Did you mean {', '.join(alike)}?" if alike else f"The newest are {', '.join(known[:3])}."
    return NotFoundError(f"There is no run {run_id!r}. {hint}")


def run_exists(run_id: str) -> ConflictError:
    """The error for an id that is taken."""
    return ConflictError(f"There is a run {run_id!r} already. Claim it to continue it, or begin one with another id.")


PENDING: Final = "pending"
"""The status of a run until `append` gives another."""


class RecordError(StoreError):
    """Something handed to the journal cannot be stored. Raised before anything is written."""


@dataclass(frozen=True, slots=True)
class NewRecord:
    """One transition to append: a fact with all that was decided because of it.

    The journal does not read `data` and `then`; whoever writes them answers for their being JSON. Together they have at
    most `MAX_RECORD_BYTES` bytes.

    Attributes:
        t: When the fact and all that follows from it happened, in seconds since the epoch.
        type: Type of the fact.
        node: Path of the fact's node, "" for the root.
        data: The fact's data: a JSON object as UTF-8 text.
        then: What followed, in order: a JSON array of `[type, node, data]` as UTF-8 text; empty if nothing did.
    """

    t: float
    type: str
    node: str
    data: bytes
    then: bytes = b""


@dataclass(frozen=True, slots=True)
class Record:
    """A transition in the journal: a `NewRecord` with its number `seq`, from 1 without gaps within the run."""

    seq: int
    t: float
    type: str
    node: str
    data: bytes
    then: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What is known of a run when it is created.

    Attributes:
        id: 1 to 64 of `a-z 0-9 _ -`, not starting with `_` or `-`; unique within the journal.
        created_t: In seconds since the epoch.
        title: One line for people.
        meta: JSON that never changes afterwards: the task, the strategy, versions.
    """

    id: str
    created_t: float
    title: str
    meta: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun(RunInfo):
    """A run as the journal has it.

    Attributes:
        status: Last status given to `append`; "pending" before.
        summary: Last summary given to `append`; None before.
        seq: Number of the last transition, 0 while there is none.
        updated_t: Time of the last transition, or of the creation; seconds since the epoch.
        epoch: Raised by every claim.
        holding: Who holds it, dead or alive; None after a release.
    """

    status: str
    summary: dict[str, Any] | None
    seq: int
    updated_t: float
    epoch: int
    holding: Holding | None


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to write to a run, good until the next claim or release. Given by `create` and `claim`."""

    run: str
    epoch: int
    owner: Owner


@dataclass(frozen=True, slots=True)
class Request:
    """A message from another process to the owner of a run.

    Attributes:
        id: Increases with each request of the journal.
        kind: What is wanted: cancel, answer, ...
        payload: JSON. It comes from outside: check it before use.
        t: When it was posted, in seconds since the epoch.
        by: Who posted it, for people.
    """

    id: int
    kind: str
    payload: dict[str, Any]
    t: float
    by: str


class Journal(Protocol):
    """The single source of truth: runs, their transitions, who may write them, and requests to whoever does.

    All methods may be called from many tasks of one event loop; closed, a journal may be opened again on another. Each
    write is one transaction: it is there as a whole or not at all, also after the process was killed. Cancelling a call
    does not stop it: a write that had begun is done when the cancellation arrives. `StoreError` from any method means
    that the store itself failed.
    """

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        """Make the store ready, creating what is missing. Does nothing if it is open.

        Raises:
            StoreError: If the store is not a journal, is newer than this program, or cannot be used.
        """

    async def close(self) -> None:
        """Let go of the store. Leases stay; release them first. Does nothing if it is closed."""

    async def create(self, run: RunInfo, owner: Owner) -> Lease:
        """Begin a run, held by `owner` with epoch 1.

        Raises:
            UsageError: If the id is not well formed.
            ConflictError: If the id is taken.
            RecordError: If `title` or `meta` cannot be stored.
        """
        ...

    async def claim(self, run_id: str, owner: Owner, *, now: float, force: bool = False) -> Lease:
        """Take a run that nobody alive holds; of several claims at one moment exactly one succeeds.

        Args:
            run_id: The whole id.
            owner: The new holder. It does not get a run which it holds already.
            now: Seconds since the epoch.
            force: Displace a live holder too; its writes are refused from then on.

        Raises:
            ConflictError: If a live owner holds the run; names its pid, host and since when.
            NotFoundError: If there is no such run.
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Let go of a run. Does nothing if the lease is not the current one."""

    async def heartbeat(self, lease: Lease, now: float) -> None:
        """Show that the owner lives; due more often than `HEARTBEAT_LIMIT_S`.

        Raises:
            ConflictError: If the lease is not the current one: stop working on the run.
        """

    async def append(
        self,
        lease: Lease,
        records: Sequence[NewRecord],
        *,
        status: str | None = None,
        summary: dict[str, Any] | None = None,
    ) -> int:
        """Write transitions, and the run's status and summary where given, in one transaction.

        Returns:
            The number of the run's last transition.

        Raises:
            ConflictError: If the lease is not the current one; nothing was written.
            RecordError: If a record or the summary cannot be stored; nothing was written.
        """
        ...

    async def read(self, run_id: str, *, after: int = 0, limit: int | None = None) -> tuple[Record, ...]:
        """The run's transitions numbered above `after`, in order, at most `limit` of them.

        Read a long run in pages: other calls of this journal wait until a read is over.

        Raises:
            NotFoundError: If there is no such run.
        """
        ...

    async def info(self, run_id: str) -> StoredRun:
        """The run as it is now.

        Raises:
            NotFoundError: If there is no such run.
        """
        ...

    async def list(self, *, limit: int, before: str | None = None, status: str | None = None) -> tuple[StoredRun, ...]:
        """Runs, the newest first, at most `limit`: those created before the run `before`, those of `status`.

        Raises:
            NotFoundError: If there is no run `before`.
        """
        ...

    async def resolve(self, prefix: str) -> str:
        """The id of the run that has this id, or the only one whose id starts so; "latest" is the newest run.

        Raises:
            UsageError: If several runs' ids start so; lists them. If `prefix` is empty.
            NotFoundError: If none does.
        """
        ...

    async def post(self, run_id: str, kind: str, payload: dict[str, Any], *, t: float, by: str) -> int:
        """Leave a request for the run's owner, present or future. Changes nothing else of the run.

        Returns:
            The request's id.

        Raises:
            NotFoundError: If there is no such run.
            RecordError: If something of it cannot be stored.
        """
        ...

    async def take(self, lease: Lease) -> tuple[Request, ...]:
        """The requests nobody has taken yet, oldest first; each is given out once, ever.

        Raises:
            ConflictError: If the lease is not the current one.
        """
        ...


async def held(journal: Journal, taking: Coroutine[Any, Any, Lease]) -> Lease:
    """The lease that is being taken; given back at once when nobody waits for it any more."""
    task = asyncio.ensure_future(taking)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with suppress(Exception):  # then there is none to give back
            await journal.release(await task)
        raise

"""The journal in memory: same contract, for benchmarks, simulation and tests. Lost with the process.

Keeps bytes and JSON text like the database does, so that callers cannot change what was recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sol.journal import encoding, protocol
from sol.journal.owner import Holding, Liveness, Owner, lease_lost, owner_is_alive, require_claimable
from sol.journal.protocol import PENDING, Journal, Lease, NewRecord, Record, Request, RunInfo, StoredRun


@dataclass(slots=True)
class _Run:
    id: str
    created_t: float
    title: str
    meta: str
    updated_t: float
    holding: Holding | None
    status: str = PENDING
    summary: str | None = None
    epoch: int = 1
    transitions: list[NewRecord] = field(default_factory=list)
    waiting: list[tuple[int, str, str, float, str]] = field(default_factory=list)

    def stored(self) -> StoredRun:
        return StoredRun(
            id=self.id,
            created_t=self.created_t,
            title=self.title,
            meta=encoding.decode(self.meta, what="meta"),
            status=self.status,
            summary=None if self.summary is None else encoding.decode(self.summary, what="summary"),
            seq=len(self.transitions),
            updated_t=self.updated_t,
            epoch=self.epoch,
            holding=self.holding,
        )


class MemoryJournal(Journal):
    """A journal that lasts as long as the object; closing and opening it again loses nothing.

    Args:
        is_alive: Tells whether the holder of a run lives.
    """

    # No method awaits anything, so each is a transaction.

    def __init__(self, *, is_alive: Liveness = owner_is_alive) -> None:
        self._is_alive = is_alive
        self._runs: dict[str, _Run] = {}
        self._posted = 0

    async def open(self) -> None:
        """See `Journal.open`."""

    async def close(self) -> None:
        """See `Journal.close`."""

    async def create(self, run: RunInfo, owner: Owner) -> Lease:
        """See `Journal.create`."""
        created_t = encoding.check_time(run.created_t, what=f"run {run.id!r}")
        new = _Run(
            id=protocol.check_run_id(run.id),
            created_t=created_t,
            title=encoding.check_text(run.title, what="the run's title"),
            meta=encoding.encode(run.meta, what="the run's meta"),
            updated_t=created_t,
            holding=Holding(owner, created_t, created_t),
        )
        if run.id in self._runs:
            raise protocol.run_exists(run.id)
        self._runs[run.id] = new
        return Lease(run.id, 1, owner)

    async def claim(self, run_id: str, owner: Owner, *, now: float, force: bool = False) -> Lease:
        """See `Journal.claim`."""
        now = encoding.check_time(now, what="the claim")
        run = self._find(run_id)
        if not force:
            require_claimable(run_id, run.holding, now=now, is_alive=self._is_alive)
        run.epoch += 1
        run.holding = Holding(owner, now, now)
        return Lease(run_id, run.epoch, owner)

    async def release(self, lease: Lease) -> None:
        """See `Journal.release`."""
        run = self._runs.get(lease.run)
        if run is not None and _is_current(run, lease):
            run.holding = None

    async def heartbeat(self, lease: Lease, now: float) -> None:
        """See `Journal.heartbeat`."""
        now = encoding.check_time(now, what="the heartbeat")
        run, holding = self._held(lease)
        run.holding = Holding(holding.owner, holding.claimed_t, now)

    async def append(
        self,
        lease: Lease,
        records: Sequence[NewRecord],
        *,
        status: str | None = None,
        summary: dict[str, Any] | None = None,
    ) -> int:
        """See `Journal.append`."""
        encoding.check_records(records)
        new_status = None if status is None else encoding.check_text(status, what="the run's status")
        new_summary = None if summary is None else encoding.encode(summary, what="the run's summary")
        run, _ = self._held(lease)
        run.transitions.extend(records)
        if records:
            run.updated_t = records[-1].t
        if new_status is not None:
            run.status = new_status
        if new_summary is not None:
            run.summary = new_summary
        return len(run.transitions)

    async def read(self, run_id: str, *, after: int = 0, limit: int | None = None) -> tuple[Record, ...]:
        """See `Journal.read`."""
        transitions = self._find(run_id).transitions
        end = len(transitions) if limit is None else after + limit
        return tuple(
            Record(seq, one.t, one.type, one.node, one.data, one.then)
            for seq, one in enumerate(transitions[after:end], start=after + 1)
        )

    async def info(self, run_id: str) -> StoredRun:
        """See `Journal.info`."""
        return self._find(run_id).stored()

    async def list(self, *, limit: int, before: str | None = None, status: str | None = None) -> tuple[StoredRun, ...]:
        """See `Journal.list`."""
        newest = self._newest_ids()
        if before is not None:
            self._find(before)
            newest = newest[newest.index(before) + 1 :]
        chosen = [run for run in map(self._find, newest) if status is None or run.status == status]
        return tuple(run.stored() for run in chosen[:limit])

    async def resolve(self, prefix: str) -> str:
        """See `Journal.resolve`."""
        newest = self._newest_ids()
        if prefix == protocol.LATEST and newest:
            return newest[0]
        return protocol.only_match(prefix, [known for known in newest if known.startswith(prefix)], near=newest)

    async def post(self, run_id: str, kind: str, payload: dict[str, Any], *, t: float, by: str) -> int:
        """See `Journal.post`."""
        row = (
            encoding.check_text(kind, what="the request's kind"),
            encoding.encode(payload, what=f"payload of the request {kind!r}"),
            encoding.check_time(t, what="the request"),
            encoding.check_text(by, what="the request's sender"),
        )
        run = self._find(run_id)
        self._posted += 1
        run.waiting.append((self._posted, *row))
        return self._posted

    async def take(self, lease: Lease) -> tuple[Request, ...]:
        """See `Journal.take`."""
        run, _ = self._held(lease)
        taken, run.waiting = run.waiting, []
        return tuple(
            Request(number, kind, encoding.decode(payload, what=f"request {number}"), t, by)
            for number, kind, payload, t, by in taken
        )

    def _find(self, run_id: str) -> _Run:
        run = self._runs.get(run_id)
        if run is None:
            raise protocol.run_not_found(run_id, self._newest_ids())
        return run

    def _held(self, lease: Lease) -> tuple[_Run, Holding]:
        run = self._find(lease.run)
        if run.holding is None or not _is_current(run, lease):
            raise lease_lost(run.id, epoch=lease.epoch, current=run.epoch, holding=run.holding)
        return run, run.holding

    def _newest_ids(self) -> Sequence[str]:
        return tuple(reversed(self._runs))


def _is_current(run: _Run, lease: Lease) -> bool:
    return run.holding is not None and run.epoch == lease.epoch and run.holding.owner.token == lease.owner.token

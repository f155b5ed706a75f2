"""The journal in a database, through SQLAlchemy Core; SQLite unless the URL says otherwise.

Each write is one transaction of at most four statements, with the lease checked inside. Never interprets an event.
"""

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    Row,
    and_,
    bindparam,
    exists,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from sol.errors import ConflictError, StoreError
from sol.journal import codec, ids
from sol.journal.engine import Synchronous, explained, make_engine, prepare_store, store_url
from sol.journal.owner import Holding, Liveness, Owner, lease_lost, owner_is_alive, require_claimable
from sol.journal.protocol import PENDING, Journal, Lease, NewRecord, Record, Request, RunInfo, StoredRun
from sol.journal.schema import RUN_SHIFT, events, requests, runs

_KNOWN = 1000  # so many ids are looked through for one that resembles an unknown one

_SHIFT = literal(RUN_SHIFT, BigInteger)
# Statements that run often are built once.
_held: ColumnElement[bool] = and_(
    runs.c.id == bindparam("run_id"), runs.c.epoch == bindparam("held_epoch"), runs.c.token == bindparam("held_token")
)
_ADVANCE = (
    update(runs)
    .where(_held)
    .values(
        seq=runs.c.seq + bindparam("added"),
        updated_t=func.coalesce(bindparam("last_t"), runs.c.updated_t),
        status=func.coalesce(bindparam("new_status"), runs.c.status),
        summary=func.coalesce(bindparam("new_summary"), runs.c.summary),
    )
    .returning(runs.c.no, runs.c.seq)
)
_ADD_EVENTS = insert(events)
_BEAT = update(runs).where(_held).values(beat_t=bindparam("now")).returning(runs.c.no)
_RELEASE = update(runs).where(_held).values(dict.fromkeys(("host", "pid", "started", "token", "claimed_t", "beat_t")))
_WAITING = select(exists().where(requests.c.run == runs.c.no, requests.c.taken.is_(None))).where(_held)
_LOCK = select(runs.c.no).where(_held).with_for_update()
_TAKE = (
    update(requests)
    .where(requests.c.run == bindparam("run_no"), requests.c.taken.is_(None))
    .values(taken=bindparam("taker"))
    .returning(requests.c.id, requests.c.kind, requests.c.payload, requests.c.t, requests.c.by)
)
_READ = (
    select(events.c.id % RUN_SHIFT, events.c.t, events.c.type, events.c.node, events.c.data)
    .join(runs, and_(events.c.id > runs.c.no * _SHIFT + bindparam("after"), events.c.id < (runs.c.no + 1) * _SHIFT))
    .where(runs.c.id == bindparam("run_id"))
    .order_by(events.c.id)
)

P = ParamSpec("P")
T = TypeVar("T")


def _completes(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Let a cancelled call run to its end before the cancellation goes on, some milliseconds later.

    A statement cannot be called back from the database's thread. Leaving it alone there would cost the connection, and
    whoever cancelled could not tell when the write is over.
    """

    @functools.wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        task = asyncio.create_task(method(*args, **kwargs))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            while not task.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # seen: the cancellation goes first
            raise

    return call


class SqlJournal(Journal):
    """A journal in the database that `url` names.

    Args:
        url: For example `sqlite:////home/me/runs.db`; `default_url` gives a workspace's own.
        synchronous: FULL keeps what was committed through a power failure, NORMAL only through a kill.
        busy_timeout_s: How long to wait for another process's write, in seconds.
        is_alive: Tells whether the holder of a run lives.

    Raises:
        UsageError: If the URL cannot be used.
    """

    def __init__(
        self,
        url: str | URL,
        *,
        synchronous: Synchronous = "FULL",
        busy_timeout_s: float = 30.0,
        is_alive: Liveness = owner_is_alive,
    ) -> None:
        self._url = store_url(url)
        self._synchronous: Synchronous = synchronous
        self._busy_timeout_s = busy_timeout_s
        self._is_alive = is_alive
        self._engine: AsyncEngine | None = None
        # Tasks of this process queue here, fairly and without delay; SQLite's own lock is waited for by polling.
        self._writing = asyncio.Lock()

    @_completes
    async def open(self) -> None:
        """See `Journal.open`. A journal that cannot be written can be opened and read."""
        async with self._writing:
            if self._engine is None:
                await asyncio.to_thread(prepare_store, self._url, busy_timeout_s=self._busy_timeout_s)
                self._engine = make_engine(
                    self._url, synchronous=self._synchronous, busy_timeout_s=self._busy_timeout_s
                )

    @_completes
    async def close(self) -> None:
        """See `Journal.close`. Waits for a write that is under way."""
        async with self._writing:
            engine, self._engine = self._engine, None
            if engine is not None:
                await engine.dispose()

    @asynccontextmanager
    async def _write(self) -> AsyncIterator[AsyncConnection]:
        async with self._writing:
            with explained(self._url):
                async with self._opened().execution_options(writes=True).begin() as connection:
                    yield connection

    @asynccontextmanager
    async def _read(self) -> AsyncIterator[AsyncConnection]:
        with explained(self._url):
            async with self._opened().connect() as connection:
                yield connection

    def _opened(self) -> AsyncEngine:
        if self._engine is None:
            raise StoreError(f"Journal {self._url} is not open. Open it first, or use it in `async with`.")
        return self._engine

    @_completes
    async def create(self, run: RunInfo, owner: Owner) -> Lease:
        """See `Journal.create`."""
        row = {
            "id": ids.check_run_id(run.id),
            "created_t": codec.check_time(run.created_t, what=f"run {run.id!r}"),
            "title": codec.check_text(run.title, what="the run's title"),
            "meta": codec.encode(run.meta, what="the run's meta"),
            "status": PENDING,
            "seq": 0,
            "updated_t": run.created_t,
            "epoch": 1,
            **_holder(owner, run.created_t),
        }
        async with self._write() as connection:
            try:
                await connection.execute(insert(runs), row)
            except IntegrityError as error:
                raise ids.run_exists(run.id) from error
        return Lease(run.id, 1, owner)

    @_completes
    async def claim(self, run_id: str, owner: Owner, *, now: float, force: bool = False) -> Lease:
        """See `Journal.claim`."""
        now = codec.check_time(now, what="the claim")
        async with self._write() as connection:
            run = await _find(connection, run_id, lock=True)
            if not force:
                require_claimable(run_id, run.holding, now=now, is_alive=self._is_alive)
            epoch = run.epoch + 1
            held = {"epoch": epoch, **_holder(owner, now)}
            await connection.execute(update(runs).where(runs.c.id == run_id).values(held))
        return Lease(run_id, epoch, owner)

    @_completes
    async def release(self, lease: Lease) -> None:
        """See `Journal.release`."""
        async with self._write() as connection:
            await connection.execute(_RELEASE, _held_by(lease))

    @_completes
    async def heartbeat(self, lease: Lease, now: float) -> None:
        """See `Journal.heartbeat`."""
        now = codec.check_time(now, what="the heartbeat")
        async with self._write() as connection:
            beaten = await connection.execute(_BEAT, {**_held_by(lease), "now": now})
            if beaten.first() is None:
                raise await _lost(connection, lease)

    @_completes
    async def append(
        self,
        lease: Lease,
        records: Sequence[NewRecord],
        *,
        status: str | None = None,
        summary: dict[str, Any] | None = None,
    ) -> int:
        """See `Journal.append`."""
        encoded = codec.encode_records(records)
        change = {
            "added": len(encoded),
            "last_t": encoded[-1].t if encoded else None,
            "new_status": None if status is None else codec.check_text(status, what="the run's status"),
            "new_summary": None if summary is None else codec.encode(summary, what="the run's summary"),
        }
        async with self._write() as connection:
            advanced = (await connection.execute(_ADVANCE, {**_held_by(lease), **change})).first()
            if advanced is None:
                raise await _lost(connection, lease)
            no, last = advanced
            if encoded:
                first = no * RUN_SHIFT + last - len(encoded) + 1
                rows = [
                    {"id": number, "t": t, "type": kind, "node": node, "data": data}
                    for number, (t, kind, node, data) in enumerate(encoded, start=first)
                ]
                await connection.execute(_ADD_EVENTS, rows)
        return int(last)

    @_completes
    async def read(self, run_id: str, *, after: int = 0, limit: int | None = None) -> tuple[Record, ...]:
        """See `Journal.read`."""
        async with self._read() as connection:
            rows = (await connection.execute(_READ.limit(limit), {"run_id": run_id, "after": after})).all()
            if not rows:
                await _find(connection, run_id)
        return tuple(
            Record(seq, t, kind, node, codec.decode(data, what=f"event {seq} of run {run_id!r}"))
            for seq, t, kind, node, data in rows
        )

    @_completes
    async def info(self, run_id: str) -> StoredRun:
        """See `Journal.info`."""
        async with self._read() as connection:
            return await _find(connection, run_id)

    @_completes
    async def list(self, *, limit: int, before: str | None = None, status: str | None = None) -> tuple[StoredRun, ...]:
        """See `Journal.list`."""
        query = select(runs).order_by(runs.c.no.desc()).limit(limit)
        if status is not None:
            query = query.where(runs.c.status == status)
        async with self._read() as connection:
            if before is not None:
                await _find(connection, before)
                query = query.where(runs.c.no < select(runs.c.no).where(runs.c.id == before).scalar_subquery())
            rows = (await connection.execute(query)).all()
        return tuple(_stored(row) for row in rows)

    @_completes
    async def resolve(self, prefix: str) -> str:
        """See `Journal.resolve`."""
        async with self._read() as connection:
            newest = await _newest_ids(connection)
            if prefix == ids.LATEST and newest:
                return newest[0]
            matching = select(runs.c.id).where(runs.c.id.startswith(prefix, autoescape=True)).order_by(runs.c.no.desc())
            found = (await connection.execute(matching)).scalars().all()
        exact = [known for known in found if known.startswith(prefix)]  # the database may ignore case
        return ids.only_match(prefix, exact, near=newest)

    @_completes
    async def post(self, run_id: str, kind: str, payload: dict[str, Any], *, t: float, by: str) -> int:
        """See `Journal.post`."""
        row = {
            "kind": codec.check_text(kind, what="the request's kind"),
            "payload": codec.encode(payload, what=f"payload of the request {kind!r}"),
            "t": codec.check_time(t, what="the request"),
            "by": codec.check_text(by, what="the request's sender"),
        }
        async with self._write() as connection:
            no = (await connection.execute(select(runs.c.no).where(runs.c.id == run_id))).scalar()
            if no is None:
                raise ids.run_not_found(run_id, await _newest_ids(connection))
            posted = await connection.execute(insert(requests).returning(requests.c.id), {"run": no, **row})
            return int(posted.scalar_one())

    @_completes
    async def take(self, lease: Lease) -> tuple[Request, ...]:
        """See `Journal.take`. While nothing waits this only reads."""
        async with self._read() as connection:
            waiting = (await connection.execute(_WAITING, _held_by(lease))).scalar()
            if waiting is None:
                raise await _lost(connection, lease)
            if not waiting:
                return ()
        async with self._write() as connection:
            no = (await connection.execute(_LOCK, _held_by(lease))).scalar()
            if no is None:
                raise await _lost(connection, lease)
            taken = (await connection.execute(_TAKE, {"run_no": no, "taker": lease.epoch})).all()
        return tuple(
            Request(number, kind, codec.decode(payload, what=f"request {number}"), t, by)
            for number, kind, payload, t, by in sorted(tuple(row) for row in taken)
        )


def _held_by(lease: Lease) -> dict[str, Any]:
    return {"run_id": lease.run, "held_epoch": lease.epoch, "held_token": lease.owner.token}


def _holder(owner: Owner, now: float) -> dict[str, Any]:
    return {
        "host": owner.host,
        "pid": owner.pid,
        "started": owner.started,
        "token": owner.token,
        "claimed_t": now,
        "beat_t": now,
    }


async def _find(connection: AsyncConnection, run_id: str, *, lock: bool = False) -> StoredRun:
    query = select(runs).where(runs.c.id == run_id)
    row = (await connection.execute(query.with_for_update() if lock else query)).first()
    if row is None:
        raise ids.run_not_found(run_id, await _newest_ids(connection))
    return _stored(row)


async def _newest_ids(connection: AsyncConnection) -> Sequence[str]:
    return (await connection.execute(select(runs.c.id).order_by(runs.c.no.desc()).limit(_KNOWN))).scalars().all()


async def _lost(connection: AsyncConnection, lease: Lease) -> ConflictError:
    run = await _find(connection, lease.run)
    return lease_lost(lease.run, epoch=lease.epoch, current=run.epoch, holding=run.holding)


def _stored(row: Row[Any]) -> StoredRun:
    holding = None
    if row.token is not None:
        holding = Holding(Owner(row.host, row.pid, row.started, row.token), row.claimed_t, row.beat_t)
    what = f"run {row.id!r}"
    return StoredRun(
        id=row.id,
        created_t=row.created_t,
        title=row.title,
        meta=codec.decode(row.meta, what=f"meta of {what}"),
        status=row.status,
        summary=None if row.summary is None else codec.decode(row.summary, what=f"summary of {what}"),
        seq=row.seq,
        updated_t=row.updated_t,
        epoch=row.epoch,
        holding=holding,
    )

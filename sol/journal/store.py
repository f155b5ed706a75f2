"""A journal's database while it is open: every statement, in transactions with the lease checked inside.

Statements are SQLAlchemy Core, put into text once a process and run on the driver's own connection, which spares each
opening an engine and each call the way through it. All of it blocks and stays in the thread that made it. Never
interprets a transition.
"""

import functools
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import starmap
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    URL,
    BigInteger,
    ColumnElement,
    LargeBinary,
    and_,
    bindparam,
    cast,
    exists,
    func,
    insert,
    literal_column,
    select,
    update,
)
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement

from sol.errors import ConflictError
from sol.journal import encoding, protocol
from sol.journal.database import DIALECT, RUN_SHIFT, Synchronous, connect, requests, runs, transitions
from sol.journal.owner import Holding, Liveness, Owner, lease_lost, require_claimable
from sol.journal.protocol import PENDING, Lease, NewRecord, Record, Request, StoredRun

Row: TypeAlias = tuple[Any, ...]

_KNOWN = 1000  # so many ids are looked through for one that resembles an unknown one
_ALL: Final = 2**62  # a limit that limits nothing
_HOLDER = ("host", "pid", "started", "token", "claimed_t", "beat_t")


class _Statement:
    """A statement and its text.

    Args:
        core: Its parameters go by name.
        columns: For an insert or update: the columns that get a parameter of their own name.
    """

    def __init__(self, core: ClauseElement, *columns: str) -> None:
        self._core = core
        self._columns = columns or None

    @functools.cached_property
    def text(self) -> str:
        return str(self._compiled)

    @functools.cached_property
    def constants(self) -> dict[str, Any]:
        """The parameters that SQLAlchemy made for values within the statement."""
        return {name: bound.value for bound, name in self._compiled.bind_names.items() if not bound.required}

    @functools.cached_property
    def _compiled(self) -> SQLCompiler:
        return DIALECT.statement_compiler(DIALECT, self._core, column_keys=self._columns)


_SHIFT: ColumnElement[int] = literal_column(str(RUN_SHIFT), BigInteger)
_held: ColumnElement[bool] = and_(
    runs.c.id == bindparam("run_id"), runs.c.epoch == bindparam("held_epoch"), runs.c.token == bindparam("held_token")
)
_CREATE = _Statement(insert(runs), "id", "created_t", "title", "meta", "status", "seq", "updated_t", "epoch", *_HOLDER)
_CLAIM = _Statement(update(runs).where(runs.c.id == bindparam("run_id")), "epoch", *_HOLDER)
_RELEASE = _Statement(update(runs).where(_held).values(dict.fromkeys(_HOLDER)))
_BEAT = _Statement(update(runs).where(_held).values(beat_t=bindparam("now")).returning(runs.c.no))
_ADVANCE = _Statement(
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
_ADD = _Statement(insert(transitions), "id", "t", "type", "node", "data", "then_events")
_READ = _Statement(
    select(
        transitions.c.id % _SHIFT,
        transitions.c.t,
        transitions.c.type,
        transitions.c.node,
        cast(transitions.c.data, LargeBinary),
        cast(func.coalesce(transitions.c.then_events, literal_column("''")), LargeBinary),
    )
    .join_from(
        runs,
        transitions,
        and_(transitions.c.id > runs.c.no * _SHIFT + bindparam("after"), transitions.c.id < (runs.c.no + 1) * _SHIFT),
    )
    .where(runs.c.id == bindparam("run_id"))
    .order_by(transitions.c.id)
    .limit(bindparam("most"))
)
_FIND = _Statement(select(runs).where(runs.c.id == bindparam("run_id")).with_for_update())
_LIST = _Statement(
    select(runs)
    .where(
        runs.c.no
        < func.coalesce(
            select(runs.c.no).where(runs.c.id == bindparam("before")).scalar_subquery(), literal_column(str(_ALL))
        ),
        runs.c.status == func.coalesce(bindparam("status"), runs.c.status),
    )
    .order_by(runs.c.no.desc())
    .limit(bindparam("most"))
)
_NEWEST = _Statement(select(runs.c.id).order_by(runs.c.no.desc()).limit(_KNOWN))
_MATCHING = _Statement(
    select(runs.c.id)
    .where(func.substr(runs.c.id, 1, func.length(bindparam("prefix"))) == bindparam("prefix"))
    .order_by(runs.c.no.desc())
)
_NUMBER = _Statement(select(runs.c.no).where(runs.c.id == bindparam("run_id")))
_POST = _Statement(insert(requests).returning(requests.c.id), "run", "kind", "payload", "t", "by")
_WAITING = _Statement(select(exists().where(requests.c.run == runs.c.no, requests.c.taken.is_(None))).where(_held))
_LOCK = _Statement(select(runs.c.no).where(_held).with_for_update())
_TAKE = _Statement(
    update(requests)
    .where(requests.c.run == bindparam("run_no"), requests.c.taken.is_(None))
    .values(taken=bindparam("taker"))
    .returning(requests.c.id, requests.c.kind, requests.c.payload, requests.c.t, requests.c.by)
)


class Store:
    """An open store. Methods do what those of `Journal` do, with values that were checked already.

    Driver errors leave as they are.
    """

    def __init__(self, url: URL, *, synchronous: Synchronous, busy_timeout_s: float, is_alive: Liveness) -> None:
        self.connection = connect(url, synchronous=synchronous, busy_timeout_s=busy_timeout_s)
        self._cursor = self.connection.cursor()
        self._is_alive = is_alive

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Hold the write lock from the start: two that read first and write then would be in each other's way."""
        try:
            self._cursor.execute("BEGIN IMMEDIATE")
            yield
            self._cursor.execute("COMMIT")
        finally:
            if self.connection.in_transaction:
                self.connection.rollback()

    def _run(self, statement: _Statement, parameters: Mapping[str, Any] = {}) -> list[Row]:
        return self._cursor.execute(statement.text, {**statement.constants, **parameters}).fetchall()

    def create(self, row: dict[str, Any], owner: Owner) -> None:
        """See `Journal.create`."""
        values = {"status": PENDING, "seq": 0, "epoch": 1, "updated_t": row["created_t"]}
        with self._transaction():
            try:
                self._run(_CREATE, {**row, **values, **_holder(owner, row["created_t"])})
            except sqlite3.IntegrityError as error:
                raise protocol.run_exists(row["id"]) from error

    def claim(self, run_id: str, owner: Owner, now: float, *, force: bool) -> int:
        """See `Journal.claim`. Returns the epoch."""
        with self._transaction():
            run = self.find(run_id)
            if not force:
                require_claimable(run_id, run.holding, now=now, is_alive=self._is_alive)
            self._run(_CLAIM, {"run_id": run_id, "epoch": run.epoch + 1, **_holder(owner, now)})
        return run.epoch + 1

    def release(self, lease: Lease) -> None:
        """See `Journal.release`."""
        with self._transaction():
            self._run(_RELEASE, _held_by(lease))

    def heartbeat(self, lease: Lease, now: float) -> None:
        """See `Journal.heartbeat`."""
        with self._transaction():
            if not self._run(_BEAT, {**_held_by(lease), "now": now}):
                raise self._lost(lease)

    def append(self, lease: Lease, records: Sequence[NewRecord], status: str | None, summary: str | None) -> int:
        """See `Journal.append`."""
        change = {
            "added": len(records),
            "last_t": records[-1].t if records else None,
            "new_status": status,
            "new_summary": summary,
        }
        with self._transaction():
            advanced = self._run(_ADVANCE, {**_held_by(lease), **change})
            if not advanced:
                raise self._lost(lease)
            no, last = advanced[0]
            first = no * RUN_SHIFT + last - len(records) + 1
            self._cursor.executemany(_ADD.text, [_row(number, one) for number, one in enumerate(records, start=first)])
        return int(last)

    def read(self, run_id: str, after: int, limit: int | None) -> tuple[Record, ...]:
        """See `Journal.read`."""
        rows = self._run(_READ, {"run_id": run_id, "after": after, "most": _ALL if limit is None else limit})
        if not rows:
            self.find(run_id)
        return tuple(starmap(Record, rows))

    def find(self, run_id: str) -> StoredRun:
        """See `Journal.info`."""
        rows = self._run(_FIND, {"run_id": run_id})
        if not rows:
            raise protocol.run_not_found(run_id, self._newest_ids())
        return _stored(rows[0])

    def list(self, limit: int, before: str | None, status: str | None) -> tuple[StoredRun, ...]:
        """See `Journal.list`."""
        if before is not None:
            self.find(before)
        rows = self._run(_LIST, {"before": before, "status": status, "most": limit})
        return tuple(map(_stored, rows))

    def resolve(self, prefix: str) -> str:
        """See `Journal.resolve`."""
        newest = self._newest_ids()
        if prefix == protocol.LATEST and newest:
            return newest[0]
        matching = [run_id for (run_id,) in self._run(_MATCHING, {"prefix": prefix})]
        return protocol.only_match(prefix, matching, near=newest)

    def post(self, run_id: str, row: dict[str, Any]) -> int:
        """See `Journal.post`."""
        with self._transaction():
            found = self._run(_NUMBER, {"run_id": run_id})
            if not found:
                raise protocol.run_not_found(run_id, self._newest_ids())
            [(posted,)] = self._run(_POST, {"run": found[0][0], **row})
        return int(posted)

    def take(self, lease: Lease) -> tuple[Request, ...]:
        """See `Journal.take`. While nothing waits this only reads."""
        waiting = self._run(_WAITING, _held_by(lease))
        if not waiting:
            raise self._lost(lease)
        if not waiting[0][0]:
            return ()
        with self._transaction():
            held = self._run(_LOCK, _held_by(lease))
            if not held:
                raise self._lost(lease)
            taken = self._run(_TAKE, {"run_no": held[0][0], "taker": lease.epoch})
        return tuple(
            Request(number, kind, encoding.decode(payload, what=f"request {number}"), t, by)
            for number, kind, payload, t, by in sorted(taken)
        )

    def _newest_ids(self) -> Sequence[str]:
        return [run_id for (run_id,) in self._run(_NEWEST)]

    def _lost(self, lease: Lease) -> ConflictError:
        run = self.find(lease.run)
        return lease_lost(lease.run, epoch=lease.epoch, current=run.epoch, holding=run.holding)


def _row(number: int, record: NewRecord) -> dict[str, Any]:
    return {
        "id": number,
        "t": record.t,
        "type": record.type,
        "node": record.node,
        "data": record.data.decode(),
        "then_events": record.then.decode() or None,
    }


def _held_by(lease: Lease) -> dict[str, Any]:
    return {"run_id": lease.run, "held_epoch": lease.epoch, "held_token": lease.owner.token}


def _holder(owner: Owner, now: float) -> dict[str, Any]:
    return dict(zip(_HOLDER, (owner.host, owner.pid, owner.started, owner.token, now, now), strict=True))


def _stored(row: Row) -> StoredRun:
    run = dict(zip(runs.c.keys(), row, strict=True))
    holding = None
    if run["token"] is not None:
        owner = Owner(run["host"], run["pid"], run["started"], run["token"])
        holding = Holding(owner, run["claimed_t"], run["beat_t"])
    what = f"run {run['id']!r}"
    return StoredRun(
        id=run["id"],
        created_t=run["created_t"],
        title=run["title"],
        meta=encoding.decode(run["meta"], what=f"meta of {what}"),
        status=run["status"],
        summary=None if run["summary"] is None else encoding.decode(run["summary"], what=f"summary of {what}"),
        seq=run["seq"],
        updated_t=run["updated_t"],
        epoch=run["epoch"],
        holding=holding,
    )

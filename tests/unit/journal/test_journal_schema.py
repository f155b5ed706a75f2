"""Schema versions of the journal's store, the way from one to the next, and the view for people."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, text

from sol.errors import SolError, StoreError
from sol.journal import NewRecord, Record, SqlJournal, database, default_url
from sol.testing.journal_contract import ANN, a_run, some, ticked
from tests.support.journal import make_version_1


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def shape(path: Path) -> list[tuple[str, str, list[str]]]:
    """Tables, views and indexes with their columns, in any spelling of their SQL."""
    with raw(path) as plain:
        named = plain.execute("SELECT type, name FROM sqlite_master ORDER BY name").fetchall()
        return [(kind, name, [row[1] for row in plain.execute(f"PRAGMA table_info({name})")]) for kind, name in named]


def url(path: Path) -> str:
    return f"sqlite:///{path}"


# From version 1 to 2


async def test_version_1_is_read_as_transitions_of_which_nothing_followed(tmp_path: Path) -> None:
    make_version_1(tmp_path / "old.db", runs=2, events=3)
    async with SqlJournal(url(tmp_path / "old.db")) as journal:
        assert (await journal.read("r2"))[1:] == (
            Record(2, 1.0, "ticked", "02", b'{"n": 2}', b""),
            Record(3, 1.0, "ticked", "03", b'{"n": 3}', b""),
        )
        run = await journal.info("r2")
        assert (run.seq, run.epoch, run.status) == (3, 3, "running")
        lease = await journal.claim("r2", ANN, now=5.0)
        assert await journal.append(lease, [NewRecord(6.0, "outcome", "0", b"{}", b'[["over","",{}]]')]) == 4
        assert [len(r.then) for r in await journal.read("r2")] == [0, 0, 0, 16]
        assert len(await journal.read("r1")) == 3


async def test_migrated_store_has_the_shape_of_a_new_one(tmp_path: Path) -> None:
    make_version_1(tmp_path / "old.db", runs=1, events=1)
    for name in ("old.db", "new.db"):
        async with SqlJournal(url(tmp_path / name)):
            pass
    assert shape(tmp_path / "old.db") == shape(tmp_path / "new.db")
    with raw(tmp_path / "old.db") as plain:
        assert plain.execute("SELECT version FROM sol_journal").fetchall() == [(2,)]


async def test_old_store_opened_many_times_at_once_is_brought_up_once(tmp_path: Path) -> None:
    make_version_1(tmp_path / "old.db", runs=1, events=100)
    journals = [SqlJournal(url(tmp_path / "old.db")) for _ in range(6)]
    await asyncio.gather(*(journal.open() for journal in journals))
    assert [len(await journal.read("r1")) for journal in journals] == [100] * 6
    await asyncio.gather(*(journal.close() for journal in journals))


async def test_old_store_that_cannot_be_written_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    make_version_1(path, runs=1)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"has schema version 1 and must be brought to version 2.*or use a copy"):
        await SqlJournal(f"sqlite:///file:{path}?mode=ro&uri=true").open()
    assert path.read_bytes() == before


async def test_newer_journal_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    async with SqlJournal(url(path)):
        pass
    with raw(path) as plain:
        plain.execute("UPDATE sol_journal SET version = 3")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"version 3, written by a newer sol-luna; this one knows up to 2.*Upgrade"):
        await SqlJournal(url(path)).open()
    assert path.read_bytes() == before


# The view


async def test_view_has_a_row_for_each_event_in_order(tmp_path: Path) -> None:
    followed = b' [["split", "01", {"parts": [1, "\xc3\xa4"]}], ["created", "010", {}]]'
    async with SqlJournal(url(tmp_path / "runs.db")) as journal:
        for name in ("a", "b"):
            lease = await journal.create(a_run(name), ANN)
            outcome = NewRecord(2.0, "outcome", "01", b'{"n":1}', followed)
            await journal.append(lease, [ticked(1.0), outcome, NewRecord(3.0, "over", "", b"{}", b"[ ]")])
    with raw(tmp_path / "runs.db") as plain:
        found = plain.execute("SELECT * FROM events").fetchall()
        columns = [row[1] for row in plain.execute("PRAGMA table_info(events)")]
        assert plain.execute("SELECT count(*) FROM events WHERE run = 'b' AND type = 'created'").fetchall() == [(1,)]
    assert columns == ["run", "seq", "position", "t", "type", "node", "data"]
    assert found == [
        (name, *rest)
        for name in ("a", "b")
        for rest in (
            (1, 0, 1.0, "ticked", "", "{}"),
            (2, 0, 2.0, "outcome", "01", '{"n":1}'),
            (2, 1, 2.0, "split", "01", '{"parts":[1,"ä"]}'),
            (2, 2, 2.0, "created", "010", "{}"),
            (3, 0, 3.0, "over", "", "{}"),
        )
    ]


# The steps themselves


@contextmanager
def in_memory(*, version: int = 0) -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        if version:
            database.prepare(connection, migrations=[forbidden] * (version - 1))
        yield connection
    engine.dispose()


def forbidden(connection: Connection) -> None:
    raise AssertionError("a new journal needs no migration")


def adds(column: str) -> database.Migration:
    def migrate(connection: Connection) -> None:
        connection.execute(text(f"ALTER TABLE runs ADD COLUMN {column} TEXT"))

    return migrate


@pytest.mark.parametrize("found", [1, 2])
def test_older_journal_is_brought_up_step_by_step(found: int) -> None:
    steps = [adds("one"), adds("two")]
    with in_memory(version=found) as connection:
        assert not database.is_current(connection, migrations=steps)
        database.prepare(connection, migrations=steps)
        assert database.is_current(connection, migrations=steps)
        assert database.stored_version(connection) == 3
        database.prepare(connection, migrations=steps)  # another process was faster: nothing to do
        columns = {row[1] for row in connection.execute(text("PRAGMA table_info(runs)"))}
    assert columns & {"one", "two"} == ({"one", "two"} if found == 1 else {"two"})


async def test_migration_that_fails_leaves_the_journal_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_version_1(tmp_path / "old.db", runs=1, events=2)
    before = shape(tmp_path / "old.db")

    def fail(connection: Connection) -> None:
        database._hold_transitions(connection)
        raise SolError("half way")

    monkeypatch.setattr(database.prepare, "__kwdefaults__", {"migrations": (fail,)})
    with pytest.raises(SolError, match="half way"):
        await SqlJournal(url(tmp_path / "old.db")).open()
    monkeypatch.undo()
    assert shape(tmp_path / "old.db") == before
    async with SqlJournal(url(tmp_path / "old.db")) as journal:
        assert len(await journal.read("r1")) == 2


async def test_opening_a_current_store_looks_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with SqlJournal(default_url(tmp_path)) as journal:
        await journal.append(await journal.create(a_run(), ANN), some(1))
    monkeypatch.setattr("sol.journal.database.create_engine", None)  # no engine is made
    async with SqlJournal(default_url(tmp_path)) as journal:
        assert len(await journal.read("run-9")) == 1


def test_empty_store_has_no_version() -> None:
    with in_memory() as connection:
        assert database.stored_version(connection) == 0
        assert not database.is_current(connection)
        database.prepare(connection)
        assert database.stored_version(connection) == database.VERSION == 2

"""What only the journal in a database does: its file, its transactions, its schema, its failures."""

import asyncio
import gc
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from sol.errors import ConflictError, StoreError, UsageError
from sol.journal import NewRecord, Owner, RunInfo, SqlJournal, default_url
from sol.journal.database import connect, store_url
from sol.testing.journal_contract import ticked

ANN = Owner(host="h1", pid=101, started=1.0, token="ann")
RUN = RunInfo(id="run-9", created_t=1.0, title="", meta={})


def file_of(workspace: Path) -> Path:
    return workspace / ".sol" / "runs.db"


def ticks(count: int) -> list[NewRecord]:
    return [ticked(of=count)] * count


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


async def filled(workspace: Path) -> Path:
    async with SqlJournal(default_url(workspace)) as journal:
        await journal.append(await journal.create(RUN, ANN), ticks(3))
    return file_of(workspace)


# Where it is


async def test_default_store_hides_itself_from_version_control(tmp_path: Path) -> None:
    path = await filled(tmp_path / "odd #1?%20 ü")
    assert path.is_file()
    assert (path.parent / ".gitignore").read_text() == "*\n"


async def test_existing_directory_gets_no_ignore_file(tmp_path: Path) -> None:
    async with SqlJournal(f"sqlite:///{tmp_path}/mine.db"):
        assert not (tmp_path / ".gitignore").exists()
    async with SqlJournal(f"sqlite:///{tmp_path}/new/deep/mine.db"):
        assert (tmp_path / "new" / "deep" / ".gitignore").exists()


async def test_store_directory_keeps_an_ignore_file_that_is_there(tmp_path: Path) -> None:
    ignore = tmp_path / ".sol" / ".gitignore"
    ignore.parent.mkdir()
    ignore.write_text("mine")
    await filled(tmp_path)
    assert ignore.read_text() == "mine"


async def test_relative_url_stays_where_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    journal = SqlJournal("sqlite:///a.db")
    monkeypatch.chdir(tmp_path.parent)
    async with journal:
        assert (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("runs.db", "not a store URL"),
        ("", "not a store URL"),
        ("mysql://u:secret@h/d", r"mysql://u:\*\*\*@h/d is of a kind"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "names no file"),
    ],
)
def test_url_that_cannot_be_used_is_refused(url: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault):
        SqlJournal(url)


@pytest.mark.parametrize("driver", ["sqlite", "sqlite+pysqlite", "sqlite+aiosqlite"])
def test_driver_in_a_url_is_of_no_account(driver: str) -> None:
    assert store_url(f"{driver}:////a/b.db") == store_url("sqlite:////a/b.db")


# How it is set up


@pytest.mark.parametrize(("synchronous", "code"), [("FULL", 2), ("NORMAL", 1)])
async def test_connections_are_safe_against_kills_and_power_loss(tmp_path: Path, synchronous: Any, code: int) -> None:
    await filled(tmp_path)
    with closing(connect(default_url(tmp_path), synchronous=synchronous, busy_timeout_s=7.0)) as connection:
        names = ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        found = [connection.execute(f"PRAGMA {name}").fetchall() for name in names]
    assert found == [[("wal",)], [(code,)], [(1,)], [(7000,)]]


async def overhear(journal: SqlJournal, listener: Callable[[str], None]) -> None:
    """Tell the listener each statement before it runs."""
    await journal._call(lambda store: store.connection.set_trace_callback(listener))


async def test_transactions_say_no_more_than_they_must(tmp_path: Path) -> None:
    async with SqlJournal(default_url(tmp_path)) as journal:
        lease = await journal.create(RUN, ANN)
        await journal.append(lease, ticks(1))
        said: list[str] = []
        await overhear(journal, lambda statement: said.append(statement.split()[0]))
        await journal.append(lease, ticks(3), status="running", summary={})
        assert said == ["BEGIN", "UPDATE", *["INSERT"] * 3, "COMMIT"]
        said.clear()
        await journal.take(lease)
        assert said == ["SELECT"]
        said.clear()
        await journal.heartbeat(lease, 2.0)
        assert said == ["BEGIN", "UPDATE", "COMMIT"]


async def test_journal_can_be_opened_and_closed_again(tmp_path: Path) -> None:
    journal = SqlJournal(default_url(tmp_path))
    with pytest.raises(StoreError, match="is not open"):
        await journal.create(RUN, ANN)
    with pytest.raises(StoreError, match="is not open"):
        await journal.info("run-9")
    await journal.close()
    for _ in range(2):
        await journal.open()
        await journal.open()
        await journal.close()
        await journal.close()
    assert [path.name for path in sorted(file_of(tmp_path).parent.iterdir())] == [".gitignore", "runs.db"]


def test_journal_can_be_used_from_one_event_loop_after_another(tmp_path: Path) -> None:
    journal = SqlJournal(default_url(tmp_path), synchronous="NORMAL")

    async def add(run_id: str) -> int:
        async with journal:
            lease = await journal.create(RunInfo(id=run_id, created_t=1.0, title="", meta={}), ANN)
            await asyncio.gather(*(journal.append(lease, ticks(2)) for _ in range(5)))
            return len(await journal.list(limit=9))

    assert [asyncio.run(add(run_id)) for run_id in ("a", "b")] == [1, 2]
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sol-journal")]


async def test_opening_that_fails_leaves_no_thread_and_may_be_tried_again(tmp_path: Path) -> None:
    journal = SqlJournal(default_url(tmp_path))
    (tmp_path / ".sol").write_text("a file")
    for result in await asyncio.gather(journal.open(), journal.open(), return_exceptions=True):
        assert isinstance(result, StoreError)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sol-journal")]
    (tmp_path / ".sol").unlink()
    async with journal:
        assert await journal.list(limit=1) == ()


async def test_closing_waits_for_what_was_asked_before(tmp_path: Path) -> None:
    journal = SqlJournal(default_url(tmp_path), synchronous="NORMAL")
    await journal.open()
    lease = await journal.create(RUN, ANN)
    appending = [asyncio.create_task(journal.append(lease, ticks(2))) for _ in range(5)]
    await asyncio.sleep(0)
    await journal.close()
    assert await asyncio.gather(*appending) == [2, 4, 6, 8, 10]


async def test_two_journals_in_one_process_share_a_file(tmp_path: Path) -> None:
    one, two = SqlJournal(default_url(tmp_path)), SqlJournal(default_url(tmp_path))
    await asyncio.gather(one.open(), two.open())
    lease = await one.create(RUN, ANN)
    await asyncio.gather(*(one.append(lease, ticks(2)) for _ in range(5)), *(two.read("run-9") for _ in range(5)))
    assert (await two.info("run-9")).seq == 10
    await asyncio.gather(one.close(), two.close())


async def test_cancelled_append_that_had_begun_is_done_when_the_cancellation_arrives(tmp_path: Path) -> None:
    async with SqlJournal(default_url(tmp_path), synchronous="NORMAL") as journal:
        lease = await journal.create(RUN, ANN)
        go_on = threading.Event()
        await overhear(journal, lambda statement: go_on.wait(10) and None)
        for turns in range(20):
            go_on.clear()
            appending = asyncio.create_task(journal.append(lease, ticks(7)))
            for _ in range(turns):
                await asyncio.sleep(0)
            assert appending.cancel()
            go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await appending
            assert len(await journal.read("run-9")) == 7 * turns  # only the one that was not given a turn is missing
        assert len(asyncio.all_tasks()) == 1


async def test_call_cancelled_twice_still_completes(tmp_path: Path) -> None:
    async with SqlJournal(default_url(tmp_path)) as journal:
        lease = await journal.create(RUN, ANN)
        appending = asyncio.create_task(journal.append(lease, ticks(7)))
        for _ in range(3):
            await asyncio.sleep(0)
            appending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await appending
        assert (await journal.info("run-9")).seq == 7


async def test_failure_of_a_cancelled_call_gives_way_to_the_cancellation(tmp_path: Path) -> None:
    async with SqlJournal(default_url(tmp_path)) as journal:
        lease = await journal.create(RUN, ANN)
        await journal.release(lease)
        appending = asyncio.create_task(journal.append(lease, ticks(7)))
        await asyncio.sleep(0)
        appending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await appending
        del appending
        gc.collect()  # an exception nobody has seen would be reported now
        assert (await journal.info("run-9")).seq == 0


async def test_take_by_an_owner_displaced_in_between_leaves_the_requests(tmp_path: Path) -> None:
    async with SqlJournal(default_url(tmp_path)) as journal:
        lease = await journal.create(RUN, ANN)
        await journal.post("run-9", "cancel", {}, t=1.0, by="me")

        def displace(statement: str) -> None:
            if statement.startswith("BEGIN"):  # until then it only looked
                with raw(file_of(tmp_path)) as other:
                    other.execute("UPDATE runs SET epoch = epoch + 1")

        await overhear(journal, displace)
        with pytest.raises(ConflictError, match=r"epoch 1, now 2"):
            await journal.take(lease)
    with raw(file_of(tmp_path)) as plain:
        assert plain.execute("SELECT taken FROM requests").fetchall() == [(None,)]


# Files that are something else


async def test_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("Dear diary, " * 100)
    with pytest.raises(StoreError, match=r"notes\.db: .*Name another file"):
        await SqlJournal(f"sqlite:///{path}").open()
    assert path.read_text() == "Dear diary, " * 100


async def test_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with raw(path) as connection:
        connection.execute("CREATE TABLE customers (id)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"not a journal.*customers"):
        await SqlJournal(f"sqlite:///{path}").open()
    assert path.read_bytes() == before


async def test_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / ".sol").write_text("a file")
    with pytest.raises(StoreError, match="Cannot make the directory"):
        await SqlJournal(default_url(tmp_path)).open()


async def test_path_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    file_of(tmp_path).mkdir(parents=True)
    with pytest.raises(StoreError, match="Check that path and directory exist"):
        await SqlJournal(default_url(tmp_path)).open()


async def test_read_only_journal_can_be_read_and_says_why_it_is_not_written(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    async with SqlJournal(f"sqlite:///file:{path}?mode=ro&uri=true") as journal:
        assert len(await journal.read("run-9")) == 3
        with pytest.raises(StoreError, match="Make the file and its directory writable"):
            await journal.post("run-9", "cancel", {}, t=1.0, by="me")


async def test_missing_read_only_journal_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        await SqlJournal(f"sqlite:///file:{tmp_path}/none.db?mode=ro&uri=true").open()
    assert list(tmp_path.iterdir()) == []


async def test_damaged_journal_says_what_to_do(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    size = path.stat().st_size
    with path.open("r+b") as file:  # everything but the first page, which holds the schema
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    with pytest.raises(StoreError, match=r"damaged.*\.recover"):
        async with SqlJournal(default_url(tmp_path)) as journal:
            await journal.read("run-9")


@pytest.mark.parametrize("content", ["{", "[1]"])
async def test_meta_changed_from_outside_is_reported(tmp_path: Path, content: str) -> None:
    path = await filled(tmp_path)
    with raw(path) as connection:
        connection.execute("UPDATE runs SET meta = ?", (content,))
    async with SqlJournal(default_url(tmp_path)) as journal:
        with pytest.raises(StoreError, match="meta of run 'run-9' is damaged"):
            await journal.info("run-9")


async def test_locked_journal_fails_after_the_timeout_and_works_afterwards(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    async with SqlJournal(default_url(tmp_path), busy_timeout_s=0.01) as journal:
        with raw(path) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="Another process keeps it locked"):
                await journal.post("run-9", "cancel", {}, t=1.0, by="me")
            assert (await journal.info("run-9")).seq == 3
        assert await journal.post("run-9", "cancel", {}, t=1.0, by="me") == 1


async def test_copy_of_a_closed_journal_is_complete(tmp_path: Path) -> None:
    path = await filled(tmp_path)
    shutil.copy(path, tmp_path / "copy.db")
    async with SqlJournal(f"sqlite:///{tmp_path}/copy.db") as journal:
        assert len(await journal.read("run-9")) == 3

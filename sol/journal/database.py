"""What a journal's database is opened with: its tables, their version and migration, SQLite's settings."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from sqlalchemy import (
    URL,
    BigInteger,
    Column,
    Connection,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    NullPool,
    Table,
    Text,
    create_engine,
    event,
    func,
    insert,
    inspect,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError

from sol.errors import StoreError, UsageError

Migration: TypeAlias = Callable[[Connection], None]

metadata = MetaData()

versions = Table("sol_journal", metadata, Column("version", Integer, nullable=False))

runs = Table(
    "runs",
    metadata,
    Column("no", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("created_t", Float, nullable=False),
    Column("title", Text, nullable=False),
    Column("meta", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("summary", Text),
    Column("seq", Integer, nullable=False),
    Column("updated_t", Float, nullable=False),
    Column("epoch", Integer, nullable=False),
    # The holder, all null while nobody holds the run.
    Column("host", Text),
    Column("pid", Integer),
    Column("started", Float),
    Column("token", Text),
    Column("claimed_t", Float),
    Column("beat_t", Float),
)

RUN_SHIFT: Final = 2**40
"""A transition's id is its run's `no` times this, plus its number in the run. Room for 8 million runs in 63 bits."""

# One number as the key is SQLite's own row number, so there is no second tree: 7.5 % fewer bytes in all than with a key
# of run and number, 6 % fewer than WITHOUT ROWID, which also spills records of 1 kB and more to pages of their own.
transitions = Table(
    "transitions",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("t", Float, nullable=False),
    Column("type", Text, nullable=False),
    Column("node", Text, nullable=False),
    Column("data", Text, nullable=False),
    Column("then_events", Text),  # a JSON array of [type, node, data], null if nothing followed
)

requests = Table(
    "requests",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run", Integer, ForeignKey("runs.no"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("t", Float, nullable=False),
    Column("by", Text, nullable=False),
    Column("taken", Integer),  # the epoch that took it
)
# Owners poll for what is not taken; this keeps that cheap however many old requests there are.
Index(
    "requests_waiting",
    requests.c.run,
    sqlite_where=requests.c.taken.is_(None),
)


_EVENTS_VIEW = f"""
CREATE VIEW events (run, seq, position, t, type, node, data) AS
SELECT
    runs.id,
    transitions.id % {RUN_SHIFT},
    event."key",
    transitions.t,
    CASE event."key" WHEN 0 THEN transitions.type ELSE json_extract(event.value, '$[0]') END,
    CASE event."key" WHEN 0 THEN transitions.node ELSE json_extract(event.value, '$[1]') END,
    CASE event."key" WHEN 0 THEN transitions.data ELSE json_extract(event.value, '$[2]') END
FROM runs
JOIN transitions ON transitions.id > runs.no * {RUN_SHIFT} AND transitions.id < (runs.no + 1) * {RUN_SHIFT}
-- The null stands for the fact itself. In one array with what followed, rows come in order without sorting.
JOIN json_each(CASE json(coalesce(transitions.then_events, '[]'))
    WHEN '[]' THEN '[null]'
    ELSE '[null,' || substr(json(transitions.then_events), 2)
END) AS event
"""  # noqa: S608 - the only value put in is a constant


def _create_view(connection: Connection) -> None:
    """Add the view `events`: each event a row, for people who look with `sqlite3`. The program never reads it."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(_EVENTS_VIEW)


def _hold_transitions(connection: Connection) -> None:
    """Version 2: a row is a transition. One of version 1 is a transition of which nothing followed, so it stays."""
    connection.execute(text("ALTER TABLE events RENAME TO transitions"))
    connection.execute(text("ALTER TABLE transitions ADD COLUMN then_events TEXT"))
    _create_view(connection)


MIGRATIONS: Final[tuple[Migration, ...]] = (_hold_transitions,)
"""Step i leads from version i + 1 to i + 2; the tables above are what all steps together make of version 1."""

VERSION: Final = 1 + len(MIGRATIONS)
"""The version this program writes."""


def stored_version(connection: Connection) -> int:
    """The version of the journal in the store, 0 if the store is empty.

    Raises:
        StoreError: If the store holds something else.
    """
    tables = inspect(connection).get_table_names()
    if versions.name in tables:
        return int(connection.execute(select(func.coalesce(func.max(versions.c.version), 0))).scalar_one())
    if tables:
        raise StoreError(
            f"The store is not a journal: it holds other tables ({', '.join(tables[:5])}). "
            "Name another file or database; this one was not changed."
        )
    return 0


def is_current(connection: Connection, *, migrations: Sequence[Migration] = MIGRATIONS) -> bool:
    """Tell whether the store can be used as it is; False if it is empty or older.

    Raises:
        StoreError: If it is newer, or not a journal.
    """
    stored, current = stored_version(connection), 1 + len(migrations)
    if stored > current:
        raise StoreError(
            f"The journal has schema version {stored}, written by a newer sol-luna; this one knows up to {current}. "
            "Upgrade sol-luna, or name another store."
        )
    return stored == current


def prepare(connection: Connection, *, migrations: Sequence[Migration] = MIGRATIONS) -> None:
    """Bring the store to the current version, within the caller's transaction.

    Raises:
        StoreError: If it is newer, or not a journal.
    """
    if is_current(connection, migrations=migrations):  # another process was faster
        return
    stored, current = stored_version(connection), 1 + len(migrations)
    if stored == 0:
        metadata.create_all(connection)
        _create_view(connection)
        connection.execute(insert(versions).values(version=current))
        return
    for migration in migrations[stored - 1 :]:
        migration(connection)
    connection.execute(update(versions).values(version=current))


STORE_DIRECTORY: Final = ".sol"
STORE_FILE: Final = "runs.db"

Synchronous: TypeAlias = Literal["FULL", "NORMAL"]

DIALECT: Final[Dialect] = sqlite.dialect(paramstyle="named")
"""Turns statements into text for a connection that `connect` gave."""

_DRIVERS = frozenset({"sqlite", "sqlite+pysqlite", "sqlite+aiosqlite"})  # which driver is used is the journal's choice
_EXAMPLE = "for example sqlite:////home/me/runs.db"

_ADVICE = {
    "SQLITE_NOTADB": "It is not a database. Name another file; this one was not changed.",
    "SQLITE_CORRUPT": "It is damaged. Keep a copy, then rebuild it with `sqlite3 FILE .recover`, or name another file.",
    "SQLITE_READONLY": "It cannot be written. Make the file and its directory writable, or name another file.",
    "SQLITE_CANTOPEN": "It cannot be opened. Check that path and directory exist and are readable and writable.",
    "SQLITE_BUSY": "Another process keeps it locked. Find out which one has it open, and try again.",
    "SQLITE_FULL": "The disk is full. Make room and resume; what was committed is safe.",
    "SQLITE_IOERR": "The disk reports an error. Check it; what was committed is safe unless the disk lost it.",
}


def default_url(workspace: Path) -> URL:
    """Where the runs of a workspace are kept unless the caller says otherwise: `.sol/runs.db` below it."""
    return URL.create("sqlite", database=str(workspace.absolute() / STORE_DIRECTORY / STORE_FILE))


def store_url(url: str | URL) -> URL:
    """Read a store URL; a relative file path counts from the current directory.

    Raises:
        UsageError: If it is no URL, names a database that is not supported, or one that is only in memory.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise UsageError(f"{url!r} is not a store URL. Write one, {_EXAMPLE}.") from error
    if parsed.drivername not in _DRIVERS:
        raise UsageError(f"The store {parsed} is of a kind that is not supported. Use SQLite, {_EXAMPLE}.")
    if parsed.database in {None, "", ":memory:"}:
        raise UsageError(f"The store {parsed} names no file. Name one, {_EXAMPLE}, or use the memory journal.")
    parsed = parsed.set(drivername="sqlite")
    return parsed if _is_uri(parsed) else parsed.set(database=str(Path(str(parsed.database)).absolute()))


def connect(url: URL, *, synchronous: Synchronous, busy_timeout_s: float) -> sqlite3.Connection:
    """Open the store, made or brought up to date where need be; blocks.

    The connection belongs to the calling thread and commits each statement unless a transaction was begun.

    Raises:
        StoreError: If the file is not a journal, is newer than this program, or cannot be used.
    """
    _make_directory(url)
    with explained(url):
        connection = _connect(url, busy_timeout_s)
        try:
            connection.execute(f"PRAGMA synchronous = {synchronous}")
            connection.execute("PRAGMA foreign_keys = ON")
            if not _is_current(connection):
                _prepare(url, busy_timeout_s)
        except BaseException:
            connection.close()
            raise
    return connection


def _connect(url: URL, busy_timeout_s: float) -> sqlite3.Connection:
    [path], options = DIALECT.create_connect_args(url)
    connection: sqlite3.Connection = sqlite3.connect(
        path, **{**options, "timeout": busy_timeout_s, "isolation_level": None}
    )
    return connection


def _is_current(connection: sqlite3.Connection) -> bool:
    """Tell by one query whether nothing is to be done. False if anything else is so: `_prepare` finds out what."""
    try:
        return connection.execute(f"SELECT version FROM {versions.name}").fetchall() == [(VERSION,)]  # noqa: S608 - a constant
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname == "SQLITE_ERROR":  # there is no such table
            return False
        raise


def _prepare(url: URL, busy_timeout_s: float) -> None:
    """Make the tables where they are missing or old; waits for other processes that do the same."""
    engine = create_engine("sqlite://", creator=lambda: _connect(url, busy_timeout_s), poolclass=NullPool)
    # Two that find the store old at once must not both change it: the lock comes before the look.
    event.listen(engine, "begin", _lock)
    with engine.connect() as connection:
        if is_current(connection):
            return
        stored = stored_version(connection)
        # Only now is it certain that the file is ours to change. The mode stays with the file.
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    try:
        with engine.execution_options(writes=True).begin() as connection:
            prepare(connection)
    except DBAPIError as error:
        if stored and _error_name(error.orig).startswith("SQLITE_READONLY"):
            raise StoreError(
                f"The journal {url} has schema version {stored} and must be brought to version {VERSION} before "
                "it can be used, but it cannot be written. Make the file and its directory writable and open it once, "
                "or use a copy that can be written."
            ) from error
        raise


def _lock(connection: Connection) -> None:
    if connection.get_execution_options().get("writes"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")


@contextmanager
def explained(url: URL) -> Iterator[None]:
    """Turn the database's failures into `StoreError`, with what to do about them."""
    try:
        yield
    except (sqlite3.Error, DBAPIError) as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        name = _error_name(cause)
        advice = next((text for prefix, text in _ADVICE.items() if name.startswith(prefix)), "")
        raise StoreError(f"Journal {url}: {cause}. {advice}".rstrip()) from error


def _error_name(error: BaseException | None) -> str:
    return str(getattr(error, "sqlite_errorname", ""))


def _is_uri(url: URL) -> bool:
    return str(url.database).startswith("file:")


def _make_directory(url: URL) -> None:
    """Make the directory of the store's file; a new one, and `.sol`, are hidden from version control."""
    if _is_uri(url):
        return
    directory = Path(str(url.database)).parent
    try:
        ours = directory.name == STORE_DIRECTORY or not directory.exists()
        directory.mkdir(parents=True, exist_ok=True)
        ignore = directory / ".gitignore"
        if ours and not ignore.exists():
            ignore.write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(f"Cannot make the directory {str(directory)!r} of the journal: {error}.") from error

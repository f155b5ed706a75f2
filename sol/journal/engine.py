"""Opens the database a store URL names, set up for one writer at a time and safe against kills and power loss.

All that is particular to SQLite is here; failures of any database leave as `StoreError` with what to do.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

from sqlalchemy import URL, Connection, Dialect, NullPool, create_engine, event, make_url
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import ArgumentError, DBAPIError

from sol.errors import StoreError, UsageError
from sol.journal import schema

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
        return connection.execute(f"SELECT version FROM {schema.versions.name}").fetchall() == [(schema.VERSION,)]  # noqa: S608 - a constant
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
        if schema.is_current(connection):
            return
        stored = schema.stored_version(connection)
        # Only now is it certain that the file is ours to change. The mode stays with the file.
        connection.exec_driver_sql("PRAGMA journal_mode = WAL")
    try:
        with engine.execution_options(writes=True).begin() as connection:
            schema.prepare(connection)
    except DBAPIError as error:
        if stored and _error_name(error.orig).startswith("SQLITE_READONLY"):
            raise StoreError(
                f"The journal {url} has schema version {stored} and must be brought to version {schema.VERSION} before "
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

"""Opens the database a store URL names, set up for one writer at a time and safe against kills and power loss.

All that is particular to SQLite is here; failures of any database leave as `StoreError` with what to do.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import URL, AsyncAdaptedQueuePool, Connection, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from sol.errors import StoreError, UsageError
from sol.journal import schema

STORE_DIRECTORY: Final = ".sol"
STORE_FILE: Final = "runs.db"

Synchronous: TypeAlias = Literal["FULL", "NORMAL"]

_DRIVER = "sqlite+aiosqlite"
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
    return URL.create(_DRIVER, database=str(workspace.absolute() / STORE_DIRECTORY / STORE_FILE))


def store_url(url: str | URL) -> URL:
    """Read a store URL; a relative file path counts from the current directory.

    Raises:
        UsageError: If it is no URL, names a database that is not supported, or one that is only in memory.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise UsageError(f"{url!r} is not a store URL. Write one, {_EXAMPLE}.") from error
    if parsed.drivername not in {"sqlite", _DRIVER}:
        raise UsageError(f"The store {parsed} is of a kind that is not supported. Use SQLite, {_EXAMPLE}.")
    if parsed.database in {None, "", ":memory:"}:
        raise UsageError(f"The store {parsed} names no file. Name one, {_EXAMPLE}, or use the memory journal.")
    parsed = parsed.set(drivername=_DRIVER)
    return parsed if _is_uri(parsed) else parsed.set(database=str(Path(str(parsed.database)).absolute()))


def prepare_store(url: URL, *, busy_timeout_s: float) -> None:
    """Make the file and its tables where they are missing or old. Blocks; waits for other processes that do the same.

    Raises:
        StoreError: If the file is not a journal, is newer than this program, or cannot be used.
    """
    _make_directory(url)
    with explained(url):
        # Not through aiosqlite: when that fails to open a file it leaves a thread behind that outlives the event loop.
        engine = create_engine(url.set(drivername="sqlite"), connect_args=_options(busy_timeout_s))
        _set_up(engine, "FULL")
        try:
            with engine.connect() as connection:
                if schema.is_current(connection):
                    return
                # Only now is it certain that the file is ours to change. The mode stays with the file.
                connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            with engine.execution_options(writes=True).begin() as connection:
                schema.prepare(connection)
        finally:
            engine.dispose()


def make_engine(url: URL, *, synchronous: Synchronous, busy_timeout_s: float) -> AsyncEngine:
    """An engine of which a connection with the option `writes` holds the write lock from the start of a transaction.

    Without the lock at the start, two transactions could both read and then fail to write. Connections without the
    option commit each statement.
    """
    engine = create_async_engine(url, connect_args=_options(busy_timeout_s), poolclass=AsyncAdaptedQueuePool)
    _set_up(engine.sync_engine, synchronous)
    return engine


def _options(busy_timeout_s: float) -> dict[str, Any]:
    return {"timeout": busy_timeout_s, "isolation_level": None}


def _set_up(engine: Engine, synchronous: Synchronous) -> None:
    @event.listens_for(engine, "connect")
    def set_up(connection: DBAPIConnection, _record: object) -> None:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA synchronous = {synchronous}")
        cursor.execute("PRAGMA foreign_keys = ON")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        if connection.get_execution_options().get("writes"):
            connection.exec_driver_sql("BEGIN IMMEDIATE")


@contextmanager
def explained(url: URL) -> Iterator[None]:
    """Turn the database's failures into `StoreError`, with what to do about them."""
    try:
        yield
    except SQLAlchemyError as error:
        cause = error.orig if isinstance(error, DBAPIError) else error
        name = getattr(cause, "sqlite_errorname", "")
        advice = next((text for prefix, text in _ADVICE.items() if name.startswith(prefix)), "")
        raise StoreError(f"Journal {url}: {cause}. {advice}".rstrip()) from error


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

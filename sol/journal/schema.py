"""The journal's tables, their version and the steps from one version to the next.

Plain SQLAlchemy Core: nothing here may depend on one database, but for a view that only SQLite gets.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    func,
    insert,
    inspect,
    select,
    text,
    update,
)

from sol.errors import StoreError

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
    postgresql_where=requests.c.taken.is_(None),
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

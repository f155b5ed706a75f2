"""A store of schema version 1, for tests of journals."""

import sqlite3
from contextlib import closing
from pathlib import Path

VERSION_1 = """
CREATE TABLE sol_journal (version INTEGER NOT NULL);
CREATE TABLE runs (
    no INTEGER NOT NULL, id TEXT NOT NULL, created_t FLOAT NOT NULL, title TEXT NOT NULL, meta TEXT NOT NULL,
    status TEXT NOT NULL, summary TEXT, seq INTEGER NOT NULL, updated_t FLOAT NOT NULL, epoch INTEGER NOT NULL,
    host TEXT, pid INTEGER, started FLOAT, token TEXT, claimed_t FLOAT, beat_t FLOAT, PRIMARY KEY (no), UNIQUE (id)
);
CREATE TABLE events (
    id INTEGER NOT NULL, t FLOAT NOT NULL, type TEXT NOT NULL, node TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (id)
);
CREATE TABLE requests (
    id INTEGER NOT NULL, run INTEGER NOT NULL, kind TEXT NOT NULL, payload TEXT NOT NULL, t FLOAT NOT NULL,
    "by" TEXT NOT NULL, taken INTEGER, PRIMARY KEY (id), FOREIGN KEY(run) REFERENCES runs (no)
);
CREATE INDEX requests_waiting ON requests (run) WHERE taken IS NULL;
INSERT INTO sol_journal VALUES (1);
"""
"""What the first version wrote, word by word."""


def make_version_1(path: Path, *, runs: int = 0, events: int = 0) -> None:
    """Make a store of schema version 1 with runs `r1`, `r2`, ... of so many events each, held by nobody."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(VERSION_1)
        for no in range(1, runs + 1):
            connection.execute(
                "INSERT INTO runs (id, created_t, title, meta, status, seq, updated_t, epoch) "
                "VALUES (?, 1.0, 'A title', '{}', 'running', ?, 2.0, 3)",
                (f"r{no}", events),
            )
            rows = [(no * 2**40 + n, 1.0, "ticked", f"0{n}", f'{{"n": {n}}}') for n in range(1, events + 1)]
            connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()

"""Owners, runs and transitions for tests of journals."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sol.journal import NewRecord, Owner, Record, RunInfo

ANN = Owner(host="h1", pid=101, started=1.0, token="ann")
BEN = Owner(host="h2", pid=202, started=2.0, token="ben")


class Living:
    """Says who is alive: everybody but those in `dead`."""

    def __init__(self) -> None:
        self.dead: set[Owner] = set()

    def __call__(self, owner: Owner, beat_t: float, now: float) -> bool:
        return owner not in self.dead


def a_run(run_id: str = "run-9", *, t: float = 100.0, **fields: Any) -> RunInfo:
    return RunInfo(id=run_id, created_t=t, title="A title", meta={"strategy": "default"} | fields)


def ticked(t: float = 1.0, node: str = "", **data: Any) -> NewRecord:
    return NewRecord(t, "ticked", node, json.dumps(data).encode())


def some(count: int, *, start: int = 1) -> list[NewRecord]:
    return [ticked(200.0 + n, f"0{n % 2}", n=n) for n in range(start, start + count)]


def data_of(record: Record) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(record.data)
    return data


def numbers(records: tuple[Record, ...]) -> list[tuple[int, int]]:
    return [(record.seq, data_of(record)["n"]) for record in records]


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

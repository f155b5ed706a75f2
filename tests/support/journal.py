"""Owners, runs and records for tests of journals."""

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


def some(count: int, *, start: int = 1) -> list[NewRecord]:
    return [NewRecord(200.0 + n, "ticked", f"0{n % 2}", {"n": n}) for n in range(start, start + count)]


def numbers(records: tuple[Record, ...]) -> list[tuple[int, int]]:
    return [(record.seq, record.data["n"]) for record in records]

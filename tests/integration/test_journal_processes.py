"""The journal between processes, and under kill -9."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from sol.errors import ConflictError
from sol.journal import Lease, RunInfo, SqlJournal, default_url, this_process
from sol.testing.journal_contract import data_of, ticked
from tests.support.journal import make_version_1

ROOT = Path(__file__).parents[2]

HEADER = """
import asyncio, json, sys
from pathlib import Path
from sol.errors import ConflictError
from sol.journal import *

journal = SqlJournal(default_url(Path(sys.argv[1])), synchronous="NORMAL")

def say(**what):
    print(json.dumps(what), flush=True)

def record(type, **data):
    return NewRecord(5.0, type, "", json.dumps(data).encode(), b'[["followed","",{}]]')
"""

CLAIM = """
async def main():
    async with journal:
        say(ready=True)
        sys.stdin.readline()
        try:
            lease = await journal.claim("run-9", this_process(sys.argv[2]), now=5.0)
            await journal.append(lease, [record("resumed", by=sys.argv[2])])
            say(epoch=lease.epoch)
        except ConflictError as error:
            say(refused=str(error))
        sys.stdin.readline()

asyncio.run(main())
"""

ANNOTATE = """
async def main():
    async with journal:
        say(ready=True)
        sys.stdin.readline()
        for n in range(20):
            await journal.post("run-9", "annotate", {"n": n}, t=float(n), by="me")
        say(posted=20)
        sys.stdin.readline()

asyncio.run(main())
"""

APPEND = """
async def main():
    async with journal:
        lease = await journal.claim("run-9", this_process(sys.argv[2]), now=5.0)
        batch = 0
        while True:
            size = batch % 9 + 1
            records = [record("ticked", batch=[lease.epoch, batch], of=size) for _ in range(size)]
            last = await journal.append(lease, records)
            say(last=last)
            batch += 1

asyncio.run(main())
"""

CREATE = """
async def main():
    say(ready=True)
    sys.stdin.readline()
    async with journal:
        for n in range(5):
            run = RunInfo(id=f"{sys.argv[2]}-{n}", created_t=1.0, title="", meta={})
            await journal.append(await journal.create(run, this_process("x")), [record("made")])
    say(made=5)
    sys.stdin.readline()

asyncio.run(main())
"""

RAISE = """
async def main():
    await journal.open()
    lease = await journal.create(RunInfo(id="run-9", created_t=1.0, title="", meta={}), this_process("x"))
    asyncio.create_task(journal.append(lease, [record("ticked")] * 1000))
    await asyncio.sleep(0)
    raise RuntimeError("in the middle")

asyncio.run(main())
"""


class Child:
    """A Python process with the journal open; speaks JSON lines."""

    def __init__(self, script: str, workspace: Path, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HEADER + script, str(workspace), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        heard: dict[str, Any] = json.loads(line)
        return heard

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> None:
        _, errors = self.process.communicate("\n", timeout=30)
        assert (self.process.returncode, errors) == (0, "")

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()


class Start(Protocol):
    def __call__(self, script: str, *arguments: str) -> Child: ...


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Child] = []

    def start_one(script: str, *arguments: str) -> Child:
        started.append(Child(script, tmp_path, *arguments))
        return started[-1]

    yield start_one
    for child in started:
        if child.process.poll() is None:
            child.kill()


async def created(workspace: Path) -> SqlJournal:
    journal = SqlJournal(default_url(workspace), synchronous="NORMAL")
    await journal.open()
    lease = await journal.create(RunInfo(id="run-9", created_t=1.0, title="", meta={}), this_process("parent"))
    await journal.release(lease)
    return journal


async def test_one_of_two_processes_gets_the_run_while_a_third_annotates_it(start: Start, tmp_path: Path) -> None:
    journal = await created(tmp_path)
    claimants = [start(CLAIM, name) for name in ("one", "two")]
    annotator = start(ANNOTATE)
    children = [*claimants, annotator]
    assert [child.hear() for child in children] == [{"ready": True}] * 3
    for child in children:
        child.go()
    said = [child.hear() for child in claimants]
    assert annotator.hear() == {"posted": 20}
    winner, loser = (0, 1) if "epoch" in said[0] else (1, 0)
    assert said[winner] == {"epoch": 2}
    assert f"already held by process {claimants[winner].process.pid} on host " in said[loser]["refused"]

    run = await journal.info("run-9")
    assert (run.epoch, run.seq) == (2, 1)
    assert run.holding is not None
    assert run.holding.owner.token == ("one", "two")[winner]
    with pytest.raises(ConflictError):  # the winner's process still lives
        await journal.claim("run-9", this_process("parent"), now=6.0)
    for child in children:
        child.end()
    lease = await journal.claim("run-9", this_process("parent"), now=6.0)  # it did not release, and is gone
    assert lease.epoch == 3
    assert [r.payload["n"] for r in await journal.take(lease)] == list(range(20))
    assert await journal.take(lease) == ()
    await journal.close()


def test_processes_that_open_a_new_journal_together_all_succeed(start: Start, tmp_path: Path) -> None:
    children = [start(CREATE, f"c{n}") for n in range(4)]
    assert [child.hear() for child in children] == [{"ready": True}] * 4
    for child in children:
        child.go()
    assert [child.hear() for child in children] == [{"made": 5}] * 4
    for child in children:
        child.end()

    async def runs() -> list[str]:
        async with SqlJournal(default_url(tmp_path)) as journal:
            return [run.id for run in await journal.list(limit=100) if run.seq == 1]

    assert sorted(asyncio.run(runs())) == sorted(f"c{c}-{n}" for c in range(4) for n in range(5))


def test_processes_that_open_an_old_journal_together_all_succeed(start: Start, tmp_path: Path) -> None:
    path = tmp_path / ".sol" / "runs.db"
    path.parent.mkdir()
    make_version_1(path, runs=2, events=500)
    children = [start(CREATE, f"c{n}") for n in range(3)]
    assert [child.hear() for child in children] == [{"ready": True}] * 3
    for child in children:
        child.go()
    assert [child.hear() for child in children] == [{"made": 5}] * 3
    for child in children:
        child.end()

    async def sizes() -> list[int]:
        async with SqlJournal(default_url(tmp_path)) as journal:
            runs = await journal.list(limit=100)
            return [len(await journal.read(run.id)) for run in runs]

    assert asyncio.run(sizes()) == [1] * 15 + [500] * 2


@pytest.mark.slow
async def test_kill_9_leaves_whole_batches_and_a_run_to_claim(start: Start, tmp_path: Path) -> None:
    journal = await created(tmp_path)
    rng = random.Random(9)
    confirmed = 0
    for kill in range(4):
        child = start(APPEND, f"k{kill}")
        for _ in range(rng.randint(5, 40)):
            confirmed = child.hear()["last"]
        child.kill()

        records = await journal.read("run-9")
        assert len(records) >= confirmed
        assert [r.seq for r in records] == list(range(1, len(records) + 1))
        batches: dict[tuple[int, int], list[int]] = {}
        for record in records:
            batches.setdefault(tuple(data_of(record)["batch"]), []).append(data_of(record)["of"])
        assert all(sizes == [len(sizes)] * len(sizes) for sizes in batches.values())
        assert (await journal.info("run-9")).epoch == kill + 2
    lease: Lease = await journal.claim("run-9", this_process("parent"), now=5.0)
    last = await journal.append(lease, [ticked()])
    await journal.close()
    async with SqlJournal(default_url(tmp_path)) as again:
        assert (await again.info("run-9")).seq == last == len(await again.read("run-9"))


def test_process_that_raises_with_the_journal_open_exits(start: Start) -> None:
    child = start(RAISE)
    _, errors = child.process.communicate(timeout=30)
    assert child.process.returncode == 1
    assert errors.endswith("RuntimeError: in the middle\n")
    assert errors.count("Traceback") == 1

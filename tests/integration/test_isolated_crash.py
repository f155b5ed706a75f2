"""Whole runs in places of their own that are killed and resumed until they are done: nothing is lost or done twice."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from luna.workspaces.opening import list_retained, remove_retained
from sol import Sol
from sol.tree.events import EventType
from tests.support.editing import git, read, repository
from tests.support.programs import with_git

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX"), with_git]

KILLS = int(os.environ.get("TIMES", "3"))
ITEMS = int(os.environ.get("ITEMS", "4"))
NODES = 2 * ITEMS - 1

# Forks a process for each line, so that it starts at once. It solves or resumes, and is killed some time after so many
# events. Each Luna but the integrating ones adds a line to the same file, so all parts are in conflict.
SOLVER = """
import asyncio, json, os, signal, sys, threading
from pathlib import Path
import sol.engine.loop, sol.dispatch.tracing
from luna.protocol import Stuck, Success
from sol import Sol
from sol.tree.listeners import Listener

class Luna:
    def __init__(self, log):
        self.log = log

    async def run(self, assignment, delivery):
        with self.log.open("a") as log:
            log.write(delivery.key + "\\n")
        await asyncio.sleep(0.01)
        checkout, inputs = delivery.workspace, assignment.inputs
        if "conflicts" in inputs:
            (one,) = inputs["conflicts"]
            lines = {line for side in ("before", "ours", "theirs") for line in one[side].splitlines()}
            (checkout / "log.txt").write_text("".join(f"{line}\\n" for line in sorted(lines)))
            yield Success(summary="settled", result="settled")
        elif len(inputs["items"]) > 1:
            (checkout / "mess.txt").write_text("mess")
            yield Stuck(blocker="too many at once")
        else:
            name = inputs["items"][0]
            (checkout / f"{name}.txt").write_text(name)
            with (checkout / "log.txt").open("a") as log:
                log.write(f"with {name}\\n")
            yield Success(summary="done", result=[name])

async def work(workspace, isolation, items, events, delay_s):
    sol = Sol(strategy="halve", worker=Luna(workspace.with_suffix(".log")), workspace=workspace, isolation=isolation)
    async with sol.open_journal() as journal:
        begun = [run for run in await journal.list(limit=9) if run.seq]
    task = {"goal": "Add a line for each item to log.txt", "context": "none", "inputs": {"items": items},
        "constraints": "none", "expected_output": "The items", "success_criteria": [{"command": "test -f log.txt"}],
        "stop_conditions": ["There is no item."]}
    run = await (sol.start_again(begun[0].id) if begun else sol.start(task))
    seen = []
    class Killing(Listener):
        def on_event(self, event):
            seen.append(event)
            if len(seen) == events:
                threading.Timer(delay_s, os.kill, (os.getpid(), signal.SIGKILL)).start()
    run.listen(Killing())
    await run.wait()

for line in sys.stdin:
    workspace, *given = json.loads(line)
    pid = os.fork()
    if pid == 0:
        asyncio.run(work(Path(workspace), *given))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@dataclass
class Solver:
    """Solves in processes of their own."""

    process: "subprocess.Popen[str]"
    isolation: str
    killed: int = 0

    def work(self, workspace: Path, *, events: int = 0, delay_s: float = 0.0) -> bool:
        """Solve, or go on; whether it ended by itself."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        items = [f"item{n}" for n in range(ITEMS)]
        print(json.dumps([str(workspace), self.isolation, items, events, delay_s]), file=self.process.stdin, flush=True)
        code = int(self.process.stdout.readline())
        assert code in {0, -9}
        self.killed += code == -9
        return code == 0


@contextmanager
def solver(isolation: str) -> Iterator[Solver]:
    with subprocess.Popen(
        [sys.executable, "-c", SOLVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Solver(process, isolation)
        assert process.stdin is not None
        process.stdin.close()


@dataclass(frozen=True)
class Seen:
    """What a run has come to: its status, each node's state and result, what was committed, and how many events."""

    run: str
    status: str
    nodes: dict[str, Any]
    attempts: set[str] = field(default_factory=set)
    events: int = 0


async def look(workspace: Path) -> Seen | None:
    """What the journal says; None while no run was recorded."""
    sol = Sol(workspace=workspace)
    async with sol.open_journal() as journal:
        begun = [run for run in await journal.list(limit=9) if run.seq]
    if not begun:
        return None
    assert len(begun) == 1
    run = await sol.load(begun[0].id)
    nodes = {node.path: (str(node.state), node.result, node.children) for node in run.tree}
    past = [event async for event in run.events()]
    kinds = {EventType.REPORTED, EventType.ANSWER}
    keys = {f"{run.id}/{one.node}/{one.data.kind}/{one.data.n}" for one in past if one.type in kinds}
    return Seen(run.id, run.status, nodes, keys, len(past))


def lunas(workspace: Path) -> list[str]:
    log = workspace.with_suffix(".log")
    return log.read_text().split() if log.exists() else []


@pytest.mark.parametrize("isolation", ["worktree", "copy"])
@pytest.mark.req("S25", "S61")
async def test_killed_run_ends_as_an_undisturbed_one_and_leaves_only_what_is_listed(
    tmp_path: Path, isolation: str
) -> None:
    rng = random.Random(isolation)
    with solver(isolation) as solve:
        quiet = repository(tmp_path / "quiet", {"log.txt": "begin\n"})
        assert solve.work(quiet)
        expected = await look(quiet)
        assert expected is not None
        assert (expected.status, len(expected.nodes)) == ("success", NODES)
        calls = len(lunas(quiet))
        assert calls == NODES + ITEMS - 1, "each node was tried, each merge but for one side was a conflict"

        boat = repository(tmp_path / "boat", {"log.txt": "begin\n"})
        while True:
            before, seen = lunas(boat), await look(boat)
            if seen is not None and seen.status == "success":
                break  # it may have been killed while it was cleaning up
            events = rng.randint(1, 3 * ITEMS) if solve.killed < KILLS else 0
            solve.work(boat, events=events, delay_s=rng.uniform(0, 0.2))
            if seen is not None:
                assert not set(lunas(boat)[len(before) :]) & seen.attempts, "what had ended was done again"
    assert solve.killed >= 2
    assert seen.nodes == expected.nodes
    assert read(boat) == read(quiet)
    assert "mess.txt" not in read(boat)
    assert len(set(lunas(boat))) == calls, "nothing but what was cut off was done again"

    kept = await list_retained(boat, boat / ".sol")
    where = {one.where for one in kept}
    assert {str(path) for path in (boat / ".sol" / "worktrees").glob("[!.]*/[!.]*")} <= where
    if isolation == "worktree":
        assert git(boat, "status", "--porcelain") == ""
        assert {branch for branch in branches(boat) if branch != "main"} <= where
    await remove_retained(boat, boat / ".sol", seen.run)
    assert await list_retained(boat, boat / ".sol") == []
    if isolation == "worktree":
        assert branches(boat) == ["main"]
        worktrees = git(boat, "worktree", "list").splitlines()
        assert len(worktrees) == 1


def branches(workspace: Path) -> list[str]:
    return git(workspace, "branch", "--format=%(refname:short)").splitlines()

"""Make the golden journals: real runs, each written down as the text of its SQLite store, with what to expect of it.

    PYTHONPATH=. python tests/golden/make.py [NAME…]

The dumps that are kept were made at commit ee52b13, the last one with schema version 1 of the store; they stand for the
runs that people have. So this program is a record of how they came to be: it uses the interfaces of that commit, and
making dumps anew with later code would make them worthless.
"""

import asyncio
import json
import os
import platform
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from sol.core.requests import Answered
from sol.planner.protocol import PlannerRequest

from luna.clock import SystemClock
from sol.errors import PlannerError
from sol.run import Run
from sol.tree.events import Event
from sol.workflow.machine import Options, WorkflowSol
from tests.golden.scenes import (
    BOAT,
    BOAT_FILES,
    HERE,
    HUT,
    ITEMS,
    PLACEHOLDER,
    SCENES,
    Mender,
    furnish,
)
from tests.support.editing import git, repository
from tests.support.runs import task

BEGIN_T = 1_760_000_000.0
"""When the runs seem to have happened: so long ago that no process is thought to hold one, whatever the clock says."""
HOST = "golden.example"
EXPECTED = HERE / "expected.json"
START_S = 60.0


class PastClock(SystemClock):
    """The machine's clock, set back."""

    def __init__(self) -> None:
        self._back = super().now() - BEGIN_T

    def now(self) -> float:
        """Seconds since the epoch, as if it were then."""
        return super().now() - self._back


def sol_of(name: str, workspace: Path, **more: Any) -> WorkflowSol:
    """The `Sol` that a scene is played with."""
    settings = SCENES[name].settings(workspace) | more
    return WorkflowSol(**settings, rng=random.Random(name), clock=PastClock())


def hut(**changes: Any) -> Any:
    """The task of most scenes."""
    given = {"inputs": {"wood": "oak"}, "expected_output": "the hut", "success_criteria": ["it stands"], **changes}
    return task(HUT, **given)


async def begun(sol: WorkflowSol, name: str, workspace: Path) -> Run:
    """The live run of a scene."""
    if name.startswith("isolated"):
        return await sol.start(task(BOAT, inputs={}, expected_output="a boat", success_criteria=["it floats"]))
    if name == "tree-success":
        return await sol.start(hut(success_criteria=["it stands", {"command": "test -f golden.yaml"}]))
    if name == "tree-exhausted":
        return await sol.start(task("count the items", inputs={"items": ITEMS}, expected_output="how many"))
    if name.startswith("tree"):
        return await sol.start(hut())
    file = workspace / ("deep.yaml" if "solve" in name else "flow.yaml")
    what, options = {
        "workflow-success": ("a hut, looked at twice", Options()),
        "workflow-waiting": ("a hut, asking first", Options(interactive=True)),
        "workflow-limited": ("a hut", Options(max_steps=2)),
        "workflow-aborted": ("nothing", Options()),
        "workflow-killed": ("a hut, slowly", Options()),
    }.get(name, ("a hut", Options()))
    return await sol.start_workflow(file, what, options)


# --- scenes that end by themselves -----------------------------------------------------------------------------------


async def until(run: Run, is_it: Callable[[Event], bool]) -> None:
    """Wait for an event."""
    async for event in run.events():
        if is_it(event):
            return
    raise RuntimeError(f"{run.id} has ended: {run.status}, {run.reason}")


async def play(name: str, workspace: Path) -> None:
    """Run a scene until nothing is left to do."""
    await (await begun(sol_of(name, workspace), name, workspace)).wait()


async def exhaust(name: str, workspace: Path) -> None:
    """Run a scene with less than it needs."""
    sol = sol_of(name, workspace, budget={"calls": 3}, concurrency=1)
    await (await begun(sol, name, workspace)).wait()


async def run_out_of_time(name: str, workspace: Path) -> None:
    """Run a scene in less time than it needs."""
    await (await begun(sol_of(name, workspace, budget={"seconds": 2}), name, workspace)).wait()


async def help_on(name: str, workspace: Path) -> None:
    """Answer what a run asks; then its planner fails once, and the run is taken up again."""
    run = await begun(sol_of(name, workspace), name, workspace)
    await run.wait()
    await sol_of(name, workspace).request(run.id, "answer", {"node": "0", "text": "green"}, by="a person")
    await sol_of(name, workspace, planner=Broken()).aresume(run.id)
    await sol_of(name, workspace).aresume(run.id)


class Broken:
    """A planner that gives no answer."""

    async def answer(self, request: PlannerRequest) -> Answered:
        """Fail."""
        raise PlannerError(f"The model cannot be reached for {type(request).__name__}.")


async def interrupt(name: str, workspace: Path) -> None:
    """Interrupt a run while an attempt is at work that has told of a part."""
    run = await begun(sol_of(name, workspace), name, workspace)
    await until(run, lambda event: event.data.get("event", {}).get("type") == "spent" and event.node == "1")
    run.interrupt("Interrupted to look at it.")
    await run.wait()


async def cancel(name: str, workspace: Path) -> None:
    """Cancel a node while its attempt is at work."""
    sol = sol_of(name, workspace)
    run = await begun(sol, name, workspace)
    await until(run, lambda event: event.data.get("event", {}).get("type") == "spent" and event.node == "1")
    await sol.request(run.id, "cancel", {"node": "1", "reason": "It takes too long."}, by="a person")
    await run.wait()


async def retry(name: str, workspace: Path) -> None:
    """Retry a node that has failed, knowing more, and go on."""
    sol = sol_of(name, workspace)
    run = await begun(sol, name, workspace)
    await run.wait()
    await sol.request(run.id, "retry", {"node": "1", "note": "There is dry wood in the barn."}, by="a person")
    await sol.aresume(run.id)


# --- scenes that are killed ------------------------------------------------------------------------------------------

KILLED: dict[str, set[tuple[str, str]]] = {
    "tree-killed": {("settled", "0"), ("progressed", "1")},
    "isolated-killed": {("settled", "1"), ("settled", "0"), ("started merge 2", "")},
    "workflow-killed": {("settled", "reviews#1/facts"), ("settled", "reviews#1/style")},
    "workflow-solve-killed": {("progressed", "solve#1"), ("settled", "0"), ("progressed", "1")},
}
"""What must be in the journal before the process is killed."""


def kill(name: str, workspace: Path) -> None:
    """Run a scene in a process of its own, and kill it."""
    child = subprocess.Popen([sys.executable, __file__, "--begin", name, str(workspace)])
    deadline = time.monotonic() + START_S
    try:
        while not KILLED[name] <= asyncio.run(seen(workspace)):
            if child.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{name} was not killed in time")
            time.sleep(0.1)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


async def seen(workspace: Path) -> set[tuple[str, str]]:
    """Types and nodes of all events of all runs; of started effects also their kind and number."""
    if not (workspace / ".sol" / "runs.db").exists():
        return set()
    found: set[tuple[str, str]] = set()
    async with WorkflowSol(workspace=workspace).open_journal() as journal:
        for run in await journal.list(limit=9):
            for one in await journal.read(run.id):
                found.add((one.type, one.node))
                if one.type == "started":
                    found.add((f"started {one.data['kind']} {one.data['n']}", one.node))
    return found


# --- writing them down -----------------------------------------------------------------------------------------------


def dump(workspace: Path) -> str:
    """The store's text, without anything of this machine.

    Raises:
        RuntimeError: If something of it is left.
    """
    connection = sqlite3.connect(workspace / ".sol" / "runs.db")
    connection.execute("UPDATE runs SET host = ? WHERE host IS NOT NULL", (HOST,))
    connection.commit()
    text = "\n".join(connection.iterdump()) + "\n"
    connection.close()
    text = text.replace(str(workspace), PLACEHOLDER)
    for word in (str(Path.cwd()), str(HERE.parents[1]), str(Path.home()), platform.node(), tempfile.gettempdir()):
        if re.search(rf"{re.escape(word)}(?!\w)", text):
            raise RuntimeError(f"the dump names {word!r}")
    return text


async def expected(name: str, workspace: Path) -> list[dict[str, Any]]:
    """What the runs of a journal have come to, oldest first."""
    sol = WorkflowSol(workspace=workspace)
    async with sol.open_journal() as journal:
        stored = await journal.list(limit=9)
    found = []
    for one in reversed(stored):
        run = await sol.load(one.id)
        found.append(
            {
                "id": one.id,
                "kind": one.meta.get("kind", "tree"),
                "status": run.status,
                "resumable": run.resumable,
                "result": run.result,
                "reason": run.reason,
                "questions": run.questions,
                "calls": run.spent.calls,
                "tokens": run.spent.tokens,
                "nodes": {
                    node.path: {
                        "state": str(node.state),
                        "kind": node.kind,
                        "reason": node.reason,
                        "result": node.result,
                        "partial": dict(node.partial),
                        "attempts": node.counts.get("attempt", 0),
                    }
                    for node in run.tree
                },
            }
        )
    return found


SCRIPTS: dict[str, Callable[[str, Path], Awaitable[None]]] = {
    "tree-exhausted": exhaust,
    "tree-timed": run_out_of_time,
    "tree-helped": help_on,
    "tree-interrupted": interrupt,
    "tree-late": cancel,
    "tree-retried": retry,
}


def make(name: str, directory: Path) -> None:
    """Play a scene and write it down."""
    workspace = (directory / "workspace").resolve()
    if SCENES[name].repository:
        strategy = (HERE / "files" / "golden.yaml").read_text(encoding="utf-8")
        repository(workspace, BOAT_FILES | {"golden.yaml": strategy})
        git(workspace, "config", "user.name", "Ann")
        git(workspace, "config", "user.email", "ann@example.org")
    else:
        furnish(workspace)
    if name == "workflow-solved":
        (workspace / "go").touch()
    if name in KILLED:
        kill(name, workspace)
    else:
        asyncio.run(SCRIPTS.get(name, play)(name, workspace))
    found = asyncio.run(expected(name, workspace))
    text = dump(workspace)
    (HERE / f"{name}.sql").write_text(text, encoding="utf-8")
    if SCENES[name].bundled:
        git(workspace, "bundle", "create", "-q", str(HERE / f"{name}.bundle"), "--all")
    known = json.loads(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.exists() else {}
    known[name] = json.loads(json.dumps(found).replace(str(workspace), PLACEHOLDER))
    ordered = {key: known[key] for key in SCENES if key in known}
    EXPECTED.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"{name}: {len(text):,} bytes, {', '.join(one['status'] for one in found)}\n")


async def begin(name: str, workspace: Path) -> None:
    """Work on a scene in this process, which is going to be killed."""
    more = {"worker": Mender(clash=True, waits=True)} if name == "isolated-killed" else {}
    await (await begun(sol_of(name, workspace, **more), name, workspace)).wait()


def main(arguments: list[str]) -> None:
    """Make the named journals, or all."""
    for variable in ("SOL_MODEL", "LUNA_MODEL", "SOL_STORE", "SOL_BASE_URL"):
        os.environ.pop(variable, None)
    if arguments[:1] == ["--begin"]:
        asyncio.run(begin(arguments[1], Path(arguments[2])))
        return
    for name in arguments or SCENES:
        with tempfile.TemporaryDirectory() as directory:
            make(name, Path(directory))


if __name__ == "__main__":
    main(sys.argv[1:])

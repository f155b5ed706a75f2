"""Many checkouts at once, several runs in one repository, calls that are cancelled, git that outlives its engine."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from luna.workspaces import Merge, Side
from tests.support.gitspaces import START, Area, Spaces, area, git, make_area, own_home, read, write
from tests.support.processes import is_alive, until
from tests.support.programs import with_git

__all__ = ["area", "own_home"]

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="processes need POSIX"), with_git]


async def part(workspaces: Spaces, base: str, name: str) -> Side:
    checkout = await workspaces.checkout(name, base=base)
    write(checkout, {f"of {name}": name})
    side = Side(name, await workspaces.keep(name, message=name))
    await workspaces.drop(name)
    return side


async def whole_run(area: Area, run: str) -> Merge:
    workspaces = area.workspaces(run)
    base = await workspaces.begin()
    names = [f"{run}.{n}" for n in range(5)]
    sides = await asyncio.gather(*(part(workspaces, base, name) for name in names))
    first, second, merge = await asyncio.gather(
        workspaces.merge("left", base=base, sides=sides[:2], message="m"),
        workspaces.merge("right", base=base, sides=sides[2:], message="m"),
        workspaces.merge("all", base=base, sides=sides, message="m"),
    )
    assert [len(one.merged) for one in (first, second, merge)] == [2, 3, 5]
    assert set(area.snapshot(merge.snapshot, run)) == {*START, *(f"of {name}" for name in names)}
    assert set(area.branches(run)) >= {*names, "left", "right", "all"}
    return merge


async def test_places_of_one_run_do_not_get_into_each_others_way(area: Area) -> None:
    merge = await whole_run(area, "run-1")
    assert set(area.branches()) == {*(f"run-1.{n}" for n in range(5)), "left", "right", "all"}
    assert len(set(area.branches().values())) == 8
    assert read(area.workspace) == dict(START)
    assert merge.conflict is None


async def test_runs_in_one_repository_do_not_get_into_each_others_way(area: Area) -> None:
    runs = ("one", "two", "three")
    merges = await asyncio.gather(*(whole_run(area, run) for run in runs))
    applied = [
        await area.workspaces(run).apply(merge.snapshot, base=git_base(area, run))
        for run, merge in zip(runs, merges, strict=True)
    ]
    # A fast-forward can be made once; copies land side by side, since they change different files.
    assert [one.applied for one in applied] == ([True, False, False] if area.kind == "worktree" else [True] * 3)
    for run, merge in zip(runs, merges, strict=True):
        kept = await area.workspaces(run).finish(result=merge.snapshot)
        not_landed = ["result"] if area.kind == "worktree" and run != "one" else []
        assert [one.name for one in kept] == [*not_landed, "right"]  # a merge that is no part of the result


def git_base(area: Area, run: str) -> str:
    return git(area.repository(run), "rev-parse", f"refs/sol/{run}/base")


async def test_processes_in_one_repository_do_not_get_into_each_others_way(area: Area) -> None:
    code = (
        "import asyncio, sys\nfrom pathlib import Path\n"
        "from tests.integration.test_workspaces_together import whole_run\nfrom tests.support.gitspaces import Area\n"
        "asyncio.run(whole_run(Area(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])), sys.argv[4]))\n"
    )
    words = (area.kind, str(area.workspace), str(area.home))
    root = Path(__file__).resolve().parents[2]
    running = [start(code, *words, run, cwd=root) for run in ("one", "two", "three")]
    assert [await asyncio.to_thread(process.wait) for process in running] == [0, 0, 0]


def start(code: str, *words: str, cwd: Path | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code, *words], cwd=cwd)


async def test_call_that_is_cancelled_can_be_made_again(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    sides = [await part(workspaces, base, name) for name in "xy"]
    expected = await workspaces.merge("whole", base=base, sides=sides, message="m")
    for after in range(0, 60, 4):
        task = asyncio.create_task(workspaces.merge("all", base=base, sides=sides, message="m"))
        for _ in range(after):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
    assert await workspaces.merge("all", base=base, sides=sides, message="m") == expected
    assert read(await workspaces.checkout("all", base=base)) == read(await workspaces.checkout("whole", base=base))
    assert set(area.branches()) == {"x", "y", "whole", "all"}


async def test_git_that_outlives_its_engine_is_ended_before_the_next_call(tmp_path: Path, own_home: None) -> None:
    area = make_area("worktree", tmp_path)
    base = await area.workspaces().begin()
    slow, note = tmp_path / "slow", tmp_path / "pid"
    slow.write_text(f"#!/bin/sh\necho $$ > '{note}.new'; mv '{note}.new' '{note}'\nexec sleep 60\n")
    slow.chmod(0o755)
    git(area.workspace, "config", "filter.slow.smudge", str(slow))
    write(area.workspace, {".git/info/attributes": "*.txt filter=slow\n"})
    code = (
        "import asyncio, sys\nfrom pathlib import Path\nfrom luna.workspaces.worktree import WorktreeWorkspaces\n"
        "spaces = WorktreeWorkspaces(Path(sys.argv[1]), run='run-1', home=Path(sys.argv[2]))\n"
        "asyncio.run(spaces.checkout('0', base=sys.argv[3]))\n"
    )
    engine = start(code, str(area.workspace), str(area.home), base)
    await until(note.exists, 30)
    engine.send_signal(signal.SIGKILL)
    await asyncio.to_thread(engine.wait)
    pid = int(note.read_text())
    assert is_alive(pid)
    write(area.workspace, {".git/info/attributes": ""})
    checkout = await area.workspaces().checkout("0", base=base)
    assert not is_alive(pid)
    assert read(checkout) == dict(START)
    assert git(checkout, "status", "--porcelain") == ""

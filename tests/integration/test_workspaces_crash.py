"""Processes that are really killed in the middle of a call: the same call again does it right, and no work is lost."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import psutil
import pytest

from luna.workspaces import Side, WorkspaceError
from tests.support.gitspaces import BOTH, Area, Files, Kind, Spaces, git, make_area, own_home, read, write
from tests.support.processes import until
from tests.support.programs import with_git

__all__ = ["own_home"]

pytestmark = [
    with_git,
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX"),
    pytest.mark.req("S25"),
]

Killed: TypeAlias = Literal["engine", "engine and git"]
TIMES = 5
"""Tries of each call; all have been tried with 40."""
FILES: Files = {f"d{n % 7}/f{n}.txt": f"file {n}\n" * 30 for n in range(60)}

# Forks a process for each call, so that it starts at once.
CALLER = """
import asyncio, json, os, sys
from pathlib import Path
from luna.workspaces import Side
from luna.workspaces.copy import CopyWorkspaces
from luna.workspaces.worktree import WorktreeWorkspaces

for line in sys.stdin:
    kind, workspace, home, run, method, args, given = json.loads(line)
    pid = os.fork()
    if pid == 0:
        make = WorktreeWorkspaces if kind == "worktree" else CopyWorkspaces
        spaces = make(Path(workspace), run=run, home=Path(home))
        given |= {key: [Side(*side) for side in given[key]] for key in given.keys() & {"sides", "also"}}
        asyncio.run(getattr(spaces, method)(*args, **given))
        os._exit(0)
    print(pid, flush=True)
    print(os.waitpid(pid, 0)[1], flush=True)
"""


class Caller:
    """Makes calls in processes of their own, and kills them."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", CALLER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.random = random.Random(7)
        self.seconds = 0.0

    def call(self, area: Area, run: str, method: str, *args: str, kill: Killed | None, **given: object) -> None:
        """Make a call; unless it is killed its time is what the others are killed within."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        line = json.dumps([area.kind, str(area.workspace), str(area.home), run, method, args, given])
        begun = time.monotonic()
        print(line, file=self.process.stdin, flush=True)
        pid = int(self.process.stdout.readline())
        if kill is not None:
            self.kill_after(self.random.uniform(0, self.seconds), pid, kill)
        status = int(self.process.stdout.readline())
        if kill is None:
            assert status == 0
            self.seconds = time.monotonic() - begun

    def kill_after(self, seconds: float, pid: int, kill: Killed) -> None:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            with suppress(psutil.TimeoutExpired):
                process.wait(seconds)
                return
            process.suspend()
            children = process.children(recursive=True) if kill == "engine and git" else []
            for one in (process, *children):
                with suppress(psutil.NoSuchProcess):
                    one.kill()


@pytest.fixture
def caller() -> Iterator[Caller]:
    made = Caller()
    yield made
    assert made.process.stdin is not None
    made.process.stdin.close()
    made.process.wait()
    assert made.process.stdout is not None
    made.process.stdout.close()


both_kinds = pytest.mark.parametrize("kind", BOTH)
both_kills = pytest.mark.parametrize("kill", ["engine", "engine and git"])


async def with_sides(area: Area) -> tuple[Spaces, str, list[Side]]:
    """A run with three parts, of which the third does not fit."""
    workspaces = area.workspaces()
    base = await workspaces.begin()
    sides = []
    for name in "abc":
        checkout = await workspaces.checkout(name, base=base)
        shared = {"d0/f0.txt": f"{name}\n"} if name != "b" else {"d0/f7.txt": f"{name}\n"}
        write(checkout, {**shared, **{f"{name}/{n}": name for n in range(20)}})
        sides.append(Side(name, await workspaces.keep(name, message=name)))
        await workspaces.drop(name)
    return workspaces, base, sides


def clear(root: Path) -> None:
    """Remove all files but those of git and Sol."""
    for path in root.iterdir():
        if path.name not in {".git", ".sol"}:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def plain(sides: list[Side]) -> list[list[str]]:
    return [[side.label, side.snapshot] for side in sides]


@both_kinds
@both_kills
async def test_place_that_was_cut_off_is_made_whole(
    tmp_path: Path, own_home: None, caller: Caller, kind: Kind, kill: Killed
) -> None:
    area = make_area(kind, tmp_path, FILES)
    workspaces, base, sides = await with_sides(area)
    expected = read(await workspaces.checkout("whole", base=base, also=sides))
    caller.call(area, "run-1", "checkout", "first", kill=None, base=base, also=plain(sides))
    for name in (f"p{n}" for n in range(TIMES)):
        caller.call(area, "run-1", "checkout", name, kill=kill, base=base, also=plain(sides))
        checkout = await area.workspaces().checkout(name, base=base, also=sides)
        assert read(checkout) == expected
        assert git(checkout, "status", "--porcelain") == ""
        assert git(checkout, "symbolic-ref", "HEAD") == f"refs/heads/sol/run-1/{name}"
    assert set(area.branches()) == {"a", "b", "c", "whole", "first", *(f"p{n}" for n in range(TIMES))}


@both_kinds
@both_kills
async def test_work_is_kept_though_keeping_was_cut_off(
    tmp_path: Path, own_home: None, caller: Caller, kind: Kind, kill: Killed
) -> None:
    area = make_area(kind, tmp_path, FILES)
    workspaces = area.workspaces()
    base = await workspaces.begin()
    work = {**FILES, "d1/f1.txt": "changed", **{f"new/{n}": str(n) for n in range(40)}}
    for n in range(-1, TIMES):
        name = f"k{n + 1}"
        checkout = await workspaces.checkout(name, base=base)
        write(checkout, work)
        if n % 2:
            git(checkout, "checkout", "--quiet", "--detach")
        caller.call(area, "run-1", "keep", name, kill=None if n < 0 else kill, message="m")
        kept = await area.workspaces().keep(name, message="m")
        assert read(checkout) == work
        assert git(checkout, "status", "--porcelain") == ""
        assert git(area.repository(), "diff-tree", "-r", "--name-only", base, kept).count("\n") == 40
        assert area.branches()[name] == kept
    assert set(area.branches()) == {f"k{n}" for n in range(TIMES + 1)}


@both_kinds
@both_kills
async def test_merge_that_was_cut_off_gives_the_same(
    tmp_path: Path, own_home: None, caller: Caller, kind: Kind, kill: Killed
) -> None:
    area = make_area(kind, tmp_path, FILES)
    workspaces, base, sides = await with_sides(area)
    expected = await workspaces.merge("whole", base=base, sides=sides, message="m")
    assert (expected.merged, expected.conflict is not None) == (("a", "b"), True)
    files = read(await workspaces.checkout("whole", base=base))
    for n in range(-1, TIMES):
        name = f"m{n + 1}"
        write(await workspaces.checkout(name, base=base), {"unfinished": name})
        given = {"base": base, "sides": plain(sides), "message": "m"}
        caller.call(area, "run-1", "merge", name, kill=None if n < 0 else kill, **given)
        assert await area.workspaces().merge(name, base=base, sides=sides, message="m") == expected
        checkout = await workspaces.checkout(name, base=base)
        assert read(checkout) == files
        branches = area.branches()
        assert branches[name] == expected.snapshot
        assert area.snapshot(branches[f"{name}+1"])["unfinished"] == name
        assert f"{name}+2" not in branches
        write(checkout, {"d0/f0.txt": "both\n"})
        assert isinstance(await workspaces.resolve(name, message="r"), str)


@both_kinds
@both_kills
async def test_settling_that_was_cut_off_gives_the_same(
    tmp_path: Path, own_home: None, caller: Caller, kind: Kind, kill: Killed
) -> None:
    area = make_area(kind, tmp_path, FILES)
    workspaces, base, sides = await with_sides(area)
    for n in range(-1, TIMES):
        name = f"r{n + 1}"
        merge = await workspaces.merge(name, base=base, sides=sides, message="m")
        checkout = await workspaces.checkout(name, base=base)
        write(checkout, {"d0/f0.txt": "both\n"})
        caller.call(area, "run-1", "resolve", name, kill=None if n < 0 else kill, message="r")
        settled = await area.workspaces().resolve(name, message="r")
        assert isinstance(settled, str)
        parents = git(area.repository(), "rev-parse", f"{settled}^@").split()
        assert parents == [merge.snapshot, sides[2].snapshot]
        assert git(checkout, "status", "--porcelain") == ""
        assert (area.branches()[name], read(checkout)["d0/f0.txt"]) == (settled, "both\n")
    assert not [name for name in area.branches() if "+" in name]


@both_kinds
@both_kills
async def test_landing_that_was_cut_off_lands(
    tmp_path: Path, own_home: None, caller: Caller, kind: Kind, kill: Killed
) -> None:
    area = make_area(kind, tmp_path, FILES)
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("root", base=base)
    clear(checkout)
    write(checkout, {f"d{n % 5}/f{n}.txt": f"new {n}\n" * 500 for n in range(200)} | {"d6": "a file now"})
    snapshot = await workspaces.keep("root", message="result")
    expected = read(checkout)
    for n in range(-1, TIMES):
        caller.call(area, "run-1", "apply", snapshot, kill=None if n < 0 else kill, base=base)
        applied = await area.workspaces().apply(snapshot, base=base)
        if not applied.applied:  # a git that was killed leaves its lock, and one whose engine was killed may be at work
            assert kind == "worktree"
            assert ".lock" in applied.note
            if kill == "engine":
                await until(lambda: not [*(area.workspace / ".git").rglob("*.lock")], seconds=60)
            for lock in (area.workspace / ".git").rglob("*.lock"):
                lock.unlink()
            applied = await area.workspaces().apply(snapshot, base=base)
        assert applied.applied, applied.note
        assert read(area.workspace) == expected
        if kind == "worktree":
            assert git(area.workspace, "status", "--porcelain", "--", ".", ":!.sol") == ""
            assert git(area.workspace, "rev-parse", "main") == snapshot
            git(area.workspace, "reset", "--quiet", "--hard", base)
        else:
            clear(area.workspace)
            write(area.workspace, FILES)
        assert read(area.workspace) == dict(FILES)


@both_kinds
@both_kills
async def test_finish_that_was_cut_off_finishes(
    tmp_path: Path, own_home: None, caller: Caller, kind: Kind, kill: Killed
) -> None:
    area = make_area(kind, tmp_path, FILES)
    for n in range(-1, TIMES // 2):
        run = f"run-{n + 1}"
        workspaces = area.workspaces(run)
        base = await workspaces.begin()
        write(await workspaces.checkout("good", base=base), {f"good-{n}": run})
        result = await workspaces.keep("good", message="m")
        for name in ("x", "y"):
            write(await workspaces.checkout(name, base=base), {name: run})
        await workspaces.checkout("idle", base=base)
        assert (await workspaces.apply(result, base=base)).applied
        caller.call(area, run, "finish", kill=None if n < 0 else kill, result=result)
        try:
            kept = await area.workspaces(run).finish(result=result)
        except WorkspaceError as error:
            if (kind, kill) != ("worktree", "engine and git") or "packed-refs.lock" not in str(error):
                raise
            (area.workspace / ".git" / "packed-refs.lock").unlink()
            kept = await area.workspaces(run).finish(result=result)
        assert [one.name for one in kept] == ["x", "y"]
        for one in kept:
            assert area.snapshot(one.snapshot, run)[one.name] == run
        checkouts = area.home / "worktrees" / run
        assert [path.name for path in checkouts.iterdir() if not path.name.startswith(".")] == []


async def test_begin_that_was_cut_off_begins(tmp_path: Path, own_home: None, caller: Caller) -> None:
    area = make_area("copy", tmp_path, FILES)
    base = await area.workspaces("whole").begin()
    for n in range(-1, TIMES):
        caller.call(area, f"run-{n + 1}", "begin", kill="engine and git" if n >= 0 else None)
        assert await area.workspaces(f"run-{n + 1}").begin() == base

"""What goes wrong in the file system is told as `WorkspaceError`, and no thread outlives its call."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from luna.workspaces import WorkspaceError
from luna.workspaces.checkouts import remove
from luna.workspaces.files import in_thread
from luna.workspaces.git import Git
from tests.support.gitspaces import Area, area, git, make_area, own_home, read, write

__all__ = ["area", "own_home"]


async def test_refusal_of_the_file_system_is_a_workspace_error(area: Area) -> None:
    write(area.workspace, {"file": "no directory"})
    blocked = Area(area.kind, area.workspace, area.workspace / "file")
    with pytest.raises(WorkspaceError, match=r"file system refuses .* Make room or access"):
        await blocked.workspaces().begin()


@pytest.mark.parametrize("fails", [False, True])
async def test_cancelled_thread_is_waited_for(*, fails: bool) -> None:
    begun, go, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go.wait()
        ended.set()
        if fails:
            raise ValueError("too late to tell")

    task = asyncio.create_task(in_thread(work))
    await asyncio.to_thread(begun.wait)
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_result_and_error_of_a_thread_are_the_callers() -> None:
    assert await in_thread(int, "7") == 7
    with pytest.raises(ValueError, match="invalid literal"):
        await in_thread(int, "x")


def test_remove_follows_no_link_and_opens_what_is_closed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(tmp_path, {"outside/file": "mine", "place/shut/inner/file": "x", "place/open": "x"})
    (tmp_path / "place" / "shut" / "link").symlink_to(outside)
    (tmp_path / "place" / "shut" / "inner").chmod(0)
    (tmp_path / "place" / "shut").chmod(0o500)
    mode = outside.stat().st_mode
    remove(tmp_path / "place")
    remove(tmp_path / "place")
    assert read(tmp_path) == {"outside/file": "mine"}
    assert outside.stat().st_mode == mode
    (tmp_path / "link").symlink_to(outside)
    remove(tmp_path / "link")
    assert read(tmp_path) == {"outside/file": "mine"}


async def test_files_of_a_copy_have_times_that_archives_take(area: Area) -> None:
    workspaces = area.workspaces()
    checkout = await workspaces.checkout("0", base=await workspaces.begin())
    assert (checkout / "a.txt").stat().st_mtime > 315_532_800  # 1980
    assert git(checkout, "status", "--porcelain") == ""


async def test_worktree_of_another_run_that_is_half_made_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    area = make_area("worktree", tmp_path, {"a.txt": "a\n"})
    workspaces = area.workspaces()
    base = await workspaces.begin()
    run, met = Git.run, [0]

    async def meets_one(self: Git, *words: str, **options: Any) -> bytes:
        if words[:2] == ("worktree", "add"):
            met[0] += 1
            if met[0] < 3:
                raise WorkspaceError("git worktree failed: fatal: failed to read worktrees/one/commondir: Success")
        return await run(self, *words, **options)

    monkeypatch.setattr(Git, "run", meets_one)
    assert read(await workspaces.checkout("0", base=base)) == {"a.txt": "a\n"}
    assert met == [3]

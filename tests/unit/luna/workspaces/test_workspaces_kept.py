"""The end of a run: all that is in its result is cleaned up, all else stays and is listed, and can be removed."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from luna.workspaces import Retained, Side, WorkspaceError
from luna.workspaces.checkouts import remove
from luna.workspaces.opening import list_retained, remove_retained
from tests.support.gitspaces import START, Area, Spaces, area, git, make_area, own_home, read, write

__all__ = ["area", "own_home"]


async def work(workspaces: Spaces, name: str, base: str, files: dict[str, str]) -> str:
    write(await workspaces.checkout(name, base=base), files)
    return await workspaces.keep(name, message=name)


@pytest.mark.req("S25")
async def test_work_that_is_in_no_result_stays_and_is_listed(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    good = await work(workspaces, "0.2", base, {"good": "1"})
    failed = await work(workspaces, "0.1", base, {"failed": "1"})
    await work(workspaces, "idle", base, {})
    write(await workspaces.checkout("1", base=base), {"cancelled": "half"})
    await workspaces.drop("0.2")
    assert (await workspaces.apply(good, base=base)).applied
    kept = await workspaces.finish(result=good)
    assert [(one.run, one.name) for one in kept] == [("run-1", "0.1"), ("run-1", "1")]
    assert kept[0].snapshot == failed
    assert set(area.snapshot(kept[1].snapshot)) == {*START, "cancelled"}
    assert area.branches() == {"0.1": failed, "1": kept[1].snapshot}
    for one in kept:
        assert one.where.startswith(f"sol/run-1/{one.name}")
        assert (one.where.removeprefix(f"sol/run-1/{one.name}") == "") == (area.kind == "worktree")
    assert await list_retained(area.workspace, area.home) == list(kept)


async def test_run_without_result_keeps_all_work(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    one = await work(workspaces, "0", base, {"x": "1"})
    await work(workspaces, "1", base, {})
    assert [(kept.name, kept.snapshot) for kept in await workspaces.finish(result=None)] == [("0", one)]
    assert await workspaces.finish(result=None) == await area.workspaces().kept()


async def test_run_that_has_only_begun_is_listed_and_can_be_removed(area: Area) -> None:
    base = await area.workspaces().begin()
    (kept,) = await list_retained(area.workspace, area.home)
    assert (kept.run, kept.name, kept.snapshot) == ("run-1", "start", base)
    assert await remove_retained(area.workspace, area.home, "run-1") == (kept,)
    assert await list_retained(area.workspace, area.home) == []
    assert area.is_clean()


async def test_place_that_only_git_still_knows_is_cleaned_up(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    remove(checkout)  # as a kill in the middle of a removal leaves it
    assert await area.workspaces().finish(result=None) == ()
    assert area.is_clean()


async def test_listing_tells_places_and_branches_of_all_runs(area: Area) -> None:
    assert await list_retained(area.workspace, area.home) == []
    snapshots = {}
    for run in ("run-2", "run-1"):
        workspaces = area.workspaces(run)
        snapshots[run] = await work(workspaces, "0", await workspaces.begin(), {"x": run})
    kept = await list_retained(area.workspace, area.home)
    checkouts = [Retained(run, "0", str(area.home / "worktrees" / run / "0"), "") for run in ("run-1", "run-2")]
    assert [one for one in kept if not one.snapshot] == checkouts
    assert {one.run: one.snapshot for one in kept if one.snapshot} == snapshots
    assert [one.run for one in kept] == ["run-1", "run-1", "run-2", "run-2"]


async def test_removing_takes_one_run_only(area: Area) -> None:
    for run in ("run-1", "run-2"):
        workspaces = area.workspaces(run)
        base = await workspaces.begin()
        await work(workspaces, "0", base, {"x": run})
        await work(workspaces, "1", base, {"y": run})
        await workspaces.drop("1")
    write(area.home / "worktrees" / "run-1", {"stray/file": "x"})
    removed = await remove_retained(area.workspace, area.home, "run-1")
    assert {(one.name, bool(one.snapshot)) for one in removed} == {
        ("0", True), ("0", False), ("1", True), ("stray", False),
    }  # fmt: skip
    assert not (area.home / "worktrees" / "run-1").exists()
    assert {one.run for one in await list_retained(area.workspace, area.home)} == {"run-2"}
    assert await remove_retained(area.workspace, area.home, "run-1") == ()
    assert read(area.workspace) == dict(START)
    await remove_retained(area.workspace, area.home, "run-2")
    assert area.is_clean()


async def test_removing_refuses_what_is_no_run(area: Area) -> None:
    for run in ("..", "", "../../x", ".gitignore"):
        with pytest.raises(WorkspaceError, match="cannot name"):
            await remove_retained(area.workspace, area.home, run)
    assert read(area.workspace) == dict(START)


async def test_branches_of_the_user_are_not_listed(tmp_path: Path, own_home: None) -> None:
    area = make_area("worktree", tmp_path)
    git(area.workspace, "branch", "sol/mine/topic")
    assert await list_retained(area.workspace, area.home) == []
    await remove_retained(area.workspace, area.home, "mine")
    assert git(area.workspace, "branch", "--list", "sol/*") == "  sol/mine/topic"


async def test_places_are_removed_where_the_repository_is_gone(tmp_path: Path, own_home: None) -> None:
    write(tmp_path / ".sol" / "worktrees" / "run-1", {"0/file": "x"})
    checkout = tmp_path / ".sol" / "worktrees" / "run-1" / "0"
    assert await list_retained(tmp_path, tmp_path / ".sol") == [Retained("run-1", "0", str(checkout), "")]
    assert await remove_retained(tmp_path, tmp_path / ".sol", "run-1") == (Retained("run-1", "0", str(checkout), ""),)
    assert not (tmp_path / ".sol" / "worktrees" / "run-1").exists()


async def test_what_is_kept_outlives_the_workspace(area: Area, tmp_path: Path) -> None:
    area = replace(area, home=tmp_path / "elsewhere" / ".sol")
    workspaces = area.workspaces()
    base = await workspaces.begin()
    for name in ("0", "1"):
        await work(workspaces, name, base, {"x": name})
    await workspaces.drop("1")
    remove(area.workspace)
    kept = await list_retained(area.workspace, area.home)
    expected = {("0", False), ("0", True), ("1", True)} if area.kind == "copy" else {("0", False)}
    assert {(one.name, bool(one.snapshot)) for one in kept} == expected
    assert await remove_retained(area.workspace, area.home, "run-1") == tuple(kept)
    assert not (area.home / "worktrees" / "run-1").exists()
    assert await list_retained(area.workspace, area.home) == []


async def test_own_branches_and_stashes_of_workers_in_copies_are_kept(tmp_path: Path, own_home: None) -> None:
    area = make_area("copy", tmp_path)
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    who = ("-c", "user.name=W", "-c", "user.email=w@x")
    write(checkout, {"a.txt": "stashed"})
    git(checkout, *who, "stash")
    git(checkout, "checkout", "--quiet", "-b", "feature")
    git(checkout, *who, "commit", "--quiet", "--allow-empty", "--message", "own")
    git(checkout, "checkout", "--quiet", "--detach", base)
    assert await workspaces.keep("0", message="m") == base
    assert [one.name for one in await workspaces.finish(result=base)] == ["refs/heads/feature", "refs/stash"]
    assert area.repository().is_dir()


async def test_place_that_cannot_be_taken_stays_and_is_listed(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    await work(workspaces, "0", base, {"x": "1"})
    bad = await workspaces.checkout("1", base=base)
    write(bad, {"y": "1"})
    head = next(path for path in area.repository().rglob("worktrees/1/HEAD"))
    head.write_text("nonsense\n")
    kept = await workspaces.finish(result=None)
    assert {one.name: one.snapshot for one in kept if one.where.startswith("/")} == {"1": ""}
    assert (bad / "y").exists()


async def test_place_with_a_name_that_git_does_not_allow_stays(area: Area) -> None:
    workspaces = area.workspaces()
    checkout = await workspaces.checkout("0", base=await workspaces.begin())
    (checkout / ".gitmodules").symlink_to("a.txt")  # as a link it may lead git elsewhere
    write(checkout, {"x": "1"})
    with pytest.raises(WorkspaceError, match=r"Ignoring path \.gitmodules"):
        await workspaces.keep("0", message="m")
    with pytest.raises(WorkspaceError, match="names that git allows"):
        await workspaces.drop("0")
    (checkout / ".gitmodules").unlink()
    assert area.snapshot(await workspaces.keep("0", message="m"))["x"] == "1"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("path", ["sub/c.txt", "new/file"])
async def test_place_with_a_directory_that_cannot_be_read_stays(area: Area, path: str) -> None:
    workspaces = area.workspaces()
    checkout = await workspaces.checkout("0", base=await workspaces.begin())
    write(checkout, {path: "changed"})
    (checkout / path).parent.chmod(0)
    with pytest.raises(WorkspaceError, match="Make them files"):
        await workspaces.keep("0", message="m")
    with pytest.raises(WorkspaceError, match="Make them files"):
        await workspaces.drop("0")
    (checkout / path).parent.chmod(0o700)
    assert area.snapshot(await workspaces.keep("0", message="m"))[path] == "changed"


async def test_merged_sides_are_cleaned_up_with_the_result(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    sides = [Side(name, await work(workspaces, name, base, {"a.txt": name})) for name in "01"]
    await workspaces.merge("root", base=base, sides=sides, message="m")
    write(await workspaces.checkout("root", base=base), {"a.txt": "both"})
    settled = await workspaces.resolve("root", message="r")
    assert isinstance(settled, str)
    assert (await workspaces.apply(settled, base=base)).applied
    assert await workspaces.finish(result=settled) == ()
    assert area.is_clean()
    assert read(area.workspace) == {**START, "a.txt": "both"}

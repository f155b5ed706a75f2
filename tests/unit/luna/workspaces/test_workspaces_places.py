"""Checkouts: made, kept, handed over again, taken into snapshots, dropped, without losing anything."""

import os
import pickle
from pathlib import Path

import pytest

from luna.workspaces import Side, WorkspaceError
from tests.support.gitspaces import START, Area, area, git, make_area, own_home, read, write

__all__ = ["area", "own_home"]


async def test_place_has_the_files_of_its_base(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("root.1", base=base)
    assert read(checkout) == dict(START)
    assert checkout == area.home / "worktrees" / "run-1" / "root.1"
    assert git(checkout, "symbolic-ref", "HEAD") == "refs/heads/sol/run-1/root.1"
    assert read(area.workspace) == dict(START)


async def test_unchanged_place_keeps_as_its_base(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0.1", base=base)
    assert await workspaces.keep("0.1", message="nothing") == base
    (checkout / "a.txt").write_text("other")
    (checkout / "a.txt").write_text(str(START["a.txt"]))
    assert await workspaces.keep("0.1", message="nothing") == base


async def test_keep_takes_changes_new_files_and_deletions(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0.1", base=base)
    write(checkout, {"a.txt": "ONE\n", "new/deep/file": "n"})
    (checkout / "b.txt").unlink()
    kept = await workspaces.keep("0.1", message="Add things\n\nAnd more.")
    assert area.snapshot(kept) == {"a.txt": "ONE", "new/deep/file": "n", "sub/c.txt": "sea"}
    assert area.branches() == {"0.1": kept}
    assert git(area.repository(), "log", "-1", "--format=%B", kept).strip() == "Add things\n\nAnd more."
    assert git(area.repository(), "rev-parse", f"{kept}^") == base
    assert git(checkout, "status", "--porcelain") == ""
    assert await workspaces.keep("0.1", message="again") == kept


async def test_keep_twice_builds_on_the_first(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0.1", base=base)
    write(checkout, {"x": "1"})
    first = await workspaces.keep("0.1", message="first")
    write(checkout, {"x": "2"})
    second = await workspaces.keep("0.1", message="second")
    assert git(area.repository(), "rev-parse", f"{second}^") == first
    assert area.branches() == {"0.1": second}


async def test_place_that_is_there_stays_as_it_is(area: Area) -> None:
    base = await area.workspaces().begin()
    checkout = await area.workspaces().checkout("0.1", base=base)
    write(checkout, {"half": "done"})
    assert await area.workspaces().checkout("0.1", base=base) == checkout
    assert read(checkout)["half"] == "done"


async def test_place_starts_with_parts_that_fit(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    kept = []
    for name, text in (("0", "ONE"), ("1", "uno"), ("2", "FIVE")):
        checkout = await workspaces.checkout(name, base=base)
        lines = str(START["a.txt"]).splitlines()
        lines[4 if name == "2" else 0] = text
        write(checkout, {"a.txt": "\n".join(lines) + "\n"})
        kept.append(Side(name, await workspaces.keep(name, message=name)))
    checkout = await workspaces.checkout("3", base=base, also=kept)
    assert read(checkout)["a.txt"] == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert git(checkout, "status", "--porcelain") == ""
    assert area.snapshot(await workspaces.keep("3", message="nothing"))["a.txt"] == "ONE\ntwo\nthree\nfour\nFIVE"
    write(checkout, {"d": "d"})
    assert area.snapshot(await workspaces.keep("3", message="d"))["d"] == "d"


async def test_files_that_were_only_checked_out_are_older_than_the_base(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    made = area.workspace.stat().st_mtime
    side = await workspaces.checkout("0.1", base=base)
    write(side, {"b.txt": "changed\n"})
    kept = await workspaces.keep("0.1", message="m")
    checkout = await workspaces.checkout("1.1", base=base, also=[Side("0", kept)])
    assert (checkout / "b.txt").read_text() == "changed\n"
    assert all((checkout / name).stat().st_mtime < made - 30 for name in START)
    merged = await workspaces.merge("root.merge", base=base, sides=[Side("0", kept)], message="m")
    assert not merged.conflict
    at = await workspaces.checkout("root.merge", base=base)
    new = {name for name in START if (at / name).stat().st_mtime > made - 30}
    assert new == {"b.txt"}, "what a part has changed is new to the whole"


async def test_byproducts_of_programs_are_left_out(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0.1", base=base)
    write(checkout, dict.fromkeys((
        "__pycache__/m.cpython-311.pyc", "sub/__pycache__/x", "old.pyc", ".pytest_cache/v/nodeids", ".mypy_cache/a",
        ".ruff_cache/a", ".DS_Store", "sub/.DS_Store", ".hypothesis/examples/1", ".sol/runs.db",
    ), "junk"))  # fmt: skip
    assert await workspaces.keep("0.1", message="junk") == base
    write(checkout, {"real.py": "1"})
    assert set(area.snapshot(await workspaces.keep("0.1", message="real"))) == {*START, "real.py"}


async def test_byproducts_that_are_followed_are_taken(tmp_path: Path, own_home: None) -> None:
    area = make_area("worktree", tmp_path, {"__pycache__/data": "old"})
    workspaces = area.workspaces()
    checkout = await workspaces.checkout("0", base=await workspaces.begin())
    write(checkout, {"__pycache__/data": "new"})
    assert area.snapshot(await workspaces.keep("0", message="m")) == {"__pycache__/data": "new"}


async def test_ignored_files_stay_out_of_worktrees_and_come_with_copies(tmp_path: Path, own_home: None) -> None:
    for kind in ("worktree", "copy"):
        area = make_area(kind, tmp_path / kind, {".gitignore": "*.log\n", "a": "a"})
        write(area.workspace, {"old.log": "old"})
        workspaces = area.workspaces()
        checkout = await workspaces.checkout("0", base=await workspaces.begin())
        write(checkout, {"new.log": "new", "b": "b"})
        expected = {".gitignore", "a", "b"} | ({"old.log", "new.log"} if kind == "copy" else set())
        assert set(area.snapshot(await workspaces.keep("0", message="m"))) == expected


ODD = {
    "-rf": "dash", "two words": "space", "ünï/文件": "text", "line\nfeed": "lf", "tab\tquote\"'": "q",
    ":(top)x": "magic", "*": "star", "a\\b": "back", "..data": "dots",
}  # fmt: skip


async def test_odd_file_names_are_files_like_others(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    write(checkout, ODD)
    raw = os.fsdecode(b"latin-\xe9")
    (checkout / raw).write_text("raw")
    kept = await workspaces.keep("0", message="-m --amend")
    assert area.snapshot(kept) == {**area.snapshot(base), **ODD, raw: "raw"}
    applied = await workspaces.apply(kept, base=base)
    assert applied.applied
    assert set(applied.changed) == {*ODD, "latin-\\xe9"}
    assert read(area.workspace)["-rf"] == "dash"
    assert (area.workspace / raw).read_text() == "raw"


async def test_modes_and_links_are_kept(area: Area, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("secret")
    workspaces = area.workspaces()
    checkout = await workspaces.checkout("0", base=(base := await workspaces.begin()))
    (checkout / "b.txt").chmod(0o755)
    (checkout / "in").symlink_to("sub")
    (checkout / "out").symlink_to(outside)
    (checkout / "nowhere").symlink_to("missing")
    kept = await workspaces.keep("0", message="m")
    again = await workspaces.checkout("1", base=kept)
    expected = {"b.txt": "x bee\n", "in": "-> sub", "out": f"-> {outside}", "nowhere": "-> missing"}
    assert read(again) == {**START, **expected}
    assert (await workspaces.apply(kept, base=base)).applied
    assert read(area.workspace) == {**START, **expected}
    assert outside.read_text() == "secret"


async def test_dropped_place_is_gone_and_its_work_is_not(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    write(checkout, {"x": "1"})
    kept = await workspaces.keep("0", message="m")
    write(checkout, {"y": "2", "locked/z": "3"})
    (checkout / "locked").chmod(0o500)
    await workspaces.drop("0")
    await workspaces.drop("0")
    assert not checkout.exists()
    rest = area.branches()["0"]
    assert git(area.repository(), "rev-parse", f"{rest}^") == kept
    assert set(area.snapshot(rest)) == {*START, "x", "y", "locked/z"}
    anew = await workspaces.checkout("0", base=base)
    assert read(anew) == dict(START)
    assert area.branches() == {"0": base, "0+1": rest}


async def test_place_whose_directory_was_removed_is_made_anew(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    write(checkout, {"x": "1"})
    git(checkout, "add", "x")
    git(checkout, "-c", "user.name=W", "-c", "user.email=w@x", "commit", "--quiet", "--message", "own")
    git(checkout, "checkout", "--quiet", "--detach")
    write(checkout, {"y": "1"})
    git(checkout, "add", "y")
    git(checkout, "-c", "user.name=W", "-c", "user.email=w@x", "commit", "--quiet", "--message", "detached")
    own = git(checkout, "rev-parse", "HEAD")
    checkout.rename(checkout.parent.parent / "elsewhere")
    with pytest.raises(WorkspaceError, match="no place '0'"):
        await workspaces.keep("0", message="m")
    assert read(await workspaces.checkout("0", base=base)) == dict(START)
    assert area.branches() == {"0": base, "0+1": own}


async def test_directory_that_git_does_not_know_is_moved_aside(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    write(area.home / "worktrees" / "run-1", {"0/precious": "work", "0+1/older": "work"})
    checkout = await workspaces.checkout("0", base=base)
    assert read(checkout) == dict(START)
    assert (checkout.parent / "0+2" / "precious").read_text() == "work"
    kept = await workspaces.finish(result=base)
    assert [(one.name, one.snapshot) for one in kept] == [("0+1", ""), ("0+2", "")]


@pytest.mark.parametrize("name", ["", "a/b", "../x", ".git", "-x", "a..b", "x.lock", "x.", "result", "a b", "a\n", "é"])
async def test_name_that_cannot_be_one_is_refused(area: Area, name: str) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    with pytest.raises(WorkspaceError, match="cannot name a place or run"):
        await workspaces.checkout(name, base=base)
    with pytest.raises(WorkspaceError, match="cannot name a place or run"):
        area.workspaces(name)


@pytest.mark.parametrize("base", ["", "--help", "HEAD", "main", "0" * 40])
async def test_snapshot_that_is_none_is_refused(area: Area, base: str) -> None:
    workspaces = area.workspaces()
    await workspaces.begin()
    with pytest.raises(WorkspaceError) as caught:
        await workspaces.checkout("0", base=base)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(WorkspaceError):
        await workspaces.keep("0", message="m")

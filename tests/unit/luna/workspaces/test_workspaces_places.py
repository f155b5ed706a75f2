"""Places: made, kept, handed over again, taken into snapshots, dropped, without losing anything."""

import os
import pickle
from pathlib import Path

import pytest

from luna.workspaces import Side, WorkspaceError
from tests.support.gitspaces import START, Area, area, git, make_area, own_home, read, write

__all__ = ["area", "own_home"]


async def test_place_has_the_files_of_its_base(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("root.1", base=base)
    assert read(place) == dict(START)
    assert place == area.home / "worktrees" / "run-1" / "root.1"
    assert git(place, "symbolic-ref", "HEAD") == "refs/heads/sol/run-1/root.1"
    assert read(area.workspace) == dict(START)


async def test_unchanged_place_keeps_as_its_base(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0.1", base=base)
    assert await spaces.keep("0.1", message="nothing") == base
    (place / "a.txt").write_text("other")
    (place / "a.txt").write_text(str(START["a.txt"]))
    assert await spaces.keep("0.1", message="nothing") == base


async def test_keep_takes_changes_new_files_and_deletions(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0.1", base=base)
    write(place, {"a.txt": "ONE\n", "new/deep/file": "n"})
    (place / "b.txt").unlink()
    kept = await spaces.keep("0.1", message="Add things\n\nAnd more.")
    assert area.snapshot(kept) == {"a.txt": "ONE", "new/deep/file": "n", "sub/c.txt": "sea"}
    assert area.branches() == {"0.1": kept}
    assert git(area.repository(), "log", "-1", "--format=%B", kept).strip() == "Add things\n\nAnd more."
    assert git(area.repository(), "rev-parse", f"{kept}^") == base
    assert git(place, "status", "--porcelain") == ""
    assert await spaces.keep("0.1", message="again") == kept


async def test_keep_twice_builds_on_the_first(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0.1", base=base)
    write(place, {"x": "1"})
    first = await spaces.keep("0.1", message="first")
    write(place, {"x": "2"})
    second = await spaces.keep("0.1", message="second")
    assert git(area.repository(), "rev-parse", f"{second}^") == first
    assert area.branches() == {"0.1": second}


async def test_place_that_is_there_stays_as_it_is(area: Area) -> None:
    base = await area.spaces().begin()
    place = await area.spaces().place("0.1", base=base)
    write(place, {"half": "done"})
    assert await area.spaces().place("0.1", base=base) == place
    assert read(place)["half"] == "done"


async def test_place_starts_with_parts_that_fit(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    kept = []
    for name, text in (("0", "ONE"), ("1", "uno"), ("2", "FIVE")):
        place = await spaces.place(name, base=base)
        lines = str(START["a.txt"]).splitlines()
        lines[4 if name == "2" else 0] = text
        write(place, {"a.txt": "\n".join(lines) + "\n"})
        kept.append(Side(name, await spaces.keep(name, message=name)))
    place = await spaces.place("3", base=base, also=kept)
    assert read(place)["a.txt"] == "ONE\ntwo\nthree\nfour\nFIVE\n"
    assert git(place, "status", "--porcelain") == ""
    assert area.snapshot(await spaces.keep("3", message="nothing"))["a.txt"] == "ONE\ntwo\nthree\nfour\nFIVE"
    write(place, {"d": "d"})
    assert area.snapshot(await spaces.keep("3", message="d"))["d"] == "d"


async def test_files_that_were_only_checked_out_are_older_than_the_base(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    made = area.workspace.stat().st_mtime
    side = await spaces.place("0.1", base=base)
    write(side, {"b.txt": "changed\n"})
    kept = await spaces.keep("0.1", message="m")
    place = await spaces.place("1.1", base=base, also=[Side("0", kept)])
    assert (place / "b.txt").read_text() == "changed\n"
    assert all((place / name).stat().st_mtime < made - 30 for name in START)
    merged = await spaces.merge("root.merge", base=base, sides=[Side("0", kept)], message="m")
    assert not merged.conflict
    at = await spaces.place("root.merge", base=base)
    new = {name for name in START if (at / name).stat().st_mtime > made - 30}
    assert new == {"b.txt"}, "what a part has changed is new to the whole"


async def test_byproducts_of_programs_are_left_out(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0.1", base=base)
    write(place, dict.fromkeys((
        "__pycache__/m.cpython-311.pyc", "sub/__pycache__/x", "old.pyc", ".pytest_cache/v/nodeids", ".mypy_cache/a",
        ".ruff_cache/a", ".DS_Store", "sub/.DS_Store", ".hypothesis/examples/1", ".sol/runs.db",
    ), "junk"))  # fmt: skip
    assert await spaces.keep("0.1", message="junk") == base
    write(place, {"real.py": "1"})
    assert set(area.snapshot(await spaces.keep("0.1", message="real"))) == {*START, "real.py"}


async def test_byproducts_that_are_followed_are_taken(tmp_path: Path, own_home: None) -> None:
    area = make_area("worktree", tmp_path, {"__pycache__/data": "old"})
    spaces = area.spaces()
    place = await spaces.place("0", base=await spaces.begin())
    write(place, {"__pycache__/data": "new"})
    assert area.snapshot(await spaces.keep("0", message="m")) == {"__pycache__/data": "new"}


async def test_ignored_files_stay_out_of_worktrees_and_come_with_copies(tmp_path: Path, own_home: None) -> None:
    for kind in ("worktree", "copy"):
        area = make_area(kind, tmp_path / kind, {".gitignore": "*.log\n", "a": "a"})
        write(area.workspace, {"old.log": "old"})
        spaces = area.spaces()
        place = await spaces.place("0", base=await spaces.begin())
        write(place, {"new.log": "new", "b": "b"})
        expected = {".gitignore", "a", "b"} | ({"old.log", "new.log"} if kind == "copy" else set())
        assert set(area.snapshot(await spaces.keep("0", message="m"))) == expected


ODD = {
    "-rf": "dash", "two words": "space", "ünï/文件": "text", "line\nfeed": "lf", "tab\tquote\"'": "q",
    ":(top)x": "magic", "*": "star", "a\\b": "back", "..data": "dots",
}  # fmt: skip


async def test_odd_file_names_are_files_like_others(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0", base=base)
    write(place, ODD)
    raw = os.fsdecode(b"latin-\xe9")
    (place / raw).write_text("raw")
    kept = await spaces.keep("0", message="-m --amend")
    assert area.snapshot(kept) == {**area.snapshot(base), **ODD, raw: "raw"}
    landed = await spaces.land(kept, base=base)
    assert landed.landed
    assert set(landed.changed) == {*ODD, "latin-\\xe9"}
    assert read(area.workspace)["-rf"] == "dash"
    assert (area.workspace / raw).read_text() == "raw"


async def test_modes_and_links_are_kept(area: Area, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("secret")
    spaces = area.spaces()
    place = await spaces.place("0", base=(base := await spaces.begin()))
    (place / "b.txt").chmod(0o755)
    (place / "in").symlink_to("sub")
    (place / "out").symlink_to(outside)
    (place / "nowhere").symlink_to("missing")
    kept = await spaces.keep("0", message="m")
    again = await spaces.place("1", base=kept)
    expected = {"b.txt": "x bee\n", "in": "-> sub", "out": f"-> {outside}", "nowhere": "-> missing"}
    assert read(again) == {**START, **expected}
    assert (await spaces.land(kept, base=base)).landed
    assert read(area.workspace) == {**START, **expected}
    assert outside.read_text() == "secret"


async def test_dropped_place_is_gone_and_its_work_is_not(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0", base=base)
    write(place, {"x": "1"})
    kept = await spaces.keep("0", message="m")
    write(place, {"y": "2", "locked/z": "3"})
    (place / "locked").chmod(0o500)
    await spaces.drop("0")
    await spaces.drop("0")
    assert not place.exists()
    rest = area.branches()["0"]
    assert git(area.repository(), "rev-parse", f"{rest}^") == kept
    assert set(area.snapshot(rest)) == {*START, "x", "y", "locked/z"}
    anew = await spaces.place("0", base=base)
    assert read(anew) == dict(START)
    assert area.branches() == {"0": base, "0+1": rest}


async def test_place_whose_directory_was_removed_is_made_anew(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0", base=base)
    write(place, {"x": "1"})
    git(place, "add", "x")
    git(place, "-c", "user.name=W", "-c", "user.email=w@x", "commit", "--quiet", "--message", "own")
    git(place, "checkout", "--quiet", "--detach")
    write(place, {"y": "1"})
    git(place, "add", "y")
    git(place, "-c", "user.name=W", "-c", "user.email=w@x", "commit", "--quiet", "--message", "detached")
    own = git(place, "rev-parse", "HEAD")
    place.rename(place.parent.parent / "elsewhere")
    with pytest.raises(WorkspaceError, match="no place '0'"):
        await spaces.keep("0", message="m")
    assert read(await spaces.place("0", base=base)) == dict(START)
    assert area.branches() == {"0": base, "0+1": own}


async def test_directory_that_git_does_not_know_is_moved_aside(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    write(area.home / "worktrees" / "run-1", {"0/precious": "work", "0+1/older": "work"})
    place = await spaces.place("0", base=base)
    assert read(place) == dict(START)
    assert (place.parent / "0+2" / "precious").read_text() == "work"
    kept = await spaces.finish(result=base)
    assert [(one.name, one.snapshot) for one in kept] == [("0+1", ""), ("0+2", "")]


@pytest.mark.parametrize("name", ["", "a/b", "../x", ".git", "-x", "a..b", "x.lock", "x.", "result", "a b", "a\n", "é"])
async def test_name_that_cannot_be_one_is_refused(area: Area, name: str) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    with pytest.raises(WorkspaceError, match="cannot name a place or run"):
        await spaces.place(name, base=base)
    with pytest.raises(WorkspaceError, match="cannot name a place or run"):
        area.spaces(name)


@pytest.mark.parametrize("base", ["", "--help", "HEAD", "main", "0" * 40])
async def test_snapshot_that_is_none_is_refused(area: Area, base: str) -> None:
    spaces = area.spaces()
    await spaces.begin()
    with pytest.raises(WorkspaceError) as caught:
        await spaces.place("0", base=base)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(WorkspaceError):
        await spaces.keep("0", message="m")

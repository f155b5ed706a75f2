"""Merges: parts in order, the first that does not fit told with both sides, settled by somebody, concluded."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from luna.workspaces import ConflictFile, Merge, Side, WorkspaceError
from tests.support.gitspaces import START, Area, Spaces, area, git, own_home, read, write

__all__ = ["area", "own_home"]

LINES = str(START["a.txt"]).splitlines()


def with_line(number: int, text: str) -> str:
    return "".join(f"{text if n == number else line}\n" for n, line in enumerate(LINES, 1))


async def kept(workspaces: Spaces, base: str, name: str, change: Callable[[Path], object] | Mapping[str, str]) -> Side:
    """A part that makes a change."""
    checkout = await workspaces.checkout(name, base=base)
    if callable(change):
        change(checkout)
    else:
        write(checkout, change)
    return Side(name, await workspaces.keep(name, message=f"Part {name}"))


async def test_parts_that_fit_are_all_in_it(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    sides = [
        await kept(workspaces, base, "0", {"a.txt": with_line(1, "ONE")}),
        await kept(workspaces, base, "1", {"a.txt": with_line(5, "FIVE"), "new": "n"}),
        await kept(workspaces, base, "2", lambda checkout: (checkout / "b.txt").unlink()),
        await kept(workspaces, base, "3", lambda checkout: None),
    ]
    assert sides[3].snapshot == base
    merge = await workspaces.merge("root", base=base, sides=sides, message="Integrate")
    assert merge == Merge(merge.snapshot, ("0", "1", "2", "3"))
    expected = {"a.txt": "ONE\ntwo\nthree\nfour\nFIVE\n", "new": "n", "sub/c.txt": "sea\n"}
    assert read(await workspaces.checkout("root", base=base)) == expected
    assert area.branches()["root"] == merge.snapshot
    repository = area.repository()
    for side in sides:
        git(repository, "merge-base", "--is-ancestor", side.snapshot, merge.snapshot)
    assert "Part: 1" in git(repository, "log", "--format=%B", merge.snapshot)


async def test_only_part_needs_no_merge_commit(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    side = await kept(workspaces, base, "0", {"x": "1"})
    assert await workspaces.merge("root", base=base, sides=[side], message="m") == Merge(side.snapshot, ("0",))
    assert await workspaces.merge("none", base=base, sides=[], message="m") == Merge(base, ())


async def test_same_merge_gives_the_same_snapshot(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    sides = [await kept(workspaces, base, name, {name: name}) for name in "012"]
    first = await workspaces.merge("root", base=base, sides=sides, message="m")
    again = await area.workspaces().merge("root", base=base, sides=sides, message="m")
    elsewhere = await workspaces.merge("other", base=base, sides=sides, message="m")
    assert first == again == elsewhere
    assert set(area.branches()) == {"0", "1", "2", "root", "other"}


async def test_conflict_is_told_with_both_sides(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    sides = [
        await kept(workspaces, base, "0", {"x": "x"}),
        await kept(workspaces, base, "1", {"a.txt": with_line(3, "TROIS")}),
        await kept(workspaces, base, "2", {"a.txt": with_line(3, "DREI"), "b.txt": "fits"}),
        await kept(workspaces, base, "3", {"y": "y"}),
    ]
    merge = await workspaces.merge("root", base=base, sides=sides, message="m")
    assert merge.merged == ("0", "1")
    assert set(area.snapshot(merge.snapshot)) == {*START, "x"}
    assert merge.conflict is not None
    assert merge.conflict.side == sides[2]
    told = ConflictFile("a.txt", str(START["a.txt"]), with_line(3, "TROIS"), with_line(3, "DREI"))
    assert merge.conflict.files == (told,)
    checkout = await workspaces.checkout("root", base=base)
    text = read(checkout)["a.txt"].splitlines()
    marks = [line[:7] for line in text if line[:7] in {"<" * 7, "|" * 7, "=" * 7, ">" * 7}]
    assert marks == ["<<<<<<<", "|||||||", "=======", ">>>>>>>"]
    assert read(checkout)["b.txt"] == "fits"
    assert git(checkout, "diff", "--name-only", "--diff-filter=U") == "a.txt"


async def conflicting(workspaces: Spaces, ours: str = "TROIS", theirs: str = "DREI") -> tuple[str, Path, Merge]:
    base = await workspaces.begin()
    sides = [
        await kept(workspaces, base, "0", {"a.txt": with_line(3, ours)}),
        await kept(workspaces, base, "1", {"a.txt": with_line(3, theirs), "x": "x"}),
    ]
    merge = await workspaces.merge("root", base=base, sides=sides, message="m")
    return base, await workspaces.checkout("root", base=base), merge


async def test_settled_conflict_has_both_parents(area: Area) -> None:
    workspaces = area.workspaces()
    _, checkout, merge = await conflicting(workspaces)
    assert await workspaces.resolve("root", message="r") == ("a.txt",)
    left = read(checkout)["a.txt"].replace("<<<<<<< HEAD\n", "").replace("=======\n", "")
    write(checkout, {"a.txt": left})
    assert await workspaces.resolve("root", message="r") == ("a.txt",)
    write(checkout, {"a.txt": with_line(3, "TROIS DREI"), "helper": "new"})
    settled = await area.workspaces().resolve("root", message="Both")
    assert isinstance(settled, str)
    assert merge.conflict is not None
    parents = git(area.repository(), "rev-parse", f"{settled}^@").split()
    assert parents == [merge.snapshot, merge.conflict.side.snapshot]
    assert area.snapshot(settled) == {
        "a.txt": with_line(3, "TROIS DREI").strip(), "b.txt": "bee", "sub/c.txt": "sea", "x": "x", "helper": "new",
    }  # fmt: skip
    assert area.branches()["root"] == settled
    assert git(checkout, "status", "--porcelain") == ""
    assert await workspaces.resolve("root", message="Both") == settled


async def test_settling_may_delete_the_file(area: Area) -> None:
    workspaces = area.workspaces()
    _, checkout, _ = await conflicting(workspaces)
    (checkout / "a.txt").unlink()
    settled = await workspaces.resolve("root", message="r")
    assert isinstance(settled, str)
    assert set(area.snapshot(settled)) == {"b.txt", "sub/c.txt", "x"}


async def test_worker_may_conclude_the_merge_itself(area: Area) -> None:
    workspaces = area.workspaces()
    _, checkout, merge = await conflicting(workspaces)
    write(checkout, {"a.txt": "both\n"})
    git(checkout, "add", "a.txt")
    git(checkout, "-c", "user.name=W", "-c", "user.email=w@x", "commit", "--quiet", "--message", "by hand")
    own = git(checkout, "rev-parse", "HEAD")
    assert await workspaces.resolve("root", message="r") == own
    assert git(area.repository(), "rev-parse", f"{own}^") == merge.snapshot


async def test_merge_that_a_worker_gave_up_is_begun_again(area: Area) -> None:
    workspaces = area.workspaces()
    _, checkout, _ = await conflicting(workspaces)
    git(checkout, "merge", "--abort")
    assert await workspaces.resolve("root", message="r") == ("a.txt",)
    assert "<<<<<<<" in read(checkout)["a.txt"]
    git(checkout, "reset", "--quiet", "--hard")
    write(checkout, {"a.txt": "own\n"})
    assert await workspaces.resolve("root", message="r") == ("a.txt",)
    assert read(checkout)["a.txt"] == "own\n"


async def test_headings_and_quoted_markers_are_no_conflict(area: Area) -> None:
    """Seven signs are a heading in some formats, and a text about git shows markers."""
    about = "<<<<<<< ours\n=======\n>>>>>>> theirs\n"
    workspaces = area.workspaces()
    checkout = await workspaces.checkout("start", base=await workspaces.begin())
    write(checkout, {"doc": f"{about}Title\n=======\nmiddle\nend\n"})
    base = await workspaces.keep("start", message="m")
    sides = [
        await kept(workspaces, base, "0", {"doc": f"{about}Title\n=======\nMIDDLE\nChapter\n=======\nend\n"}),
        await kept(workspaces, base, "1", {"doc": f"{about}Title\n=======\nMitte\nKapitel\n=======\nend\n"}),
    ]
    assert (await workspaces.merge("root", base=base, sides=sides, message="m")).conflict is not None
    assert await workspaces.resolve("root", message="r") == ("doc",)
    checkout = await workspaces.checkout("root", base=base)
    both = "Title\n=======\nMIDDLE Mitte\nChapter\n=======\nKapitel\n=======\nend\n>>>>>>>> eight\n"
    write(checkout, {"doc": about + both})
    assert isinstance(await workspaces.resolve("root", message="r"), str)


async def test_markers_that_an_attribute_made_longer_are_found(area: Area) -> None:
    workspaces = area.workspaces()
    longer = {".gitattributes": "*.txt conflict-marker-size=32\n"}
    base = (await kept(workspaces, await workspaces.begin(), "before", longer)).snapshot
    sides = [await kept(workspaces, base, name, {"b.txt": f"{name}\n"}) for name in ("0", "1")]
    await workspaces.merge("root", base=base, sides=sides, message="m")
    checkout = await workspaces.checkout("root", base=base)
    whole = (checkout / "b.txt").read_text()
    assert whole.startswith("<" * 32)
    assert await workspaces.resolve("root", message="r") == ("b.txt",)
    write(checkout, {"b.txt": "\n".join(whole.splitlines()[:-1])})
    assert await workspaces.resolve("root", message="r") == ("b.txt",)
    write(checkout, {"b.txt": "both\n"})
    assert isinstance(await workspaces.resolve("root", message="r"), str)


async def test_markers_in_a_file_that_both_have_moved_are_found(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    text = str(START["a.txt"])
    sides = []
    for name in ("left", "right"):
        (await workspaces.checkout(name, base=base) / "a.txt").unlink()
        sides.append(await kept(workspaces, base, name, {f"{name}.txt": text.replace("three", name)}))
    merge = await workspaces.merge("root", base=base, sides=sides, message="m")
    assert merge.conflict is not None
    assert [file.path for file in merge.conflict.files] == ["a.txt", "left.txt", "right.txt"]
    assert await workspaces.resolve("root", message="r") == ("left.txt", "right.txt")
    checkout = await workspaces.checkout("root", base=base)
    whole = (checkout / "left.txt").read_text()
    (checkout / "right.txt").unlink()
    write(checkout, {"left.txt": "\n".join(line for line in whole.splitlines() if not line.startswith(">"))})
    assert await workspaces.resolve("root", message="r") == ("left.txt",)
    write(checkout, {"left.txt": text})
    settled = await workspaces.resolve("root", message="r")
    assert isinstance(settled, str)
    assert set(area.snapshot(settled)) == {"left.txt", "b.txt", "sub/c.txt"}


async def test_conflict_in_a_file_whose_name_is_no_text_can_be_settled(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    raw = os.fsdecode(b"latin-\xe9")
    sides = [await kept(workspaces, base, name, {raw: f"{name}\n"}) for name in ("0", "1")]
    merge = await workspaces.merge("root", base=base, sides=sides, message="m")
    assert merge.conflict is not None
    assert [file.path for file in merge.conflict.files] == ["latin-\\xe9"]
    assert await area.workspaces().resolve("root", message="r") == ("latin-\\xe9",)
    write(await workspaces.checkout("root", base=base), {raw: "both\n"})
    assert isinstance(await area.workspaces().resolve("root", message="r"), str)


async def test_resolve_needs_a_conflict(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    await workspaces.merge("root", base=base, sides=[], message="m")
    with pytest.raises(WorkspaceError, match="had no conflict"):
        await workspaces.resolve("root", message="r")


def rename(checkout: Path) -> None:
    (checkout / "b.txt").rename(checkout / "renamed.txt")


def into_directory(checkout: Path) -> None:
    (checkout / "b.txt").unlink()
    write(checkout, {"b.txt/inner": "i"})


def link(checkout: Path) -> None:
    (checkout / "b.txt").unlink()
    (checkout / "b.txt").symlink_to("a.txt")


def delete(checkout: Path) -> None:
    (checkout / "b.txt").unlink()


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        ({"b.txt": "1\n"}, delete, ConflictFile("b.txt", "bee\n", "1\n", None)),
        (delete, {"b.txt": "1\n"}, ConflictFile("b.txt", "bee\n", None, "1\n")),
        ({"new": "1\n"}, {"new": "2\n"}, ConflictFile("new", None, "1\n", "2\n")),
        (rename, delete, ConflictFile("renamed.txt", "bee\n", "bee\n", None)),
        (link, {"b.txt": "1\n"}, None),
        ({"b.txt": "1\n"}, into_directory, None),
        (into_directory, {"b.txt": "1\n"}, None),
        ({"new": "f"}, {"new/inner": "d"}, None),
        ({"new": "\0one"}, {"new": "\0two"}, ConflictFile("new", None, None, None)),
        ({"new": "1" * 65_537}, {"new": "2" * 65_536}, ConflictFile("new", None, None, "2" * 65_536)),
    ],
    ids=(
        "changed-deleted deleted-changed both-new renamed-deleted link-file file-dir dir-file new-file-dir binary large"
    ).split(),
)
async def test_conflict_of_any_kind_keeps_both_sides(
    area: Area,
    ours: Callable[[Path], object] | Mapping[str, str],
    theirs: Callable[[Path], object] | Mapping[str, str],
    told: ConflictFile | None,
) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    sides = [await kept(workspaces, base, "0", ours), await kept(workspaces, base, "1", theirs)]
    merge = await workspaces.merge("root", base=base, sides=sides, message="m")
    assert merge.merged == ("0",)
    assert merge.snapshot == sides[0].snapshot
    assert merge.conflict is not None
    if told is not None:
        assert merge.conflict.files == (told,)
    else:
        assert merge.conflict.files
    checkout = await workspaces.checkout("root", base=base)
    for path in [*checkout.rglob("b.txt*"), *checkout.rglob("new*")]:
        if path.is_file() and not path.is_symlink() and b"<<<<<<<" in path.read_bytes():
            path.write_text("settled")
    settled = await workspaces.resolve("root", message="r")
    assert isinstance(settled, str)
    assert git(area.repository(), "rev-parse", f"{settled}^@").split() == [side.snapshot for side in sides]
    assert git(checkout, "status", "--porcelain") == ""


async def test_changes_of_mode_and_content_fit(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    sides = [
        await kept(workspaces, base, "0", lambda checkout: (checkout / "b.txt").chmod(0o755)),
        await kept(workspaces, base, "1", {"b.txt": "bee 2\n"}),
    ]
    merge = await workspaces.merge("root", base=base, sides=sides, message="m")
    assert merge.conflict is None
    assert read(await workspaces.checkout("root", base=base))["b.txt"] == "x bee 2\n"


async def test_file_moved_by_one_and_changed_by_the_other_has_both(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    sides = [
        await kept(workspaces, base, "0", lambda checkout: (checkout / "a.txt").rename(checkout / "moved.txt")),
        await kept(workspaces, base, "1", {"a.txt": with_line(5, "FIVE")}),
    ]
    merge = await workspaces.merge("root", base=base, sides=sides, message="m")
    assert merge.conflict is None
    assert area.snapshot(merge.snapshot)["moved.txt"] == with_line(5, "FIVE").strip()


async def test_conflict_is_named_as_the_workspace_names_it(tmp_path: Path, area: Area) -> None:
    inner = Area(area.kind, area.workspace / "sub", area.home)
    workspaces = inner.workspaces()
    base = await workspaces.begin()
    sides = [await kept(workspaces, base, name, {"c.txt": name}) for name in "01"]
    merge = await workspaces.merge("root", base=base, sides=sides, message="m")
    assert merge.conflict is not None
    assert [file.path for file in merge.conflict.files] == ["c.txt"]
    assert await workspaces.resolve("root", message="r") == ("c.txt",)


async def test_merge_made_anew_keeps_unfinished_work(area: Area) -> None:
    workspaces = area.workspaces()
    base, checkout, merge = await conflicting(workspaces)
    sides = [Side(name, area.branches()[name]) for name in "01"]
    assert await workspaces.merge("root", base=base, sides=sides, message="m") == merge
    assert set(area.branches()) == {"0", "1", "root"}  # nobody has touched it: nothing to keep
    write(checkout, {"a.txt": "half settled\n"})
    assert await workspaces.merge("root", base=base, sides=sides, message="m") == merge
    assert area.snapshot(area.branches()["root+1"])["a.txt"] == "half settled"
    assert "<<<<<<<" in read(checkout)["a.txt"]
    write(checkout, {"a.txt": "settled\n"})
    settled = await workspaces.resolve("root", message="r")
    assert await workspaces.merge("root", base=base, sides=sides, message="m") == merge
    assert area.branches()["root+2"] == settled


async def test_user_settings_for_merges_do_not_matter(area: Area) -> None:
    settings = (
        "[merge]\nff = false\nconflictStyle = merge\nautoStash = true\n[rerere]\nenabled = true\nautoupdate = true\n"
    )
    with (area.workspace.parent / "home" / ".gitconfig").open("a") as file:
        file.write(f"{settings}[commit]\ngpgSign = true\n[core]\neditor = false\n")
    workspaces = area.workspaces()
    for attempt in range(2):
        _, checkout, merge = await conflicting(area.workspaces(), theirs=f"DREI {attempt}")
        assert merge.conflict is not None
        assert "|||||||" in read(checkout)["a.txt"]
        write(checkout, {"a.txt": "both\n"})
        assert isinstance(await workspaces.resolve("root", message="r"), str)
        for name in ("0", "1", "root"):
            await workspaces.drop(name)


async def test_merge_that_git_refuses_is_said(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    with pytest.raises(WorkspaceError, match="cannot be compared"):
        await workspaces.merge("root", base=base, sides=[Side("0", "1" * 40)], message="m")
    assert read(await workspaces.checkout("root", base=base)) == dict(START)

"""What is known of commits without asking git, and that it is what git says."""

import asyncio
from pathlib import Path

import pytest

from luna.process.execute import run_process
from luna.workspaces import checkouts
from luna.workspaces import git as git_module
from luna.workspaces.git import fields
from luna.workspaces.history import Commit, History, tree_of
from tests.support.gitspaces import BOTH, Area, Kind, git, make_repository, read, write


def known(**parents: str | None) -> History:
    """A history in which each commit has these parents, each a letter; None: not known."""
    history = History()
    for name, above in parents.items():
        history.note(name, Commit(f"tree-{name}", 0, None if above is None else tuple(above)))
    return history


def test_history_tells_what_is_contained_when_all_is_known() -> None:
    history = known(a="", b="a", c="a", d="bc")
    assert history.contains("d", "a")
    assert history.contains("d", "c")
    assert history.contains("d", "d")
    assert history.contains("b", "c") is False
    assert history.contains("b", "x") is False


def test_history_does_not_guess() -> None:
    history = known(a=None, b="a", c="x")
    assert history.contains("b", "a") is True
    assert history.contains("a", "b") is False  # or they would be in each other's
    assert history.contains("b", "c") is None
    assert history.contains("c", "a") is None
    assert history.contains("y", "z") is None
    assert history.contains("y", "y") is True


def test_trees_of_known_commits_are_there() -> None:
    history = known(a="")
    assert history.has_tree("tree-a")
    assert not history.has_tree("")


@pytest.mark.parametrize("algorithm", ["sha1", "sha256"])
def test_tree_is_named_as_git_names_it(tmp_path: Path, algorithm: str) -> None:
    git(tmp_path, "init", "--quiet", f"--object-format={algorithm}")
    names = ("a", "a-b", "a.txt", "a/b" + "x", "ab/c/d", "ab.c", "é/ü", "tab\there", "z/z/z/z")
    write(tmp_path, {name: name for name in names if name != "a"})
    (tmp_path / "z" / "run").write_text("#!/bin/sh\n")
    (tmp_path / "z" / "run").chmod(0o755)
    (tmp_path / "link").symlink_to("a.txt")
    git(tmp_path, "add", "--all")
    entries = fields(git(tmp_path, "ls-files", "-z", "--stage").encode("utf-8", "surrogateescape"))
    assert len(entries) == len(names) + 1
    assert tree_of(entries) == git(tmp_path, "write-tree")


def test_impossible_index_has_no_tree() -> None:
    blob = b"0" * 40
    assert tree_of([]) == ""
    assert tree_of([b"100644 %b 0\ta" % blob, b"100644 %b 0\ta/b" % blob]) == ""


def _area(kind: Kind, directory: Path) -> Area:
    workspace = make_repository(directory / "workspace")
    return Area(kind, workspace, directory / "home")


@pytest.mark.parametrize("kind", BOTH)
async def test_many_places_are_made_at_the_same_time(kind: Kind, tmp_path: Path) -> None:
    area = _area(kind, tmp_path)
    workspaces = area.workspaces()
    base = await workspaces.begin()
    made = await asyncio.gather(*(workspaces.checkout(f"p{number}", base=base) for number in range(12)))
    assert len(set(made)) == 12
    for checkout in made:
        assert read(checkout) == read(area.workspace)
    await asyncio.gather(*(workspaces.drop(f"p{number}") for number in range(12)))
    assert await workspaces.finish(result=None) == ()


@pytest.mark.parametrize("kind", BOTH)
async def test_files_of_a_large_place_are_read_once(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkouts, "_MANY_FILES", 1)
    workspaces = _area(kind, tmp_path).workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("p", base=base)
    admin = Path((checkout / ".git").read_text().removeprefix("gitdir: ").strip())
    # With dates that the index does not know they would be listed here.
    assert git(checkout, f"--git-dir={admin}", "diff-files", "--name-only") == ""
    assert await workspaces.keep("p", message="nothing") == base


@pytest.mark.parametrize("kind", BOTH)
async def test_place_that_is_made_kept_and_dropped_takes_few_commands(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspaces = _area(kind, tmp_path).workspaces()
    base = await workspaces.begin()
    await workspaces.checkout("first", base=base)  # what is found out once
    count = 0

    async def counted(*words: object, **options: object) -> object:
        nonlocal count
        count += 1
        return await run_process(*words, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(git_module, "run_process", counted)
    checkout = await workspaces.checkout("second", base=base)
    assert count == 2
    (checkout / "new.txt").write_text("new\n")
    snapshot = await workspaces.keep("second", message="new")
    assert count <= 7
    await workspaces.drop("second")
    assert count <= 8
    assert snapshot != base

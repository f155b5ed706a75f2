"""What a run needs to begin in isolation: everything else is refused with the reason and what to do."""

import os
from pathlib import Path
from typing import Any

import pytest

from luna.process.execute import ProcessRegistry
from luna.workspaces import IsolationMode, WorkspaceError
from luna.workspaces.copy import CopyWorkspaces
from luna.workspaces.opening import open_workspaces
from luna.workspaces.worktree import WorktreeWorkspaces
from tests.support.gitspaces import START, Area, area, commit, git, make_area, make_repository, own_home, read, write

__all__ = ["area", "own_home"]


@pytest.fixture
def tree(tmp_path: Path, own_home: None) -> Area:
    """A repository."""
    return make_area("worktree", tmp_path)


async def refusal(area: Area, run: str = "run-1") -> str:
    with pytest.raises(WorkspaceError) as caught:
        await area.workspaces(run).begin()
    return str(caught.value)


async def test_begin_gives_the_head_and_changes_no_file(tree: Area) -> None:
    write(tree.workspace, {".gitignore": "*.log\n"})
    head = commit(tree.workspace, "ignore")
    write(tree.workspace, {"x.log": "ignored", "__pycache__/x.pyc": "byproduct", ".sol/runs.db": "Sol's own"})
    assert await tree.workspaces().begin() == head
    assert await tree.workspaces().begin() == head
    assert git(tree.workspace, "status", "--porcelain") == "?? .sol/\n?? __pycache__/"


async def test_begin_leaves_places_out_of_the_users_status(tree: Area) -> None:
    workspaces = tree.workspaces()
    await workspaces.checkout("0", base=await workspaces.begin())
    assert git(tree.workspace, "status", "--porcelain") == ""
    assert git(tree.workspace, "add", "--all", "--dry-run") == ""


async def test_workspace_may_be_a_directory_of_a_repository(tree: Area) -> None:
    sub = Area("worktree", tree.workspace / "sub", tree.workspace / "sub" / ".sol")
    workspaces = sub.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    assert checkout == sub.home / "worktrees" / "run-1" / "0" / "sub"
    assert read(checkout) == {"c.txt": "sea\n"}
    write(checkout, {"c.txt": "see\n", "../d.txt": "dee\n"})
    kept = await workspaces.keep("0", message="m")
    assert (await workspaces.apply(kept, base=base)).changed == ("../d.txt", "c.txt")
    assert read(tree.workspace) == {**START, "sub/c.txt": "see\n", "d.txt": "dee\n"}
    assert await workspaces.finish(result=kept) == ()


async def test_workspace_may_be_an_empty_directory_of_a_repository(tree: Area) -> None:
    (tree.workspace / "empty").mkdir()
    workspaces = WorktreeWorkspaces(tree.workspace / "empty", run="r", home=tree.home)
    checkout = await workspaces.checkout("0", base=await workspaces.begin())
    assert checkout.name == "empty"
    assert list(checkout.iterdir()) == []


async def test_workspace_may_be_a_worktree_itself(tree: Area, tmp_path: Path) -> None:
    git(tree.workspace, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
    workspaces = WorktreeWorkspaces(tmp_path / "linked", run="r", home=tmp_path / "linked" / ".sol")
    base = await workspaces.begin()
    write(await workspaces.checkout("0", base=base), {"x": "1"})
    kept = await workspaces.keep("0", message="m")
    assert (await workspaces.apply(kept, base=base)).applied
    assert git(tree.workspace, "rev-parse", "other") == kept
    assert git(tree.workspace, "rev-parse", "main") == base


async def test_directory_without_repository_is_refused(tmp_path: Path, own_home: None) -> None:
    area = Area("worktree", tmp_path, tmp_path / ".sol")
    assert "is in no git repository" in (said := await refusal(area))
    assert "git init" in said
    assert "isolation 'copy'" in said


async def test_missing_workspace_is_refused(tmp_path: Path, own_home: None) -> None:
    for kind in ("worktree", "copy"):
        assert "missing or no directory" in await refusal(Area(kind, tmp_path / "none", tmp_path / ".sol"))


async def test_bare_repository_is_refused(tmp_path: Path, own_home: None) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "bare")
    assert "is a bare repository" in await refusal(Area("worktree", tmp_path / "bare", tmp_path / ".sol"))


async def test_inside_of_a_repository_is_refused(tree: Area) -> None:
    inside = tree.workspace / ".git" / "objects"
    assert "inside of a repository's own files" in await refusal(Area("worktree", inside, tree.home))


async def test_repository_without_commit_is_refused(tmp_path: Path, own_home: None) -> None:
    git(tmp_path, "init", "--quiet", "new")
    assert "has no commit yet" in await refusal(Area("worktree", tmp_path / "new", tmp_path / ".sol"))


async def test_uncommitted_changes_are_refused_with_the_first_few(tree: Area) -> None:
    write(tree.workspace, {"a.txt": "changed", **{f"new {n}": "" for n in range(9)}})
    (tree.workspace / "b.txt").unlink()
    git(tree.workspace, "add", "new 8")
    said = await refusal(tree)
    assert "changes that are not committed: 'a.txt', 'b.txt', 'new 8', 'new 0', 'new 1' and 6 more" in said
    assert "commit, stash or ignore them" in said
    assert git(tree.workspace, "for-each-ref", "refs/sol") == ""


@pytest.mark.parametrize("what", ["merge", "rebase", "cherry-pick", "revert"])
async def test_repository_in_the_middle_of_something_is_refused(tree: Area, what: str) -> None:
    git(tree.workspace, "checkout", "--quiet", "-b", "other")
    write(tree.workspace, {"a.txt": "other\n"})
    other = commit(tree.workspace, "other")
    git(tree.workspace, "checkout", "--quiet", "main")
    write(tree.workspace, {"a.txt": "main\n"})
    commit(tree.workspace, "main")
    with pytest.raises(AssertionError, match=what):
        git(tree.workspace, what, *(["--no-edit"] if what == "revert" else []), other)
    assert f"in the middle of a {what}" in await refusal(tree)


async def test_submodules_are_refused(tree: Area, tmp_path: Path) -> None:
    make_repository(tmp_path / "module")
    git(
        tree.workspace, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "module"), "m"
    )
    commit(tree.workspace, "with a submodule")
    assert "has submodules ('m')" in await refusal(tree)
    git(tree.workspace, "rm", "--quiet", "-r", "--force", "m")
    write(tree.workspace, {".gitmodules": ""})
    commit(tree.workspace, "only its file")
    assert "has submodules ('.gitmodules')" in await refusal(tree)


async def test_ignored_workspace_is_refused(tree: Area) -> None:
    write(tree.workspace, {".gitignore": "build/\n", "build/x": "x"})
    commit(tree.workspace, "ignore")
    said = await refusal(Area("worktree", tree.workspace / "build", tree.home))
    assert "is ignored by the repository" in said


@pytest.mark.parametrize("name", ["sol", "sol/run-1"])
async def test_branch_in_the_way_is_refused(tree: Area, name: str) -> None:
    git(tree.workspace, "branch", name)
    assert f"Branch '{name}' is in the way" in await refusal(tree)


def fake_git(directory: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    directory.mkdir()
    (directory / "git").write_text(f"#!/bin/sh\n{text}\n")
    (directory / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(directory))


async def test_missing_git_is_said(area: Area, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert "there is no such program" in await refusal(area)


@pytest.mark.parametrize("said", ["git version 2.33.1", "git version 1.9", "something else"])
async def test_old_git_is_refused(area: Area, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str) -> None:
    fake_git(tmp_path / "bin", f"echo '{said}'", monkeypatch)
    assert f"need git 2.34 or later, this one is '{said}'" in await refusal(area)


async def test_git_that_is_killed_is_said(area: Area, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_git(tmp_path / "bin", "kill -9 $$", monkeypatch)
    assert "did not run to its end (killed)" in await refusal(area)


async def test_copy_needs_a_begin(tmp_path: Path, own_home: None) -> None:
    area = make_area("copy", tmp_path)
    with pytest.raises(WorkspaceError, match="has no copy below"):
        await area.workspaces().checkout("0", base="0" * 40)
    assert read(area.workspace) == dict(START)


async def test_copy_has_everything_but_git_home_and_byproducts(tmp_path: Path, own_home: None) -> None:
    area = Area("copy", tmp_path / "w", tmp_path / "w" / ".sol")
    make_repository(area.workspace, {"a": "a", ".gitignore": "*.log\n"})
    make_repository(area.workspace / "vendor", {"v": "v"})
    write(area.workspace, {"a": "changed", "new": "new", "x.log": "log", "__pycache__/x": "1", ".sol/runs.db": "db"})
    os.mkfifo(area.workspace / "pipe")
    (area.workspace / "link").symlink_to("vendor")
    (area.workspace / "empty").mkdir()
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    expected = {"a": "changed", ".gitignore": "*.log\n", "new": "new", "x.log": "log", "vendor/v": "v"}
    assert read(checkout) == {**expected, "link": "-> vendor"}
    assert await workspaces.begin() == base
    assert await workspaces.keep("0", message="m") == base


async def test_copy_is_byte_for_byte_whatever_attributes_say(tmp_path: Path, own_home: None) -> None:
    files = {
        ".gitattributes": "*.txt text eol=crlf\n*.id ident\n*.f filter=lfs\n*.u text working-tree-encoding=UTF-16\n",
        "lf.txt": "a\nb\n", "crlf.txt": "a\r\nb\r\n", "x.id": "$Id$\n", "x.f": "plain", "x.u": "no utf-16",
    }  # fmt: skip
    area = make_area("copy", tmp_path, files)
    Path(os.environ["HOME"], ".gitconfig").write_text(
        "[core]\n autocrlf = true\n safecrlf = true\n"
        '[filter "lfs"]\n clean = false\n smudge = false\n required = true\n'
    )
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    assert read(checkout) == files
    write(checkout, {"crlf.txt": "b\r\nc\r\n"})
    kept = await workspaces.keep("0", message="m")
    assert (await workspaces.apply(kept, base=base)).changed == ("crlf.txt",)
    assert read(area.workspace) == {**files, "crlf.txt": "b\r\nc\r\n"}


@pytest.mark.parametrize("limit", [{"max_files": 2}, {"max_bytes": 20}])
async def test_too_large_a_copy_is_refused(tmp_path: Path, own_home: None, limit: dict[str, Any]) -> None:
    area = make_area("copy", tmp_path)
    workspaces = CopyWorkspaces(area.workspace, run="r", home=area.home, **limit)
    with pytest.raises(WorkspaceError, match="is too large to copy"):
        await workspaces.begin()


def test_factory_knows_the_isolations(tmp_path: Path) -> None:
    def opened(isolation: IsolationMode) -> object:
        return open_workspaces(isolation, tmp_path, run="r", home=tmp_path / ".sol")

    assert isinstance(opened("worktree"), WorktreeWorkspaces)
    assert isinstance(opened("copy"), CopyWorkspaces)
    assert list(tmp_path.iterdir()) == []


async def test_commands_are_recorded_where_told(area: Area, tmp_path: Path) -> None:
    registry = ProcessRegistry(tmp_path / "processes")
    workspaces = open_workspaces("copy", area.workspace, run="r", home=area.home, registry=registry)
    assert workspaces is not None
    base = await workspaces.begin()
    assert [path.name for path in registry.directory.iterdir()] == ["git-r"]
    assert await workspaces.finish(result=base) == ()
    assert list(registry.directory.iterdir()) == []

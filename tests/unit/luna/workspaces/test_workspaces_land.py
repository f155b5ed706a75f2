"""Landing: the result comes into the workspace, or nothing does and it is said where it is."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from luna.workspaces import WorkspaceError
from luna.workspaces.files import read_file
from tests.support.gitspaces import START, Area, Spaces, area, commit, git, make_area, own_home, read, write

__all__ = ["area", "own_home"]


@pytest.fixture
def copy(tmp_path: Path, own_home: None) -> Area:
    """A directory that is copied."""
    return make_area("copy", tmp_path)


@pytest.fixture
def tree(tmp_path: Path, own_home: None) -> Area:
    """A repository."""
    return make_area("worktree", tmp_path)


async def result(area: Area, change: Callable[[Path], object] | None = None) -> tuple[Spaces, str, str]:
    """A run with a result: its checkouts, base and snapshot."""
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("root", base=base)
    if change is None:
        write(checkout, {"a.txt": "new a\n", "new/file": "n\n"})
        (checkout / "b.txt").unlink()
    else:
        change(checkout)
    return workspaces, base, await workspaces.keep("root", message="result")


LANDED = {"a.txt": "new a\n", "new/file": "n\n", "sub/c.txt": "sea\n"}


async def test_result_lands_and_nothing_else_is_left(area: Area) -> None:
    workspaces, base, snapshot = await result(area)
    applied = await workspaces.apply(snapshot, base=base)
    assert (applied.applied, applied.where) == (True, "")
    assert applied.changed == ("a.txt", "b.txt", "new/file")
    assert read(area.workspace) == LANDED
    again = await area.workspaces().apply(snapshot, base=base)
    assert (again.applied, again.changed) == (True, applied.changed)
    assert read(area.workspace) == LANDED
    assert await workspaces.finish(result=snapshot) == ()
    assert area.is_clean()
    if area.kind == "worktree":
        assert git(area.workspace, "status", "--porcelain") == ""
        assert git(area.workspace, "rev-parse", "main") == snapshot


async def test_result_without_changes_has_landed(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    applied = await workspaces.apply(base, base=base)
    assert (applied.applied, applied.changed, applied.note) == (True, (), "The result changes no file.")
    assert await workspaces.finish(result=base) == ()
    assert area.is_clean()


async def test_finish_may_be_repeated(area: Area) -> None:
    workspaces, base, snapshot = await result(area)
    await workspaces.apply(snapshot, base=base)
    assert await workspaces.finish(result=snapshot) == ()
    if area.kind == "worktree":
        assert await workspaces.finish(result=snapshot) == ()
    else:
        assert await area.workspaces().finish(result=snapshot) == ()


async def test_changed_workspace_is_not_touched(area: Area) -> None:
    workspaces, base, snapshot = await result(area)
    write(area.workspace, {"a.txt": "mine\n"})
    applied = await workspaces.apply(snapshot, base=base)
    assert not applied.applied
    assert "'a.txt'" in applied.note
    assert read(area.workspace) == {**START, "a.txt": "mine\n"}
    kept = await workspaces.finish(result=snapshot)
    assert [one.name for one in kept][:1] == ["result"]
    if area.kind == "worktree":
        assert applied.where == "sol/run-1/result"
        assert "git merge sol/run-1/result" in applied.note
        assert area.branches() == {"result": snapshot}
    else:
        assert applied.where == str(area.home / "worktrees" / "run-1" / "result")
        assert applied.where in applied.note
        assert read(Path(applied.where)) == LANDED
        assert {one.where for one in kept} >= {applied.where}


async def test_refused_result_lands_once_nothing_is_in_its_way(area: Area) -> None:
    workspaces, base, snapshot = await result(area)
    write(area.workspace, {"a.txt": "mine\n"})
    assert not (await workspaces.apply(snapshot, base=base)).applied
    assert not (await area.workspaces().apply(snapshot, base=base)).applied
    write(area.workspace, {"a.txt": START["a.txt"]})
    assert (await workspaces.apply(snapshot, base=base)).applied
    assert read(area.workspace) == LANDED
    assert await workspaces.finish(result=snapshot) == ()
    assert area.is_clean()


async def test_other_commit_is_not_touched(tree: Area) -> None:
    workspaces, base, snapshot = await result(tree)
    write(tree.workspace, {"mine": "1"})
    mine = commit(tree.workspace, "mine")
    applied = await workspaces.apply(snapshot, base=base)
    assert (applied.applied, applied.where) == (False, "sol/run-1/result")
    assert "another commit is checked out" in applied.note
    assert git(tree.workspace, "rev-parse", "HEAD") == mine
    git(tree.workspace, "merge", "--quiet", "--no-edit", applied.where)
    assert (await workspaces.apply(snapshot, base=base)).note == "The result is in the workspace."
    assert await workspaces.finish(result=snapshot) == ()
    assert tree.is_clean()


async def test_new_file_of_the_user_is_not_overwritten(tree: Area) -> None:
    workspaces, base, snapshot = await result(tree)
    write(tree.workspace, {"unrelated": "1"})
    assert "'unrelated'" in (await workspaces.apply(snapshot, base=base)).note
    assert read(tree.workspace) == {**START, "unrelated": "1"}


async def test_ignored_file_of_the_user_is_not_overwritten(tree: Area) -> None:
    write(tree.workspace, {".gitignore": "*.log\n"})
    commit(tree.workspace, "ignore")
    workspaces = tree.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("root", base=base)
    write(checkout, {"x.log": "theirs"})
    git(checkout, "add", "--force", "x.log")
    snapshot = await workspaces.keep("root", message="m")
    write(tree.workspace, {"x.log": "mine"})
    applied = await workspaces.apply(snapshot, base=base)
    assert not applied.applied
    assert "would be overwritten by merge: x.log" in applied.note
    assert read(tree.workspace)["x.log"] == "mine"


async def test_settings_of_a_branch_do_not_change_how_it_lands(tree: Area) -> None:
    git(tree.workspace, "config", "branch.main.mergeOptions", "--squash --no-ff")
    workspaces, base, snapshot = await result(tree)
    assert (await workspaces.apply(snapshot, base=base)).applied
    assert git(tree.workspace, "rev-parse", "HEAD") == snapshot


async def test_lock_of_another_git_is_respected(tree: Area) -> None:
    workspaces, base, snapshot = await result(tree)
    lock = tree.workspace / ".git" / "index.lock"
    lock.touch()
    applied = await workspaces.apply(snapshot, base=base)
    assert not applied.applied
    assert "index.lock" in applied.note
    assert read(tree.workspace) == dict(START)
    lock.unlink()
    assert (await workspaces.apply(snapshot, base=base)).applied
    assert read(tree.workspace) == LANDED


async def cut_off(tree: Area, snapshot: str, half: Callable[[Path], object]) -> None:
    """Leave a workspace as a fast-forward that was killed does."""
    (tree.home / "worktrees" / "run-1" / ".landing").write_text(snapshot)
    half(tree.workspace)


def all_kinds(checkout: Path) -> None:
    (checkout / "b.txt").unlink()
    write(checkout, {"a.txt": "new a\n" * 50, "new/file": "n\n", "b.txt/inner": "d\n"})
    (checkout / "sub" / "c.txt").unlink()
    (checkout / "sub").rmdir()
    write(checkout, {"sub": "now a file\n"})
    (checkout / "link").symlink_to("a.txt")


@pytest.mark.parametrize("step", range(8))
async def test_fast_forward_that_was_cut_off_goes_on(tree: Area, step: int) -> None:
    workspaces, base, snapshot = await result(tree, all_kinds)
    wanted = read(tree.home / "worktrees" / "run-1" / "root")
    steps: list[Callable[[Path], object]] = [
        lambda root: (root / "sub" / "c.txt").unlink(),
        lambda root: (root / "sub").rmdir(),
        lambda root: (root / "b.txt").unlink(),
        lambda root: write(root, {"b.txt/inner": "d\n", "new/file": "n\n"}),
        lambda root: (root / "link").symlink_to("a.txt"),
        lambda root: write(root, {"a.txt": "new a\nnew"}),
        lambda root: write(root, {"sub": "now a file\n"}),
    ]
    await cut_off(tree, snapshot, lambda root: [one(root) for one in steps[:step]])
    applied = await tree.workspaces().apply(snapshot, base=base)
    assert applied.applied, applied.note
    assert read(tree.workspace) == wanted
    assert git(tree.workspace, "status", "--porcelain") == ""
    assert await workspaces.finish(result=snapshot) == ()
    assert tree.is_clean()


@pytest.mark.parametrize(
    "mine", [{"a.txt": "mine\n"}, {"other": "mine\n"}, {"new/file": "mine\n"}, {"b.txt": "mine\n"}]
)
async def test_changes_since_a_fast_forward_was_cut_off_are_not_touched(tree: Area, mine: dict[str, str]) -> None:
    _, base, snapshot = await result(tree)
    await cut_off(tree, snapshot, lambda root: write(root, {"new/file": "n\n", **mine}))
    applied = await tree.workspaces().apply(snapshot, base=base)
    assert not applied.applied
    assert repr(next(iter(mine))) in applied.note
    assert read(tree.workspace) == {**START, **mine}


def into_pipe(root: Path) -> None:
    (root / "a.txt").unlink()
    os.mkfifo(root / "a.txt")


@pytest.mark.parametrize(
    "disturb",
    [
        lambda root: write(root, {"new/file": "mine"}),
        lambda root: write(root, {"new": "a file"}),
        lambda root: (root / "b.txt").chmod(0o755),
        lambda root: ((root / "b.txt").unlink(), (root / "b.txt").symlink_to("a.txt")),
        lambda root: ((root / "b.txt").unlink(), (root / "b.txt").mkdir()),
        into_pipe,
        lambda root: (root / "new").symlink_to(root.parent),
    ],
    ids="new-differs parent-is-file mode link directory pipe parent-is-link".split(),
)
async def test_copy_lands_on_nothing_that_has_changed(copy: Area, disturb: Callable[[Path], object]) -> None:
    workspaces, base, snapshot = await result(copy)
    disturb(copy.workspace)
    before = sorted(str(path) for path in copy.workspace.parent.rglob("*") if ".sol" not in path.parts)
    applied = await workspaces.apply(snapshot, base=base)
    assert not applied.applied
    assert sorted(str(path) for path in copy.workspace.parent.rglob("*") if ".sol" not in path.parts) == before
    assert (copy.workspace / "sub/c.txt").read_text() == "sea\n"


async def test_copy_lands_beside_changes_of_other_files(copy: Area) -> None:
    workspaces, base, snapshot = await result(copy)
    write(copy.workspace, {"sub/c.txt": "mine\n", "other": "mine\n"})
    assert (await workspaces.apply(snapshot, base=base)).applied
    assert read(copy.workspace) == {**LANDED, "sub/c.txt": "mine\n", "other": "mine\n"}


async def test_copy_never_writes_through_a_link(copy: Area, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside, {"c.txt": "sea\n"})
    workspaces, base, snapshot = await result(
        copy, lambda checkout: write(checkout, {"sub/c.txt": "new", "sub/d.txt": "new"})
    )
    (copy.workspace / "sub" / "c.txt").unlink()
    (copy.workspace / "sub").rmdir()
    (copy.workspace / "sub").symlink_to(outside)
    applied = await workspaces.apply(snapshot, base=base)
    assert not applied.applied
    assert "'sub/c.txt', 'sub/d.txt'" in applied.note
    assert read(outside) == {"c.txt": "sea\n"}


async def test_files_become_directories_and_the_other_way_round(copy: Area) -> None:
    workspaces, base, snapshot = await result(copy, all_kinds)
    assert (await workspaces.apply(snapshot, base=base)).applied
    expected = {"a.txt": "new a\n" * 50, "new/file": "n\n", "b.txt/inner": "d\n", "sub": "now a file\n"}
    assert read(copy.workspace) == {**expected, "link": "-> a.txt"}
    back = copy.workspaces("run-2")
    second = await back.begin()
    checkout = await back.checkout("0", base=second)
    for name in ("a.txt", "new/file", "b.txt/inner", "sub", "link"):
        (checkout / name).unlink()
    (checkout / "b.txt").rmdir()
    write(checkout, START)
    assert (await back.apply(await back.keep("0", message="back"), base=second)).applied
    assert read(copy.workspace) == dict(START)
    assert not (copy.workspace / "new").exists()


@pytest.mark.parametrize("step", range(9))
async def test_copy_that_was_cut_off_lands(copy: Area, step: int) -> None:
    workspaces, base, snapshot = await result(copy, all_kinds)
    wanted = read(copy.home / "worktrees" / "run-1" / "root")
    steps: list[Callable[[Path], object]] = [
        lambda root: (root / "sub" / "c.txt").unlink(),
        lambda root: (root / "sub").rmdir(),
        lambda root: (root / "b.txt").unlink(),
        lambda root: write(root, {"a.txt": "new a\n" * 50, ".sol-run-1.part": "half"}),
        lambda root: (root / "b.txt").mkdir(),
        lambda root: write(root, {"b.txt/.sol-run-1.part": "d"}),
        lambda root: write(root, {"b.txt/inner": "d\n", "new/file": "n\n"}),
        lambda root: write(root, {"sub": "now a file\n"}),
    ]
    for one in steps[:step]:
        one(copy.workspace)
    applied = await copy.workspaces().apply(snapshot, base=base)
    assert applied.applied, applied.note
    assert read(copy.workspace) == wanted
    assert await workspaces.finish(result=snapshot) == ()
    assert copy.is_clean()


async def test_directory_with_other_files_is_not_replaced(copy: Area) -> None:
    workspaces, base, snapshot = await result(copy, all_kinds)
    write(copy.workspace, {"sub/mine": "mine"})
    (copy.workspace / "sub" / "link").symlink_to("nowhere")
    assert not (await workspaces.apply(snapshot, base=base)).applied
    assert read(copy.workspace) == {**START, "sub/mine": "mine", "sub/link": "-> nowhere"}


async def test_copy_keeps_who_may_read_a_file(copy: Area) -> None:
    (copy.workspace / "a.txt").chmod(0o640)
    (copy.workspace / "b.txt").chmod(0o700)

    def change(checkout: Path) -> None:
        write(checkout, {"a.txt": "1", "b.txt": "2", "new": "3"})
        (checkout / "a.txt").chmod(0o755)
        (checkout / "b.txt").chmod(0o644)
        (checkout / "new").chmod(0o755)

    workspaces, base, snapshot = await result(copy, change)
    assert (await workspaces.apply(snapshot, base=base)).applied
    modes = [(copy.workspace / name).stat().st_mode & 0o777 for name in ("a.txt", "b.txt")]
    assert modes == [0o750, 0o600]
    assert (copy.workspace / "new").stat().st_mode & 0o111


async def test_file_that_cannot_be_written_is_said(copy: Area, monkeypatch: pytest.MonkeyPatch) -> None:
    workspaces, base, snapshot = await result(copy)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("luna.workspaces.files.os.rename", full)
        with pytest.raises(WorkspaceError, match=r"No space left on device\. Make room"):
            await workspaces.apply(snapshot, base=base)
    assert not list(copy.workspace.rglob("*.part"))
    assert (await workspaces.apply(snapshot, base=base)).applied
    assert read(copy.workspace) == LANDED


def test_read_file_reads_regular_files_only(tmp_path: Path) -> None:
    write(tmp_path, {"d/f": "text"})
    (tmp_path / "link").symlink_to("d")
    (tmp_path / "file-link").symlink_to("d/f")
    os.mkfifo(tmp_path / "pipe")
    names = (b"d/f", b"d", b"link/f", b"file-link", b"pipe", b"none", b"d/f/g")
    assert [read_file(tmp_path, name, limit_bytes=2) for name in names] == [b"te", *[None] * 6]

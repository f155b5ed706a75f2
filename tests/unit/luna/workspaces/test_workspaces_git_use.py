"""What workers may do to git in their checkouts: commit, change branches, begin anew, nest repositories, mislead."""

from pathlib import Path

import pytest

from luna.workspaces import Side
from tests.support.gitspaces import START, Area, area, commit, git, make_area, make_repository, own_home, write

__all__ = ["area", "own_home"]


async def test_commits_of_a_worker_count(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    write(checkout, {"x": "1"})
    git(checkout, "config", "user.email", "w@example.org")
    git(checkout, "config", "user.name", "W")
    own = commit(checkout, "by the worker")
    assert await workspaces.keep("0", message="m") == own
    git(checkout, "checkout", "--quiet", "-b", "feature")
    write(checkout, {"y": "2"})
    commit(checkout, "on another branch")
    git(checkout, "checkout", "--quiet", "--detach")
    write(checkout, {"z": "3"})
    kept = await workspaces.keep("0", message="rest")
    assert set(area.snapshot(kept)) == {*START, "x", "y", "z"}
    assert area.branches()["0"] == kept
    assert git(checkout, "symbolic-ref", "HEAD") == "refs/heads/sol/run-1/0"


async def test_work_that_a_worker_steps_back_from_stays_on_a_branch(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    write(checkout, {"x": "1"})
    first = await workspaces.keep("0", message="first")
    git(checkout, "checkout", "--quiet", "--detach", base)
    write(checkout, {"y": "2"})
    second = await workspaces.keep("0", message="second")
    assert area.branches() == {"0": second, "0+1": first}
    git(checkout, "checkout", "--quiet", "--detach", base)
    write(checkout, {"z": "3"})
    third = await workspaces.keep("0", message="third")
    assert area.branches() == {"0": third, "0+1": first, "0+2": second}


async def test_looking_at_an_older_commit_is_no_change(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    write(checkout, {"x": "1"})
    kept = await workspaces.keep("0", message="x")
    later = await workspaces.checkout("1", base=kept)
    git(later, "checkout", "--quiet", "--detach", base)
    assert await workspaces.keep("1", message="m") == kept


async def test_history_begun_anew_has_the_base_in_it(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    git(checkout, "checkout", "--quiet", "--orphan", "fresh")
    write(checkout, {"x": "1"})
    unborn = await workspaces.keep("0", message="unborn")
    assert area.snapshot(unborn)["x"] == "1"
    git(checkout, "checkout", "--quiet", "--orphan", "fresher")
    git(checkout, "-c", "user.name=W", "-c", "user.email=w@x", "commit", "--quiet", "--message", "root")
    (checkout / "b.txt").unlink()
    kept = await workspaces.keep("0", message="m")
    assert set(area.snapshot(kept)) == {"a.txt", "sub/c.txt", "x"}
    merged = await workspaces.merge("all", base=base, sides=[Side("0", kept)], message="m")
    assert merged.conflict is None
    assert set(area.snapshot(merged.snapshot)) == {"a.txt", "sub/c.txt", "x"}


@pytest.mark.parametrize("way", ["left alone", "linked", "committed"])
async def test_nested_repository_is_taken_as_files(area: Area, way: str) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    nested = make_repository(
        checkout / "vendor" / "lib", {"code.py": "1", "__pycache__/x": "1", ".gitignore": "build\n"}
    )
    write(nested, {"more.py": "2", "build": "out"})
    if way != "left alone":
        git(checkout, "-c", "advice.addEmbeddedRepo=false", "add", "vendor/lib")
    if way == "committed":
        git(checkout, "-c", "user.name=W", "-c", "user.email=w@x", "commit", "--quiet", "--message", "a link")
    kept = await workspaces.keep("0", message="m")
    taken = {name.removeprefix("vendor/lib/") for name in set(area.snapshot(kept)) - set(START)}
    assert taken == {"code.py", "more.py", ".gitignore"} | ({"build"} if area.kind == "copy" else set())
    assert "160000" not in git(area.repository(), "ls-tree", "-r", kept)
    assert await workspaces.keep("0", message="m") == kept


async def test_another_repository_in_its_place_changes_nothing(area: Area, tmp_path: Path) -> None:
    """A worker that leads git elsewhere has no command of its own run: its `.git` is not read."""
    workspaces = area.workspaces()
    checkout = await workspaces.checkout("0", base=await workspaces.begin())
    trap = tmp_path / "sprung"
    (checkout / ".git").unlink()
    git(checkout, "init", "--quiet")
    hook = checkout / ".git" / "evil"
    hook.write_text(f"#!/bin/sh\ntouch '{trap}'\n")
    hook.chmod(0o755)
    git(checkout, "config", "core.fsmonitor", str(hook))
    git(checkout, "config", "core.hooksPath", str(checkout / ".git"))
    git(checkout, "config", "filter.evil.clean", str(hook))
    trap.unlink(missing_ok=True)
    write(checkout, {".gitattributes": "* filter=evil\n", "x": "1"})
    kept = await workspaces.keep("0", message="m")
    assert set(area.snapshot(kept)) == {*START, ".gitattributes", "x"}
    await workspaces.drop("0")
    assert not trap.exists()
    assert not checkout.exists()


async def test_hooks_of_the_repository_do_not_run(tmp_path: Path, own_home: None) -> None:
    area = make_area("worktree", tmp_path)
    hooks = area.workspace / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-merge"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{tmp_path / 'ran'}'\nexit 1\n")
        (hooks / name).chmod(0o755)
    workspaces = area.workspaces()
    base = await workspaces.begin()
    write(await workspaces.checkout("0", base=base), {"x": "1"})
    kept = await workspaces.keep("0", message="m")
    assert (await workspaces.apply(kept, base=base)).applied
    assert await workspaces.finish(result=kept) == ()
    assert not (tmp_path / "ran").exists()


async def test_variables_of_the_session_do_not_matter(area: Area, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, "/nonexistent")
    workspaces = area.workspaces()
    write(await workspaces.checkout("0", base=await workspaces.begin()), {"x": "1"})
    assert "x" in area.snapshot(await workspaces.keep("0", message="m"))


@pytest.mark.parametrize("author", ["Ada <ada@example.org>", "Sol <sol@localhost>"])
async def test_author_is_the_user_or_sol(tmp_path: Path, own_home: None, author: str) -> None:
    area = make_area("worktree", tmp_path)
    if author.startswith("Sol"):
        git(area.workspace, "config", "--unset", "user.email")
    workspaces = area.workspaces()
    write(await workspaces.checkout("0", base=await workspaces.begin()), {"x": "1"})
    kept = await workspaces.keep("0", message="m")
    assert git(area.workspace, "log", "-1", "--format=%an <%ae>", kept) == author


async def test_unfinished_merge_of_a_worker_is_taken(area: Area) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    sides = {}
    for name, text in (("0", "ONE\n"), ("1", "uno\n")):
        write(await workspaces.checkout(name, base=base), {"a.txt": text})
        sides[name] = await workspaces.keep(name, message=name)
    settled, open_ = await workspaces.checkout("2", base=sides["0"]), await workspaces.checkout("3", base=sides["0"])
    for checkout in (settled, open_):
        with pytest.raises(AssertionError, match="merge"):
            git(checkout, "-c", "user.name=W", "-c", "user.email=w@x", "merge", sides["1"])
    write(settled, {"a.txt": "both\n"})
    git(settled, "add", "a.txt")
    for name, parents in (("2", [sides["0"], sides["1"]]), ("3", [sides["0"]])):
        kept = await workspaces.keep(name, message="m")
        assert git(area.repository(), "rev-parse", f"{kept}^@").split() == parents
        assert ("<<<<<<<" in area.snapshot(kept)["a.txt"]) == (name == "3")


@pytest.mark.parametrize("bit", ["--assume-unchanged", "--skip-worktree"])
async def test_changes_that_git_was_told_not_to_look_at_are_taken(area: Area, bit: str) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    before = area.snapshot(base)
    checkout = await workspaces.checkout("0", base=base)
    git(checkout, "update-index", bit, "a.txt", "b.txt")
    write(checkout, {"a.txt": "1"})
    assert area.snapshot(await workspaces.keep("0", message="m")) == {**before, "a.txt": "1"}


async def test_changes_outside_of_a_sparse_checkout_are_taken(tmp_path: Path, own_home: None) -> None:
    area = make_area("worktree", tmp_path, {"in/a": "1", "out/b": "1", "out/c": "1"})
    git(area.workspace, "sparse-checkout", "set", "in")
    workspaces = area.workspaces()
    base = await workspaces.begin()
    checkout = await workspaces.checkout("0", base=base)
    write(checkout, {"out/b": "2", "out/new": "1"})
    kept = await workspaces.keep("0", message="m")
    assert area.snapshot(kept) == {"in/a": "1", "out/b": "2", "out/c": "1", "out/new": "1"}
    assert (await workspaces.apply(kept, base=base)).applied
    assert git(area.workspace, "status", "--porcelain") == ""


async def test_signatures_are_not_looked_at(tmp_path: Path, own_home: None) -> None:
    area = make_area("worktree", tmp_path)
    program = tmp_path / "gpg"
    program.write_text(
        "#!/bin/sh\n"
        f"case \"$*\" in *--verify*) touch '{tmp_path / 'ran'}'; echo 'gpg: good' >&2; exit 0;; esac\n"
        "cat >/dev/null\n"
        "echo '\n[GNUPG:] SIG_CREATED ' >&2\n"
        "printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n"
    )
    program.chmod(0o755)
    git(area.workspace, "config", "gpg.program", str(program))
    git(area.workspace, "config", "log.showSignature", "true")
    git(area.workspace, "commit", "--quiet", "--amend", "--no-edit", "--gpg-sign")
    workspaces = area.workspaces()
    write(await workspaces.checkout("0", base=await workspaces.begin()), {"x": "1"})
    assert "x" in area.snapshot(await workspaces.keep("0", message="m"))
    assert not (tmp_path / "ran").exists()

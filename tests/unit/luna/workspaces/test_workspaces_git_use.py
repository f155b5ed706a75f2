"""What workers may do to git in their places: commit, change branches, begin anew, nest repositories, mislead."""

from pathlib import Path

import pytest

from luna.workspaces import Side
from tests.support.gitspaces import START, Area, area, commit, git, make_area, make_repository, own_home, write

__all__ = ["area", "own_home"]


async def test_commits_of_a_worker_count(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0", base=base)
    write(place, {"x": "1"})
    git(place, "config", "user.email", "w@example.org")
    git(place, "config", "user.name", "W")
    own = commit(place, "by the worker")
    assert await spaces.keep("0", message="m") == own
    git(place, "checkout", "--quiet", "-b", "feature")
    write(place, {"y": "2"})
    commit(place, "on another branch")
    git(place, "checkout", "--quiet", "--detach")
    write(place, {"z": "3"})
    kept = await spaces.keep("0", message="rest")
    assert set(area.snapshot(kept)) == {*START, "x", "y", "z"}
    assert area.branches()["0"] == kept
    assert git(place, "symbolic-ref", "HEAD") == "refs/heads/sol/run-1/0"


async def test_work_that_a_worker_steps_back_from_stays_on_a_branch(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0", base=base)
    write(place, {"x": "1"})
    first = await spaces.keep("0", message="first")
    git(place, "checkout", "--quiet", "--detach", base)
    write(place, {"y": "2"})
    second = await spaces.keep("0", message="second")
    assert area.branches() == {"0": second, "0+1": first}
    git(place, "checkout", "--quiet", "--detach", base)
    write(place, {"z": "3"})
    third = await spaces.keep("0", message="third")
    assert area.branches() == {"0": third, "0+1": first, "0+2": second}


async def test_looking_at_an_older_commit_is_no_change(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0", base=base)
    write(place, {"x": "1"})
    kept = await spaces.keep("0", message="x")
    later = await spaces.place("1", base=kept)
    git(later, "checkout", "--quiet", "--detach", base)
    assert await spaces.keep("1", message="m") == kept


async def test_history_begun_anew_has_the_base_in_it(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0", base=base)
    git(place, "checkout", "--quiet", "--orphan", "fresh")
    write(place, {"x": "1"})
    unborn = await spaces.keep("0", message="unborn")
    assert area.snapshot(unborn)["x"] == "1"
    git(place, "checkout", "--quiet", "--orphan", "fresher")
    git(place, "-c", "user.name=W", "-c", "user.email=w@x", "commit", "--quiet", "--message", "root")
    (place / "b.txt").unlink()
    kept = await spaces.keep("0", message="m")
    assert set(area.snapshot(kept)) == {"a.txt", "sub/c.txt", "x"}
    merged = await spaces.merge("all", base=base, sides=[Side("0", kept)], message="m")
    assert merged.conflict is None
    assert set(area.snapshot(merged.snapshot)) == {"a.txt", "sub/c.txt", "x"}


@pytest.mark.parametrize("way", ["left alone", "linked", "committed"])
async def test_nested_repository_is_taken_as_files(area: Area, way: str) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0", base=base)
    nested = make_repository(place / "vendor" / "lib", {"code.py": "1", "__pycache__/x": "1", ".gitignore": "build\n"})
    write(nested, {"more.py": "2", "build": "out"})
    if way != "left alone":
        git(place, "-c", "advice.addEmbeddedRepo=false", "add", "vendor/lib")
    if way == "committed":
        git(place, "-c", "user.name=W", "-c", "user.email=w@x", "commit", "--quiet", "--message", "a link")
    kept = await spaces.keep("0", message="m")
    taken = {name.removeprefix("vendor/lib/") for name in set(area.snapshot(kept)) - set(START)}
    assert taken == {"code.py", "more.py", ".gitignore"} | ({"build"} if area.kind == "copy" else set())
    assert "160000" not in git(area.repository(), "ls-tree", "-r", kept)
    assert await spaces.keep("0", message="m") == kept


async def test_another_repository_in_its_place_changes_nothing(area: Area, tmp_path: Path) -> None:
    """A worker that leads git elsewhere has no command of its own run: its `.git` is not read."""
    spaces = area.spaces()
    place = await spaces.place("0", base=await spaces.begin())
    trap = tmp_path / "sprung"
    (place / ".git").unlink()
    git(place, "init", "--quiet")
    hook = place / ".git" / "evil"
    hook.write_text(f"#!/bin/sh\ntouch '{trap}'\n")
    hook.chmod(0o755)
    git(place, "config", "core.fsmonitor", str(hook))
    git(place, "config", "core.hooksPath", str(place / ".git"))
    git(place, "config", "filter.evil.clean", str(hook))
    trap.unlink(missing_ok=True)
    write(place, {".gitattributes": "* filter=evil\n", "x": "1"})
    kept = await spaces.keep("0", message="m")
    assert set(area.snapshot(kept)) == {*START, ".gitattributes", "x"}
    await spaces.drop("0")
    assert not trap.exists()
    assert not place.exists()


async def test_hooks_of_the_repository_do_not_run(tmp_path: Path, own_home: None) -> None:
    area = make_area("worktree", tmp_path)
    hooks = area.workspace / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-merge"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch '{tmp_path / 'ran'}'\nexit 1\n")
        (hooks / name).chmod(0o755)
    spaces = area.spaces()
    base = await spaces.begin()
    write(await spaces.place("0", base=base), {"x": "1"})
    kept = await spaces.keep("0", message="m")
    assert (await spaces.land(kept, base=base)).landed
    assert await spaces.finish(result=kept) == ()
    assert not (tmp_path / "ran").exists()


async def test_variables_of_the_session_do_not_matter(area: Area, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"):
        monkeypatch.setenv(name, "/nonexistent")
    spaces = area.spaces()
    write(await spaces.place("0", base=await spaces.begin()), {"x": "1"})
    assert "x" in area.snapshot(await spaces.keep("0", message="m"))


@pytest.mark.parametrize("author", ["Ada <ada@example.org>", "Sol <sol@localhost>"])
async def test_author_is_the_user_or_sol(tmp_path: Path, own_home: None, author: str) -> None:
    area = make_area("worktree", tmp_path)
    if author.startswith("Sol"):
        git(area.workspace, "config", "--unset", "user.email")
    spaces = area.spaces()
    write(await spaces.place("0", base=await spaces.begin()), {"x": "1"})
    kept = await spaces.keep("0", message="m")
    assert git(area.workspace, "log", "-1", "--format=%an <%ae>", kept) == author


async def test_unfinished_merge_of_a_worker_is_taken(area: Area) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    sides = {}
    for name, text in (("0", "ONE\n"), ("1", "uno\n")):
        write(await spaces.place(name, base=base), {"a.txt": text})
        sides[name] = await spaces.keep(name, message=name)
    settled, open_ = await spaces.place("2", base=sides["0"]), await spaces.place("3", base=sides["0"])
    for place in (settled, open_):
        with pytest.raises(AssertionError, match="merge"):
            git(place, "-c", "user.name=W", "-c", "user.email=w@x", "merge", sides["1"])
    write(settled, {"a.txt": "both\n"})
    git(settled, "add", "a.txt")
    for name, parents in (("2", [sides["0"], sides["1"]]), ("3", [sides["0"]])):
        kept = await spaces.keep(name, message="m")
        assert git(area.repository(), "rev-parse", f"{kept}^@").split() == parents
        assert ("<<<<<<<" in area.snapshot(kept)["a.txt"]) == (name == "3")


@pytest.mark.parametrize("bit", ["--assume-unchanged", "--skip-worktree"])
async def test_changes_that_git_was_told_not_to_look_at_are_taken(area: Area, bit: str) -> None:
    spaces = area.spaces()
    base = await spaces.begin()
    before = area.snapshot(base)
    place = await spaces.place("0", base=base)
    git(place, "update-index", bit, "a.txt", "b.txt")
    write(place, {"a.txt": "1"})
    assert area.snapshot(await spaces.keep("0", message="m")) == {**before, "a.txt": "1"}


async def test_changes_outside_of_a_sparse_checkout_are_taken(tmp_path: Path, own_home: None) -> None:
    area = make_area("worktree", tmp_path, {"in/a": "1", "out/b": "1", "out/c": "1"})
    git(area.workspace, "sparse-checkout", "set", "in")
    spaces = area.spaces()
    base = await spaces.begin()
    place = await spaces.place("0", base=base)
    write(place, {"out/b": "2", "out/new": "1"})
    kept = await spaces.keep("0", message="m")
    assert area.snapshot(kept) == {"in/a": "1", "out/b": "2", "out/c": "1", "out/new": "1"}
    assert (await spaces.land(kept, base=base)).landed
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
    spaces = area.spaces()
    write(await spaces.place("0", base=await spaces.begin()), {"x": "1"})
    assert "x" in area.snapshot(await spaces.keep("0", message="m"))
    assert not (tmp_path / "ran").exists()

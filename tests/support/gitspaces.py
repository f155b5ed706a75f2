"""Directories and git repositories for tests of workspaces, and looks into them that use nothing of the tested code."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

from luna.workspaces.copy import CopyWorkspaces
from luna.workspaces.worktree import WorktreeWorkspaces

Kind: TypeAlias = Literal["worktree", "copy"]
Spaces: TypeAlias = WorktreeWorkspaces | CopyWorkspaces
Files: TypeAlias = Mapping[str, str | bytes]
BOTH: tuple[Kind, ...] = ("worktree", "copy")
START: Files = {"a.txt": "one\ntwo\nthree\nfour\nfive\n", "b.txt": "bee\n", "sub/c.txt": "sea\n"}


def git(directory: Path, *words: str, stdin: bytes | None = None) -> str:
    """Run git; it must succeed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(["git", *words], cwd=directory, env=environment, input=stdin, capture_output=True)
    assert done.returncode == 0, (words, done.stderr)
    return os.fsdecode(done.stdout).removesuffix("\n")


def write(root: Path, files: Files) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def read(root: Path, *but: str) -> dict[str, str]:
    """All files below a directory, without git's and Sol's own; a symbolic link reads `-> target`, a program `x `."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if not {".git", ".sol", *but}.isdisjoint(Path(name).parts) or (path.is_dir() and not path.is_symlink()):
            continue
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        else:
            mode = "x " if path.stat().st_mode & 0o100 else ""
            found[name] = mode + path.read_bytes().decode("utf-8", "backslashreplace")
    return found


def make_repository(directory: Path, files: Files = START) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "--quiet", "--initial-branch=main")
    git(directory, "config", "user.name", "Ada")
    git(directory, "config", "user.email", "ada@example.org")
    write(directory, files)
    commit(directory, "start")
    return directory


def commit(directory: Path, message: str) -> str:
    git(directory, "add", "--all", "--", ".", ":!.sol")
    git(directory, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(directory, "rev-parse", "HEAD")


@dataclass(frozen=True)
class Area:
    """A workspace for one kind of isolation."""

    kind: Kind
    workspace: Path
    home: Path

    def workspaces(self, run: str = "run-1") -> Spaces:
        """As a process that has just started would open it."""
        made = WorktreeWorkspaces if self.kind == "worktree" else CopyWorkspaces
        return made(self.workspace, run=run, home=self.home)

    def repository(self, run: str = "run-1") -> Path:
        if self.kind == "worktree":
            return self.workspace
        return self.home / "worktrees" / run / ".repository"

    def snapshot(self, commit: str, run: str = "run-1") -> dict[str, str]:
        """Names and contents of a snapshot."""
        repository = self.repository(run)
        names = git(repository, "ls-tree", "-r", "-z", "--name-only", commit).split("\0")[:-1]
        return {name: git(repository, "show", f"{commit}:{name}") for name in names}

    def branches(self, run: str = "run-1") -> dict[str, str]:
        lines = git(self.repository(run), "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/sol")
        pairs = (line.rsplit(" ", 1) for line in lines.splitlines())
        return {name.removeprefix(f"refs/heads/sol/{run}/"): commit for name, commit in pairs}

    def is_clean(self) -> bool:
        """Nothing of any run is left but empty directories and the file that hides them from git."""
        left = [path for path in self.home.rglob("*") if not path.is_dir() and path.name != ".gitignore"]
        if self.kind == "copy":
            return not left
        refs = git(self.workspace, "for-each-ref", "refs/heads/sol", "refs/sol")
        return not left and not refs and not list((self.workspace / ".git" / "worktrees").glob("*"))


def make_area(kind: Kind, directory: Path, files: Files = START) -> Area:
    workspace = directory / "work space"
    if kind == "worktree":
        make_repository(workspace, files)
    else:
        write(workspace, files)
    return Area(kind, workspace, workspace / ".sol")


@pytest.fixture(params=BOTH)
def area(request: pytest.FixtureRequest, tmp_path: Path, own_home: None) -> Area:
    """A small workspace, once for each kind."""
    return make_area(request.param, tmp_path)


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration of whoever runs the tests."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))

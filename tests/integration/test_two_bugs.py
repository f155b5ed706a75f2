"""The example with two bugs: a Luna that is stuck on both, two worktrees, two fixes, a merge, pytest as the check."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sol import load_task
from tests.support.editing import git
from tests.support.programs import with_git

pytestmark = with_git

EXAMPLE = Path("examples/two-bugs").absolute()


def run(directory: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, str(EXAMPLE / "run.py"), *words],
        cwd=directory,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=110,
    )


@pytest.mark.slow
@pytest.mark.req("S10", "S22", "S59", "S60")
def test_two_bugs_are_mended_apart_and_merged(tmp_path: Path) -> None:
    ended = run(tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    repository = tmp_path / "two-bugs"
    assert "cannot separate the causes" in ended.stderr
    assert git(repository, "status", "--porcelain") == ""
    merge, *_ = git(repository, "log", "--format=%P", "-1").splitlines()
    first, second = merge.split()
    changed = [git(repository, "show", "--format=", "--name-only", one) for one in (first, second)]
    assert changed == ["ferry/fares.py", "ferry/timetable.py"], "each side is one fix, and nothing of the stuck Luna"
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q"], cwd=repository, capture_output=True, text=True, timeout=60
    )
    assert "6 passed" in tests.stdout
    branches = git(repository, "branch", "--format=%(refname:short)").splitlines()
    assert [name.rpartition("/")[2] for name in branches if name != "main"] == ["root.1"]
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_the_task_file_names_no_model_and_can_be_prepared_for_a_real_one(tmp_path: Path) -> None:
    ended = run(tmp_path, "--prepare", "ferries")
    assert ended.returncode == 0, ended.stderr
    assert "--model openai:NAME" in ended.stdout
    given = load_task(tmp_path / "ferries" / "task.yaml").task
    assert given.worker is not None
    assert (given.worker.kind, given.worker.options, given.isolation) == ("agent", {}, "worktree")
    again = run(tmp_path, "--prepare", "ferries")
    assert again.returncode == 1
    assert "is there already" in again.stderr

"""`--isolation` and `sol workspaces`, as people type them."""

import json

import pytest

from sol.tree.events import EventType
from tests.support.cli import CommandLine
from tests.support.editing import git
from tests.support.programs import with_git

pytestmark = with_git

MEDDLE = """
from pathlib import Path

def meddle(inputs, *, delivery):
    note(delivery)
    Path("attempts.txt").write_text("somebody else")
    return inputs["numbers"]
"""


@pytest.fixture
def repository(sol: CommandLine) -> CommandLine:
    """The command line in a repository that holds the worker and two tasks: one is done, one is too much."""
    sol.task("one.yaml", numbers="[3]", strategy="single", more="isolation: worktree")
    sol.task("two.yaml", numbers="[3, 4]", strategy="single", more="isolation: worktree")
    git(sol.directory, "init", "-q", "-b", "main")
    git(sol.directory, "add", "-A")
    git(sol.directory, "commit", "-q", "-m", "begin")
    return sol


def test_work_is_brought_home_and_said_so(repository: CommandLine) -> None:
    ended = repository("solve", "one.yaml", "--json")
    assert ended.code == 0
    assert repository.attempts == ["/attempt/1"]
    summary = ended.lines[-1]
    assert summary["landed"]["landed"]
    assert summary["landed"]["changed"] == ["attempts.txt"]
    assert EventType.ANSWER in {line["type"] for line in ended.lines}
    shown = repository("show", "latest")
    assert summary["landed"]["note"] in shown.out + shown.err
    history = repository("show", "latest", "--node", ".")
    assert "its work: " in history.out
    assert "land 1 started" in history.out
    assert repository("workspaces", "list").err.startswith("No run in .sol/runs.db has kept anything.")


def test_work_in_no_result_is_kept_until_somebody_removes_it(repository: CommandLine) -> None:
    ended = repository("solve", "two.yaml")
    assert ended.code == 1
    assert "any changes that are in no result are kept; see: sol workspaces list" in ended.err
    run = repository.run_id()
    (kept,) = repository("workspaces", "list", "--json").lines
    assert (kept["run"], kept["status"], kept["place"]) == (run, "failed", "root.1")
    assert git(repository.directory, "show", f"{kept['where']}:attempts.txt").endswith("/attempt/1")
    table = repository("workspaces", "list").out.splitlines()
    assert table[0].split() == ["RUN", "STATUS", "PLACE", "SNAPSHOT", "WHERE"]
    assert table[1].split() == [run, "failed", "root.1", kept["snapshot"][:12], kept["where"]]
    cleaned = repository("workspaces", "clean", run)
    assert (cleaned.code, cleaned.out) == (0, f"removed root.1: {kept['where']}\n")
    assert repository("workspaces", "clean", "latest").err == "There was nothing to remove.\n"
    assert git(repository.directory, "branch", "--format=%(refname:short)") == "main"


def test_work_that_was_rejected_is_said_to_be_kept(repository: CommandLine) -> None:
    task = repository.task("three.yaml", numbers="[3]", schema="{type: object}", strategy="single")
    git(repository.directory, "add", "-A")
    git(repository.directory, "commit", "-q", "-m", "third task")
    ended = repository("solve", task, "--isolation", "worktree")
    assert ended.code == 1
    assert "any changes that are in no result are kept; see: sol workspaces list" in ended.err
    assert [line["place"] for line in repository("workspaces", "list", "--json").lines] == ["root.1"]


def test_isolation_of_the_command_line_comes_before_the_tasks(repository: CommandLine) -> None:
    ended = repository("solve", "one.yaml", "--isolation", "in_place", "--json")
    assert ended.lines[-1]["landed"] is None
    assert repository.attempts == ["/attempt/1"]
    dirty = repository("solve", "one.yaml")
    assert dirty.code == 2
    assert "attempts.txt" in dirty.err
    copied = repository("solve", "one.yaml", "--isolation", "copy", "--json")
    assert copied.lines[-1]["landed"]["changed"] == ["attempts.txt"]
    assert repository.attempts == ["/attempt/1", "/attempt/1"]
    assert repository("workspaces", "clean", "latest").err == "There was nothing to remove.\n"


def test_result_that_could_not_be_brought_home_is_told_even_quietly(repository: CommandLine) -> None:
    worker = repository.directory / "w.py"
    worker.write_text(worker.read_text() + MEDDLE)
    repository.task("three.yaml", function="meddle", numbers="[3]", strategy="single", more="isolation: copy")
    ended = repository("solve", "three.yaml", "--quiet")
    assert (ended.code, json.loads(ended.out)) == (0, [3])
    assert ended.err.startswith("The result is in ")
    assert "attempts.txt" in ended.err


def test_run_killed_before_it_was_recorded_can_be_cleaned(repository: CommandLine) -> None:
    repository("solve", "one.yaml")
    git(repository.directory, "update-ref", "refs/sol/lost-1/base", "HEAD")
    (kept,) = repository("workspaces", "list", "--json").lines
    assert (kept["run"], kept["status"], kept["place"]) == ("lost-1", "unknown", "start")
    assert repository("workspaces", "clean", "lost-1").out == "removed start: refs/sol/lost-1/base\n"
    assert repository("workspaces", "clean", "lost-1").code == 3


def test_run_that_was_not_isolated_has_nothing_to_remove(sol: CommandLine) -> None:
    assert sol("workspaces", "list").err == "No run in .sol/runs.db has kept anything.\n"
    assert sol("workspaces", "clean", "latest").code == 3
    sol("solve", sol.task(numbers="[3]"))
    assert sol("workspaces", "clean", "latest").err == "There was nothing to remove.\n"
    assert sol("solve", sol.task(), "--isolation", "bubble").code == 2

import os
import sys
from copy import copy
from pathlib import Path
from typing import Any

import pytest

from luna.errors import ModelNotFoundError, WeightsError
from sol.cli import main
from sol.cli._common import BrokenRunError, Code, StoreOptions, budget_of, code_of
from sol.cli._output import table, where, write_json
from sol.errors import PlannerError, SolError, StoreError, UsageError
from sol.journal import MemoryJournal
from sol.run import Run
from sol.solver import Sol
from sol.tree.events import Event, Reported
from tests.support.cli import CommandLine


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("solve", "nothing.yaml"), "nothing.yaml: cannot be read"),
        (("solve", "-"), "There is no task on standard input."),
        (("solve", "fix it"), "The task is too vague"),
        (("solve", "."), "'.' is a directory. Name a task file in it"),
        (("solve", "bad.yaml"), "bad.yaml:1:1"),
        (("solve", "task.yaml", "--strategy", "nope"), "No strategy is named 'nope'. Known: "),
        (("solve", "task.yaml", "--worker", "nope"), "there is no worker kind 'nope'; known are "),
        (("solve", "task.yaml", "--store", "nonsense"), "'nonsense' is not a store URL."),
        (("solve", "task.yaml", "--workspace", "nowhere"), "is not a directory. Create it, or give another."),
        (("solve", "task.yaml", "--budget", "calls"), "--budget 'calls': calls is ''"),
        (("solve", "task.yaml", "--budget", "calls=-1"), "budget.calls: "),
        (("solve", "task.yaml", "-o", "."), "is a directory. Give the name of a file."),
        (("solve", "task.yaml", "-o", "no/such/file"), "there is no directory 'no/such'. Make it"),
        (("solve", "task.yaml", "-o", "-", "--json"), "would both write to standard output"),
        (("solve", "Name the largest planet", "--model", "local:nope"), "No local model is named 'nope'."),
        (("answer", "latest", " "), "The answer is empty."),
        (("show", ""), "A run id is empty."),
        (("strategies", "show", "nope"), "No strategy is named 'nope'."),
        (("models", "path", "nope"), "No local model is named 'nope'."),
    ],
)
def test_wrong_usage_is_told_in_one_line_before_anything_is_started(
    sol: CommandLine, arguments: tuple[str, ...], words: str
) -> None:
    if arguments[0] in {"answer", "show"}:
        sol("solve", sol.task())
        Path("attempts.txt").unlink()
    Path("bad.yaml").write_text("goal: Double each of the numbers\n")
    sol.task()
    ended = sol(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("error: ")
    assert words in ended.err
    assert "Traceback" not in ended.err
    assert ended.err.count("\n") == 1 or "bad.yaml" in arguments
    assert not Path("attempts.txt").exists()


@pytest.mark.parametrize("arguments", [("bogus",), ("solve",), ("solve", "x", "--max-depth", "-1"), ("solve", "--odd")])
def test_wrong_options_are_told_with_where_help_is(sol: CommandLine, arguments: tuple[str, ...]) -> None:
    ended = sol(*arguments)
    assert (ended.code, ended.out) == (2, "")
    assert "--help' for help." in ended.err
    assert "Error: " in ended.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "zzz"),
        ("show", "--node", "7"),
        ("resume", "zzz"),
        ("cancel", "zzz"),
        ("cancel", "latest", "--node", "7"),
        ("retry", "latest", "7"),
        ("answer", "latest", "x", "--node", "7"),
    ],
)
def test_what_does_not_exist_is_told_in_one_line(sol: CommandLine, arguments: tuple[str, ...]) -> None:
    sol("solve", sol.task())
    ended = sol(*arguments)
    assert (ended.code, ended.out) == (3, "")
    assert ended.err.count("\n") == 1
    assert "There is no run 'zzz'. The newest are " in ended.err or "has no node '7'. `sol show " in ended.err


@pytest.mark.parametrize(
    "arguments", [("resume", "latest"), ("answer", "latest", "x"), ("answer", "latest", "x", "--node", ".")]
)
def test_what_a_run_is_not_in_a_state_for_is_a_conflict(sol: CommandLine, arguments: tuple[str, ...]) -> None:
    sol("solve", sol.task())
    ended = sol(*arguments)
    assert (ended.code, ended.out) == (4, "")
    assert ended.err.startswith("error: ")


def test_changed_strategy_is_a_conflict_until_it_is_accepted(sol: CommandLine) -> None:
    Path("mine.yaml").write_text(sol("strategies", "show", "halve").out.replace("name: halve", "name: mine"))
    sol("solve", sol.task(), "--strategy", "mine.yaml", "--budget", "calls=2")
    Path("mine.yaml").write_text(Path("mine.yaml").read_text().replace("concurrency: 4", "concurrency: 2"))
    refused = sol("resume", "latest", "--budget", "calls=99")
    assert refused.code == 4
    assert '-  "concurrency": 4' in refused.err.replace(' "', '  "', 1) or "concurrency" in refused.err
    assert sol("resume", "latest", "--budget", "calls=99", "--accept-changes").code == 0


class Broken(Sol):
    async def start(self, task: object) -> Run:
        raise ZeroDivisionError("division by zero")


def test_internal_error_is_told_without_traceback(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sol.solver.Sol", Broken)
    ended = sol("solve", sol.task())
    assert ended.code == 70
    assert ended.err == ("error: Sol itself is broken: ZeroDivisionError: division by zero. SOL_DEBUG=1 shows where.\n")
    monkeypatch.setenv("SOL_DEBUG", "1")
    assert "Traceback" in sol("solve", sol.task()).err


class BrokenLater(Sol):
    async def start(self, thing: Any, **options: Any) -> Run:
        run = await super().start(thing, **options)
        assert run.session is not None

        program = run.session.program

        def broken(state: Any, event: Event) -> Any:
            if isinstance(event.data, Reported):
                raise ZeroDivisionError("division by zero")
            return program.decide(state, event)

        run.session.program = copy(program)
        run.session.program.decide = broken  # type: ignore[method-assign]
        return run


def test_internal_error_during_a_run_says_where_the_run_is(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sol.solver.Sol", BrokenLater)
    ended = sol("solve", sol.task(), "-q")
    assert ended.code == 70
    assert ended.err.count("\n") == 1
    assert "division by zero. What was done is kept in .sol/runs.db; go on with: sol resume " in ended.err
    assert sol("resume", "latest").code == 0


def test_secrets_are_hidden_in_errors(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k-0123456789")
    ended = sol("solve", "k-0123456789.yaml")
    assert ended.code == 2
    assert "k-0123456789" not in ended.err
    ended = sol("runs", "--store", "postgresql://me:hunter2hunter2@example.org/db")
    assert ended.code == 2
    assert "hunter2" not in ended.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError(""), 2),
        (ModelNotFoundError(""), 2),
        (WeightsError(""), 1),
        (SolError(""), 1),
        (StoreError(""), 70),
        (PlannerError(""), 70),
        (BrokenRunError(""), 70),
        (ValueError(""), 70),
    ],
)
def test_each_kind_of_error_has_its_exit_code(error: Exception, code: int) -> None:
    assert code_of(error) == Code(code)


def test_reader_that_goes_away_is_no_error_worth_a_message(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    stdout = os.fdopen(writer, "w", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", stdout)
        with pytest.raises(SystemExit) as end:
            main(["version"])
    assert end.value.code == 1
    assert capfd.readouterr().err == ""
    os.dup2(os.open(os.devnull, os.O_WRONLY), writer)
    stdout.close()


def test_place_of_a_journal_in_memory_has_a_name() -> None:
    assert where(Sol(store=MemoryJournal())) == "memory"


def test_budget_is_read() -> None:
    assert budget_of(None) is None
    assert budget_of("calls=5, tokens=7,cost=0.5,seconds=60") == {"calls": 5, "tokens": 7, "cost": 0.5, "seconds": 60.0}
    for text in ("", "calls=5,calls=6", "calls=x", "pages=3"):
        with pytest.raises(UsageError, match="--budget"):
            budget_of(text)


def test_same_place_is_safe_for_a_shell() -> None:
    assert StoreOptions().again == ""
    expected = " --workspace 'c d' --store 'sqlite:///a b.db'"
    assert StoreOptions(store="sqlite:///a b.db", workspace=Path("c d")).again == expected


def test_table_aligns_wide_characters_and_cuts_the_last_column() -> None:
    rows = [("漢字", "x", "long text"), ("a", "yy", "b")]
    assert list(table(("A", "B", "C"), rows, width=12)) == ["A     B   C", "漢字  x   l…", "a     yy  b"]


def test_result_is_replaced_at_once_through_links_and_never_replaces_a_device(tmp_path: Path) -> None:
    real, link, pipe = tmp_path / "real.json", tmp_path / "link.json", tmp_path / "pipe"
    real.write_text("old")
    link.symlink_to(real)
    write_json(link, {"a": "\ud800é"})
    assert link.is_symlink()
    assert real.read_text() == '{\n  "a": "\\ud800é"\n}\n'
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_json(pipe, 1)
    assert os.read(reader, 10) == b"1\n"
    os.close(reader)
    assert not list(tmp_path.glob(".*partial"))


def test_result_that_cannot_be_written_is_kept_in_the_run(sol: CommandLine) -> None:
    Path("out").write_text("a file where the task wants a directory")
    ended = sol("solve", sol.task(more="result_file: out/result.json"))
    assert ended.code == 1
    assert "The result cannot be written to " in ended.err
    assert "It is kept: sol show " in ended.err


def test_task_and_workflow_files_are_not_mixed_up(sol: CommandLine) -> None:
    Path("flow.yaml").write_text("name: f\nsteps: [{name: a, instruction: b, rules: []}]\n")
    ended = sol("solve", "flow.yaml")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: flow.yaml is a workflow, not a task. Run it: sol workflow run flow.yaml --task '…'\n"
    task = sol.task()
    ended = sol("workflow", "run", task, "--task", "x")
    assert ended.code == 2
    assert f"not a workflow: it has no list of steps; this is a task; run it: sol solve {task}" in ended.err


@pytest.mark.parametrize("text", ["", "  \n"])
def test_blank_task_is_refused_in_words(sol: CommandLine, text: str) -> None:
    ended = sol("solve", text)
    assert (ended.code, ended.err) == (2, "error: The task is empty. Say what is to be done, or name a task file.\n")

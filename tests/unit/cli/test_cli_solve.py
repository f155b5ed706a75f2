import asyncio
import io
import json
import os
import re
import sys
from pathlib import Path

import pytest

from sol.cli import main
from sol.journal import SqlJournal, default_url, this_process
from tests.support.cli import CommandLine, Ended


def test_solve_prints_the_result_on_stdout_and_everything_else_on_stderr(sol: CommandLine) -> None:
    ended = sol("solve", sol.task())
    assert ended.code == 0
    assert json.loads(ended.out) == [2, 4, 6, 8]
    run = sol.run_id()
    assert f"{run} success · " in ended.err
    assert "0 success: numbers: 2 items" in ended.err
    assert f"run {run} is kept in .sol/runs.db; look at it with: sol show {run}" in ended.err
    assert sol.attempts == ["/attempt/1", *(f"{path}/attempt/1" for path in ("0", "00", "01", "1", "10", "11"))]


def test_solve_quietly_prints_nothing_but_the_result(sol: CommandLine) -> None:
    ended = sol("solve", sol.task(), "--quiet")
    assert (ended.code, ended.err) == (0, "")
    assert json.loads(ended.out) == [2, 4, 6, 8]


def test_solve_writes_a_text_result_as_it_is(sol: CommandLine) -> None:
    task = sol.task(function="fail", schema="{type: string}", goal="Name the colour blue", strategy="single")
    (sol.directory / task).write_text(
        (sol.directory / task).read_text().replace("context: none", "context: It is blue")
    )
    assert sol("solve", task).out == "blue\n"


def test_solve_writes_the_whole_result_to_a_file(sol: CommandLine) -> None:
    ended = sol("solve", sol.task(), "-o", "out.json")
    assert (ended.code, ended.out) == (0, "")
    assert json.loads(Path("out.json").read_text()) == [2, 4, 6, 8]
    assert "written: out.json" in ended.err
    assert not list(Path().glob("*.partial"))


def test_solve_writes_the_result_to_stdout_for_programs(sol: CommandLine) -> None:
    ended = sol("solve", sol.task(), "-o", "-", "-q")
    assert json.loads(ended.out) == [2, 4, 6, 8]


def test_solve_writes_the_result_file_of_the_task_inside_its_workspace(sol: CommandLine) -> None:
    (sol.directory / "work").mkdir()
    (sol.directory / "work" / "w.py").write_text((sol.directory / "w.py").read_text())
    ended = sol("solve", sol.task("work/task.yaml", more="result_file: out/result.json"))
    assert ended.code == 0
    assert json.loads(Path("work/out/result.json").read_text()) == [2, 4, 6, 8]
    assert "written: " in ended.err


def test_solve_refuses_a_result_file_outside_the_workspace_before_any_work(sol: CommandLine) -> None:
    ended = sol("solve", sol.task(more="result_file: ../result.json"))
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert "../result.json" in ended.err
    assert not Path("attempts.txt").exists()


def test_solve_takes_a_task_with_files_that_must_be_new(sol: CommandLine) -> None:
    schema = "{type: array}, files: [attempts.txt]"
    assert sol("solve", sol.task(numbers="[3]", schema=schema)).code == 0
    missing = sol("solve", sol.task(numbers="[3]", schema="{type: array}, files: [other.txt]", strategy="single"))
    assert missing.code == 1
    assert "other.txt" in missing.err


def test_solve_lists_what_was_set_aside_and_writes_it_beside_the_result(sol: CommandLine) -> None:
    task = sol.task(numbers="[1, -2, 3, -4]", strategy="isolate")
    ended = sol("solve", task, "-o", "result.json")
    assert ended.code == 0
    assert json.loads(Path("result.json").read_text()) == [2, 6]
    assert json.loads(Path("result.set-aside.json").read_text()) == [
        {"path": "01", "inputs": {"numbers": [-2]}, "reason": "-2 cannot be doubled"},
        {"path": "11", "inputs": {"numbers": [-4]}, "reason": "-4 cannot be doubled"},
    ]
    assert "2 parts set aside:\n  01 numbers: -2: -2 cannot be doubled\n" in ended.err
    assert "written: result.set-aside.json" in ended.err


def test_solve_removes_the_list_of_an_earlier_run_where_nothing_was_set_aside(sol: CommandLine) -> None:
    Path("result.set-aside.json").write_text("[1]")
    assert sol("solve", sol.task(), "-o", "result.json").code == 0
    assert not Path("result.set-aside.json").exists()


def test_solve_names_only_the_first_of_many_that_were_set_aside(sol: CommandLine) -> None:
    ended = sol("solve", sol.task(numbers="[-1, -2, -3, -4, -5, -6, -7, 8]", strategy="isolate"))
    assert "7 parts set aside:" in ended.err
    assert "  and 2 more" in ended.err


def test_solve_tells_events_as_json_lines_and_a_summary_last(sol: CommandLine) -> None:
    ended = sol("solve", sol.task(), "--json")
    assert (ended.code, ended.err) == (0, "")
    *events, summary = ended.lines
    assert [events[0]["type"], events[-1]["type"]] == ["run_started", "run_status"]
    assert {event["run"] for event in events} == {sol.run_id()}
    assert all(event["t"] > 0 for event in events)
    assert sum(event["type"] == "reported" for event in events) == 7
    assert summary["type"] == "summary"
    assert summary["result"] == [2, 4, 6, 8]
    assert (summary["solved"], summary["exit_code"], summary["status"]) == (True, 0, "success")
    assert summary["states"] == {"success": 7}
    assert summary["spent"]["calls"] == 7
    assert (summary["set_aside"], summary["questions"]) == ([], {})


def test_solve_without_success_says_why_and_what_can_be_done(sol: CommandLine) -> None:
    ended = sol("solve", sol.task(numbers="[1, -2]"))
    assert (ended.code, ended.out) == (1, "")
    run = sol.run_id()
    assert "not solved: " in ended.err
    assert f"see why: sol show {run} --node 1\n" in ended.err
    assert f'try it again with: sol retry {run} 1 --note "…"\n' in ended.err


def test_solve_without_success_writes_no_result(sol: CommandLine) -> None:
    Path("out.json").write_text("old")
    assert sol("solve", sol.task(numbers="[1, -2]"), "-o", "out.json").code == 1
    assert Path("out.json").read_text() == "old"


def test_solve_keeps_what_a_task_says_from_steering_the_terminal(sol: CommandLine) -> None:
    ended = sol(
        "solve", sol.task(function="fail", goal='"Name the \\e[2Jcolour \\e]0;evil\\a of it"', strategy="single")
    )
    assert ended.code == 1
    shown = ended.err + sol("show").out + sol("show", "--node", ".").out + sol("runs").out
    assert "Name the colour of it" in shown
    assert "There is no colour at all" in shown
    assert "\x1b[2J" not in shown
    assert "\x1b[31m" not in shown
    assert "evil" not in shown


def test_solve_says_what_was_accepted_without_any_check(sol: CommandLine) -> None:
    text = (sol.directory / sol.task()).read_text().replace(", json_schema: {type: array}", "")
    Path("task.yaml").write_text(text)
    ended = sol("solve", "task.yaml", "--strategy", "halve")
    assert ended.code == 0
    assert "accepted without any check: ., 0, 00, 01, 1 and 2 more" in ended.err


def test_worker_of_the_command_line_takes_the_place_of_the_tasks(sol: CommandLine) -> None:
    ended = sol("solve", sol.task(), "--worker", "command")
    assert ended.code == 2
    assert "command" in ended.err


def test_run_out_of_budget_can_be_resumed_with_a_larger_one(sol: CommandLine) -> None:
    ended = sol("solve", sol.task(), "--budget", "calls=3")
    assert ended.code == 1
    run = sol.run_id()
    assert f"go on with: sol resume {run} --budget LIMITS" in ended.err
    again = sol("resume", run, "--budget", "calls=50")
    assert again.code == 0
    assert json.loads(again.out) == [2, 4, 6, 8]
    assert len(sol.attempts) == len(set(sol.attempts)) == 7


def test_question_waits_for_an_answer_and_the_run_goes_on_with_it(sol: CommandLine) -> None:
    ended = sol("solve", sol.task(function="ask", schema="{type: string}", goal="Name the colour of the sky"))
    assert ended.code == 5
    run = sol.run_id()
    assert "question of node .: Which colour?" in ended.err
    assert f'answer it with: sol answer {run} "…"\n' in ended.err
    assert sol("resume", run).code == 5
    answered = sol("answer", run, "blue")
    assert (answered.code, answered.out) == (0, "blue\n")
    assert sol.attempts == ["/attempt/1", "/attempt/2"]


def test_answer_can_be_noted_for_later(sol: CommandLine) -> None:
    sol("solve", sol.task(function="ask", schema="{type: string}", goal="Name the colour of the sky"))
    run = sol.run_id()
    noted = sol("answer", run, "blue", "--no-resume", "--node", ".")
    assert (noted.code, noted.err) == (0, f"noted; go on with: sol resume {run}\n")
    assert sol("resume", run).out == "blue\n"


def test_answer_needs_a_node_where_several_questions_wait(sol: CommandLine) -> None:
    task = sol.task(function="ask", goal="Name the colour of each", strategy="plan-first", numbers="[1, 2]")
    assert sol("solve", task).code == 5
    ended = sol("answer", "latest", "blue")
    assert ended.code == 2
    assert "has several questions. Name the node with --node. 0: Which colour?; 1: Which colour?" in ended.err
    assert sol("answer", "latest", "blue", "--node", "0").code == 5
    assert sol("answer", "latest", "blue", "--node", "0").code == 4


@pytest.mark.req("S53")
def test_retry_of_the_same_needs_something_new(sol: CommandLine) -> None:
    sol("solve", sol.task(function="fail", schema="{type: string}", goal="Name the colour of it", strategy="single"))
    refused = sol("retry", "latest", ".")
    assert refused.code == 2
    assert "Give it something new: --note TEXT, --worker KIND or --luna-model NAME." in refused.err
    assert len(sol.attempts) == 1
    ended = sol("retry", "latest", ".", "--note", "it is blue")
    assert (ended.code, ended.out) == (0, "blue\n")
    assert sol.attempts == ["/attempt/1", "/attempt/2"]
    assert "attempt 2 started (new: information)" in sol("show", "--node", ".").out


def test_retry_can_name_another_worker(sol: CommandLine) -> None:
    sol("solve", sol.task(function="fail", schema="{type: string}", goal="Name the colour of it", strategy="single"))
    assert "no worker kind 'nobody'" in sol("retry", "latest", ".", "--worker", "nobody").err
    refused = sol("retry", "latest", ".", "--luna-model", "local")
    assert (refused.code, refused.err) == (
        2,
        "error: A worker of kind 'function' uses no model. Leave --luna-model out.\n",
    )


def test_retry_of_what_is_solved_is_a_conflict(sol: CommandLine) -> None:
    sol("solve", sol.task())
    ended = sol("retry", "latest", "0", "--note", "again")
    assert ended.code == 4
    assert "is solved; there is nothing to try again" in ended.err


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_solve_at_a_terminal_draws_a_tree_and_shortens_the_result(
    sol: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, err = Terminal(), Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with pytest.raises(SystemExit) as end:
        main(["solve", sol.task(numbers=str(list(range(40))))])
    assert end.value.code == 0
    shown = out.getvalue().splitlines()
    assert len(shown) == 21
    assert re.fullmatch(r"… \(sol show \w+ -o FILE writes all of it\)", shown[-1])
    assert "✓ success" in err.getvalue()
    assert err.getvalue().count("79 nodes") >= 1
    assert "0 success: " not in err.getvalue()


def test_solve_at_a_dumb_terminal_draws_nothing(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    err = Terminal()
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stderr", err)
    with pytest.raises(SystemExit):
        main(["solve", sol.task()])
    assert "0 success: " in err.getvalue()
    assert "\x1b" not in err.getvalue()


def test_task_in_words_comes_from_standard_input(sol: CommandLine) -> None:
    ended = sol("solve", "-", "--model", "local:nope", stdin="Name the largest planet\n")
    assert "No local model is named 'nope'" in ended.err


def test_answer_is_passed_on_to_the_process_at_work(sol: CommandLine) -> None:
    sol("solve", sol.task(function="ask", goal="Name the colour of the sky"))
    run = sol.run_id()

    async def held() -> Ended:
        async with SqlJournal(default_url(sol.directory)) as journal:
            lease = await journal.claim(run, this_process("somebody else"), now=0.0)
            ended = await asyncio.to_thread(sol, "answer", run, "blue")
            (request,) = await journal.take(lease)
        assert (request.kind, request.payload) == ("answer", {"node": "", "text": "blue"})
        return ended

    ended = asyncio.run(held())
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith(f"passed on to process {os.getpid()} on host ")


def test_ctrl_c_leaves_a_run_that_can_be_resumed(sol: CommandLine) -> None:
    ended = sol("solve", sol.task(function="stop", strategy="single"))
    assert (ended.code, ended.out) == (130, "")
    run = sol.run_id()
    assert "Stopping the workers; the run can be resumed. Ctrl-C again ends everything at once.\n" in ended.err
    assert "not solved: Stopped by Ctrl-C.\n" in ended.err
    assert f"go on with: sol resume {run}\n" in ended.err
    Path("go").touch()
    assert sol("resume", run, "-q", "-o", "-").out == "[\n  1,\n  2,\n  3,\n  4\n]\n"


def test_ctrl_c_is_understood_in_the_live_tree(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    err = Terminal()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(sys, "stderr", err)
    with pytest.raises(SystemExit) as end:
        main(["solve", sol.task(function="stop", strategy="single")])
    assert end.value.code == 130
    assert "Stopping the workers; the run can be resumed." in err.getvalue()


class Reader(io.StringIO):
    """Standard output whose reader goes away after three lines."""

    def write(self, text: str, /) -> int:
        if self.getvalue().count("\n") == 3:
            raise BrokenPipeError
        return super().write(text)


def test_reader_of_events_that_goes_away_stops_the_run(
    sol: CommandLine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    task = sol.task()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", Reader())
        with pytest.raises(SystemExit) as end:
            main(["solve", task, "--json"])
    assert end.value.code == 1
    assert capsys.readouterr().err == ""
    assert sol("runs", "--json").lines[0]["status"] == "interrupted"


def test_standard_error_that_goes_away_stops_no_run(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    task = sol.task()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Gone())
        with pytest.raises(SystemExit) as end:
            main(["solve", task, "-o", "result.json"])
    assert end.value.code == 0
    assert sol("runs", "--json").lines[0]["status"] == "success"


class Gone(io.StringIO):
    """A stream that cannot be written any more."""

    def write(self, text: str, /) -> int:
        raise OSError(5, "Input/output error")


def test_retry_with_another_model_changes_the_node_only(sol: CommandLine) -> None:
    sol("solve", sol.task(numbers="[1, -2]"))
    ended = sol("retry", "latest", "1", "--worker", "model", "--luna-model", "local:nope", "-q")
    assert (ended.code, ended.out) == (1, "")
    assert "Worker            model, model=local:nope" in sol("show", "--node", "1").out
    assert "Worker            function, function=w:double" in sol("show", "--node", "0").out


def test_request_of_somebody_without_a_name_is_recorded_all_the_same(
    sol: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody() -> str:
        raise OSError("No username set in the environment")

    monkeypatch.setattr("getpass.getuser", nobody)
    sol("solve", sol.task(function="ask", goal="Name the colour of the sky"))
    assert sol("answer", "latest", "blue", "--no-resume", "-q").err == ""
    assert "answered by the command line: blue" in sol("show", "--node", ".").out


def test_error_is_still_an_exit_code_where_it_cannot_be_told(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", Gone())
        with pytest.raises(SystemExit) as end:
            main(["show", "zzz"])
    assert end.value.code == 3

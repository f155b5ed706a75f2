import json
from pathlib import Path

import pytest

from tests.support.cli import CommandLine


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

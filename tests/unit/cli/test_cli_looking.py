import json
from pathlib import Path

import pytest

from tests.support.cli import CommandLine


def test_runs_lists_the_newest_first(sol: CommandLine) -> None:
    sol("solve", sol.task())
    sol("solve", sol.task(numbers="[-1]", strategy="single", goal="Double the negative numbers"))
    ended = sol("runs")
    assert ended.code == 0
    header, newest, oldest = ended.out.splitlines()
    assert header.split() == ["ID", "STATUS", "NODES", "AGE", "SPENT", "TITLE"]
    assert newest.split()[1:3] == ["failed", "1"]
    assert newest.endswith("1 call   Double the negative numbers")
    assert oldest.split()[1:3] == ["success", "7"]
    assert len(sol("runs", "--limit", "1").out.splitlines()) == 2
    assert len(sol("runs", "--status", "success").out.splitlines()) == 2


def test_runs_as_json_has_one_object_a_line(sol: CommandLine) -> None:
    sol("solve", sol.task())
    (run,) = sol("runs", "--json").lines
    assert run["status"] == "success"
    assert run["title"] == "Double each of the numbers"
    assert (run["nodes"], run["calls"], run["held_by"]) == (7, 7, None)


def test_looking_for_runs_makes_no_store(sol: CommandLine) -> None:
    ended = sol("runs")
    assert (ended.code, ended.out, ended.err) == (0, "", "There are no runs in .sol/runs.db.\n")
    for command in (("show",), ("resume", "x"), ("cancel", "x"), ("answer", "x", "y"), ("retry", "x", ".")):
        assert sol(*command).code == 3
    assert not Path(".sol").exists()


def test_show_draws_the_newest_run(sol: CommandLine) -> None:
    sol("solve", sol.task(numbers="[1, -2]"))
    ended = sol("show")
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert lines[0].split(" · ")[2:] == ["3 calls", "3 nodes: 2 failed, 1 success"]
    assert [line.split()[0] for line in lines[1:4]] == ["✗", "├╴✓", "└╴✗"]
    assert "✗ failed    1 numbers: -2 — " in lines[3]
    assert f"see why: sol show {sol.run_id()} --node 1" in ended.out


def test_show_sums_up_a_large_tree_unless_all_is_asked_for(sol: CommandLine) -> None:
    sol("solve", sol.task(numbers=str(list(range(64)))))
    assert len(sol("show").out.splitlines()) == 61
    assert len(sol("show", "--all").out.splitlines()) == 128


@pytest.mark.req("R20")
def test_show_tells_the_story_of_a_node(sol: CommandLine) -> None:
    sol("solve", sol.task())
    ended = sol("show", sol.run_id()[:4], "--node", "0")
    assert ended.code == 0
    assert ended.out.startswith(f"node 0 of run {sol.run_id()}: ✓ success\n")
    for words in (
        "Goal              Double each of the numbers",
        "Input             numbers: 2 items",
        "Worker            function, function=w:double",
        "attempt 1 reported STUCK (other): 2 numbers are too many at once",
        "rule 2 of report, STUCK, led to split",
        "split by inputs along inputs, side by side: 00, 01.",
        'rule 1 of children, all("success"), led to integrate; read children: [["00", "success"], ["01", "success"]]',
        "check holds: json_schema",
        "ended success",
        "✓ success   00 numbers: 1",
    ):
        assert words in ended.out
    assert "reason" not in sol("show", "--node", "00").out


def test_show_tells_why_a_node_failed_and_what_kind_that_is(sol: CommandLine) -> None:
    sol("solve", sol.task(numbers="[1, -2]"))
    out = sol("show", "--node", "1").out
    assert "✗ failed (unsplittable)" in out
    assert "-2 cannot be doubled" in out


def test_show_writes_the_result_of_an_old_run(sol: CommandLine) -> None:
    sol("solve", sol.task(more="result_file: result.json"))
    Path("result.json").unlink()
    ended = sol("show", "-o", "old.json")
    assert (ended.code, ended.out, ended.err) == (0, "", "written: old.json\n")
    assert json.loads(Path("old.json").read_text()) == [2, 4, 6, 8]
    assert not Path("result.json").exists()
    assert json.loads(sol("show", "-o", "-").out) == [2, 4, 6, 8]


def test_show_has_no_result_to_write_of_a_run_without_one(sol: CommandLine) -> None:
    sol("solve", sol.task(numbers="[-1]"))
    ended = sol("show", "-o", "old.json")
    assert ended.code == 4
    assert ended.err == f"error: Run {sol.run_id()} has no result; it is failed.\n"


def test_show_without_colours_writes_none(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    sol("solve", sol.task())
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[32m" in sol("show").out
    assert "\x1b[32m" not in sol("show", "--no-color").out


def test_cancel_ends_a_run_for_good(sol: CommandLine) -> None:
    sol("solve", sol.task(function="ask", goal="Name the colour of the sky"))
    run = sol.run_id()
    assert (sol("cancel", run, "--reason", "No need").code, sol("runs", "--json").lines[0]["status"]) == (
        0,
        "cancelled",
    )
    assert "■ cancelled" in sol("show").out
    assert "No need" in sol("show").out
    assert sol("resume", run).code == 4
    again = sol("cancel", run)
    assert again.code == 4
    assert "cannot be asked to cancel" in again.err


def test_cancel_of_a_node_leaves_the_others(sol: CommandLine) -> None:
    sol("solve", sol.task(function="ask", goal="Name the colour of each", strategy="plan-first", numbers="[1, 2]"))
    ended = sol("cancel", "latest", "--node", "0")
    assert (ended.code, ended.err) == (0, f"cancelled node 0 of run {sol.run_id()}\n")
    out = sol("show").out
    assert "■ cancelled 0 " in out
    assert "? waiting   1 " in out


def test_store_option_names_another_place_and_is_part_of_what_is_proposed(sol: CommandLine) -> None:
    store = f"sqlite:///{sol.directory}/else/runs.db"
    ended = sol("solve", sol.task(numbers="[-1]"), "--store", store)
    assert "kept in else/runs.db; look at it with: sol show" in ended.err
    assert f"--store {store}" in ended.err
    assert sol("runs").out == ""
    assert len(sol("runs", "--store", store).out.splitlines()) == 2


def test_store_comes_from_the_environment(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOL_STORE", f"sqlite:///{sol.directory}/env.db")
    ended = sol("solve", sol.task())
    assert "kept in env.db" in ended.err
    assert "--store" not in ended.err


def test_workspace_option_says_where_to_work(sol: CommandLine) -> None:
    (sol.directory / "there").mkdir()
    (sol.directory / "w.py").rename(sol.directory / "there" / "w.py")
    ended = sol("solve", sol.task(), "--workspace", "there")
    assert ended.code == 0
    assert "kept in there/.sol/runs.db" in ended.err
    assert "--workspace there" in ended.err
    assert sol("show", "--workspace", "there").code == 0


def test_strategies_list_has_shipped_ones_and_those_of_the_workspace(sol: CommandLine) -> None:
    own = Path(".sol/strategies")
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text(sol("strategies", "show", "halve").out.replace("name: halve", "name: mine"))
    (own / "bad.yaml").write_text("name: bad\n")
    out = sol("strategies", "list").out
    assert [line.split()[:2] for line in out.splitlines()[1:]][:3] == [
        ["bad", "workspace"],
        ["binary", "shipped"],
        ["halve", "shipped"],
    ]
    assert "cannot be used: " in out
    assert sol("strategies", "path", "mine").out == f"{sol.directory}/.sol/strategies/mine.yaml\n"


def test_strategies_validate_names_place_and_warnings(sol: CommandLine) -> None:
    ended = sol("strategies", "validate", "halve", "single")
    assert (ended.code, ended.out) == (0, "halve: can be used\nsingle: can be used\n")
    text = sol("strategies", "show", "halve").out
    Path("bad.yaml").write_text(text.replace("name: halve", "name: bad") + "\nnonsense: 1\n")
    gap = text.replace("name: halve", "name: odd").replace('    - {condition: any("blocked"), next: fail}\n', "")
    Path("odd.yaml").write_text(gap)
    ended = sol("strategies", "validate", "bad.yaml", "odd.yaml")
    assert ended.code == 2
    assert "bad.yaml:" in ended.err
    assert "nonsense" in ended.err
    assert "odd.yaml: warning: " in ended.out
    assert "odd.yaml: can be used" in ended.out


def test_version_is_told_by_command_and_option(sol: CommandLine) -> None:
    told = sol("version")
    assert told.code == 0
    assert told.out.startswith("sol-luna ")
    assert sol("--version").out == told.out


def test_help_names_the_exit_codes(sol: CommandLine) -> None:
    ended = sol("--help")
    assert ended.code == 0
    for words in ("0 solved", "1 not solved", "2 wrong usage", "3 not found", "5 waiting for an answer", "130 stopped"):
        assert words in " ".join(ended.out.split())


def test_show_follow_of_a_run_that_has_ended_just_shows_it(sol: CommandLine) -> None:
    sol("solve", sol.task())
    assert sol("show", "--follow").out == sol("show").out
    assert sol("show", "nosuch", "--follow").code == 3

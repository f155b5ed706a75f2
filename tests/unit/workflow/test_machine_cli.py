"""The commands `sol workflow check`, `graph` and `run`."""

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from sol.cli.app import main
from tests.unit.workflow.walk import PARALLEL

FUNCTION = "{kind: function, function: 'steps:work'}"
WORKER = """
def work(inputs, assignment):
    tags = [line[2:].split(" if: ")[0] for line in assignment.expected_output.description.splitlines()
            if line.startswith("- [")]
    if "ask" in assignment.goal and "user_inputs" not in inputs:
        from luna.protocol import Stuck
        return Stuck(blocker="?", question="Which one?")
    return f"answer {tags[WHICH]}"
"""


def invoke(*arguments: Any) -> tuple[int, str, str]:
    """The exit code, what was printed, and what was said on standard error."""
    out, error = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(error), pytest.raises(SystemExit) as end:
        main(["workflow", *map(str, arguments)])
    assert isinstance(end.value.code, int)
    return end.value.code, out.getvalue(), error.getvalue()


def prepared(directory: Path, *, text: str = PARALLEL, which: int = 0) -> Path:
    (directory / "steps.py").write_text(WORKER.replace("WHICH", str(which)), encoding="utf-8")
    path = directory / "w.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_check_tells_findings_and_counts(tmp_path: Path) -> None:
    good, bad = prepared(tmp_path), tmp_path / "bad.yaml"
    assert invoke("check", good) == (0, "1 of 1 files can be used, 0 warnings, 0 errors\n", "")
    bad.write_text(PARALLEL.replace("next: fix", "next: fax"), encoding="utf-8")
    code, out, _ = invoke("check", good, bad)
    assert code == 2
    assert f"{bad}:10:45: error: next: there is no step 'fax'; did you mean 'fix'?" in out
    assert out.endswith("1 of 2 files can be used, 1 warning, 1 error\n")
    code, out, _ = invoke("check", "--json", bad)
    found = json.loads(out)
    assert (code, found["good"]) == (2, 0)
    assert {"level": "error", "file": str(bad), "line": 10, "column": 45} in [
        {key: one[key] for key in ("level", "file", "line", "column")} for one in found["findings"]
    ]
    assert invoke("check", "nowhere")[0] == 3
    assert invoke("check", "review", "research")[0] == 0


def test_check_of_a_file_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("name: x\nsteps: []\n", encoding="utf-8")
    code, out, _ = invoke("check", bad)
    assert (code, f"{bad}:2:8: error: steps is empty" in out) == (2, True)


def test_graph_prints_a_diagram(tmp_path: Path) -> None:
    code, out, _ = invoke("graph", prepared(tmp_path))
    assert (code, out.splitlines()[0]) == (0, "flowchart TD")
    assert invoke("graph", tmp_path / "none.yaml")[0] == 3


def run(directory: Path, *arguments: Any) -> tuple[int, str, str]:
    path = directory / "w.yaml"
    return invoke("run", path, "--task", "x", "--worker", FUNCTION, "--workspace", directory, *arguments)


def test_run_ends_with_the_code_of_its_status(tmp_path: Path) -> None:
    prepared(tmp_path)
    code, out, error = run(tmp_path)
    assert (code, out) == (0, "## a\nanswer [A:1]\n\n---\n\n## b\nanswer [B:1]\n")
    assert "success" in error
    code, out, _ = run(tmp_path, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert (code, lines[-1]["status"], lines[0]["type"]) == (0, "success", "run_started")
    assert invoke("run", "nope", "--task", "x")[0] == 3
    assert run(tmp_path, "--worker", "{kind: nope}")[0] == 2
    assert run(tmp_path, "--worker", "{tools: 1}")[0] == 2
    assert run(tmp_path, "--worker", "nope")[0] == 2


def test_run_out_of_steps_goes_on_with_more(tmp_path: Path) -> None:
    prepared(tmp_path, text=PARALLEL + "    allowed_tools: [Read]\n")
    code, _, error = run(tmp_path, "--max-steps", 0)
    assert (code, "allowed_tools of fix: a worker of kind 'function' cannot honour it" in error) == (1, True)
    assert "The limit of 0 steps is reached" in error
    assert re.search(r"go on with: sol workflow resume \w+ --max-steps N", error)
    code, _, _ = invoke("resume", "latest", "--workspace", tmp_path, "--max-steps", 1)
    assert code == 0
    assert invoke("resume", "latest", "--workspace", tmp_path)[0] == 4


def test_run_that_asks_ends_waiting(tmp_path: Path) -> None:
    step = "{name: s, instruction: ask me, rules: [{condition: a, next: COMPLETE}]}"
    prepared(tmp_path, text=f"name: a\nsteps:\n  - {step}\n")
    code, _, error = run(tmp_path)
    assert (code, "Which one?" in error) == (5, True)


def test_run_of_a_broken_workflow_is_a_usage_error(tmp_path: Path) -> None:
    prepared(tmp_path, text=PARALLEL.replace("next: fix", "next: fax"))
    code, _, error = run(tmp_path)
    assert (code, "no step 'fax'" in error) == (2, True)


@pytest.mark.parametrize("command", ["check", "graph", "run", "resume"])
def test_every_command_explains_itself(command: str) -> None:
    code, out, _ = invoke(command, "--help")
    assert (code, "Usage" in out) == (0, True)

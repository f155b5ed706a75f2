"""A workflow whose process is killed goes on where it was: finished sub-steps are not run again."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from sol.solver import Sol

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="kill -9 is POSIX")]

FLOW = """
name: crash
steps:
  - {name: plan, instruction: step plan, report: plan.md, rules: [{condition: ok, next: reviews}]}
  - name: reviews
    parallel:
      - {name: a, instruction: step a, rules: [{condition: ok}]}
      - {name: b, instruction: step b, rules: [{condition: ok}]}
      - {name: slow, instruction: step slow, rules: [{condition: ok}]}
    rules: [{condition: all("ok"), next: last}]
  - {name: last, instruction: step last, rules: [{condition: ok, next: COMPLETE}]}
"""

# Each step leaves a line in a file when it begins; the slow one waits as long as there is no file named `go`.
WORKER = """
import time
from pathlib import Path


def work(inputs, assignment, delivery):
    name = assignment.goal.removeprefix("step ")
    with (delivery.workspace / "calls.txt").open("a") as calls:
        calls.write(f"{name} {delivery.key}\\n")
    while name == "slow" and not (delivery.workspace / "go").exists():
        time.sleep(0.01)
    return f"done [{name.upper()}:1]"
"""

CHILD = """
import sys
from pathlib import Path
from sol.solver import Sol
from sol.workflow import Workflow

directory = Path(sys.argv[1])
sol = Sol(worker={"kind": "function", "function": "steps:work"}, workspace=directory)
sol.solve(Workflow.load(directory / "w.yaml"), task="x")
"""


def calls(directory: Path) -> list[str]:
    path = directory / "calls.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@pytest.mark.req("R26")
def test_killed_workflow_runs_no_finished_sub_step_again(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text(FLOW, encoding="utf-8")
    (tmp_path / "steps.py").write_text(WORKER, encoding="utf-8")
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.DEVNULL)
    sol = Sol(worker={"kind": "function", "function": "steps:work"}, workspace=tmp_path)
    try:
        deadline = time.monotonic() + 60
        while not _two_are_done(sol, tmp_path):
            assert child.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    (tmp_path / "go").touch()
    run = sol.resume("latest")
    assert run.status == "success"
    made = calls(tmp_path)
    assert Counter(line.split()[0] for line in made) == {"plan": 1, "a": 1, "b": 1, "slow": 2, "last": 1}
    slow = {line for line in made if line.startswith("slow")}
    assert len(slow) == 1  # delivered again under the same key


def _two_are_done(sol: Sol, directory: Path) -> bool:
    if len(calls(directory)) < 4:
        return False
    import asyncio

    nodes = asyncio.run(sol.load("latest")).state.nodes
    return all(nodes[f"reviews#1/{name}"].ended for name in "ab" if f"reviews#1/{name}" in nodes)

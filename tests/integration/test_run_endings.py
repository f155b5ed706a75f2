"""Whole runs, ended in every way there is: nothing that a Luna started outlives its engine, or the next start finds it.

Each engine here gets a token of its own, which all that descends from it carries in its environment; the tests look for
that token, and for the sessions and groups they have seen, by themselves.
"""

import asyncio
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from luna.process.table import TOKEN_VARIABLE
from tests.support.processes import group_members, is_alive, until, with_sandbox

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="needs setsid and /proc")]

START_S = 60
"""An engine loads all of itself first, on a machine that may be busy."""
GRACE_S = 0.5
END_S = GRACE_S + 40
"""Grace time of the workers, and what an engine needs to commit, to tell and to end on a busy machine."""

SLEEPERS = "sleep 300 & (setsid sleep 301 &); until [ -e go ]; do sleep 0.05; done; echo done"
DEAF = f"trap '' TERM; {SLEEPERS}"

TASK = """
goal: Wait until someone says go
context: none
inputs: {{numbers: {numbers}}}
constraints: none
expected_output: {{description: Anything}}
success_criteria: [It is done]
stop_conditions: [Nobody ever says go]
strategy: {strategy}
worker: {worker}
"""

FUNCTION = """
from luna.process.execute import ProcessLimits, run_process

async def work(inputs, *, delivery):
    limits = ProcessLimits(timeout_s=None, grace_s={grace_s})
    ended = await run_process(["sh", "-c", {command!r}], cwd=delivery.workspace, limits=limits)
    return ended.stdout.decode()
"""

HALVES = f"""
task=$(cat)
case $task in
  *'"numbers": [1, 2'*) echo '{{"status": "STUCK", "blocker": "too many"}}' ;;
  *'"numbers": [3, 4]'*) touch begun; {SLEEPERS} ;;
  *) until [ -e begun ]; do sleep 0.05; done; echo '{{"status": "SUCCESS", "summary": "done", "result": [1]}}' ;;
esac
"""

BREAKING = """
import sys
from pathlib import Path
from sol import Sol
from sol.tree.effects import IntegrateRequest
from sol.planner import FreePlanner

class Breaking(FreePlanner):
    async def answer(self, request):
        if isinstance(request, IntegrateRequest):
            sys.stdin.readline()
            raise ArithmeticError("integration failed")
        return await super().answer(request)

Sol(planner=Breaking(Path.cwd())).solve(Path("task.yaml"))
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """One process of a run, as it was while the run was at work."""

    pid: int
    started: float
    group: int
    session: int
    command: str


class Engine:
    """Starts engines in one directory, and knows what descends from them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.token = secrets.token_hex(16)
        self._started: list[subprocess.Popen[str]] = []
        hidden = {"SOL_MODEL", "LUNA_MODEL", "SOL_STORE", "SOL_BASE_URL", "SOL_DEBUG"}
        self._env = {name: value for name, value in os.environ.items() if name not in hidden}
        self._env["PYTHONPATH"] = str(Path(__file__).parents[2])

    def writes(self, kind: str, command: str, *, grace_s: float = GRACE_S, strategy: str = "single") -> None:
        """Write the task: what one Luna does, or several."""
        worker: dict[str, object] = {"kind": "command", "command": ["sh", "-c", command], "grace_s": grace_s}
        if kind == "function":
            worker = {"kind": "function", "function": "w:work"}
            (self.directory / "w.py").write_text(FUNCTION.format(grace_s=grace_s, command=command))
        if kind == "sandbox":
            worker["sandbox"] = "required"
        if strategy == "halve":
            worker["output"] = "report"
        text = TASK.format(numbers="[1, 2, 3, 4]", strategy=strategy, worker=json.dumps(worker))
        (self.directory / "task.yaml").write_text(text)

    def start(
        self, *words: str, code: str = "from sol.cli import main; main()", known: bool = True
    ) -> "subprocess.Popen[str]":
        pipe = subprocess.PIPE
        token = {TOKEN_VARIABLE: self.token} if known else {}
        process = subprocess.Popen(
            [sys.executable, "-c", code, *words],
            cwd=self.directory,
            env=self._env | token,
            text=True,
            start_new_session=True,
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
        )
        self._started.append(process)
        return process

    def living(self) -> list[Seen]:
        """All living processes that carry the token."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError):
                tokens = process.environ().get(TOKEN_VARIABLE, "").split(":")
                if self.token in tokens and process.status() != psutil.STATUS_ZOMBIE:
                    group, session = os.getpgid(process.pid), os.getsid(process.pid)
                    words = " ".join(process.cmdline())
                    found.append(Seen(process.pid, process.create_time(), group, session, words))
        return found

    async def at_work(self) -> list[Seen]:
        """Wait until a Luna has all its processes; all processes of the run, the engine with them."""
        found: list[Seen] = []

        def is_at_work() -> bool:
            nonlocal found
            found = self.living()
            return {"sleep 300", "sleep 301"} <= {seen.command for seen in found}

        await until(is_at_work, START_S)
        return found

    def remains(self, before: list[Seen]) -> list[object]:
        """What is alive of a run, found in three ways."""
        same = [seen for seen in before if psutil.pid_exists(seen.pid) and _is_same(seen)]
        groups = {seen.group for seen in before} | {seen.session for seen in before}
        return [*same, *self.living(), *group_members(groups)]

    def end(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        for seen in self.living():
            os.kill(seen.pid, signal.SIGKILL)


def _is_same(seen: Seen) -> bool:
    try:
        process = psutil.Process(seen.pid)
        return process.create_time() == seen.started and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    found = Engine(tmp_path)
    yield found
    found.end()


COMMANDS = [
    pytest.param("command", SLEEPERS, id="meek"),
    pytest.param("command", DEAF, id="deaf"),
    pytest.param("sandbox", SLEEPERS, id="sandbox-meek", marks=with_sandbox),
    pytest.param("sandbox", DEAF, id="sandbox-deaf", marks=with_sandbox),
]
FUNCTIONS = [pytest.param("function", DEAF, id="function")]


@pytest.mark.case("PROC-01")
@pytest.mark.req("S10")
@pytest.mark.parametrize(("kind", "command"), [*COMMANDS, *FUNCTIONS])
@pytest.mark.parametrize("number", [None, signal.SIGINT, signal.SIGTERM], ids=["end", "sigint", "sigterm"])
async def test_run_that_ends_leaves_no_process(
    engine: Engine, kind: str, command: str, number: signal.Signals | None
) -> None:
    engine.writes(kind, command)
    process = engine.start("solve", "task.yaml")
    before = await engine.at_work()
    assert len(before) >= 4  # engine, shell and two sleepers
    began = time.monotonic()
    if number is None:
        (engine.directory / "go").touch()
    else:
        process.send_signal(number)
    out, err = await asyncio.to_thread(process.communicate, timeout=START_S)
    assert engine.remains(before) == []
    assert time.monotonic() - began < END_S
    assert process.returncode == (0 if number is None else 130), err
    assert (out.strip() == "done") == (number is None)
    assert list((engine.directory / ".sol" / "processes").glob("*")) == []


@pytest.mark.case("PROC-01")
@pytest.mark.req("S10")
@pytest.mark.parametrize("kind", ["command", pytest.param("sandbox", marks=with_sandbox)])
async def test_run_whose_integration_raises_leaves_no_process(engine: Engine, kind: str) -> None:
    engine.writes(kind, HALVES, strategy="halve")
    process = engine.start(code=BREAKING)
    before = await engine.at_work()
    began = time.monotonic()
    _, err = await asyncio.to_thread(process.communicate, "go\n", timeout=START_S)
    assert engine.remains(before) == []
    assert time.monotonic() - began < END_S
    assert process.returncode == 1
    assert "ArithmeticError: integration failed" in err


@pytest.mark.case("PROC-01")
@pytest.mark.parametrize(("kind", "command"), [*COMMANDS, *FUNCTIONS])
async def test_second_interrupt_ends_all_at_once(engine: Engine, kind: str, command: str) -> None:
    engine.writes(kind, command, grace_s=4)
    process = engine.start("solve", "task.yaml")
    before = await engine.at_work()
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert "Ctrl-C again" in await asyncio.to_thread(process.stderr.readline)
    process.send_signal(signal.SIGINT)
    assert await asyncio.to_thread(process.wait, 2) == 130
    await until(lambda: engine.remains(before) == [], 1)


@pytest.mark.case("PROC-01")
@pytest.mark.parametrize(("kind", "command"), [*COMMANDS, *FUNCTIONS])
async def test_next_start_ends_and_tells_what_a_killed_engine_left(
    engine: Engine, bystander: int, kind: str, command: str
) -> None:
    engine.writes(kind, command)
    process = engine.start("solve", "task.yaml")
    before = await engine.at_work()
    process.kill()
    process.communicate()
    left = [seen for seen in before if seen.command in {"sleep 300", "sleep 301"}]
    _record_with_reused_pid(engine.directory / ".sol" / "processes", bystander)
    looking = engine.start("runs", known=False)
    assert "killed" in looking.communicate(timeout=START_S)[0]
    assert all(_is_same(seen) for seen in left)  # who only looks ends nothing
    (engine.directory / "go").touch()
    resumed = engine.start("resume", "latest", known=False)
    _, err = await asyncio.to_thread(resumed.communicate, timeout=START_S)
    assert resumed.returncode == 0, err
    assert re.search(r"^ended what a killed run had left: \d+ worker processes \(\S+ of run \w+\)$", err, re.MULTILINE)
    assert engine.remains(before) == []
    assert is_alive(bystander)


@pytest.fixture
def bystander() -> Iterator[int]:
    """Pid of a process that no engine has started."""
    with subprocess.Popen(["sleep", "302"], start_new_session=True) as process:
        yield process.pid
        process.kill()


def _record_with_reused_pid(records: Path, pid: int) -> None:
    """Leave a record as if the pid of its command had become that of another process."""
    record = json.loads(next(records.glob("*.jsonl")).read_text().splitlines()[-1])
    token = secrets.token_hex(16)
    (records / f"{token}.jsonl").write_text(json.dumps(record | {"token": token, "leader": pid}) + "\n")

"""The command line as real processes: Ctrl-C, signals, kill -9, two resumes of one run, a terminal."""

import asyncio
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sol.journal import SqlJournal, default_url
from tests.support.processes import is_alive, until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="uses process groups and terminals")]

START_S = 60
"""A command loads the whole engine first, on a machine that may be busy."""

WORKER = """
import asyncio
from luna.protocol import Stuck

async def work(inputs, *, delivery):
    def note(what):
        with (delivery.workspace / "log.txt").open("a") as file:
            file.write(f"{what} {delivery.key.partition('/')[2]}\\n")

    note("begun")
    numbers = inputs["numbers"]
    if len(numbers) > 1:
        note("ended")
        return Stuck(blocker=f"{len(numbers)} numbers are too many at once")
    while numbers[0] > 2 and not (delivery.workspace / "go").exists():
        await asyncio.sleep(0.01)
    note("ended")
    return [2 * numbers[0]]
"""

TASK = """
goal: Double each of the numbers
context: none
inputs: {numbers: [1, 2, 3, 4]}
constraints: none
expected_output: {description: A list, json_schema: {type: array}}
success_criteria: [Each number is doubled]
stop_conditions: [There are no numbers]
strategy: halve
worker: {kind: function, function: "w:work"}
"""

SLEEPER = """
goal: Sleep as long as the numbers say
context: none
inputs: none
constraints: none
expected_output: Nothing
success_criteria: [It has slept]
stop_conditions: [There is no bed]
strategy: single
worker:
  kind: command
  input: none
  command: [sh, -c, "echo $$ >> pids; sh -c 'echo $$ >> pids; sleep 300' & %s; sleep 300"]
"""

WAITING = {"begun 10/attempt/1", "begun 11/attempt/1"}
DONE_BEFORE = {"/attempt/1", "0/attempt/1", "1/attempt/1", "00/attempt/1", "01/attempt/1"}


class Commands:
    """Starts commands in one directory, and ends those that are left."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._started: list[subprocess.Popen[str]] = []
        hidden = {"SOL_MODEL", "LUNA_MODEL", "SOL_STORE", "SOL_BASE_URL", "SOL_DEBUG"}
        self.env = {name: value for name, value in os.environ.items() if name not in hidden}
        self.env["PYTHONPATH"] = str(Path(__file__).parents[2])
        (directory / "w.py").write_text(WORKER)
        (directory / "task.yaml").write_text(TASK)

    def start(self, *arguments: str, **streams: Any) -> subprocess.Popen[str]:
        code = "from sol.cli import main; main()"
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **streams}
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments], cwd=self.directory, env=self.env, text=True, **streams
        )
        self._started.append(process)
        return process

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=START_S)
        return process.returncode, out, err

    def end(self) -> None:
        for process in self._started:
            if process.poll() is None:
                process.kill()
            process.communicate()

    @property
    def log(self) -> list[str]:
        path = self.directory / "log.txt"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def pids(self) -> list[int]:
        path = self.directory / "pids"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def go(self) -> None:
        """Let the workers that wait go on."""
        (self.directory / "go").touch()

    def ended(self) -> set[str]:
        return {line.removeprefix("ended ") for line in self.log if line.startswith("ended ")}

    def newest(self) -> dict[str, Any]:
        run: dict[str, Any] = json.loads(self.run("runs", "--json", "--limit", "1")[1])
        return run


@pytest.fixture
def sol(tmp_path: Path) -> Iterator[Commands]:
    commands = Commands(tmp_path)
    yield commands
    commands.end()


async def at_work(sol: Commands) -> subprocess.Popen[str]:
    """A run of which five attempts are done and two are waiting."""
    process = sol.start("solve", "task.yaml", "-o", "result.json")
    await until(lambda: set(sol.log) >= WAITING and sol.ended() >= DONE_BEFORE, START_S)
    async with SqlJournal(default_url(sol.directory)) as journal:
        (run,) = await journal.list(limit=1)
        for _ in range(1_000):
            if sum(one.type == "reported" for one in await journal.read(run.id)) == len(DONE_BEFORE):
                return process
            await asyncio.sleep(0.01)
    pytest.fail("the reports were not committed")


def finish(sol: Commands, *, begun_twice: set[str]) -> str:
    """Resume, and check that nothing which was finished is done again; what was said."""
    sol.go()
    code, _, err = sol.run("resume", "latest", "-o", "result.json")
    assert code == 0, err
    assert json.loads((sol.directory / "result.json").read_text()) == [2, 4, 6, 8]
    counts = Counter(sol.log)
    assert {line for line, count in counts.items() if line.startswith("ended ") and count > 1} == set()
    assert {line.removeprefix("begun ") for line, count in counts.items() if count > 1} == begun_twice
    return err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_first_signal_leaves_a_run_that_can_be_resumed(sol: Commands, number: signal.Signals) -> None:
    process = await at_work(sol)
    process.send_signal(number)
    out, err = process.communicate(timeout=START_S)
    assert process.returncode == 130
    run = sol.newest()
    assert (out, run["status"], run["held_by"]) == ("", "interrupted", None)
    assert "Stopping the workers; the run can be resumed. Ctrl-C again ends everything at once." in err
    assert f"go on with: sol resume {run['id']}\n" in err
    assert not (sol.directory / "result.json").exists()
    assert sol.ended() == DONE_BEFORE
    # An attempt that was stopped and is taken up again counts as another one.
    assert finish(sol, begun_twice=set())
    assert {"begun 10/attempt/2", "begun 11/attempt/2"} <= set(sol.log)


async def test_kill_leaves_a_run_that_can_be_resumed(sol: Commands) -> None:
    process = await at_work(sol)
    process.kill()
    process.communicate()
    assert sol.newest()["status"] == "killed"
    # What was in flight has no outcome, so the same attempts are delivered again.
    finish(sol, begun_twice={"10/attempt/1", "11/attempt/1"})


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_signal_ends_all_processes_of_the_workers(sol: Commands, number: signal.Signals) -> None:
    (sol.directory / "sleep.yaml").write_text(SLEEPER % "true")
    process = sol.start("solve", "sleep.yaml")
    await until(lambda: len(sol.pids) == 2, START_S)
    process.send_signal(number)
    process.communicate(timeout=START_S)
    assert process.returncode == 130
    assert not [pid for pid in sol.pids if is_alive(pid)]


async def test_second_signal_ends_everything_at_once(sol: Commands) -> None:
    (sol.directory / "sleep.yaml").write_text(SLEEPER % "trap '' TERM")
    process = sol.start("solve", "sleep.yaml", stderr=subprocess.PIPE)
    await until(lambda: len(sol.pids) == 2, START_S)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    await asyncio.to_thread(process.stderr.readline)  # the first one has been understood
    process.send_signal(signal.SIGINT)
    assert await asyncio.to_thread(process.wait, 2) == 130
    await until(lambda: not [pid for pid in sol.pids if is_alive(pid)], 2)
    assert sol.newest()["status"] == "killed"


async def test_leftovers_of_a_killed_run_are_reported_and_ended_by_the_next_start(sol: Commands) -> None:
    (sol.directory / "sleep.yaml").write_text(SLEEPER % "true")
    process = sol.start("solve", "sleep.yaml")
    await until(lambda: len(sol.pids) == 2, START_S)
    process.kill()
    process.communicate()
    left = sol.pids
    assert all(is_alive(pid) for pid in left)
    sol.go()
    code, _, err = sol.run("solve", "task.yaml")
    assert code == 0
    assert re.search(
        r"^ended what a killed run had left: [34] worker processes \(sh of run \w{6}\)$", err, re.MULTILINE
    )
    assert not [pid for pid in left if is_alive(pid)]
    assert not list((sol.directory / ".sol" / "processes").glob("*.jsonl")), "and its records are gone"


@pytest.mark.case("RES-04")
async def test_two_resumes_of_one_run_one_works_and_one_is_told_who_does(sol: Commands) -> None:
    process = await at_work(sol)
    process.kill()
    process.communicate()
    rivals = [sol.start("resume", "latest", "-q") for _ in range(2)]
    await until(lambda: any(rival.poll() is not None for rival in rivals), START_S)
    (loser,) = [rival for rival in rivals if rival.poll() is not None]
    (winner,) = [rival for rival in rivals if rival is not loser]
    _, err = loser.communicate()
    assert loser.returncode == 4
    assert re.search(rf"^error: Run '\w+' is already held by process {winner.pid} on host '.+' since .+ UTC\.", err)
    sol.go()
    out, _ = winner.communicate(timeout=START_S)
    assert winner.returncode == 0
    assert json.loads(out) == [2, 4, 6, 8]
    ended = [line for line in sol.log if line.startswith("ended ")]
    assert len(ended) == len(set(ended)) == 7


async def test_cancellation_is_passed_on_to_the_process_at_work(sol: Commands) -> None:
    process = await at_work(sol)
    code, _, err = sol.run("cancel", "latest")
    assert code == 0
    assert re.match(rf"asked process {process.pid} on host '.+' since .+ to cancel run \w+\n", err)
    _, err = process.communicate(timeout=START_S)
    assert process.returncode == 1
    assert "not solved: Cancelled on request." in err
    assert sol.newest()["status"] == "cancelled"


async def test_reader_of_the_events_that_goes_away_stops_the_run(sol: Commands) -> None:
    process = sol.start("solve", "task.yaml", "--json")
    assert process.stdout is not None
    await asyncio.to_thread(process.stdout.readline)
    process.stdout.close()
    await until(lambda: process.poll() is not None, START_S)
    assert process.returncode == 1
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert sol.newest()["status"] == "interrupted"


async def test_terminal_shows_a_live_tree_and_ctrl_c_leaves_a_run(sol: Commands) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    sol.env |= {"TERM": "xterm-256color"}
    sol.env.pop("COLUMNS", None)
    process = sol.start(
        "solve",
        "task.yaml",
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        preexec_fn=_own_terminal,
    )
    os.close(theirs)
    shown = bytearray()
    reading = asyncio.create_task(asyncio.to_thread(_read_all, ours, shown))
    await until(lambda: set(sol.log) >= WAITING and b"2 running" in shown, START_S)
    os.write(ours, b"\x03")
    await until(lambda: process.poll() is not None, START_S)
    await reading
    os.close(ours)
    assert process.returncode == 130
    text = shown.decode()
    assert "◐ running" in text
    assert "Stopping the workers; the run can be resumed." in text
    assert "go on with: sol resume " in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")  # the cursor is back
    sol.env["TERM"] = "dumb"
    finish(sol, begun_twice=set())


def _own_terminal() -> None:
    """Make the terminal on standard input the one whose Ctrl-C reaches the process."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read_all(descriptor: int, into: bytearray) -> None:
    try:
        while data := os.read(descriptor, 65536):
            into += data
    except OSError:  # the other side has been closed
        pass


async def test_follow_watches_a_run_of_another_process_until_it_ends(sol: Commands) -> None:
    process = await at_work(sol)
    watcher = sol.start("show", "--follow")
    assert watcher.stdout is not None
    first = watcher.stdout.readline()
    assert " running · " in first
    sol.go()
    process.communicate(timeout=START_S)
    out, err = watcher.communicate(timeout=START_S)
    assert (watcher.returncode, err) == (0, "")
    words = [line.partition(":")[0] for line in out.splitlines()]
    told = words[: words.index(". success") + 1]
    assert told[-2:] == ["1 success", ". success"]
    assert " success · " in out.splitlines()[len(told)]


async def test_ctrl_c_ends_the_watching_and_not_the_run(sol: Commands) -> None:
    process = await at_work(sol)
    watcher = sol.start("show", "--follow")
    assert watcher.stdout is not None
    assert watcher.stdout.readline()
    watcher.send_signal(signal.SIGINT)
    _, err = watcher.communicate(timeout=START_S)
    assert watcher.returncode == 130
    assert "Traceback" not in err
    sol.go()
    process.communicate(timeout=START_S)
    assert process.returncode == 0

"""Whole process groups, with real processes and a real engine process that is ended in every way there is."""

import asyncio
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from luna.process.execute import ProcessLimits, ProcessRegistry, run_process
from luna.process.sandbox import Confinement, ConfinementOptions
from tests.support.processes import group_members, with_sandbox

WORKER = "sleep 300 & sleep 300"
STUBBORN = "trap '' TERM; sleep 300 & sleep 300; sleep 300"  # its children inherit that TERM is ignored
GRACE_S = 0.3
SLACK_S = 1.0
"""What the call may take beyond time-out and grace."""

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs setsid and /proc")

ENGINE = """
import asyncio, signal, sys
from pathlib import Path
from luna.process.execute import ProcessLimits, ProcessRegistry, run_process
from luna.process.sandbox import Confinement, ConfinementOptions
from tests.support.processes import group_members, with_sandbox

mode, command, mark, directory, grace_s = sys.argv[1:]
registry = ProcessRegistry(Path(directory), run="run-1", node="01")
limits = ProcessLimits(timeout_s=None, grace_s=float(grace_s))

async def integrate():
    await asyncio.to_thread(sys.stdin.readline)
    raise ArithmeticError("integration failed")

async def main():
    loop, me = asyncio.get_running_loop(), asyncio.current_task()
    run = run_process(["sh", "-c", command], cwd=Path(), limits=limits, env={"TEST_MARK": mark}, registry=registry)
    if mode == "normal":
        task = loop.create_task(run)
        await asyncio.to_thread(sys.stdin.readline)
        return
    if mode == "exception":
        async with asyncio.TaskGroup() as group:
            group.create_task(run)
            group.create_task(integrate())
    if mode == "sigterm":
        loop.add_signal_handler(signal.SIGTERM, me.cancel)
    if mode == "twice":
        def handle(number, frame):
            if me.cancelling():
                registry.kill_all_now()
            else:
                me.cancel()
                loop.call_soon_threadsafe(lambda: print("cancelled", flush=True))
        signal.signal(signal.SIGINT, handle)
    await run

asyncio.run(main())
"""


@pytest.fixture
def mark() -> Iterator[str]:
    """Stands in the environment of everything a test starts, so that the test finds it by itself."""
    value = secrets.token_hex(8)
    yield value
    for process in marked(value):
        process.kill()


def marked(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("TEST_MARK") == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def until(condition: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.01)
    pytest.fail(f"not within {seconds} s")


class Engine:
    """An engine process with one worker, whose three processes are running."""

    def __init__(self, mode: str, directory: Path, mark: str, *, command: str = WORKER, grace_s: float = 5) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", ENGINE, mode, command, mark, str(directory), str(grace_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        until(lambda: len(marked(mark)) >= 3)
        self.workers = {worker.pid for worker in marked(mark)}
        self.groups = {os.getpgid(pid) for pid in self.workers}
        assert len(self.groups) == 1

    def end(self, *, seconds: float) -> str:
        """Say "go" and wait for the engine's end, which must come in time; return what it wrote to stderr."""
        try:
            return self.process.communicate("go\n", timeout=seconds)[1]
        finally:
            self.process.kill()


@pytest.mark.case("PROC-01")
@pytest.mark.req("S10")
@pytest.mark.parametrize(
    ("mode", "number", "said"),
    [
        ("normal", None, ""),
        ("sigint", signal.SIGINT, "KeyboardInterrupt"),
        ("sigterm", signal.SIGTERM, "CancelledError"),
        ("exception", None, "integration failed"),
    ],
)
@pytest.mark.parametrize(("command", "grace_s"), [(WORKER, 5.0), (STUBBORN, GRACE_S)], ids=["meek", "stubborn"])
def test_engine_that_ends_leaves_no_process(
    tmp_path: Path, mark: str, mode: str, number: signal.Signals | None, said: str, command: str, grace_s: float
) -> None:
    engine = Engine(mode, tmp_path / "processes", mark, command=command, grace_s=grace_s)
    if number is not None:
        engine.process.send_signal(number)
    errors = engine.end(seconds=grace_s + 10)
    assert said in errors if said else errors == ""
    assert "ResourceWarning" not in errors
    assert marked(mark) == []
    assert group_members(engine.groups) == []
    assert list((tmp_path / "processes").iterdir()) == []


@pytest.mark.case("PROC-01")
def test_second_sigint_kills_at_once(tmp_path: Path, mark: str) -> None:
    engine = Engine("twice", tmp_path / "processes", mark, command=STUBBORN, grace_s=100)
    engine.process.send_signal(signal.SIGINT)
    assert engine.process.stdout is not None
    assert engine.process.stdout.readline() == "cancelled\n"
    assert len(group_members(engine.groups)) == 3
    engine.process.send_signal(signal.SIGINT)
    engine.end(seconds=10)
    assert group_members(engine.groups) == []


@pytest.mark.case("PROC-01")
@pytest.mark.parametrize("command", [WORKER, STUBBORN], ids=["meek", "stubborn"])
async def test_next_start_finds_what_a_killed_engine_left(tmp_path: Path, mark: str, command: str) -> None:
    engine = Engine("sigkill", tmp_path / "processes", mark, command=command)
    registry = ProcessRegistry(tmp_path / "processes")
    assert registry.find_leftovers() == ()  # its engine is alive
    engine.process.kill()
    engine.process.communicate()
    found = registry.find_leftovers()
    assert {left.pid for left in found} == engine.workers
    assert {(left.command, left.run, left.node) for left in found} == {("sh", "run-1", "01")}
    assert len(group_members(engine.groups)) == 3  # finding changes nothing
    assert await registry.end_leftovers(grace_s=GRACE_S) == ()
    assert group_members(engine.groups) == []
    assert list((tmp_path / "processes").iterdir()) == []


@pytest.mark.case("PROC-01")
async def test_next_start_finds_members_whose_leader_is_gone(tmp_path: Path, mark: str) -> None:
    engine = Engine("sigkill", tmp_path / "processes", mark)
    engine.process.kill()
    engine.process.communicate()
    (leader,) = engine.groups
    os.kill(leader, signal.SIGKILL)
    until(lambda: leader not in group_members({leader}))
    registry = ProcessRegistry(tmp_path / "processes")
    assert {left.pid for left in registry.find_leftovers()} == engine.workers - {leader}
    assert await registry.end_leftovers(grace_s=GRACE_S) == ()
    assert group_members(engine.groups) == []


@pytest.mark.case("PROC-02")
async def test_timeout_ends_the_whole_group_and_the_reader(tmp_path: Path, mark: str) -> None:
    command = "trap '' TERM; (trap '' TERM; sleep 60) & echo hi; sleep 60"
    limits = ProcessLimits(timeout_s=1, grace_s=GRACE_S)
    result = await run_process(["sh", "-c", command], cwd=tmp_path, limits=limits, env={"TEST_MARK": mark})
    assert (result.kind, result.stdout, result.signal) == ("timeout", b"hi\n", signal.SIGKILL)
    assert 1 + GRACE_S <= result.seconds < 1 + GRACE_S + SLACK_S
    assert result.leftovers == ()
    assert marked(mark) == []


@pytest.mark.case("PROC-02")
async def test_group_gets_term_before_kill(tmp_path: Path, mark: str) -> None:
    command = "(trap 'echo inner' TERM; while :; do sleep 0.02; done) & trap 'echo outer' TERM; while :; do wait; done"
    limits = ProcessLimits(timeout_s=GRACE_S, grace_s=GRACE_S)
    result = await run_process(["sh", "-c", command], cwd=tmp_path, limits=limits, env={"TEST_MARK": mark})
    assert (result.kind, result.signal) == ("timeout", signal.SIGKILL)
    assert sorted(result.stdout.splitlines()) == [b"inner", b"outer"]
    assert marked(mark) == []


@linux
@pytest.mark.case("PROC-02")
@pytest.mark.parametrize(
    "command", ["setsid sleep 60 & echo $!; sleep 60", "trap '' TERM; setsid sleep 60 & echo $!; sleep 60"]
)
async def test_timeout_ends_and_reports_what_left_the_group(tmp_path: Path, mark: str, command: str) -> None:
    limits = ProcessLimits(timeout_s=GRACE_S, grace_s=GRACE_S)
    result = await run_process(["sh", "-c", command], cwd=tmp_path, limits=limits, env={"TEST_MARK": mark})
    assert (result.kind, result.leftovers) == ("timeout", ())
    assert result.escaped == (int(result.stdout),)
    assert result.seconds < GRACE_S + GRACE_S + SLACK_S
    assert marked(mark) == []


@linux
@pytest.mark.case("PROC-02")
@pytest.mark.parametrize("ending", ["sleep 60", "exit 0"], ids=["timeout", "exit"])
async def test_reader_gives_up_on_a_holder_that_cannot_be_identified(tmp_path: Path, ending: str) -> None:
    command = f"(env -i setsid sh -c 'echo $$; exec sleep 60' &) ; sleep 0.1; {ending}"
    limits = ProcessLimits(timeout_s=2 * GRACE_S, grace_s=GRACE_S)
    result = await run_process(["sh", "-c", command], cwd=tmp_path, limits=limits)
    holder = int(result.stdout)
    try:
        assert result.kind == ("timeout" if ending == "sleep 60" else "exited")
        assert result.leftovers == (holder,)
        assert result.seconds < 3 * GRACE_S + SLACK_S
    finally:
        os.kill(holder, signal.SIGKILL)


@pytest.mark.case("PROC-01")
@pytest.mark.parametrize(
    "command",
    [
        "sleep 300 & exit 5",
        "sleep 300 >/dev/null 2>&1 & exit 5",
        "trap '' TERM; sleep 300 & exit 5",
        pytest.param("setsid sleep 300 >/dev/null 2>&1 & exit 5", marks=linux),
        pytest.param("(setsid setsid sleep 300 &) ; exit 5", marks=linux),
    ],
)
async def test_background_child_does_not_outlive_a_normal_end(tmp_path: Path, mark: str, command: str) -> None:
    limits = ProcessLimits(timeout_s=30, grace_s=GRACE_S)
    result = await run_process(["sh", "-c", command], cwd=tmp_path, limits=limits, env={"TEST_MARK": mark})
    assert (result.kind, result.exit_code, result.leftovers) == ("exited", 5, ())
    assert result.seconds < GRACE_S + SLACK_S + 0.25
    assert marked(mark) == []


async def test_output_of_a_child_that_ends_just_after_the_command_is_kept(tmp_path: Path) -> None:
    limits = ProcessLimits(timeout_s=30, grace_s=5)
    result = await run_process(["sh", "-c", "(sleep 0.05; echo late) & echo early"], cwd=tmp_path, limits=limits)
    assert (result.exit_code, result.stdout) == (0, b"early\nlate\n")


async def test_stopped_process_is_ended(tmp_path: Path, mark: str) -> None:
    limits = ProcessLimits(timeout_s=GRACE_S, grace_s=GRACE_S)
    result = await run_process(["sh", "-c", "kill -STOP $$"], cwd=tmp_path, limits=limits, env={"TEST_MARK": mark})
    assert (result.kind, result.signal) == ("timeout", signal.SIGKILL)
    assert marked(mark) == []


async def test_engine_of_an_engine_leaves_no_process(tmp_path: Path, mark: str) -> None:
    arguments = ["sigkill", STUBBORN, mark, str(tmp_path / "inner"), "100"]
    limits = ProcessLimits(timeout_s=None, grace_s=GRACE_S)
    run = run_process([sys.executable, "-c", ENGINE, *arguments], cwd=tmp_path, limits=limits)
    task = asyncio.create_task(run)
    await asyncio.to_thread(until, lambda: len(marked(mark)) >= 3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert marked(mark) == []


def sandboxed(command: str, workspace: Path) -> tuple[str, ...]:
    confinement = Confinement(ConfinementOptions(sandbox="required"))
    return confinement.confine(["sh", "-c", command], workspace).argv


@with_sandbox
@pytest.mark.case("PROC-02")
@pytest.mark.parametrize(
    "command", [STUBBORN, "setsid sleep 300 & sleep 300", "trap '' TERM; setsid sleep 300 & sleep 300"]
)
async def test_timeout_ends_all_that_is_in_a_sandbox(tmp_path: Path, mark: str, command: str) -> None:
    limits = ProcessLimits(timeout_s=GRACE_S, grace_s=GRACE_S)
    result = await run_process(sandboxed(command, tmp_path), cwd=tmp_path, limits=limits, env={"TEST_MARK": mark})
    assert (result.kind, result.leftovers) == ("timeout", ())
    assert len(result.escaped) == command.count("setsid")  # seen from outside by its own pid
    assert result.seconds < GRACE_S + GRACE_S + SLACK_S
    assert marked(mark) == []


@with_sandbox
@pytest.mark.case("PROC-01")
async def test_nothing_in_a_sandbox_outlives_its_command(tmp_path: Path, mark: str) -> None:
    command = "trap '' TERM; setsid sleep 300 & sleep 300 & exit 5"
    limits = ProcessLimits(timeout_s=30, grace_s=GRACE_S)
    result = await run_process(sandboxed(command, tmp_path), cwd=tmp_path, limits=limits, env={"TEST_MARK": mark})
    assert (result.kind, result.exit_code, result.leftovers) == ("exited", 5, ())
    assert marked(mark) == []


@with_sandbox
@pytest.mark.case("PROC-01")
async def test_nothing_in_a_sandbox_outlives_the_sandbox(tmp_path: Path, mark: str) -> None:
    limits = ProcessLimits(timeout_s=30, grace_s=GRACE_S)
    argv = sandboxed(STUBBORN, tmp_path)
    task = asyncio.create_task(run_process(argv, cwd=tmp_path, limits=limits, env={"TEST_MARK": mark}))
    await asyncio.to_thread(until, lambda: [each.name() for each in marked(mark)].count("sleep") == 2)
    outer = {each.pid: each for each in marked(mark)}
    (leader,) = {os.getpgid(pid) for pid in outer}
    outer[leader].kill()  # as the system does when memory runs out
    result = await task
    assert (result.kind, result.signal, result.leftovers) == ("killed", signal.SIGKILL, ())
    assert marked(mark) == []

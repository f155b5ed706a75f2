import asyncio
import logging
import os
import pickle
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from luna.errors import WorkerConfigError
from luna.process import ProcessLimits, ProcessRegistry, ProcessResult, run_process

linux = pytest.mark.skipif(sys.platform != "linux", reason="the system offers it on Linux only")
ROOMY = ProcessLimits(timeout_s=30, grace_s=5)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"not within {seconds} s")


async def test_result_of_a_normal_run(tmp_path: Path) -> None:
    result = await run_process(["sh", "-c", "pwd; echo no >&2; exit 3"], cwd=tmp_path, limits=ROOMY)
    assert (result.kind, result.exit_code, result.signal, result.error) == ("exited", 3, None, "")
    assert result.stdout == f"{tmp_path.resolve()}\n".encode()
    assert (result.stderr, result.stderr_bytes) == (b"no\n", 3)
    assert (result.leftovers, result.escaped) == ((), ())
    assert 0 < result.seconds < 5
    assert pickle.loads(pickle.dumps(result)) == result


async def test_words_are_not_looked_at_by_a_shell(tmp_path: Path) -> None:
    result = await run_process(["echo", "$HOME", "*", ";", "`id`"], cwd=tmp_path, limits=ROOMY)
    assert result.stdout == b"$HOME * ; `id`\n"


async def test_secrets_do_not_reach_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    result = await run_process(["env"], cwd=tmp_path, limits=ROOMY, env={"GIVEN": "yes"})
    assert b"GIVEN=yes\n" in result.stdout
    assert b"sk-secret" not in result.stdout


async def test_stdin_is_written_and_closed(tmp_path: Path) -> None:
    text = b"0123456789" * 100_000
    result = await run_process(["wc", "-c"], cwd=tmp_path, limits=ROOMY, stdin=text)
    assert result.stdout.split() == [b"1000000"]


@pytest.mark.parametrize("command", ["exit 0", "exec <&-; exec sleep 0.1", "read line; exit 0"])
async def test_stdin_that_is_not_read_does_not_block(tmp_path: Path, command: str) -> None:
    result = await run_process(["bash", "-c", command], cwd=tmp_path, limits=ROOMY, stdin=b"x\n" * 1_000_000)
    assert result.exit_code == 0


async def test_empty_stdin_is_at_its_end(tmp_path: Path) -> None:
    assert (await run_process(["cat"], cwd=tmp_path, limits=ROOMY)).exit_code == 0


async def test_death_by_a_foreign_signal_is_not_an_exit(tmp_path: Path) -> None:
    result = await run_process(["sh", "-c", "kill -SEGV $$"], cwd=tmp_path, limits=ROOMY)
    assert (result.kind, result.exit_code, result.signal) == ("killed", None, signal.SIGSEGV)


def script(path: Path, text: str, mode: int) -> str:
    path.write_text(text)
    path.chmod(mode)
    return f"./{path.name}"


@pytest.mark.parametrize("limits", [ROOMY, ProcessLimits(timeout_s=30, cpu_s=10)], ids=["plain", "limited"])
async def test_command_that_cannot_start_says_why(tmp_path: Path, limits: ProcessLimits) -> None:
    missing = await run_process(["no-such-program"], cwd=tmp_path, limits=limits)
    assert missing.kind == "not_started"
    assert "'no-such-program' was not started: there is no such program" in missing.error
    assert "no such program" in (await run_process(["./gone"], cwd=tmp_path, limits=limits)).error
    plain = script(tmp_path / "plain", "echo\n", 0o644)
    assert "not executable" in (await run_process([plain], cwd=tmp_path, limits=limits)).error
    no_cwd = await run_process(["true"], cwd=tmp_path / "gone", limits=limits)
    assert (no_cwd.kind, no_cwd.exit_code) == ("not_started", None)
    assert "working directory" in no_cwd.error
    assert "null byte" in (await run_process(["echo", "a\0b"], cwd=tmp_path, limits=limits)).error


async def test_script_without_usable_interpreter_says_so(tmp_path: Path) -> None:
    lost = script(tmp_path / "lost", "#!/no/such/interpreter\n", 0o755)
    assert "interpreter" in (await run_process([lost], cwd=tmp_path, limits=ROOMY)).error
    binary = script(tmp_path / "binary", "\x7fELF nonsense", 0o755)
    assert "Exec format error" in (await run_process([binary], cwd=tmp_path, limits=ROOMY)).error


async def test_misuse_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WorkerConfigError, match="argv is empty"):
        await run_process([], cwd=tmp_path, limits=ROOMY)
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(WorkerConfigError, match="POSIX"):
        await run_process(["true"], cwd=tmp_path, limits=ROOMY)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True])
def test_limits_refuse_nonsense(value: float) -> None:
    with pytest.raises(WorkerConfigError, match="timeout_s"):
        ProcessLimits(timeout_s=value)
    with pytest.raises(WorkerConfigError, match="grace_s"):
        ProcessLimits(timeout_s=None, grace_s=-1)


def test_memory_limit_needs_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(WorkerConfigError, match="memory_bytes"):
        ProcessLimits(timeout_s=None, memory_bytes=1_000_000)


def test_result_refuses_what_cannot_be() -> None:
    for wrong in (
        {"kind": "exited"},
        {"kind": "timeout", "exit_code": 0},
        {"kind": "killed"},
        {"kind": "not_started"},
    ):
        with pytest.raises(ValueError, match="kind"):
            ProcessResult(seconds=0.0, **wrong)


async def test_timeout_ends_it(tmp_path: Path) -> None:
    result = await run_process(["sleep", "60"], cwd=tmp_path, limits=ProcessLimits(timeout_s=0.2))
    assert (result.kind, result.exit_code, result.signal) == ("timeout", None, signal.SIGTERM)
    assert result.seconds < 1.2


async def test_timeout_stays_one_when_the_command_then_exits_well(tmp_path: Path) -> None:
    command = "trap 'echo bye; exit 0' TERM; echo hi; while :; do sleep 0.05; done"
    result = await run_process(["sh", "-c", command], cwd=tmp_path, limits=ProcessLimits(timeout_s=0.3, grace_s=5))
    assert (result.kind, result.exit_code, result.signal) == ("timeout", None, None)
    assert result.stdout == b"hi\nbye\n"


async def test_silence_ends_it_and_output_puts_that_off(tmp_path: Path) -> None:
    command = "for i in 1 2 3 4 5 6; do echo $i; sleep 0.1; done; exec sleep 60"
    limits = ProcessLimits(timeout_s=30, inactivity_s=0.4)
    result = await run_process(["sh", "-c", command], cwd=tmp_path, limits=limits)
    assert (result.kind, result.stdout) == ("inactive", b"1\n2\n3\n4\n5\n6\n")
    assert 0.9 < result.seconds < 5


async def test_flood_is_clipped_and_counted(tmp_path: Path) -> None:
    command = "echo first; yes | head -c 20000000; echo last; echo error >&2"
    limits = ProcessLimits(timeout_s=30, output_bytes=100)
    result = await run_process(["sh", "-c", command], cwd=tmp_path, limits=limits)
    assert result.exit_code == 0
    assert result.stdout_bytes == 20_000_011
    assert result.stdout.startswith(b"first\ny\n")
    assert b"[... 19999911 bytes left out ...]" in result.stdout
    assert result.stdout.endswith(b"y\nlast\n")
    assert result.stderr == b"error\n"


async def test_endless_flood_is_ended_and_memory_is_bounded(tmp_path: Path) -> None:
    limits = ProcessLimits(timeout_s=30, stop_at_output_bytes=50_000_000)
    before = psutil.Process().memory_info().rss
    result = await run_process(["yes"], cwd=tmp_path, limits=limits)
    assert (result.kind, result.exit_code) == ("output_limit", None)
    assert result.stdout_bytes > 50_000_000
    assert len(result.stdout) < 66_000
    assert psutil.Process().memory_info().rss - before < 20_000_000


async def test_both_streams_count_for_the_output_limit(tmp_path: Path) -> None:
    command = "head -c 600 /dev/zero; head -c 600 /dev/zero >&2; exec sleep 60"
    limits = ProcessLimits(timeout_s=30, stop_at_output_bytes=1_000)
    result = await run_process(["sh", "-c", command], cwd=tmp_path, limits=limits)
    assert (result.kind, result.stdout_bytes, result.stderr_bytes) == ("output_limit", 600, 600)


async def test_lines_come_while_it_runs(tmp_path: Path) -> None:
    lines: list[bytes] = []
    go = tmp_path / "go"

    def on_line(line: bytes) -> None:
        lines.append(line)
        go.touch()

    command = "echo one; until test -e go; do sleep 0.01; done; echo error >&2; printf two"
    result = await run_process(["sh", "-c", command], cwd=tmp_path, limits=ROOMY, on_line=on_line)
    assert result.exit_code == 0
    assert lines == [b"one", b"two"]


@pytest.mark.parametrize("command", ["echo $$; exec sleep 60", "printf $$"], ids=["running", "last line"])
async def test_error_of_on_line_ends_the_command_and_is_raised(tmp_path: Path, command: str) -> None:
    seen: list[int] = []

    def refuse(line: bytes) -> None:
        seen.append(int(line))
        raise LookupError("not wanted")

    with pytest.raises(LookupError, match="not wanted"):
        await run_process(["sh", "-c", command], cwd=tmp_path, limits=ROOMY, on_line=refuse)
    assert len(seen) == 1
    assert not is_alive(seen[0])


async def test_error_of_on_line_after_the_exit_is_raised(tmp_path: Path) -> None:
    def refuse(line: bytes) -> None:
        raise LookupError(line)

    command = "(sleep 0.1; echo late) & exit 0"
    with pytest.raises(LookupError, match="late"):
        await run_process(["sh", "-c", command], cwd=tmp_path, limits=ROOMY, on_line=refuse)


async def test_processor_limit_kills(tmp_path: Path) -> None:
    limits = ProcessLimits(timeout_s=30, cpu_s=1)
    result = await run_process(["sh", "-c", "while :; do :; done"], cwd=tmp_path, limits=limits)
    assert result.kind == "killed"
    assert result.signal in {signal.SIGXCPU, signal.SIGKILL}


@linux
async def test_memory_limit_holds_and_leaves_the_words_alone(tmp_path: Path) -> None:
    limits = ProcessLimits(timeout_s=30, memory_bytes=500_000_000, cpu_s=20)
    code = "import sys; print(sys.argv[1:])\ntry: bytearray(600_000_000)\nexcept MemoryError: print('refused')"
    result = await run_process([sys.executable, "-c", code, "$a b", ";"], cwd=tmp_path, limits=limits)
    assert result.stdout == b"['$a b', ';']\nrefused\n"
    local = script(tmp_path / "local", "#!/bin/sh\nulimit -S -t\n", 0o755)
    assert (await run_process([local], cwd=tmp_path, limits=limits)).stdout == b"20\n"


@pytest.mark.req("S10")
async def test_cancellation_returns_only_when_all_is_ended(tmp_path: Path) -> None:
    pids: list[int] = []
    command = "trap '' TERM; (trap '' TERM; echo $$; exec sleep 60) & sleep 60"
    limits = ProcessLimits(timeout_s=30, grace_s=0.2)
    run = run_process(["sh", "-c", command], cwd=tmp_path, limits=limits, on_line=lambda line: pids.append(int(line)))
    task = asyncio.create_task(run)
    await until(lambda: bool(pids))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [pid for pid in psutil.pids() if os.getsid(pid) == pids[0] and is_alive(pid)] == []


async def test_cancellation_again_and_again_does_not_stop_the_ending(tmp_path: Path) -> None:
    pids: list[int] = []
    command = "trap '' TERM; echo $$; while :; do sleep 60; done"
    limits = ProcessLimits(timeout_s=30, grace_s=0.3)
    run = run_process(["sh", "-c", command], cwd=tmp_path, limits=limits, on_line=lambda line: pids.append(int(line)))
    task = asyncio.create_task(run)
    await until(lambda: bool(pids))
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)
    assert task.cancelled()
    assert not is_alive(pids[0])


async def test_cancellation_while_it_is_ended_for_another_reason_is_kept(tmp_path: Path) -> None:
    terms: list[bytes] = []
    command = "trap 'echo term' TERM; while :; do sleep 0.02; done"
    limits = ProcessLimits(timeout_s=0.2, grace_s=0.5)
    run = run_process(["sh", "-c", command], cwd=tmp_path, limits=limits, on_line=terms.append)
    task = asyncio.create_task(run)
    await until(lambda: terms == [b"term"])
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_timeout_of_the_caller_is_a_timeout(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await run_process(["sleep", "60"], cwd=tmp_path, limits=ROOMY)


async def test_many_at_once_each_get_their_own_output(tmp_path: Path) -> None:
    async def one(number: int) -> bytes:
        result = await run_process(["sh", "-c", f"sleep 0.05; echo {number}"], cwd=tmp_path, limits=ROOMY)
        return result.stdout

    handles = psutil.Process().num_fds()
    outputs = await asyncio.gather(*(one(number) for number in range(20)))
    assert outputs == [f"{number}\n".encode() for number in range(20)]
    assert psutil.Process().num_fds() == handles


def test_coroutine_thrown_away_kills_at_once(tmp_path: Path) -> None:
    async def scenario() -> int:
        coroutine = run_process(["sleep", "60"], cwd=tmp_path, limits=ROOMY)
        before = {child.pid for child in psutil.Process().children()}
        coroutine.send(None)
        (pid,) = {child.pid for child in psutil.Process().children()} - before
        coroutine.close()
        await until(lambda: not psutil.pid_exists(pid))
        return pid

    assert asyncio.run(scenario()) > 0


def test_coroutine_thrown_away_after_its_loop_kills_too(tmp_path: Path) -> None:
    pids: list[int] = []
    loop = asyncio.new_event_loop()
    coroutine = run_process(
        ["sh", "-c", "echo $$; exec sleep 60"],
        cwd=tmp_path,
        limits=ROOMY,
        on_line=lambda line: pids.append(int(line)),
    )
    task = loop.create_task(coroutine)
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is thrown away on purpose
    loop.run_until_complete(until(lambda: bool(pids)))
    loop.close()
    coroutine.close()
    asyncio.run(until(lambda: not psutil.pid_exists(pids[0])))


@linux
async def test_exit_is_noticed_without_pidfd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    result = await run_process(["sh", "-c", "sleep 0.1; exit 4"], cwd=tmp_path, limits=ROOMY)
    assert result.exit_code == 4
    monkeypatch.setattr(sys, "platform", "darwin")
    result = await run_process(["sh", "-c", "echo hi"], cwd=tmp_path, limits=ROOMY)
    assert result.stdout == b"hi\n"
    assert (await run_process(["sleep", "60"], cwd=tmp_path, limits=ProcessLimits(timeout_s=0.2))).kind == "timeout"


@pytest.fixture
def ignored_sigchld() -> Iterator[None]:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.usefixtures("ignored_sigchld")
async def test_lost_exit_status_is_never_taken_for_success(tmp_path: Path) -> None:
    result = await run_process(["false"], cwd=tmp_path, limits=ROOMY)
    assert (result.kind, result.exit_code, result.signal) == ("killed", None, None)
    assert "SIGCHLD" in result.error


@linux
async def test_ending_works_without_free_file_handles(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limits = ProcessLimits(timeout_s=0.3, grace_s=0.2)
    try:
        result = await run_process(
            ["sh", "-c", "echo ready; exec sleep 60"],
            cwd=tmp_path,
            limits=limits,
            on_line=lambda line: resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard)),
        )
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (result.kind, result.signal) == ("timeout", signal.SIGTERM)
    assert result.seconds < 0.3 + 0.2 + 1


async def test_process_that_cannot_be_ended_is_reported_and_stays_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError

    registry = ProcessRegistry(tmp_path / "processes")
    pids: list[int] = []
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(os, "killpg", refuse)
        result = await run_process(
            ["sh", "-c", "echo $$; exec sleep 60"],
            cwd=tmp_path,
            limits=ProcessLimits(timeout_s=0.2, grace_s=0.1),
            on_line=lambda line: pids.append(int(line)),
            registry=registry,
        )
    assert (result.kind, result.signal, list(result.leftovers)) == ("timeout", None, pids)
    assert str(pids[0]) in caplog.text
    assert len(list((tmp_path / "processes").iterdir())) == 1
    os.kill(pids[0], signal.SIGKILL)
    await until(lambda: not psutil.pid_exists(pids[0]))


async def test_registry_is_empty_after_every_kind_of_end(tmp_path: Path) -> None:
    registry = ProcessRegistry(tmp_path / "processes")
    node = registry.for_node("run-1", "01")
    await run_process(["true"], cwd=tmp_path, limits=ROOMY, registry=node)
    await run_process(["no-such-program"], cwd=tmp_path, limits=ROOMY, registry=node)
    await run_process(["sleep", "60"], cwd=tmp_path, limits=ProcessLimits(timeout_s=0.1), registry=node)
    assert list((tmp_path / "processes").iterdir()) == []


async def test_registry_kills_all_now(tmp_path: Path) -> None:
    registry = ProcessRegistry(tmp_path / "processes")
    ready: list[bytes] = []
    command = "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo ready; exec sleep 60' & echo ready; sleep 60"
    tasks = [
        asyncio.create_task(
            run_process(
                ["sh", "-c", command],
                cwd=tmp_path,
                limits=ROOMY,
                on_line=ready.append,
                registry=registry.for_node("run-1", node),
            )
        )
        for node in ("0", "1")
    ]
    await until(lambda: len(ready) == 4)
    begun = time.monotonic()
    registry.kill_all_now()
    results = await asyncio.gather(*tasks)
    assert time.monotonic() - begun < ROOMY.grace_s
    assert [(result.kind, result.signal) for result in results] == [("killed", signal.SIGKILL)] * 2


async def test_registry_that_cannot_be_written_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    registry = ProcessRegistry(tmp_path / "file")
    with pytest.raises(OSError, match="file"):
        await run_process(["touch", "started"], cwd=tmp_path, limits=ROOMY, registry=registry)
    assert not (tmp_path / "started").exists()

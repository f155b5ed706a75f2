"""One run of a command: what it gets, what it gives, what it may use."""

import pickle
import signal
import sys
from pathlib import Path

import psutil
import pytest

from luna.errors import WorkerConfigError
from luna.process.execute import ProcessLimits, ProcessResult, run_process
from tests.support.processes import ROOMY, is_alive, linux, script


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

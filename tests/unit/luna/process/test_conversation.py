"""Talking with a child process, and that all of it has ended afterwards."""

import asyncio
import gc
import os
import signal
import sys
import warnings
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from luna.errors import WorkerConfigError
from luna.process.conversation import NotStartedError, converse
from luna.process.execute import ProcessLimits, ProcessRegistry
from tests.support.processes import ROOMY, is_alive, until

QUICK = ProcessLimits(timeout_s=30, grace_s=0.2)
STUBBORN = "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 60' & echo $$; while :; do sleep 60; done"


async def two_pids(reader: asyncio.StreamReader) -> list[int]:
    return [int(await reader.readline()) for _ in range(2)]


def all_gone(pids: list[int]) -> bool:
    return not any(is_alive(pid) for pid in pids)


async def test_lines_go_both_ways_and_it_ends_by_itself_when_its_input_is_closed(tmp_path: Path) -> None:
    script = "import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)\nprint('bye', file=sys.stderr)"
    async with converse([sys.executable, "-c", script], cwd=tmp_path, limits=ROOMY) as talk:
        for word in (b"one\n", b"two\n"):
            talk.writer.write(word)
            await talk.writer.drain()
            assert await talk.reader.readline() == word.upper()
        assert (talk.ended, talk.result) == (False, None)
    assert talk.ended
    assert talk.result is not None
    assert (talk.result.kind, talk.result.exit_code, talk.result.leftovers) == ("exited", 0, ())
    assert 0 < talk.result.seconds < 5
    assert talk.stderr_tail == "bye"


async def test_writing_much_waits_for_the_reader_of_it(tmp_path: Path) -> None:
    async with converse(["sh", "-c", "sleep 0.1; wc -c"], cwd=tmp_path, limits=ROOMY) as talk:
        talk.writer.write(b"x" * 5_000_000)
        await talk.writer.drain()
        assert talk.writer.can_write_eof()
        talk.writer.write_eof()
        assert talk.writer.is_closing()
        assert (await talk.reader.readline()).split() == [b"5000000"]
        await talk.writer.wait_closed()


async def test_long_lines_are_read_whole(tmp_path: Path) -> None:
    script = "print('x' * 15_000_000)"
    async with converse([sys.executable, "-c", script], cwd=tmp_path, limits=ROOMY) as talk:
        assert len(await talk.reader.readline()) == 15_000_001
        assert await talk.reader.readline() == b""


@pytest.mark.parametrize("sleeps", ["", "sleep 60"], ids=["exits", "goes on"])
async def test_output_that_is_not_read_stays_in_the_pipe_and_is_not_lost(tmp_path: Path, sleeps: str) -> None:
    script = f"head -c 40000000 /dev/zero; echo done >&2; {sleeps}"
    async with converse(["sh", "-c", script], cwd=tmp_path, limits=QUICK) as talk:
        size = 0
        while size < 40_000_000:
            if size == 0:
                await until(lambda: len(talk.reader._buffer) > 32 << 20)  # type: ignore[attr-defined]
                for _ in range(100):
                    await asyncio.sleep(0)
                assert len(talk.reader._buffer) < 34 << 20  # type: ignore[attr-defined]
            size += len(await talk.reader.read(1 << 20))
        assert size == 40_000_000
        await until(lambda: talk.stderr_tail == "done")


async def test_command_that_exits_while_its_output_waits_loses_none_of_it(tmp_path: Path) -> None:
    script = "import os; os.write(1, b'x' * 33_600_000); os.write(1, b'y' * 60_000)"
    async with converse([sys.executable, "-c", script], cwd=tmp_path, limits=ROOMY) as talk:
        await until(lambda: talk.ended)
        text = await talk.reader.read()
    assert (len(text), text[-1:]) == (33_660_000, b"y")
    assert talk.result is not None
    assert talk.result.kind == "exited"


async def test_noise_on_stderr_is_drained_and_its_end_kept(tmp_path: Path) -> None:
    script = "head -c 300000 /dev/zero | tr '\\0' x >&2; echo 'api_key=abcdefgh the end' >&2; read line; echo $line"
    async with converse(["sh", "-c", script], cwd=tmp_path, limits=ROOMY) as talk:
        talk.writer.write(b"hello\n")
        assert await talk.reader.readline() == b"hello\n"
    assert talk.stderr_tail.endswith("xapi_key=[hidden] the end") or talk.stderr_tail.endswith("[hidden] the end")
    assert len(talk.stderr_tail) <= 2_000


@pytest.mark.req("S10")
async def test_leaving_ends_descendants_that_refuse_to(tmp_path: Path) -> None:
    async with converse(["sh", "-c", STUBBORN], cwd=tmp_path, limits=QUICK) as talk:
        pids = await two_pids(talk.reader)
    assert all_gone(pids)
    assert talk.result is not None
    assert (talk.result.kind, talk.result.signal) == ("killed", signal.SIGKILL)
    assert len(talk.result.escaped) == 1


async def test_term_comes_before_kill(tmp_path: Path) -> None:
    script = "trap 'echo term >&2; exit 7' TERM; echo ready; while :; do sleep 0.02; done"
    async with converse(["sh", "-c", script], cwd=tmp_path, limits=ROOMY) as talk:
        await talk.reader.readline()
    assert talk.stderr_tail.endswith("term")
    assert talk.result is not None
    assert talk.result.exit_code == 7


async def test_error_inside_ends_it_and_goes_on(tmp_path: Path) -> None:
    pids: list[int] = []

    async def fail() -> None:
        async with converse(["sh", "-c", STUBBORN], cwd=tmp_path, limits=QUICK) as talk:
            pids.extend(await two_pids(talk.reader))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert all_gone(pids)


@pytest.mark.req("S10")
async def test_cancellation_again_and_again_returns_only_when_all_is_ended(tmp_path: Path) -> None:
    pids: list[int] = []

    async def talk_for_ever() -> None:
        async with converse(["sh", "-c", STUBBORN], cwd=tmp_path, limits=QUICK) as talk:
            pids.extend(await two_pids(talk.reader))
            await talk.reader.readline()

    task = asyncio.create_task(talk_for_ever())
    await until(lambda: len(pids) == 2)
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)
    assert task.cancelled()
    assert all_gone(pids)


async def test_cancellation_while_it_is_left_is_kept(tmp_path: Path) -> None:
    terms: list[bool] = []

    async def talk_shortly() -> None:
        script = "trap 'echo term >&2' TERM; echo ready; while :; do sleep 0.02; done"
        async with converse(["sh", "-c", script], cwd=tmp_path, limits=QUICK) as talk:
            await talk.reader.readline()
            watch = asyncio.create_task(until(lambda: "term" in talk.stderr_tail))
            watch.add_done_callback(lambda _: terms.append(True))

    task = asyncio.create_task(talk_shortly())
    await until(lambda: bool(terms))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_cancellation_of_everything_at_its_start_leaves_nothing(tmp_path: Path) -> None:
    before = {child.pid for child in psutil.Process().children()}

    async def begin() -> None:
        async with converse(["sleep", "60"], cwd=tmp_path, limits=QUICK):
            for task in asyncio.all_tasks():
                if "to_its_end" in repr(task):
                    task.cancel()
            await asyncio.sleep(0)

    await begin()
    await until(lambda: {child.pid for child in psutil.Process().children()} <= before)


async def test_closed_generator_kills_at_once(tmp_path: Path) -> None:
    async def lines() -> AsyncIterator[bytes]:
        async with converse(["sh", "-c", STUBBORN], cwd=tmp_path, limits=QUICK) as talk:
            while True:
                yield await talk.reader.readline()

    stream = lines()
    pids = [int(await anext(stream)), int(await anext(stream))]
    await stream.aclose()  # type: ignore[attr-defined]
    await until(lambda: all_gone(pids), 1)


def test_conversation_thrown_away_after_its_loop_kills_too(tmp_path: Path) -> None:
    pids: list[int] = []

    async def talk_for_ever() -> None:
        async with converse(["sh", "-c", "echo $$; exec sleep 60"], cwd=tmp_path, limits=ROOMY) as talk:
            pids.append(int(await talk.reader.readline()))
            await talk.reader.readline()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loop = asyncio.new_event_loop()
        coroutine = talk_for_ever()
        task = loop.create_task(coroutine)
        loop.run_until_complete(until(lambda: bool(pids)))
        for each in asyncio.all_tasks(loop):
            each._log_destroy_pending = False  # type: ignore[attr-defined]  # they are thrown away on purpose
        loop.close()
        coroutine.close()
        asyncio.run(until(lambda: not psutil.pid_exists(pids[0])))
        del task, coroutine
        gc.collect()


@pytest.mark.parametrize(
    ("limits", "script", "kind"),
    [
        (ProcessLimits(timeout_s=0.2, grace_s=0.2), "sleep 60", "timeout"),
        (ProcessLimits(timeout_s=30, inactivity_s=0.2, grace_s=0.2), "sleep 60", "inactive"),
        (ProcessLimits(timeout_s=30, stop_at_output_bytes=1000, grace_s=0.2), "yes", "output_limit"),
    ],
)
async def test_limit_that_is_passed_ends_it_and_the_reading(
    tmp_path: Path, limits: ProcessLimits, script: str, kind: str
) -> None:
    async with converse(["sh", "-c", script], cwd=tmp_path, limits=limits) as talk:
        await talk.reader.read()
    assert talk.result is not None
    assert talk.result.kind == kind


async def test_limit_keeps_its_name_when_it_is_left_while_it_is_ended(tmp_path: Path) -> None:
    script = "trap 'echo term >&2' TERM; while :; do sleep 0.02; done"
    limits = ProcessLimits(timeout_s=0.2, grace_s=0.5)
    async with converse(["sh", "-c", script], cwd=tmp_path, limits=limits) as talk:
        await until(lambda: "term" in talk.stderr_tail)
    assert talk.result is not None
    assert talk.result.kind == "timeout"


async def test_exit_ends_what_it_left_behind_and_the_reading(tmp_path: Path) -> None:
    async with converse(["sh", "-c", "sleep 60 & echo $!; exit 3"], cwd=tmp_path, limits=QUICK) as talk:
        pid = int(await talk.reader.readline())
        assert await talk.reader.read() == b""
        await until(lambda: talk.ended)
        talk.writer.write(b"x")
        with pytest.raises(ConnectionResetError):
            await talk.writer.drain()
    assert not is_alive(pid)
    assert talk.result is not None
    assert talk.result.exit_code == 3


async def test_input_that_is_not_wanted_breaks_the_writing_only(tmp_path: Path) -> None:
    async with converse(["sh", "-c", "exec <&-; echo closed; sleep 0.1; echo on"], cwd=tmp_path, limits=ROOMY) as talk:
        assert await talk.reader.readline() == b"closed\n"
        talk.writer.write(b"x" * 1_000_000)
        with pytest.raises(BrokenPipeError):
            await talk.writer.drain()
        assert await talk.reader.readline() == b"on\n"


async def test_output_held_by_a_foreign_process_does_not_hold_up_the_end(tmp_path: Path) -> None:
    hold = "import os, sys, time; sys.stdin.buffer.read(1)"
    async with converse(["sh", "-c", f"exec {sys.executable} -c '{hold}'"], cwd=tmp_path, limits=QUICK) as talk:
        await talk.end()
        assert talk.ended
        assert await talk.reader.read() == b""


@pytest.mark.case("PROC-01")
async def test_registry_holds_it_while_it_runs_and_is_empty_afterwards(tmp_path: Path) -> None:
    directory = tmp_path / "processes"
    registry = ProcessRegistry(directory).for_node("run-1", "01")
    async with converse(["cat"], cwd=tmp_path, limits=ROOMY, registry=registry):
        assert len(list(directory.iterdir())) == 1
    assert list(directory.iterdir()) == []
    with pytest.raises(NotStartedError):
        async with converse(["no-such-program"], cwd=tmp_path, limits=ROOMY, registry=registry):
            pytest.fail("it was started")
    assert list(directory.iterdir()) == []


async def test_registry_kills_it_from_a_signal_handler(tmp_path: Path) -> None:
    registry = ProcessRegistry(tmp_path / "processes")
    async with converse(["cat"], cwd=tmp_path, limits=ROOMY, registry=registry) as talk:
        registry.kill_all_now()
        assert await talk.reader.read() == b""
    assert talk.result is not None
    assert talk.result.signal == signal.SIGKILL


async def test_environment_is_restricted_and_the_session_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    script = "import os, json; print(json.dumps([dict(os.environ), os.getsid(0), os.getpid(), os.getcwd()]))"
    argv = [sys.executable, "-c", script]
    async with converse(argv, cwd=tmp_path, limits=ROOMY, env={"GIVEN": "yes"}) as talk:
        text = (await talk.reader.read()).decode()
    assert '"GIVEN": "yes"' in text
    assert "sk-secret" not in text
    session, pid = text.rsplit(", ", 3)[1:3]
    assert session == pid
    assert str(tmp_path.resolve()) in text


async def test_command_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(NotStartedError, match="'no-such-program' was not started: there is no such program"):
        async with converse(["no-such-program"], cwd=tmp_path, limits=ROOMY):
            pytest.fail("it was started")
    with pytest.raises(WorkerConfigError, match="argv is empty"):
        async with converse([], cwd=tmp_path, limits=ROOMY):
            pytest.fail("it was started")


async def test_failure_to_attach_kills_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, blocking: bool) -> None:
        raise OSError(24, "Too many open files")

    before = {child.pid for child in psutil.Process().children()}
    monkeypatch.setattr(os, "set_blocking", refuse)
    with pytest.raises(OSError, match="Too many"):
        async with converse(["sleep", "60"], cwd=tmp_path, limits=ROOMY):
            pytest.fail("it was started")
    await until(lambda: {child.pid for child in psutil.Process().children()} <= before)


async def test_many_conversations_leave_no_handle_open(tmp_path: Path) -> None:
    async def one(number: int) -> bytes:
        async with converse(["cat"], cwd=tmp_path, limits=ROOMY) as talk:
            talk.writer.write(b"%d\n" % number)
            return await talk.reader.readline()

    handles = psutil.Process().num_fds()
    assert await asyncio.gather(*(one(number) for number in range(20))) == [b"%d\n" % number for number in range(20)]
    assert psutil.Process().num_fds() == handles

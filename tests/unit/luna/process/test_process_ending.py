"""One run of a command: that all of it has ended, however it ends."""

import asyncio
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from luna.process.execute import ProcessLimits, ProcessRegistry, run_process
from tests.support.processes import ROOMY, is_alive, linux, until


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
    patient = replace(ROOMY, grace_s=60)
    tasks = [
        asyncio.create_task(
            run_process(
                ["sh", "-c", command],
                cwd=tmp_path,
                limits=patient,
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
    assert time.monotonic() - begun < patient.grace_s
    assert [(result.kind, result.signal) for result in results] == [("killed", signal.SIGKILL)] * 2


async def test_registry_that_cannot_be_written_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    registry = ProcessRegistry(tmp_path / "file")
    with pytest.raises(OSError, match="file"):
        await run_process(["touch", "started"], cwd=tmp_path, limits=ROOMY, registry=registry)
    assert not (tmp_path / "started").exists()

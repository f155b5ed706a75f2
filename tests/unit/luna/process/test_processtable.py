import os
import platform
import subprocess
import sys
import threading

import psutil
import pytest

from luna.process import table
from luna.process.table import (
    TOKEN_VARIABLE,
    Moment,
    carries_token,
    is_there,
    look,
    look_at_all,
    look_at_newer,
    machine,
    moment,
    pipe_writers,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_look_shows_ourselves_and_nobody() -> None:
    own = look(os.getpid())
    assert own is not None
    assert (own.pid, own.parent, own.group, own.session) == (os.getpid(), os.getppid(), os.getpgrp(), os.getsid(0))
    assert own.alive
    assert look(2**22 + 1) is None


def test_portable_look_agrees() -> None:
    own, portable = look(os.getpid()), table._look_psutil(os.getpid())
    assert own is not None
    assert portable is not None
    assert (portable.pid, portable.parent, portable.group, portable.session, portable.alive) == (
        own.pid,
        own.parent,
        own.group,
        own.session,
        own.alive,
    )
    assert table._look_psutil(2**22 + 1) is None


def test_token_of_a_process_that_is_gone_is_not_clear() -> None:
    assert carries_token(2**22 + 1, "token") is None


@linux
def test_pipe_writers_are_named_and_readers_are_not() -> None:
    read, write = os.pipe()
    try:
        with (
            subprocess.Popen(["sleep", "60"], stdout=write) as writer,
            subprocess.Popen(["sleep", "60"], stdin=read) as reader,
        ):
            inode = os.fstat(read).st_ino
            seen = look(writer.pid)
            assert seen is not None
            assert pipe_writers(inode, since=seen.started) == (writer.pid,)
            assert pipe_writers(inode, since=seen.started + 3_600) == ()
            writer.kill()
            reader.kill()
    finally:
        os.close(read)
        os.close(write)


def test_pipe_writers_are_unknown_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert pipe_writers(1, since=0.0) == ()


def test_machine_is_named_without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert machine() == platform.node()


def test_process_is_there_by_pid_and_start() -> None:
    own = look(os.getpid())
    assert own is not None
    assert is_there(own.pid, own.started)
    assert not is_there(own.pid, own.started + 1)
    assert not is_there(2**22 + 1, own.started)


def test_listing_holds_those_that_came_up_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    listings = iter([[1], [1, os.getpid()], [1, os.getpid()]])
    monkeypatch.setattr(psutil, "pids", lambda: next(listings))
    assert set(look_at_all()) == {1, os.getpid()}
    assert list(listings) == []


@linux
def test_newer_processes_are_seen_without_a_listing(monkeypatch: pytest.MonkeyPatch) -> None:
    since = moment()
    assert since is not None
    monkeypatch.setattr(psutil, "pids", lambda: pytest.fail("all processes are looked through"))
    with subprocess.Popen(["sleep", "60"]) as first, subprocess.Popen(["sleep", "60"]) as second:
        assert {first.pid, second.pid} <= set(look_at_newer(first.pid, since))
        assert first.pid not in look_at_newer(second.pid, since)
        first.kill()
        second.kill()


@linux
def test_thread_is_no_newer_process() -> None:
    since, stop = moment(), threading.Event()
    with subprocess.Popen(["sleep", "60"]) as first:
        thread = threading.Thread(target=stop.wait)
        thread.start()
        assert thread.native_id is not None
        assert thread.native_id > first.pid
        assert thread.native_id not in look_at_newer(first.pid, since)
        stop.set()
        first.kill()
    thread.join()


@linux
@pytest.mark.parametrize(
    ("last", "forks"), [(5, 100), (5_000_000, 100), (12, 10_000_000)], ids=["behind", "far", "round"]
)
def test_all_are_looked_at_where_the_count_may_have_come_round(
    monkeypatch: pytest.MonkeyPatch, last: int, forks: int
) -> None:
    monkeypatch.setattr(table, "_last_pid", lambda: last)
    monkeypatch.setattr(table, "_forks", lambda: forks)
    monkeypatch.setattr(table, "look_at_all", dict)
    long_ago = Moment(-1e9, 100)
    assert look_at_newer(10, long_ago) == {}
    assert look_at_newer(10, None) == {}
    monkeypatch.setattr(table, "_last_pid", lambda: 12)
    monkeypatch.setattr(table, "_forks", lambda: 100)
    monkeypatch.setattr(table, "look_at_all", lambda: pytest.fail("not needed"))
    look_at_newer(10, long_ago)


def test_there_is_no_moment_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert moment() is None


@linux
@pytest.mark.parametrize("value", ["token", "outer:token", "token:inner"])
def test_token_is_read_as_psutil_reads_it(value: str) -> None:
    with subprocess.Popen(["sleep", "60"], env={TOKEN_VARIABLE: value, "PATH": os.environ["PATH"]}) as child:
        while carries_token(child.pid, "token") is None:  # in the instant of its exec
            pass
        assert carries_token(child.pid, "token")
        assert not carries_token(child.pid, "toke")
        assert table._token_by_psutil(child.pid, "token")
        assert not table._token_by_psutil(child.pid, "toke")
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert carries_token(child.pid, "token") is None
        assert table._token_by_psutil(child.pid, "token") is None
    assert table._token_by_psutil(child.pid, "token") is None

import os
import platform
import subprocess
import sys

import psutil
import pytest

from luna import processtable
from luna.processtable import carries_token, is_there, look, look_at_all, machine, pipe_writers

linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def test_look_shows_ourselves_and_nobody() -> None:
    own = look(os.getpid())
    assert own is not None
    assert (own.pid, own.parent, own.group, own.session) == (os.getpid(), os.getppid(), os.getpgrp(), os.getsid(0))
    assert own.alive
    assert look(2**22 + 1) is None


def test_portable_look_agrees() -> None:
    own, portable = look(os.getpid()), processtable._look_psutil(os.getpid())
    assert own is not None
    assert portable is not None
    assert (portable.pid, portable.parent, portable.group, portable.session, portable.alive) == (
        own.pid,
        own.parent,
        own.group,
        own.session,
        own.alive,
    )
    assert processtable._look_psutil(2**22 + 1) is None


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

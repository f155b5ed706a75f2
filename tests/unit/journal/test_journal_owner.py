"""Who is alive, and how runs are named."""

import os
import socket
import subprocess
import sys
from dataclasses import replace
from random import Random

import psutil
import pytest

from sol.journal import HEARTBEAT_LIMIT_S, Owner, new_run_id, owner_is_alive, this_process
from sol.journal.protocol import check_run_id

ELSEWHERE = Owner(host="not-" + socket.gethostname(), pid=os.getpid(), started=0.0, token="t")


def test_this_process_is_alive_whatever_its_heartbeat() -> None:
    me = this_process("t")
    assert (me.host, me.pid, me.token) == (socket.gethostname(), os.getpid(), "t")
    assert owner_is_alive(me, beat_t=0.0, now=1e9)


def test_reused_pid_is_not_the_old_process() -> None:
    me = this_process("t")
    assert not owner_is_alive(replace(me, started=me.started - 60), beat_t=1.0, now=1.0)
    assert owner_is_alive(replace(me, started=me.started + 0.5), beat_t=1.0, now=1.0)


def test_ended_process_is_dead_before_and_after_it_is_reaped() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    owner = replace(this_process("t"), pid=child.pid, started=psutil.Process(child.pid).create_time())
    assert owner_is_alive(owner, beat_t=0.0, now=1e9)
    os.kill(child.pid, 9)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, and still in the process table
    assert not owner_is_alive(owner, beat_t=1.0, now=1.0)
    child.communicate()
    assert not owner_is_alive(owner, beat_t=1.0, now=1.0)


def test_process_that_may_not_be_looked_at_counts_as_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(process: psutil.Process) -> float:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "status", refuse)
    assert owner_is_alive(this_process("t"), beat_t=0.0, now=1e9)


@pytest.mark.parametrize(("age_s", "alive"), [(0.0, True), (HEARTBEAT_LIMIT_S - 0.1, True), (HEARTBEAT_LIMIT_S, False)])
def test_owner_elsewhere_lives_by_its_heartbeats(age_s: float, alive: bool) -> None:
    assert owner_is_alive(ELSEWHERE, beat_t=1000.0, now=1000.0 + age_s) is alive


def test_new_run_ids_are_short_typeable_and_differ() -> None:
    rng = Random(7)
    made = [new_run_id(rng) for _ in range(1000)]
    assert len(set(made)) == 1000
    assert {len(run_id) for run_id in made} == {6}
    assert all(check_run_id(run_id)[0].isalpha() for run_id in made)
    assert not set("".join(made)) & set("aeiouyl01")
    assert new_run_id(Random(7)) == made[0]

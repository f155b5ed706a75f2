"""Who holds a run, and whether that process still lives.

Decides only from what it is given and from this machine's process table; never reads or writes a journal.
"""

import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

import psutil

from sol.errors import ConflictError

HEARTBEAT_LIMIT_S: Final = 30.0
"""A holder on another host counts as dead once its last heartbeat is this old, in seconds."""

_START_TOLERANCE_S: Final = 2.0
# Start times derive from the boot time, which clock corrections shift by parts of a second between two readings.


@dataclass(frozen=True, slots=True)
class Owner:
    """One process that may hold runs.

    Attributes:
        host: Name of its machine.
        pid: Its process id there.
        started: When the process started, in seconds since the epoch; tells a reused pid from the old process.
        token: Distinguishes several holders within one process; unique to each.
    """

    host: str
    pid: int
    started: float
    token: str


Liveness: TypeAlias = Callable[[Owner, float, float], bool]
"""Tells whether an owner lives, from the owner, the time of its last heartbeat and the present time."""


@dataclass(frozen=True, slots=True)
class Holding:
    """An owner's hold on a run: since when, and its last heartbeat, in seconds since the epoch."""

    owner: Owner
    claimed_t: float
    beat_t: float

    def __str__(self) -> str:
        since = datetime.fromtimestamp(self.claimed_t, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        return f"process {self.owner.pid} on host {self.owner.host!r} since {since}"


def this_process(token: str) -> Owner:
    """Describe the running process as an owner; `token` must be unique to the caller within it."""
    return Owner(host=socket.gethostname(), pid=os.getpid(), started=psutil.Process().create_time(), token=token)


def owner_is_alive(owner: Owner, beat_t: float, now: float) -> bool:
    """Tell whether an owner still lives.

    On this host it does while a process has its pid and its start time. On another host only heartbeats can tell: it
    does while the last one is younger than `HEARTBEAT_LIMIT_S`.
    """
    if owner.host != socket.gethostname():
        return now - beat_t < HEARTBEAT_LIMIT_S
    try:
        process = psutil.Process(owner.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return abs(process.create_time() - owner.started) <= _START_TOLERANCE_S
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:  # it exists, and that is all there is to learn
        return True


def require_claimable(run_id: str, holding: Holding | None, *, now: float, is_alive: Liveness) -> None:
    """Do nothing if nobody, or only a dead owner, holds the run.

    Raises:
        ConflictError: If a live owner holds it; names pid, host and since when.
    """
    if holding is not None and is_alive(holding.owner, holding.beat_t, now):
        raise ConflictError(
            f"Run {run_id!r} is already held by {holding}. "
            "Wait until it ends, ask it to stop, or take the run over by force."
        )


def lease_lost(run_id: str, *, epoch: int, current: int, holding: Holding | None) -> ConflictError:
    """The error for a lease that is no longer the current one: nothing was written."""
    now_held = f"{holding} holds it" if holding is not None else "nobody holds it"
    return ConflictError(
        f"This process no longer holds run {run_id!r} (its epoch {epoch}, now {current}): {now_held}. "
        "Nothing was written; stop working on the run, or claim it again."
    )

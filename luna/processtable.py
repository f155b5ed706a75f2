"""What the system's process table says: who runs, since when, whose child, and who holds a pipe.

Looks only; signals nobody and judges nothing.
"""

import os
import platform
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

TOKEN_VARIABLE: Final = "LUNA_PROCESS_TOKEN"  # noqa: S105 - the name of a variable, not a secret
"""Marks a command's environment. Children inherit it, so one that left the group by `setsid` is still recognised."""

POLL_S: Final = 0.02
"""How often to look again where the system does not tell by itself, in seconds."""

_LISTINGS: Final = 3
_PROC: Final = Path("/proc")


@dataclass(frozen=True, slots=True)
class Seen:
    """One process as the system shows it now.

    Attributes:
        parent: Its parent's pid.
        group: Its process group.
        session: Its session; equal to the pid of the command whose child it is unless it called `setsid`.
        started: When it started, in seconds. Since boot on Linux (so a changed wall clock does not make a process look
            like another one), since the epoch elsewhere. Together with the pid it names a process for good.
        alive: False for a zombie.
    """

    pid: int
    parent: int
    group: int
    session: int
    started: float
    alive: bool


def look(pid: int) -> Seen | None:
    """Show the process `pid`, or None where there is none that we may see.

    Raises:
        OSError: If the system does not let us look now (out of file handles): not the same as "it is gone".
    """
    return _look_proc(pid) if sys.platform == "linux" else _look_psutil(pid)


def _look_proc(pid: int) -> Seen | None:
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()  # the name before may hold spaces and brackets
    state, parent, group, session = fields[:4]
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return Seen(pid, int(parent), int(group), int(session), started, alive=state not in {b"Z", b"X"})


def _look_psutil(pid: int) -> Seen | None:
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            alive = process.status() != psutil.STATUS_ZOMBIE
            return Seen(pid, process.ppid(), os.getpgid(pid), os.getsid(pid), process.create_time(), alive)
    except (psutil.Error, ProcessLookupError, PermissionError):
        return None


def is_there(pid: int, started: float) -> bool:
    """Tell whether just this process is alive, and not another one with its pid. Raises OSError as `look` does."""
    seen = look(pid)
    return seen is not None and seen.alive and seen.started == started


def look_at_all() -> dict[int, Seen]:
    """Show all processes by pid, also those that came up while looking. Raises OSError as `look` does."""
    everything: dict[int, Seen] = {}
    listed: set[int] = set()
    for _ in range(_LISTINGS):  # a parent may have forked and died between the listing and the look at it
        new = set(psutil.pids()) - listed
        if not new:
            break
        listed |= new
        everything |= {pid: seen for pid in new if (seen := look(pid)) is not None}
    return everything


def carries_token(pid: int, token: str) -> bool | None:
    """Tell whether `token` is in the environment process `pid` was started with. None: not clear, ask again.

    That is so in the instant of its exec, when it is seen without any environment, and when it has just died (it may
    have left a child that is not seen yet).
    """
    try:
        environment = psutil.Process(pid).environ()
    except psutil.NoSuchProcess:  # or a zombie
        return None
    except (psutil.Error, OSError):
        return False
    return token in environment.get(TOKEN_VARIABLE, "").split(":") if environment else None


def pipe_writers(inode: int, *, since: float) -> tuple[int, ...]:
    """Name the processes started at or after `since` that can write to a pipe, by its inode. Empty outside Linux."""
    found: list[int] = []
    for pid in psutil.pids() if sys.platform == "linux" else ():
        seen = look(pid)
        if seen is None or seen.started < since or pid == os.getpid():
            continue
        with suppress(OSError):  # it went away, or is another user's
            for handle in (_PROC / str(pid) / "fd").iterdir():
                if str(handle.readlink()) == f"pipe:[{inode}]" and _is_writable(pid, handle.name):
                    found.append(pid)
                    break
    return tuple(found)


def _is_writable(pid: int, handle: str) -> bool:
    lines = (_PROC / str(pid) / "fdinfo" / handle).read_text().splitlines()
    flags = next(int(line.split()[1], 8) for line in lines if line.startswith("flags:"))
    return flags & os.O_ACCMODE != os.O_RDONLY


def machine() -> str:
    """Name what pids are unique in: host, and on Linux boot and container too."""
    if sys.platform != "linux":
        return platform.node()
    boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    return f"{platform.node()}:{boot}:{(_PROC / 'self/ns/pid').readlink()}"

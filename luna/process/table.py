"""What the system's process table says: who runs, since when, whose child, and who holds a pipe.

Looks only; signals nobody and judges nothing.
"""

import os
import platform
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import psutil

TOKEN_VARIABLE: Final = "LUNA_PROCESS_TOKEN"  # noqa: S105 - the name of a variable, not a secret
"""Marks a command's environment. Children inherit it, so one that left the group by `setsid` is still recognised."""

POLL_S: Final = 0.02
"""How often to look again where the system does not tell by itself, in seconds."""

_LISTINGS: Final = 3
_PROC: Final = Path("/proc")
_TICKS: Final = os.sysconf("SC_CLK_TCK") if sys.platform != "win32" else 0
_READ_BYTES: Final = 1 << 16
_MOST_NEWER: Final = 512
"""With more pids than these to look at one by one, all processes are looked through instead."""
_FORKS_PER_S: Final = 200_000
"""More than a machine can start in a second."""
_MOMENT_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class ProcessInfo:
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


def look(pid: int) -> ProcessInfo | None:
    """Show the process `pid`, or None where there is none that we may see.

    Raises:
        OSError: If the system does not let us look now (out of file handles): not the same as "it is gone".
    """
    return _look_proc(pid) if sys.platform == "linux" else _look_psutil(pid)


def _look_proc(pid: int, *, threads: bool = True) -> ProcessInfo | None:
    try:
        stat = _read(f"/proc/{pid}/stat")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()  # the name before may hold spaces and brackets
    if not threads and fields[35] == b"-1":  # whoever sends no signal at its end is a thread of another pid's process
        return None
    state, parent, group, session = fields[:4]
    started = int(fields[19]) / _TICKS
    return ProcessInfo(pid, int(parent), int(group), int(session), started, alive=state not in {b"Z", b"X"})


def _read(path: str) -> bytes:
    """What the kernel writes at once; many times faster than a buffered file."""
    handle = os.open(path, os.O_RDONLY)
    try:
        whole = part = os.read(handle, _READ_BYTES)
        while len(part) == _READ_BYTES:
            part = os.read(handle, _READ_BYTES)
            whole += part
        return whole
    finally:
        os.close(handle)


def _look_psutil(pid: int) -> ProcessInfo | None:
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            alive = process.status() != psutil.STATUS_ZOMBIE
            return ProcessInfo(pid, process.ppid(), os.getpgid(pid), os.getsid(pid), process.create_time(), alive)
    except (psutil.Error, ProcessLookupError, PermissionError):
        return None


def is_there(pid: int, started: float) -> bool:
    """Tell whether just this process is alive, and not another one with its pid. Raises OSError as `look` does."""
    seen = look(pid)
    return seen is not None and seen.alive and seen.started == started


def look_at_all() -> dict[int, ProcessInfo]:
    """Show all processes by pid, also those that came up while looking. Raises OSError as `look` does."""
    everything: dict[int, ProcessInfo] = {}
    listed: set[int] = set()
    for _ in range(_LISTINGS):  # a parent may have forked and died between the listing and the look at it
        new = set(psutil.pids()) - listed
        if not new:
            break
        listed |= new
        everything |= {pid: seen for pid in new if (seen := look(pid)) is not None}
    return everything


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment before a command was started.

    Attributes:
        monotonic_s: When it was.
        forks: How many processes and threads the machine had started by then.
    """

    monotonic_s: float
    forks: int


_last = Moment(-2 * _MOMENT_S, 0)


def moment() -> Moment | None:
    """Take a moment of now, or of up to a second ago; None where `look_at_newer` can make nothing of it."""
    global _last  # noqa: PLW0603 - one count for the whole machine, and its file is long on a large one
    if sys.platform != "linux" or not _tells_last_pid():
        return None
    now = time.monotonic()
    if now - _last.monotonic_s > _MOMENT_S:
        with suppress(OSError, ValueError):
            _last = Moment(now, _forks())
    return _last if now - _last.monotonic_s <= _MOMENT_S else None


def look_at_newer(pid: int, since: Moment | None) -> dict[int, ProcessInfo]:
    """Show all processes that were started as `pid` or later, by pid, without looking through the whole table.

    The kernel counts pids up and tells the last one, so those started since lie between the two. Where that is not
    told, or the count may have come round since, all processes are shown. Raises OSError as `look` does.

    Args:
        pid: A process that still has its pid, alive or a zombie.
        since: From before it was started.
    """
    everything: dict[int, ProcessInfo] = {}
    following = pid
    for _ in range(_LISTINGS):  # as in `look_at_all`
        last = _last_pid() if since is not None else 0
        if since is None or not pid <= last < pid + _MOST_NEWER or _may_have_come_round(since):
            return look_at_all()
        if last < following:
            break
        candidates = range(following, last + 1)
        everything |= {one: seen for one in candidates if (seen := _look_proc(one, threads=False)) is not None}
        following = last + 1
    return everything


@lru_cache(maxsize=1)
def _tells_last_pid() -> bool:
    """Tell whether Linux says which pid it gave last; it does not where somebody has put a file of his own there."""
    with suppress(OSError, ValueError, IndexError):  # a system that only looks like Linux
        return _last_pid() > 0 and _PROC.joinpath("loadavg").stat().st_dev == _PROC.stat().st_dev
    return False


def _last_pid() -> int:
    return int(_read("/proc/loadavg").split()[4])


def _forks() -> int:
    counts = _read("/proc/stat")
    return int(counts[counts.index(b"\nprocesses ") + 11 :].split(maxsplit=1)[0])


def _may_have_come_round(since: Moment) -> bool:
    pids = int(_read("/proc/sys/kernel/pid_max")) - _MOST_NEWER
    if (time.monotonic() - since.monotonic_s) * _FORKS_PER_S < pids:
        return False
    return _forks() - since.forks >= pids // 2


def carries_token(pid: int, token: str) -> bool | None:
    """Tell whether `token` is in the environment process `pid` was started with. None: not clear, ask again.

    That is so in the instant of its exec, when it is seen without any environment, and when it has just died (it may
    have left a child that is not seen yet).
    """
    return _token_in_proc(pid, token) if sys.platform == "linux" else _token_by_psutil(pid, token)


def _token_in_proc(pid: int, token: str) -> bool | None:
    try:
        environment = _read(f"/proc/{pid}/environ")
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:
        return False
    if not environment:  # also of a zombie
        return None
    name = f"{TOKEN_VARIABLE}=".encode()
    values = [entry[len(name) :] for entry in environment.split(b"\0") if entry.startswith(name)]
    return token.encode() in values[-1].split(b":") if values else False


def _token_by_psutil(pid: int, token: str) -> bool | None:
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
    return f"{platform.node()}:{_boot(os.getpid())}"


@lru_cache(maxsize=4)
def _boot(pid: int) -> str:  # noqa: ARG001 - a fork of ours may live in another container
    boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    return f"{boot}:{(_PROC / 'self/ns/pid').readlink()}"


@lru_cache(maxsize=4)
def own_start(pid: int) -> float:
    """When we, with this pid, were started; 0.0 where that is not to be seen."""
    seen = look(pid)
    return seen.started if seen is not None else 0.0

"""Limits, scripts and waiting for tests that run processes."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from luna.errors import WorkerConfigError
from luna.process.execute import ProcessLimits
from luna.process.sandbox import Confinement, ConfinementOptions

linux = pytest.mark.skipif(sys.platform != "linux", reason="the system offers it on Linux only")


def _why_no_sandbox() -> str:
    try:
        Confinement(ConfinementOptions(sandbox="required"))
    except WorkerConfigError as error:
        return str(error)
    return ""


with_sandbox = pytest.mark.skipif(bool(_why_no_sandbox()), reason=_why_no_sandbox() or "there is one")
ROOMY = ProcessLimits(timeout_s=30, grace_s=5)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def group_members(groups: set[int]) -> list[int]:
    """List the living processes of some process groups and sessions."""
    found = []
    for process in psutil.process_iter():
        try:
            if {os.getpgid(process.pid), os.getsid(process.pid)} & groups and (
                process.status() != psutil.STATUS_ZOMBIE
            ):
                found.append(process.pid)
        except (psutil.Error, OSError):
            continue
    return found


async def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail(f"not within {seconds} s")


def script(path: Path, text: str, mode: int) -> str:
    path.write_text(text)
    path.chmod(mode)
    return f"./{path.name}"

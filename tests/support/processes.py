"""Limits, scripts and waiting for tests that run processes."""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from luna.process import ProcessLimits

linux = pytest.mark.skipif(sys.platform != "linux", reason="the system offers it on Linux only")
ROOMY = ProcessLimits(timeout_s=30, grace_s=5)


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


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

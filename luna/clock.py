"""Time as something that is passed in: whatever waits or measures takes a `Clock`.

The only module that reads the system's time; tests use `luna.testing.FakeClock`.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A call that is still to come."""

    def cancel(self) -> object:
        """Do not make it; nothing when it was made already."""
        ...


class Clock(Protocol):
    """Source of time. `now` is for people and records, `monotonic` for measuring and deadlines."""

    def now(self) -> float:
        """Seconds since the epoch (UTC); may jump when the system's clock is set."""
        ...

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`; zero or less only lets other tasks run."""
        ...

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` in the running event loop after `seconds`; costs no task."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Seconds since the epoch (UTC)."""
        return time.time()  # noqa: TID251 - the clock itself; everything else is given a Clock

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Return after `seconds`; zero or less only lets other tasks run."""
        await asyncio.sleep(max(seconds, 0.0))

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` in the running event loop after `seconds`."""
        return asyncio.get_running_loop().call_later(max(seconds, 0.0), callback)

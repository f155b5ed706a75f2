"""Time as something that is passed in: whatever waits or measures takes a `Clock`.

The only module that reads the system's time; tests use `luna.testing.FakeClock`.
"""

import asyncio
import time
from typing import Protocol


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

"""Virtual time for tests: nothing sleeps, the test (or idleness) moves the clock.

Works on asyncio's own event loops. Never use it outside tests.
"""

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from typing import Any

from luna.clock import Timer

_EPOCH = 1_700_000_000.0
_QUIET_ROUNDS = 3
_MOST_ROUNDS = 100_000


def _busy(loop: asyncio.AbstractEventLoop) -> bool:
    # There is no public way to ask whether a task is ready to run; all loops of the standard library have this queue.
    ready: Any = getattr(loop, "_ready")  # noqa: B009 - a private name of the standard library
    return bool(ready)


class FakeClock:
    """A clock that stands still until it is moved.

    By default `await clock.advance(seconds)` moves it, waking sleepers one by one in the order of their times and
    letting all tasks run until idle in between. With `auto=True` it jumps to the next sleeper's time by itself whenever
    every task is idle, so that a whole program runs through in no time.

    Args:
        auto: Move by itself.
        idle_s: Real seconds of idleness before an automatic jump. Raise it (to 0.05, say) when threads, processes or
            sockets take part: waiting for those looks like idleness.
        start: Seconds since the epoch to begin with.

    Attributes:
        slept: All durations that were slept so far, in the order they were begun.
    """

    def __init__(self, *, auto: bool = False, idle_s: float = 0.0, start: float = _EPOCH) -> None:
        self._auto = auto
        self._idle_s = idle_s
        self._start = start
        self._elapsed = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._watching = False
        self.slept: list[float] = []

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._start + self._elapsed

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed

    @property
    def sleeping(self) -> int:
        """How many tasks are asleep."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        """Return when the clock has been moved by `seconds`; zero or less only lets other tasks run."""
        self.slept.append(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        await self._sleeper(seconds)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` when the clock has been moved by `seconds`."""
        timer = self._sleeper(max(seconds, 0.0))
        timer.add_done_callback(lambda done: None if done.cancelled() else callback())
        return timer

    def _sleeper(self, seconds: float) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), future))
        if self._auto and not self._watching:
            self._watching = True
            loop.call_soon(self._watch, loop, 0)
        return future

    async def advance(self, seconds: float) -> None:
        """Move the clock, and return when all tasks are idle again.

        Raises:
            RuntimeError: If the clock moves by itself, or if a task never becomes idle.
        """
        if self._auto:
            raise RuntimeError("this clock moves by itself (auto=True); make one without auto to move it by hand")
        target = self._elapsed + seconds
        await self.settle()
        while (due := self._next()) is not None and due <= target:
            self._wake()
            await self.settle()
        self._elapsed = target
        await self.settle()

    async def settle(self) -> None:
        """Let all other tasks run until none can go on without time passing or something outside happening.

        Raises:
            RuntimeError: If a task never becomes idle.
        """
        loop = asyncio.get_running_loop()
        quiet = 0
        for _ in range(_MOST_ROUNDS):
            await asyncio.sleep(0)
            quiet = 0 if _busy(loop) else quiet + 1
            if quiet == _QUIET_ROUNDS:
                return
        raise RuntimeError(f"some task was still busy after {_MOST_ROUNDS} rounds of the event loop; it may spin")

    def _next(self) -> float | None:
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def _wake(self) -> None:
        due, _, future = heapq.heappop(self._sleepers)
        self._elapsed = max(self._elapsed, due)
        future.set_result(None)

    def _watch(self, loop: asyncio.AbstractEventLoop, quiet: int) -> None:
        if self._next() is None:
            self._watching = False
            return
        quiet = 0 if _busy(loop) else quiet + 1
        if quiet >= _QUIET_ROUNDS:
            self._wake()
            quiet = 0
        loop.call_later(self._idle_s / _QUIET_ROUNDS, self._watch, loop, quiet)

"""Exact repeats and cycles of actions: the same actions with the same results, over and over."""

from collections import deque

from luna.monitor.base import Alarm, Monitor, Step, describe, shorten
from luna.protocol import StuckKind


class Cycles:
    """Finds that a sequence repeats itself, with any period from 1 to `longest`; O(`longest`) per item.

    For each period it counts how many items in a row equalled the item one period before. It is reported when at least
    `limit - 1` items, and at least one whole round, were such repeats: equal items at the `limit`-th, cycles
    after two rounds when their rounds are long, after a few more when they are short.
    """

    def __init__(self, *, limit: int, longest: int) -> None:
        self._limit = limit
        self._recent: deque[bytes] = deque(maxlen=longest)
        self._runs = [0] * (longest + 1)

    def add(self, item: bytes) -> int | None:
        """Take the next item; the shortest period that has been reached, or None."""
        runs, found = self._runs, None
        for period, earlier in enumerate(reversed(self._recent), 1):
            if earlier != item:
                runs[period] = 0
                continue
            runs[period] += 1
            if found is None and runs[period] >= max(period, self._limit - 1):
                found = period
        self._recent.append(item)
        return found

    def repeats(self, period: int) -> int:
        """How many items in a row equalled the one a period before."""
        return self._runs[period]

    @property
    def under_way(self) -> int | None:
        """The shortest period of which at least one round was repeated, reached or not."""
        return next((period for period, run in enumerate(self._runs) if period and run >= period), None)


class Repetition(Monitor):
    """The same (action, observation) pair again, or a cycle of such pairs. Source: S50, LOOP-01, LOOP-02."""

    def __init__(self, *, limit: int, window: int) -> None:
        self._limit = limit
        self._window = window
        self.rise()

    def rise(self) -> None:
        """Start anew. New evidence alone is no reason to: what would it come from, if all results are the same?"""
        self._cycles = Cycles(limit=self._limit, longest=self._window // 2)

    def action(self, step: Step) -> Alarm | None:
        """Count the repeats that this action goes on with."""
        period = self._cycles.add(step.pair)
        if period is None:
            return None
        repeats = self._cycles.repeats(period)
        named = describe(step.action)
        if period == 1:
            reason = f"the same action with the same result {repeats + 1} times in a row: {named}"
        else:
            reason = f"a cycle of {period} actions with the same results goes round and round, last {named}"
        evidence = (
            f"repeated action: {named}",
            f"cycle length: {period}",
            f"times: {repeats // period + 1}" + (f" and {repeats % period} actions more" if repeats % period else ""),
            f"last observation: {shorten(step.action.observation)}",
        )
        return Alarm(StuckKind.REPETITION, reason, evidence)

    @property
    def hint(self) -> str | None:
        """What to add to another detector's alarm when a cycle is under way."""
        period = self._cycles.under_way
        return f"cycle length: {period} (a cycle of actions was under way)" if period else None

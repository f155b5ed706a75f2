"""Detectors of loops: the same action, error, text or wait again and again."""

import re
from collections import deque
from dataclasses import dataclass

from luna.monitor.base import (
    Alarm,
    Memory,
    Monitor,
    ObservedAction,
    arguments_of,
    changes_a_file,
    describe,
    fingerprint,
    fingerprint_of_result,
    shorten,
)
from luna.protocol import Said, StuckKind, Waiting
from luna.text import repeated

_REPEATS = 10
_LOOKED_AT = 65_536


def runs_away(text: str, run: int) -> str | None:
    """The unit that goes on for at least `run` characters and 10 rounds, or None. Source: LOOP-07.

    Looks at the first and the last 65,536 characters, so that no text, however long, holds up the others.

    Args:
        text: Any text.
        run: At least 64.
    """
    parts = (text,) if len(text) <= 2 * _LOOKED_AT else (text[:_LOOKED_AT], text[-_LOOKED_AT:])
    return next((r.unit for p in parts if (r := repeated(p, min_repeats=_REPEATS, min_characters=run))), None)


class Texts(Monitor):
    """The same text said again (alone or in a cycle), and repetition inside one text. Source: LOOP-04, LOOP-07."""

    def __init__(self, *, limit: int | None, run: int | None, window: int) -> None:
        self._limit = limit
        self._run = run
        self._window = window
        self.news()

    def news(self) -> None:
        """Forget the texts: saying the same while the work goes on is a habit, not a loop."""
        self._cycles = Cycles(limit=self._limit or 2, longest=self._window // 2)

    def action(self, step: ObservedAction) -> Alarm | None:
        """Forget the texts at a change to a file that was not made before, too."""
        if changes_a_file(step):
            self.news()
        return None

    def said(self, event: Said) -> Alarm | None:
        """Compare with earlier texts and look inside; texts without any letter or digit are passed over."""
        text = event.text
        if self._run is not None and len(text) >= self._run and (unit := runs_away(text, self._run)):
            return Alarm(
                StuckKind.TEXT_LOOP,
                f"one text of {len(text)} characters repeats itself: {shorten(unit, 80)!r}",
                (f"repeated: {shorten(unit, 80)}", f"begins: {shorten(text[:200])}", f"ends: {shorten(text[-200:])}"),
            )
        if self._limit is None or not any(map(str.isalnum, text)):
            return None
        period = self._cycles.add(fingerprint(" ".join(text.casefold().split())))
        if period is None:
            return None
        repeats = self._cycles.repeats(period)
        what = "the same text" if period == 1 else f"a cycle of {period} texts"
        return Alarm(
            StuckKind.TEXT_LOOP,
            f"{what} was said {repeats // period + 1} times: {shorten(text, 80)!r}",
            (f"text: {shorten(text)}", f"cycle length: {period}", f"times: {repeats // period + 1}"),
        )


class SameError(Monitor):
    """Counts each error apart; only a successful action with a result not seen before, or a rise, starts anew.

    Notes (started, running, heartbeat, log) never reach it. Source: S41, LOOP-05.
    """

    def __init__(self, *, limit: int, window: int) -> None:
        self._limit = limit
        self._counts: Memory[bytes, int] = Memory(window)

    def rise(self) -> None:
        """Forget the counts."""
        self._counts.clear()

    def action(self, step: ObservedAction) -> Alarm | None:
        """Count an error, or forget the counts at a new result."""
        action = step.action
        if not action.error:
            if step.new:
                self._counts.clear()
            return None
        # An error without text is told apart by what was done.
        digest = fingerprint_of_result(action.observation) if action.observation.strip() else step.key
        count = (self._counts.get(digest) or 0) + 1
        self._counts.put(digest, count)
        if count < self._limit:
            return None
        error = shorten(action.observation) or f"{action.name} failed without saying why"
        return Alarm(
            StuckKind.SAME_ERROR,
            f"the same error {count} times without a new result in between: {error}",
            (f"error: {error}", f"times: {count}", f"last action: {describe(action)}"),
        )


_MOST = 32
_EARLY = 0.9  # of the interval: timers are not exact


@dataclass(slots=True)
class _Wait:
    named: re.Pattern[str]
    until: float
    interval_s: float
    poll: bytes | None = None
    seen: bytes | None = None
    last_at: float | None = None
    moved: bool = False


class Waits:
    """The waits a worker has declared.

    The action that polls is one whose name or arguments contain what is waited for as a word of its own (the longest
    counts where several do), or else the first action after the declaration. A poll before the deadline, and not sooner
    than the declared interval after the one before, counts as polling; any other action is judged as usual. Declaring
    the same wait again moves its deadline only after a poll has seen something change, so a wait cannot be drawn out
    for ever.

    Source: S50, FP-01.
    """

    def __init__(self) -> None:
        self._waits: dict[str, _Wait] = {}

    def declare(self, event: Waiting, at: float) -> None:
        """Note a wait, from the moment `at` on."""
        known = self._waits.get(event.what)
        if known is not None and not known.moved:
            known.interval_s = event.interval_s
            return
        self._waits.pop(event.what, None)
        if len(self._waits) >= _MOST:
            del self._waits[next(iter(self._waits))]
        named = re.compile(rf"(?<!\w){re.escape(event.what)}(?!\w)")
        self._waits[event.what] = _Wait(named, at + event.deadline_s, event.interval_s)

    def is_poll(self, step: ObservedAction, at: float) -> bool:
        """Whether the action is declared polling."""
        if not self._waits:
            return False
        wait = self._belongs_to(step)
        if wait is None:
            return False
        wait.poll = step.key
        wait.moved = wait.moved or (wait.seen is not None and wait.seen != step.seen)
        wait.seen = step.seen
        in_time = wait.last_at is None or at - wait.last_at >= _EARLY * wait.interval_s
        wait.last_at = at
        return at <= wait.until and in_time

    def _belongs_to(self, step: ObservedAction) -> _Wait | None:
        done = f"{step.action.name} {arguments_of(step.action)}"
        for what in sorted(self._waits, key=len, reverse=True):
            wait = self._waits[what]
            if wait.poll == step.key or wait.named.search(done):
                return wait
        latest = next(reversed(self._waits.values()))
        return latest if latest.poll is None else None


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

    def action(self, step: ObservedAction) -> Alarm | None:
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

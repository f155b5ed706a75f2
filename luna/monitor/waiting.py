"""Declared waits: polling for something announced is no loop until its own deadline."""

import re
from dataclasses import dataclass

from luna.monitor.base import Step, arguments_of
from luna.protocol import Waiting

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

    def is_poll(self, step: Step, at: float) -> bool:
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

    def _belongs_to(self, step: Step) -> _Wait | None:
        done = f"{step.action.name} {arguments_of(step.action)}"
        for what in sorted(self._waits, key=len, reverse=True):
            wait = self._waits[what]
            if wait.poll == step.key or wait.named.search(done):
                return wait
        latest = next(reversed(self._waits.values()))
        return latest if latest.poll is None else None

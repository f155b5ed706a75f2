"""The same error again, whatever came in between that is no completed step with a new result."""

from luna.monitor.base import Alarm, Memory, Monitor, Step, describe, fingerprint_of_result, shorten
from luna.protocol import StuckKind


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

    def action(self, step: Step) -> Alarm | None:
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

"""Steps and tokens of one attempt."""

from luna.monitor.base import Alarm, Monitor, Step
from luna.protocol import Spent, StuckKind


class Budget(Monitor):
    """Fires at the `max_steps`-th action without a report, or above `max_tokens`. Source: S13, S52, LOOP-02."""

    def __init__(self, *, max_steps: int | None, max_tokens: int | None, window: int, tokens: int = 0) -> None:
        self._max_steps = max_steps
        self._max_tokens = max_tokens
        self._window = window
        self._tokens = tokens
        self._steps = 0
        self._distinct = 0

    def action(self, step: Step) -> Alarm | None:
        """Count an action."""
        self._steps += 1
        self._distinct += step.new_pair
        if self._max_steps is None or self._steps < self._max_steps:
            return None
        return Alarm(
            StuckKind.STEP_LIMIT,
            f"{self._steps} actions without a report, the limit of an attempt",
            (
                f"different (action, result) pairs: {self._distinct}",
                f"cycles of up to {self._window // 2} actions are looked for; a longer one ends here",
            ),
        )

    polled = action

    def spent(self, event: Spent) -> Alarm | None:
        """Add tokens."""
        self._tokens += event.usage.tokens
        if self._max_tokens is None or self._tokens <= self._max_tokens:
            return None
        return Alarm(StuckKind.STEP_LIMIT, f"{self._tokens} tokens used, {self._max_tokens} allowed for an attempt")

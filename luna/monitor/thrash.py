"""Context thrash: the context is summarised again and again, and all that happens in between was done before.

Hears of summaries and actions only; it neither counts tokens nor summarises anything.
"""

from dataclasses import dataclass

from luna.monitor.base import Alarm, Memory, Monitor, Step, changes_a_file, describe
from luna.monitor.ladder import Standing
from luna.protocol import Compacted, StuckKind

_REMEMBERED = 1024
_LISTED = 10
_FREED_NOTHING = 0.9  # of the size before is left
_FUTILE = 2


@dataclass(slots=True)
class _Again:
    name: str
    times: int = 0


class Thrash(Monitor):
    """Fires at the `limit`-th summary, or the second in a row that freed nothing, with nothing new in between.

    New is a rise on the ladder, new evidence, a finished part, and a change to a file that was not made before. Of a
    worker that never reports progress, new results are new too, if there were more of them between two summaries than
    actions done again. Declared polling is no thrash.

    Source: S50, CTX-01.
    """

    def __init__(self, *, limit: int, standing: Standing) -> None:
        self._limit = limit
        self._standing = standing
        self._known: Memory[bytes, bool] = Memory(_REMEMBERED)
        self.news()

    def news(self) -> None:
        """Start counting anew."""
        self._summaries = self._futile = self._repeats = self._results = 0
        self._again: dict[bytes, _Again] = {}

    def action(self, step: Step) -> Alarm | None:
        """Note what is done again."""
        known = self._known.get(step.key) is not None
        self._known.put(step.key, True)  # noqa: FBT003 - a set with a limit
        if changes_a_file(step):
            self.news()
            return None
        if step.new and not step.action.error and not self._standing.is_reported:
            self._results += 1
        elif known:
            self._repeats += 1
        if known and self._summaries and (step.key in self._again or len(self._again) < _REMEMBERED):
            self._again.setdefault(step.key, _Again(describe(step.action))).times += 1
        return None

    def polled(self, step: Step) -> Alarm | None:
        """Start anew: a wait fills the context, too."""
        self._known.put(step.key, True)  # noqa: FBT003 - a set with a limit
        self.news()
        return None

    def compacted(self, event: Compacted) -> Alarm | None:
        """Count a summary."""
        if self._results > self._repeats:
            self.news()
        self._repeats = self._results = 0
        self._summaries += 1
        freed_nothing = 0 < _FREED_NOTHING * event.before_tokens <= event.after_tokens
        self._futile = self._futile + 1 if freed_nothing else 0
        sizes = f"{event.before_tokens} to {event.after_tokens} tokens"
        if self._futile >= _FUTILE:
            return self._alarm(f"{self._futile} summaries in a row freed next to nothing, the last {sizes}", sizes)
        if self._summaries >= self._limit:
            return self._alarm(f"the context was summarised {self._summaries} times with nothing new in between", sizes)
        return None

    def _alarm(self, what: str, sizes: str) -> Alarm:
        often = sorted(self._again.values(), key=lambda again: -again.times)[:_LISTED]
        done = tuple(f"done again {each.times} times: {each.name}" for each in often)
        evidence = (f"summaries: {self._summaries}", f"last summary: {sizes}", *(done or ("nothing was done again",)))
        return Alarm(StuckKind.CONTEXT_THRASH, f"context thrash: {what}", evidence)

"""Loops in what the worker says: the same text turn after turn, and repetition that runs away inside one text."""

from luna.monitor.base import Alarm, Monitor, Step, changes_a_file, fingerprint, shorten
from luna.monitor.repetition import Cycles
from luna.protocol import Said, StuckKind
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

    def action(self, step: Step) -> Alarm | None:
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

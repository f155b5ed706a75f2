"""All monitors of one attempt as one: each event goes to those that look at such events, the first alarm counts."""

from collections.abc import Callable, Sequence

from luna.monitor.base import Alarm, Memory, Monitor, Step, step_of
from luna.monitor.budget import Budget
from luna.monitor.checks import Checks
from luna.monitor.drift import Drift
from luna.monitor.errors import SameError
from luna.monitor.ladder import Ladder, Standing
from luna.monitor.repetition import Repetition
from luna.monitor.scope import Scope
from luna.monitor.settings import MonitorSettings
from luna.monitor.texts import Texts
from luna.monitor.thrash import Thrash
from luna.monitor.waiting import Waits
from luna.protocol import (
    Action,
    Assignment,
    Compacted,
    Note,
    Partial,
    Progress,
    ProgressEvent,
    Said,
    Spent,
    StuckKind,
    Waiting,
)

_REMEMBERED = 2048


class Monitors:
    """The monitors of one attempt; make new ones for each attempt.

    Example:
        >>> monitors = Monitors.from_settings(MonitorSettings(), assignment)  # doctest: +SKIP
        >>> alarm = monitors.see(event, at=clock.monotonic())  # doctest: +SKIP
    """

    def __init__(self, make: Callable[[Standing, int], Sequence[Monitor]], *, tokens: int = 0) -> None:
        """Combine monitors.

        Args:
            make: Makes them, given where the worker stands (kept up to date) and the tokens already used. Where
                several fire at one event the earlier in the sequence is believed.
            tokens: Used by this attempt before.
        """
        self._make = make
        self._tokens = tokens
        self._made = False

    def _make_all(self) -> None:
        """Make the monitors when the first event but a note comes: most attempts of large trees have none."""
        self._made = True
        self._standing = Standing()
        self._waits = Waits()
        self._seen: Memory[bytes, bool] = Memory(_REMEMBERED)
        monitors = self._make(self._standing, self._tokens)
        self._repetition = next((m for m in monitors if isinstance(m, Repetition)), None)
        self._action = _overridden(monitors, "action")
        self._polled = _overridden(monitors, "polled")
        self._news = _overridden(monitors, "news")
        self._rise = _overridden(monitors, "rise")
        self._stale = _overridden(monitors, "stale")
        self._said = _overridden(monitors, "said")
        self._spent = _overridden(monitors, "spent")
        self._compacted = _overridden(monitors, "compacted")

    @classmethod
    def from_settings(cls, settings: MonitorSettings, assignment: Assignment) -> "Monitors":
        """Make the monitors that the settings ask for; None turns a detector off.

        The assignment's constraints and words are compared with what the worker does.
        """
        return cls(lambda standing, tokens: _chosen(settings, assignment, standing, tokens))

    def fresh(self) -> "Monitors":
        """Monitors for a redelivery of the attempt: nothing seen yet, but the tokens carried on.

        A worker that is interrupted by its provider and begins again repeats itself without being stuck.
        """
        return Monitors(self._make, tokens=self._tokens)

    def see(self, event: ProgressEvent, at: float) -> Alarm | None:
        """Show an event to all monitors.

        Args:
            event: The next event of the attempt. Notes are passed over.
            at: When it came, in seconds of any clock that never goes back.

        Returns:
            The first alarm; after it the monitors are of no further use.
        """
        if isinstance(event, Note):
            return None
        if not self._made:
            self._make_all()
        if isinstance(event, Action):
            return self._see_action(event, at)
        if isinstance(event, Progress | Partial):
            return self._see_progress(event)
        if isinstance(event, Said):
            return _ask(self._said, event)
        if isinstance(event, Spent):
            self._tokens += event.usage.tokens
            return self._with_hint(_ask(self._spent, event))
        if isinstance(event, Compacted):
            return self._with_hint(_ask(self._compacted, event))
        if isinstance(event, Waiting):
            self._waits.declare(event, at)
        return None

    def _see_action(self, action: Action, at: float) -> Alarm | None:
        if not self._action and not self._polled:
            return None
        step: Step = step_of(action, self._seen)
        return self._with_hint(_ask(self._polled if self._waits.is_poll(step, at) else self._action, step))

    def _see_progress(self, event: Progress | Partial) -> Alarm | None:
        top = self._standing.top
        if not self._standing.is_news(event):
            return _ask(self._stale, event)
        for hear in self._news if self._standing.top is top else (*self._news, *self._rise):
            hear()
        return None

    def _with_hint(self, alarm: Alarm | None) -> Alarm | None:
        hint = self._repetition.hint if alarm and alarm.kind is not StuckKind.REPETITION and self._repetition else None
        return Alarm(alarm.kind, alarm.reason, (*alarm.evidence, hint)) if alarm and hint else alarm


def _chosen(s: MonitorSettings, assignment: Assignment, standing: Standing, tokens: int) -> list[Monitor]:
    chosen: list[Monitor] = [Scope(assignment.constraints)]
    if s.repeat_limit is not None:
        chosen.append(Repetition(limit=s.repeat_limit, window=s.window))
    if s.error_limit is not None:
        chosen.append(SameError(limit=s.error_limit, window=s.window))
    if s.break_limit is not None:
        chosen.append(Checks(limit=s.break_limit))
    if s.text_limit is not None or s.text_run is not None:
        chosen.append(Texts(limit=s.text_limit, run=s.text_run, window=s.window))
    if s.patience is not None:
        chosen.append(Ladder(patience=s.patience, standing=standing))
    if s.thrash_limit is not None:
        chosen.append(Thrash(limit=s.thrash_limit, standing=standing))
    if s.drift_limit is not None:
        chosen.append(Drift(limit=s.drift_limit, assignment=assignment))
    if s.max_steps is not None or s.max_tokens is not None:
        chosen.append(Budget(max_steps=s.max_steps, max_tokens=s.max_tokens, window=s.window, tokens=tokens))
    return chosen


def _overridden(monitors: Sequence[Monitor], name: str) -> list[Callable[..., Alarm | None]]:
    return [getattr(m, name) for m in monitors if name in m.hears]


def _ask(watchers: list[Callable[..., Alarm | None]], event: object) -> Alarm | None:
    for watcher in watchers:
        alarm = watcher(event)
        if alarm is not None:
            return alarm
    return None

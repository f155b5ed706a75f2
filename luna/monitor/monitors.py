"""All stuck detectors of an attempt as one: their settings, the attempt's budget, and what each of them says."""

from collections.abc import Callable, Sequence
from typing import Final, Self

from pydantic import Field, model_validator

from luna.monitor.base import Alarm, Memory, Monitor, ObservedAction, step_of
from luna.monitor.progress import Checks, Evidence, Ladder, Thrash
from luna.monitor.repetition import Repetition, SameError, Texts, Waits
from luna.monitor.scope import Drift, Scope
from luna.protocol import (
    Action,
    Assignment,
    Compacted,
    Data,
    Note,
    Partial,
    Progress,
    ProgressEvent,
    Said,
    Spent,
    StuckKind,
    Waiting,
)

_FEWEST_STEPS: Final[dict[str, Callable[[int], int]]] = {
    "patience": lambda limit: limit,
    "repeat_limit": lambda limit: limit,
    "error_limit": lambda limit: limit,
    "drift_limit": lambda limit: limit,
    "thrash_limit": lambda limit: limit,
    # Each break needs a check that passed and one that fails, and the first fix one that failed and passes.
    "break_limit": lambda limit: 2 * limit + 2,
}
"""How many actions it takes at least until a detector with this limit fires."""


class MonitorSettings(Data):
    """When a worker counts as stuck. A limit of None turns that detector off.

    Attributes:
        patience: Actions, or progress events that say nothing new, without a rise on the ladder or new evidence.
        window: Actions (and, apart from them, said texts) looked back on; cycles of up to `window // 2` are found.
        repeat_limit: The same action with the same result, so many times in a row. A cycle is reported when one action
            less, and at least one whole round, were repeats.
        error_limit: The same error, so many times with no new result in between.
        text_limit: The same text said, so many times with nothing new in between.
        text_run: Characters, and at least ten rounds, of uninterrupted repetition inside one text; units of up to 1,024
            characters are found.
        break_limit: Checks that passed before and failed again after the fix of another one.
        drift_limit: Actions in a row that share no word with the task or with what was found on it.
        thrash_limit: Summaries of the worker's context with nothing new in between; at least one action is between two.
        max_steps: Actions of one attempt.
        max_tokens: Tokens of one attempt.

    Source: S49, S50.
    """

    patience: int | None = Field(default=5, ge=1)
    window: int = Field(default=20, ge=4, le=1000)
    repeat_limit: int | None = Field(default=4, ge=2)
    error_limit: int | None = Field(default=4, ge=2)
    text_limit: int | None = Field(default=5, ge=2)
    text_run: int | None = Field(default=2000, ge=64, le=65_536)
    break_limit: int | None = Field(default=2, ge=1)
    drift_limit: int | None = Field(default=10, ge=2)
    thrash_limit: int | None = Field(default=3, ge=2)
    max_steps: int | None = Field(default=200, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _every_detector_can_fire(self) -> Self:
        for name in ("repeat_limit", "error_limit", "text_limit"):
            limit = getattr(self, name)
            if limit is not None and limit > self.window:
                raise ValueError(
                    f"{name} {limit} can never be reached inside a window of {self.window}; "
                    f"lower it, raise window to at least {limit}, or turn the detector off with null"
                )
        for name, steps_of in _FEWEST_STEPS.items():
            limit = getattr(self, name)
            if limit is not None and self.max_steps is not None and (steps := steps_of(limit)) > self.max_steps:
                raise ValueError(
                    f"{name} {limit} can never be reached: max_steps {self.max_steps} ends the attempt before; "
                    f"lower it, raise max_steps to at least {steps}, or turn the detector off with null"
                )
        return self


class AttemptBudget(Monitor):
    """Fires at the `max_steps`-th action without a report, or above `max_tokens`. Source: S13, S52, LOOP-02."""

    def __init__(self, *, max_steps: int | None, max_tokens: int | None, window: int, tokens: int = 0) -> None:
        self._max_steps = max_steps
        self._max_tokens = max_tokens
        self._window = window
        self._tokens = tokens
        self._steps = 0
        self._distinct = 0

    def action(self, step: ObservedAction) -> Alarm | None:
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


_REMEMBERED = 2048


class Monitors:
    """The monitors of one attempt; make new ones for each attempt.

    Example:
        >>> monitors = Monitors.from_settings(MonitorSettings(), assignment)  # doctest: +SKIP
        >>> alarm = monitors.see(event, at=clock.monotonic())  # doctest: +SKIP
    """

    def __init__(self, make: Callable[[Evidence, int], Sequence[Monitor]], *, tokens: int = 0) -> None:
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
        self._evidence = Evidence()
        self._waits = Waits()
        self._seen: Memory[bytes, bool] = Memory(_REMEMBERED)
        monitors = self._make(self._evidence, self._tokens)
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
        return cls(lambda evidence, tokens: _chosen(settings, assignment, evidence, tokens))

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
        step: ObservedAction = step_of(action, self._seen)
        return self._with_hint(_ask(self._polled if self._waits.is_poll(step, at) else self._action, step))

    def _see_progress(self, event: Progress | Partial) -> Alarm | None:
        top = self._evidence.top
        if not self._evidence.is_news(event):
            return _ask(self._stale, event)
        for hear in self._news if self._evidence.top is top else (*self._news, *self._rise):
            hear()
        return None

    def _with_hint(self, alarm: Alarm | None) -> Alarm | None:
        hint = self._repetition.hint if alarm and alarm.kind is not StuckKind.REPETITION and self._repetition else None
        return Alarm(alarm.kind, alarm.reason, (*alarm.evidence, hint)) if alarm and hint else alarm


def _chosen(s: MonitorSettings, assignment: Assignment, evidence: Evidence, tokens: int) -> list[Monitor]:
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
        chosen.append(Ladder(patience=s.patience, evidence=evidence))
    if s.thrash_limit is not None:
        chosen.append(Thrash(limit=s.thrash_limit, evidence=evidence))
    if s.drift_limit is not None:
        chosen.append(Drift(limit=s.drift_limit, assignment=assignment))
    if s.max_steps is not None or s.max_tokens is not None:
        chosen.append(AttemptBudget(max_steps=s.max_steps, max_tokens=s.max_tokens, window=s.window, tokens=tokens))
    return chosen


def _overridden(monitors: Sequence[Monitor], name: str) -> list[Callable[..., Alarm | None]]:
    return [getattr(m, name) for m in monitors if name in m.hears]


def _ask(watchers: list[Callable[..., Alarm | None]], event: object) -> Alarm | None:
    for watcher in watchers:
        alarm = watcher(event)
        if alarm is not None:
            return alarm
    return None

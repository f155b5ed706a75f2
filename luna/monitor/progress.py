"""Detectors of a lack of progress: no new evidence, checks that get no better, contexts rebuilt over and over."""

from collections import deque
from dataclasses import dataclass, field

from luna.monitor.base import (
    Alarm,
    Memory,
    Monitor,
    ObservedAction,
    changes_a_file,
    describe,
    fingerprint,
    fingerprint_of_result,
    is_check,
    only_reads,
    shorten,
)
from luna.protocol import Compacted, Partial, Progress, Stage, StuckKind

_REMEMBERED_LEVELS = 1024


class Evidence:
    """Where the worker stands, and what evidence it has shown."""

    def __init__(self) -> None:
        self.top = Stage.UNKNOWN
        self.is_reported = False
        self._known: Memory[bytes, bool] = Memory(_REMEMBERED_LEVELS)

    def is_news(self, event: Progress | Partial) -> bool:
        """Note the event; whether it is a rise above the highest stage so far, new evidence or a new part.

        Going down and up again is no rise: the evidence that refuted a hypothesis is what counts then.
        """
        rises = False
        if isinstance(event, Progress):
            self.is_reported = True
            rises = event.stage.rank > self.top.rank
            self.top = event.stage if rises else self.top
        said = event.evidence if isinstance(event, Progress) else event.model_dump_json()
        words = " ".join(said.casefold().split())
        if not words:
            return rises
        digest = fingerprint(words)
        known = self._known.get(digest) is not None
        self._known.put(digest, True)  # noqa: FBT003 - a set with a limit
        return rises or not known


class Ladder(Monitor):
    """Fires after `patience` actions, or empty progress events, without a rise or new evidence.

    A worker that reports where it stands is taken at its word: nothing but its progress events (and finished parts)
    counts. Of one that has not yet reported any, the only evidence there is counts: a result not seen before, a new
    change to a file, a check that passes for the first time, or a new command that succeeds without output.

    Source: S40, S42, S45, S49, S50.
    """

    def __init__(self, *, patience: int, evidence: Evidence) -> None:
        self._patience = patience
        self._evidence = evidence
        self._idle: deque[str] = deque(maxlen=patience)
        self._idle_count = 0
        self._empty: list[Progress | Partial] = []

    def action(self, step: ObservedAction) -> Alarm | None:
        """Count an action, unless it is evidence itself."""
        if not self._evidence.is_reported and _is_evidence(step):
            self.news()
            return None
        self._idle.append(describe(step.action))
        self._idle_count += 1
        return self._alarm() if self._idle_count >= self._patience else None

    def news(self) -> None:
        """Start counting anew."""
        self._idle.clear()
        self._idle_count = 0
        self._empty.clear()

    def stale(self, event: Progress | Partial) -> Alarm | None:
        """Count a progress event that says nothing new."""
        self._empty.append(event)
        return self._alarm() if len(self._empty) >= self._patience else None

    def _alarm(self) -> Alarm:
        stage = self._evidence.top
        last = self._empty[-1] if self._empty else None
        evidence = (f"highest stage: {stage}", *(f"done since: {name}" for name in dict.fromkeys(self._idle)))
        since = f"{self._idle_count} actions and {len(self._empty)} progress events since the last new evidence"
        if isinstance(last, Progress) and last.stage is Stage.HYPOTHESIS and last.evidence:
            reason = f"the same hypothesis again ({shorten(last.evidence)}); {since}"
            return Alarm(StuckKind.SAME_HYPOTHESIS, reason, evidence)
        if last is not None:
            return Alarm(StuckKind.NO_NEW_EVIDENCE, f"progress is reported but nothing is new; {since}", evidence)
        reason = f"{self._idle_count} actions without a rise above {stage!s} and without new evidence"
        return Alarm(StuckKind.NO_PROGRESS, reason, evidence)


def _is_evidence(step: ObservedAction) -> bool:
    if step.action.error:
        return False
    # A new command that succeeds without a word has done something; a search without a word has found nothing.
    did = not step.action.observation.strip() and not only_reads(step.action)
    return step.new or changes_a_file(step) or (step.new_pair and (did or is_check(step.action)))


_REMEMBERED_STEPS = 1024
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

    def __init__(self, *, limit: int, evidence: Evidence) -> None:
        self._limit = limit
        self._evidence = evidence
        self._known: Memory[bytes, bool] = Memory(_REMEMBERED_STEPS)
        self.news()

    def news(self) -> None:
        """Start counting anew."""
        self._summaries = self._futile = self._repeats = self._results = 0
        self._again: dict[bytes, _Again] = {}

    def action(self, step: ObservedAction) -> Alarm | None:
        """Note what is done again."""
        known = self._known.get(step.key) is not None
        self._known.put(step.key, True)  # noqa: FBT003 - a set with a limit
        if changes_a_file(step):
            self.news()
            return None
        if step.new and not step.action.error and not self._evidence.is_reported:
            self._results += 1
        elif known:
            self._repeats += 1
        if known and self._summaries and (step.key in self._again or len(self._again) < _REMEMBERED_STEPS):
            self._again.setdefault(step.key, _Again(describe(step.action))).times += 1
        return None

    def polled(self, step: ObservedAction) -> Alarm | None:
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


_REMEMBERED_CHECKS = 64


@dataclass(slots=True)
class _Check:
    passed_at: int | None = None
    failing: bytes | None = None
    errors: set[bytes] = field(default_factory=set)
    returned: dict[bytes, str] = field(default_factory=dict)


class Checks(Monitor):
    """Fires when fixing one check broke others `limit` times, or when two errors of one check take turns.

    What was broken is forgotten when the work gets on, or when all that took part in it has passed since the last fix.

    Source: S46, S47.
    """

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._now = 0
        self._fixed_at = -1
        self._fixed = ""
        self._fixed_key = b""
        self._checks: Memory[bytes, _Check] = Memory(_REMEMBERED_CHECKS)
        self._broken: list[str] = []
        self._involved: set[bytes] = set()

    def action(self, step: ObservedAction) -> Alarm | None:
        """Look at the action if it is a check."""
        action = step.action
        if not is_check(action):
            return None
        self._now += 1
        check = self._checks.get(step.key)
        if check is None:
            check = _Check()
            self._checks.put(step.key, check)
        if action.error:
            return self._failed(check, step)
        self._passed(check, step)
        return None

    def news(self) -> None:
        """Forget what was broken on the way: the work got on."""
        self._repaired()
        self._checks.clear()

    def _repaired(self) -> None:
        self._broken.clear()
        self._involved.clear()

    def _passed(self, check: _Check, step: ObservedAction) -> None:
        if check.failing is not None:
            self._fixed_at, self._fixed, self._fixed_key = self._now, describe(step.action), step.key
        check.passed_at, check.failing = self._now, None
        if self._broken and all(self._holds(key) for key in self._involved):
            self._repaired()

    def _holds(self, key: bytes) -> bool:
        """Whether a check has passed since the last fix."""
        check = self._checks.get(key)
        return check is not None and check.passed_at is not None and check.passed_at >= self._fixed_at

    def _failed(self, check: _Check, step: ObservedAction) -> Alarm | None:
        action = step.action
        error = fingerprint_of_result(action.observation)
        came_back = error in check.errors and error != check.failing
        if check.passed_at is not None and self._fixed_at > check.passed_at:
            self._broken.append(f"{describe(action)} passed, and failed after the fix of {self._fixed}")
            self._involved |= {step.key, self._fixed_key}
        if came_back:
            check.returned[error] = shorten(action.observation)
        check.errors.add(error)
        check.failing, check.passed_at = error, None
        if len(self._broken) >= self._limit:
            reason = f"fixes broke something else {len(self._broken)} times, last {describe(action)}"
            return Alarm(StuckKind.FIX_BREAKS_ELSEWHERE, reason, tuple(self._broken))
        if len(check.returned) > 1:
            reason = f"{describe(action)} fails for several causes that take turns"
            return Alarm(StuckKind.SEVERAL_CAUSES, reason, tuple(f"cause: {text}" for text in check.returned.values()))
        return None

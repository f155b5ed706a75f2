"""The progress ladder: patience for actions that lead neither higher nor to new evidence."""

from collections import deque

from luna.monitor.base import (
    Alarm,
    Memory,
    Monitor,
    Step,
    changes_a_file,
    describe,
    fingerprint,
    is_check,
    only_reads,
    shorten,
)
from luna.protocol import Partial, Progress, Stage, StuckKind

_REMEMBERED = 1024


class Standing:
    """Where the worker stands, and what evidence it has shown."""

    def __init__(self) -> None:
        self.top = Stage.UNKNOWN
        self.is_reported = False
        self._known: Memory[bytes, bool] = Memory(_REMEMBERED)

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

    def __init__(self, *, patience: int, standing: Standing) -> None:
        self._patience = patience
        self._standing = standing
        self._idle: deque[str] = deque(maxlen=patience)
        self._idle_count = 0
        self._empty: list[Progress | Partial] = []

    def action(self, step: Step) -> Alarm | None:
        """Count an action, unless it is evidence itself."""
        if not self._standing.is_reported and _is_evidence(step):
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
        stage = self._standing.top
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


def _is_evidence(step: Step) -> bool:
    if step.action.error:
        return False
    # A new command that succeeds without a word has done something; a search without a word has found nothing.
    did = not step.action.observation.strip() and not only_reads(step.action)
    return step.new or changes_a_file(step) or (step.new_pair and (did or is_check(step.action)))

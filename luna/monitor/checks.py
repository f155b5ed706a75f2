"""What checks (tests, builds, linters) tell when they are run again: fixes that break something, several causes.

Knows checks by the action's name and arguments only. A check that runs everything at once is one check to it.
"""

from dataclasses import dataclass, field

from luna.monitor.base import (
    Alarm,
    Memory,
    Monitor,
    Step,
    describe,
    fingerprint_of_result,
    is_check,
    shorten,
)
from luna.protocol import StuckKind

_REMEMBERED = 64


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
        self._checks: Memory[bytes, _Check] = Memory(_REMEMBERED)
        self._broken: list[str] = []
        self._involved: set[bytes] = set()

    def action(self, step: Step) -> Alarm | None:
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

    def _passed(self, check: _Check, step: Step) -> None:
        if check.failing is not None:
            self._fixed_at, self._fixed, self._fixed_key = self._now, describe(step.action), step.key
        check.passed_at, check.failing = self._now, None
        if self._broken and all(self._holds(key) for key in self._involved):
            self._repaired()

    def _holds(self, key: bytes) -> bool:
        """Whether a check has passed since the last fix."""
        check = self._checks.get(key)
        return check is not None and check.passed_at is not None and check.passed_at >= self._fixed_at

    def _failed(self, check: _Check, step: Step) -> Alarm | None:
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

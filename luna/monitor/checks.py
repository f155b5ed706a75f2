"""What checks (tests, builds, linters) tell when they are run again: fixes that break something, several causes.

Knows checks by the action's name and arguments only. A check that runs everything at once is one check to it.
"""

import re
from dataclasses import dataclass, field

from luna.monitor.base import Alarm, Memory, Monitor, Step, arguments_of, describe, fingerprint, only_reads, shorten
from luna.protocol import Action, StuckKind

_CHECK = re.compile(r"test|check|lint|build|compile|verif|mypy|ruff|tox")
_REMEMBERED = 64
_ARGUMENTS = 500


@dataclass(slots=True)
class _Check:
    passed_at: int | None = None
    failing: bytes | None = None
    errors: set[bytes] = field(default_factory=set)
    returned: dict[bytes, str] = field(default_factory=dict)


class Checks(Monitor):
    """Fires when fixing one check broke others `limit` times, or when two errors of one check take turns.

    Source: S46, S47.
    """

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self._now = 0
        self._fixed_at = -1
        self._fixed = ""
        self._checks: Memory[bytes, _Check] = Memory(_REMEMBERED)
        self._broken: list[str] = []

    def action(self, step: Step) -> Alarm | None:
        """Look at the action if it is a check."""
        action = step.action
        if not _is_check(action):
            return None
        self._now += 1
        check = self._checks.get(step.key)
        if check is None:
            check = _Check()
            self._checks.put(step.key, check)
        if action.error:
            return self._failed(check, action)
        self._passed(check, action)
        return None

    def news(self) -> None:
        """Forget what was broken on the way: the work got on."""
        self._broken.clear()
        self._checks.clear()

    def _passed(self, check: _Check, action: Action) -> None:
        if check.failing is not None:
            self._fixed_at, self._fixed = self._now, describe(action)
        check.passed_at, check.failing = self._now, None

    def _failed(self, check: _Check, action: Action) -> Alarm | None:
        error = fingerprint(action.observation)
        came_back = error in check.errors and error != check.failing
        if check.passed_at is not None and self._fixed_at > check.passed_at:
            self._broken.append(f"{describe(action)} passed, and failed after the fix of {self._fixed}")
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


def _is_check(action: Action) -> bool:
    if only_reads(action):
        return False
    return bool(_CHECK.search(f"{action.name} {arguments_of(action)[:_ARGUMENTS]}".lower()))

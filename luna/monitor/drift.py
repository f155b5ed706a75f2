"""Drift from the task: actions that share no word with it, nor with what was found while working on it.

Compares words only, of tasks written in the Latin alphabet; it is silent on others.
"""

import re
from collections.abc import Iterable

from luna.monitor.base import Alarm, Monitor, Step, arguments_of, describe
from luna.protocol import Assignment, StuckKind

_WORD = re.compile(r"[a-z]{4,}")
_FEWEST = 3
_MOST = 5000
_LOOKED_AT = 4000
_COMMON = frozenset(
    """argument arguments command data does error false file files find from have into line list name none null path
    read result return search text that this true value when will with work write your""".split()
)


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text[:_LOOKED_AT].lower())} - _COMMON


class Drift(Monitor):
    """Fires after `limit` actions in a row off the topic. Source: S06, S48.

    What an action on the topic finds becomes part of the topic. An action of fewer than three words is neither on nor
    off the topic.
    """

    def __init__(self, *, limit: int, assignment: Assignment) -> None:
        self._limit = limit
        self._topic = _words(
            [
                assignment.goal,
                assignment.context,
                assignment.expected_output.description,
                *assignment.expected_output.files,
                *assignment.constraints,
                *assignment.stop_conditions,
                *(str(criterion.model_dump()) for criterion in assignment.success_criteria),
                *(f"{name} {value}" for name, value in assignment.inputs.items()),
            ]
        )
        self._can_tell = len(self._topic) >= _FEWEST
        self._off: list[str] = []

    def action(self, step: Step) -> Alarm | None:
        """Compare an action's words with the topic's."""
        if not self._can_tell:
            return None
        action = step.action
        words = _words([arguments_of(action), action.observation, *action.paths])
        if len(words) < _FEWEST:
            return None
        if words & self._topic:
            self._off.clear()
            if len(self._topic) < _MOST:
                self._topic |= words
            return None
        self._off.append(describe(action))
        if len(self._off) < self._limit:
            return None
        reason = f"{len(self._off)} actions in a row have nothing to do with the task, last {self._off[-1]}"
        return Alarm(StuckKind.DRIFT, reason, tuple(f"off the task: {name}" for name in dict.fromkeys(self._off)))

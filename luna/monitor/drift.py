"""Drift from the task: actions that share no word with it, nor with what was found while working on it.

Compares words only, of tasks written in the Latin alphabet; it is silent on others.
"""

import re
from collections.abc import Iterable
from functools import cached_property

from luna.monitor.base import Alarm, Monitor, Step, describe
from luna.protocol import Action, Assignment, StuckKind

_WORD = re.compile(r"[a-z]{4,}")
_HOST = re.compile(r"https?://[^/\s]+")
_FEWEST = 3
_MOST = 5000
_LOOKED_AT = 4000
_SHORT_TEXT = 200
_SHARE = 2  # one word of so many
# Words of any task and any text, which say nothing about a topic.
_COMMON = frozenset(
    """able about above according across actually after again against ahead along already also although always among
    another answer answers anything around asked away back because become becomes been before being below best better
    between both bring brings call called calls cannot case cases certain change changed changes changing check
    checked checks clear come comes complete completely contain contains correct could course current depend depends
    describe different does doing done down during each easy either else empty enough even ever every everything
    example examples exist exists expected fact fail failed fails fall false find finds first follow following follows
    form found from full further gave general give given gives goes going gone good great happen happens hard have
    having held help hence here high hold holds however important include included includes indeed instead into itself
    just keep keeps kind know known lack lacks large last later least leave left less like line lines list little long
    look looks made mainly make makes making many matter mean means might missing more most move moves much must name
    named names near necessary need needed needs neither never next none nothing note notes number often once ones
    only onto open order other others over part particular parts perhaps place point possible problem provide provides
    quite rather reach reached read really reason report reports require required requires result results return
    returned returns right said same says second seem seems seen several shall short should show showed shown shows
    similar simple since small some something soon source sources state still such sure take taken takes task tasks
    tell tells than that their them then there therefore these they thing things think this those though three through
    thus time times together told took toward towards true turn turned turns type under unless until upon used useful
    user uses using usually value values various very want wants ways well went were what when where whether which
    while whole whose will with within without word words work worked works would write writes written wrong year
    years your

    argument arguments byte bytes class code collected command commands content contents data diff directory edit
    edited error errors file files function html http https import index input inputs items json lambda limit main null
    output outputs passed path paths print pytest query raise run search select self string test tests text title
    traceback tuple update utf version wiki wrote""".split()
)


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in _WORD.findall(text[:_LOOKED_AT].lower())} - _COMMON


class Drift(Monitor):
    """Fires after `limit` actions in a row off the topic. Source: S06, S48.

    An action is on the topic if what it asks for (short arguments, paths) shares a word with the task or with what
    actions on the topic found; or if what it writes or gets to read shares one with the task, or half of its words
    with what was found. An action of fewer than three words is neither on nor off the topic.
    """

    def __init__(self, *, limit: int, assignment: Assignment) -> None:
        self._limit = limit
        self._assignment = assignment
        self._off: list[str] = []

    @cached_property
    def _task(self) -> set[str]:
        """The task's words; looked for at the first action, as many workers report none."""
        assignment = self._assignment
        return _words(
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

    @cached_property
    def _found(self) -> set[str]:
        return set(self._task)

    def rise(self) -> None:
        """Start counting anew."""
        self._off.clear()

    def action(self, step: Step) -> Alarm | None:
        """Compare an action's words with the topic's."""
        if len(self._task) < _FEWEST:
            return None
        asked, told = _asked_and_told(step.action)
        if len(asked | told) < _FEWEST:
            return None
        if asked & self._found or told & self._task or len(told & self._found) * _SHARE >= len(told) > 0:
            self._off.clear()
            if len(self._found) < _MOST:
                self._found |= asked | told
            return None
        self._off.append(describe(step.action))
        if len(self._off) < self._limit:
            return None
        reason = f"{len(self._off)} actions in a row have nothing to do with the task, last {self._off[-1]}"
        return Alarm(StuckKind.DRIFT, reason, tuple(f"off the task: {name}" for name in dict.fromkeys(self._off)))


def _asked_and_told(action: Action) -> tuple[set[str], set[str]]:
    """The words that say what the action is about, and those of the texts that it moved."""
    given = [value if isinstance(value, str) else str(value) for value in action.arguments.values()]
    short = [_HOST.sub("", text) for text in given if len(text) <= _SHORT_TEXT]
    long = [text for text in given if len(text) > _SHORT_TEXT]
    return _words([*short, *action.paths]), _words([*long, action.observation])

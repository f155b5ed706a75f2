"""Detectors of work on something else: topics and files that are excluded, and drift away from the goal."""

import fnmatch
import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from luna.monitor.base import Alarm, Monitor, ObservedAction, changes_a_file, describe, only_reads
from luna.protocol import Action, Assignment, StuckKind

_NEGATION = r"(?:do not|don[’']t|never|must not|may not)"
# An order begins a sentence or a clause: "links do not work on Windows" is none.
_ORDER = rf"(?:(?:^|[.;:,\n(]|\b(?:and|but|please|you|must|may))\s*{_NEGATION}|\bwithout)\s+"
_TOPIC_REST = r"(?P<rest>[^.;:\n()]+)"
_WORK = re.compile(
    rf"{_ORDER}work(?:ing)? on\s+{_TOPIC_REST}|\b(?:stay|keep) away from\s+{_TOPIC_REST.replace('rest', 'rest2')}",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    rf"{_ORDER}(?:search(?:ing)? for|research(?:ing)?|(?:read(?:ing)?|writ(?:e|ing)|ask(?:ing)?|talk(?:ing)?) about)"
    rf"\s+{_TOPIC_REST}|(?:^|[.;\n]\s*|\b(?:write|search|publish|ask)\s+)nothing about"
    rf"\s+{_TOPIC_REST.replace('rest', 'rest2')}",
    re.IGNORECASE,
)
_QUOTED_TOPIC = re.compile(r"[`\"“]([^`\"“”]+)[`\"”]")
_LIST_ENDS = re.compile(r",|\band\b", re.IGNORECASE)
_OR = re.compile(r"\bn?or\b", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ANY_WORD = re.compile(r"[^\W_]+")
_CONDITIONS = frozenset("after before but except if other than than that unless until when where which while".split())
_UNCLEAR = frozenset(
    """about all any anybody anyone anything as at branch both by each either else every everything few for from her his
    how in into it main many master more most much my of on one only other others own several some such than them these
    they things this those to too trunk two us what who why with without your""".split()
)
_ARTICLES = frozenset(["a", "an", "its", "our", "the", "their"])
_GENERIC = frozenset(
    """again alone area at all code component either feature files folder itself module modules now package part service
    stuff subsystem system topic yet""".split()
)
_MOST_WORDS = 3
_SHORTEST = 3
_SHORT_TEXT = 200


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic that a constraint excludes.

    Attributes:
        said: The constraint.
        words: In small letters, one space between two.
        changes_only: Whether only changes of files whose paths name it count; else whatever is asked for it, too.
    """

    said: str
    words: str
    changes_only: bool

    def named_by(self, step: ObservedAction) -> str | None:
        """The path or short argument of an action that names the topic, or None."""
        if self.changes_only and not changes_a_file(step):
            return None
        named = step.action.paths if self.changes_only else _asked(step.action)
        return next((text for text in named if f" {self.words} " in f" {_plain(text)} "), None)


def excluded_topics(constraint: str) -> list[Topic]:
    """The topics that a constraint excludes in words this module understands."""
    return [
        Topic(constraint, words, pattern is _WORK)
        for pattern in (_WORK, _ABOUT)
        for match in pattern.finditer(constraint)
        for words in _topics(match["rest"] or match["rest2"])
    ]


def _topics(rest: str) -> list[str]:
    if _CONDITIONS & set(_plain(_QUOTED_TOPIC.sub("", rest)).split()):
        return []
    if quoted := _QUOTED_TOPIC.findall(rest):
        return list(filter(None, map(_plain, quoted)))
    pieces = _OR.split(_LIST_ENDS.split(rest)[0])
    return list(filter(None, (_clear(_plain(piece).split()) for piece in pieces)))


def _clear(words: list[str]) -> str:
    """The words as a topic; "" if they could be anything."""
    while words and words[0] in _ARTICLES:
        words = words[1:]
    while words and words[-1] in _GENERIC:
        words = words[:-1]
    topic = " ".join(words)
    return topic if len(words) <= _MOST_WORDS and len(topic) >= _SHORTEST and not _UNCLEAR & set(words) else ""


def _asked(action: Action) -> tuple[str, ...]:
    """Short texts among the arguments that are no paths: what is searched for, asked, or used as a title."""
    texts = [value for value in action.arguments.values() if isinstance(value, str) and len(value) <= _SHORT_TEXT]
    return tuple(text for text in texts if text not in action.paths)


def _plain(text: str) -> str:
    return " ".join(_ANY_WORD.findall(_CAMEL.sub(" ", text).lower()))


_LONG_WORD = re.compile(r"[a-z]{4,}")
_HOST = re.compile(r"https?://[^/\s]+")
_FEWEST = 3
_MOST = 5000
_LOOKED_AT = 4000
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
    return {word for text in texts for word in _LONG_WORD.findall(text[:_LOOKED_AT].lower())} - _COMMON


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

    def action(self, step: ObservedAction) -> Alarm | None:
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


_CHANGE = r"chang(?:e|ing)|edit(?:ing)?|modify(?:ing)?|writ(?:e|ing)|delet(?:e|ing)|remov(?:e|ing)|creat(?:e|ing)"
_TOUCH = r"touch(?:ing)?"
_LOOK = r"read(?:ing)?|open(?:ing)?|us(?:e|ing)|access(?:ing)?|look(?:ing)? (?:at|into)"
_REST = r"(?P<rest>[^.;\n]*(?:\.\S[^.;\n]*)*)"
_NOT = re.compile(
    rf"\b(?:do not|don[’']t|never|must not|may not|without)\s+(?P<verb>{_CHANGE}|{_TOUCH}|{_LOOK})\b{_REST}",
    re.IGNORECASE,
)
# "only" excludes all the rest, so it is read narrowly: "only use Python 3.11" is no statement about paths.
_ONLY = re.compile(
    rf"\b(?:only\s+(?P<verb>{_CHANGE}|{_TOUCH})|(?P<verb2>{_CHANGE}|{_TOUCH})\s+only)\b{_REST}", re.IGNORECASE
)
_QUOTED = re.compile(r"[`\"“]([^`\"“”\s]+)[`\"”]")
_TOKEN = re.compile(r"[^\s,;:()\"'`“”]+")
_LIKE_A_PATH = re.compile(r"(?=.*[A-Za-z])(?:.*[/*].*|.*\.[A-Za-z]\w{0,9})")
_NO_PATH = frozenset(["and/or", "e.g", "i.e", "i/o", "input/output", "n/a", "read/write", "w/o"])
_UNDER = re.compile(
    r"\b(?:files?|folders?|director(?:y|ies)|anything|code) (?:under|below|inside) (.+)", re.IGNORECASE | re.DOTALL
)
_ITEMS = re.compile(r"\s*(?:,|\band\b|\bor\b)\s*", re.IGNORECASE)
_EXCEPT = re.compile(r"\b(?:except|but|unless|other than)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Rule:
    said: str
    paths: tuple[str, ...]
    only: bool
    changes_only: bool

    def forbids(self, path: str, *, reads: bool) -> bool:
        if reads and self.changes_only:
            return False
        return any(_within(path, rule) for rule in self.paths) is not self.only


def _within(path: str, rule: str) -> bool:
    return path == rule or path.startswith(f"{rule}/") or fnmatch.fnmatchcase(path, rule)


def _paths(text: str) -> tuple[str, ...]:
    text = _EXCEPT.split(text)[0]
    found = (
        _QUOTED.findall(text)
        or _listed(text)
        or [
            token
            for item in _TOKEN.findall(text)
            if _LIKE_A_PATH.fullmatch(token := item.rstrip(".!?")) and token.lower() not in _NO_PATH
        ]
    )
    return tuple(posixpath.normpath(item) for item in found)


def _listed(text: str) -> list[str]:
    """Single words that are said to be places ("files under src and tests"); none if one of them is something else."""
    match = _UNDER.search(text)
    items = [item for item in _ITEMS.split(match[1].strip().rstrip(".!?")) if item] if match else []
    return items if all(_TOKEN.fullmatch(item) for item in items) else []


def _rules(constraint: str) -> list[_Rule]:
    rules = []
    for pattern, only in ((_NOT, False), (_ONLY, True)):
        for match in pattern.finditer(constraint):
            verb = next(group for group in match.groups()[:-1] if group)
            paths = _paths(match["rest"])
            if paths:
                changes_only = re.fullmatch(_CHANGE, verb, re.IGNORECASE) is not None
                rules.append(_Rule(constraint, paths, only, changes_only))
    return rules


class Scope(Monitor):
    """Fires at the first action that went where it must not. Source: S06.

    Understood are "do not / never / must not / without touching (changing, editing, reading, …) PATHS" and "only change
    (touch, …) PATHS", with paths in quotes, recognisable by a slash, a dot or a star, or listed after "files under";
    and "do not work on TOPIC", "do not research TOPIC", "nothing about TOPIC". An action that failed touched nothing: a
    refused permission is an observation, no offence (PAR-03).
    """

    def __init__(self, constraints: tuple[str, ...]) -> None:
        self._constraints = constraints

    @cached_property
    def _rules(self) -> list[_Rule]:
        return [rule for constraint in self._constraints for rule in _rules(constraint)]

    @cached_property
    def _topics(self) -> list[Topic]:
        return [topic for constraint in self._constraints for topic in excluded_topics(constraint)]

    def action(self, step: ObservedAction) -> Alarm | None:
        """Compare the action with the workspace and the constraints."""
        action = step.action
        if action.error:
            return None
        reads = only_reads(action)
        for given in action.paths:
            path = posixpath.normpath(given)
            if path == ".." or path.startswith(("../", "/", "~")):
                return self._alarm(step, given, "lies outside the workspace")
            for rule in self._rules:
                if rule.forbids(path, reads=reads):
                    return self._alarm(step, given, f"is excluded by {rule.said!r}")
        for topic in self._topics:
            if named := topic.named_by(step):
                return self._alarm(step, named, f"is about {topic.words!r}, excluded by {topic.said!r}")
        return None

    polled = action

    def _alarm(self, step: ObservedAction, where: str, why: str) -> Alarm:
        return Alarm(StuckKind.SCOPE, f"{where!r} {why}", (f"action: {describe(step.action)}", f"where: {where}"))

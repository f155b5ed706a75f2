"""Scope: paths outside the workspace, and paths and topics that the constraints exclude in words understood here.

Lexical only, no file is looked at; keeping a worker inside is the workspace's business, this notices that it left.
"""

import fnmatch
import posixpath
import re
from dataclasses import dataclass
from functools import cached_property

from luna.monitor.base import Alarm, Monitor, Step, describe, only_reads
from luna.monitor.topics import Topic, excluded_topics
from luna.protocol import StuckKind

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

    def action(self, step: Step) -> Alarm | None:
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

    def _alarm(self, step: Step, where: str, why: str) -> Alarm:
        return Alarm(StuckKind.SCOPE, f"{where!r} {why}", (f"action: {describe(step.action)}", f"where: {where}"))

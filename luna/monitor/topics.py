"""Topics that constraints exclude: "do not work on billing", "nothing about prices". Words only, read narrowly.

Where a sentence may be meant in another way it says nothing here; it is left to the worker and to the checks.
"""

import re
from dataclasses import dataclass

from luna.monitor.base import Step, changes_a_file
from luna.protocol import Action

_NOT = r"(?:do not|don[’']t|never|must not|may not)"
# An order begins a sentence or a clause: "links do not work on Windows" is none.
_ORDER = rf"(?:(?:^|[.;:,\n(]|\b(?:and|but|please|you|must|may))\s*{_NOT}|\bwithout)\s+"
_REST = r"(?P<rest>[^.;:\n()]+)"
_WORK = re.compile(
    rf"{_ORDER}work(?:ing)? on\s+{_REST}|\b(?:stay|keep) away from\s+{_REST.replace('rest', 'rest2')}", re.IGNORECASE
)
_ABOUT = re.compile(
    rf"{_ORDER}(?:search(?:ing)? for|research(?:ing)?|(?:read(?:ing)?|writ(?:e|ing)|ask(?:ing)?|talk(?:ing)?) about)"
    rf"\s+{_REST}|(?:^|[.;\n]\s*|\b(?:write|search|publish|ask)\s+)nothing about\s+{_REST.replace('rest', 'rest2')}",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"[`\"“]([^`\"“”]+)[`\"”]")
_LIST_ENDS = re.compile(r",|\band\b", re.IGNORECASE)
_OR = re.compile(r"\bn?or\b", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
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

    def named_by(self, step: Step) -> str | None:
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
    if _CONDITIONS & set(_plain(_QUOTED.sub("", rest)).split()):
        return []
    if quoted := _QUOTED.findall(rest):
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
    return " ".join(_WORD.findall(_CAMEL.sub(" ", text).lower()))

"""What a monitor is, and what all of them share: alarms, fingerprints, bounded memory.

A monitor only watches: no I/O, no clock, bounded memory, O(1) or O(window) work per event.
"""

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar, Generic, NamedTuple, TypeVar

from luna.protocol import Action, Compacted, Partial, Progress, Said, Spent, StuckKind

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_WHOLE = 8192
_VOLATILE = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    r"|\b0x[0-9a-f]{4,}\b"
    r"|(?:\b\d{4}-\d\d-\d\d[t ])?\b\d\d:\d\d:\d\d(?:[.,]\d+)?z?",
    re.IGNORECASE,
)
_ELAPSED = re.compile(
    r"(?:(?<=\bin )|(?<=\()|(?<=\btime: )|(?<=\belapsed: ))\s*\d+(?:\.\d+)?\s?(?:ms|s|sec|secs|seconds)\b",
    re.IGNORECASE,
)
_CHECK = re.compile(r"test|check|lint|build|compile|verif|mypy|ruff|tox")
_CHECK_ARGUMENTS = 500
_READS = frozenset(
    ["read", "list", "ls", "cat", "view", "open", "search", "grep", "find", "glob", "show", "status", "stat", "get"]
)


@dataclass(frozen=True, slots=True)
class Alarm:
    """Why a worker is to be stopped. `reason` becomes the report's blocker, `evidence` its evidence."""

    kind: StuckKind
    reason: str
    evidence: tuple[str, ...] = ()


class ObservedAction(NamedTuple):
    """An action with its fingerprints: `key` of name, arguments and paths, `seen` of the observation, `pair` of both.

    `new`: the observation did not occur before in this attempt; `new_pair`: the pair did not.
    """

    action: Action
    key: bytes
    seen: bytes
    pair: bytes
    new: bool
    new_pair: bool


class Monitor:
    """One detector. Overrides what it looks at; what it does not override costs nothing.

    Attributes:
        hears: The methods that it overrides.
    """

    hears: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        own = [name for name, value in vars(Monitor).items() if callable(value) and not name.startswith("_")]
        cls.hears = frozenset(name for name in own if getattr(cls, name) is not getattr(Monitor, name))

    def action(self, step: ObservedAction) -> Alarm | None:
        """Look at a completed action."""
        raise NotImplementedError

    def polled(self, step: ObservedAction) -> Alarm | None:
        """Look at an action that is declared polling (S50)."""
        raise NotImplementedError

    def news(self) -> None:
        """Hear of a rise on the ladder, new evidence, or a newly finished part."""
        raise NotImplementedError

    def rise(self) -> None:
        """Hear of a rise on the ladder, after `news`. There are five at most, so every count may start anew."""
        raise NotImplementedError

    def stale(self, event: Progress | Partial) -> Alarm | None:
        """Look at a progress event that says nothing new."""
        raise NotImplementedError

    def said(self, event: Said) -> Alarm | None:
        """Look at what the worker said."""
        raise NotImplementedError

    def spent(self, event: Spent) -> Alarm | None:
        """Look at what was used."""
        raise NotImplementedError

    def compacted(self, event: Compacted) -> Alarm | None:
        """Look at a summary of the worker's context."""
        raise NotImplementedError


class Memory(Generic[K, V]):
    """A mapping that forgets what was used longest ago when it holds more than `limit` entries."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K) -> V | None:
        """The value; None when unknown or forgotten."""
        if key not in self._items:
            return None
        self._items.move_to_end(key)
        return self._items[key]

    def put(self, key: K, value: V) -> None:
        """Set a value and forget the eldest beyond the limit."""
        self._items[key] = value
        self._items.move_to_end(key)
        if len(self._items) > self._limit:
            self._items.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._items.clear()


def fingerprint(text: str) -> bytes:
    """Digest of a text; times of day, addresses and UUIDs do not count, in texts of up to 8,192 characters."""
    if len(text) <= _WHOLE:
        text = _VOLATILE.sub("#", text)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def fingerprint_of_result(text: str) -> bytes:
    """Digest of what an action returned: how long it took ("in 0.52s", "(3 ms)") does not count either."""
    return fingerprint(_ELAPSED.sub("#", text) if len(text) <= _WHOLE else text)


def arguments_of(action: Action) -> str:
    """The arguments as canonical JSON."""
    return json.dumps(action.arguments, sort_keys=True, ensure_ascii=False) if action.arguments else ""


def step_of(action: Action, seen_before: Memory[bytes, bool]) -> ObservedAction:
    """Fingerprint an action and note it in `seen_before`."""
    asked = "\n".join((action.name, arguments_of(action), *action.paths))
    key = hashlib.blake2b(asked.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    seen = fingerprint_of_result(action.observation) + (b"!" if action.error else b".")
    pair = key + seen
    new, new_pair = seen_before.get(seen) is None, seen_before.get(pair) is None
    seen_before.put(seen, True)  # noqa: FBT003 - a set with a limit
    seen_before.put(pair, True)  # noqa: FBT003 - a set with a limit
    return ObservedAction(action, key, seen, pair, new and bool(action.observation), new_pair)


def only_reads(action: Action) -> bool:
    """Whether the action's name says that it changes nothing (`read_file`, `git_status`, `grep`)."""
    return any(word in _READS for word in re.split(r"[^a-z]+", action.name.lower()))


def is_check(action: Action) -> bool:
    """Whether the action's name or arguments say that it checks something (tests, builds, linters)."""
    if only_reads(action):
        return False
    return bool(_CHECK.search(f"{action.name} {arguments_of(action)[:_CHECK_ARGUMENTS]}".lower()))


def changes_a_file(step: ObservedAction) -> bool:
    """Whether the action made a change to a file that was not made before."""
    action = step.action
    return step.new_pair and not action.error and bool(action.paths) and not only_reads(action)


def shorten(text: str, limit: int = 200) -> str:
    """The text on one line, its middle left out when longer than `limit` characters."""
    if len(text) > 4 * limit:
        text = f"{text[: 2 * limit]} … {text[-2 * limit :]}"
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    half = (limit - 3) // 2
    return f"{text[:half]} … {text[-half:]}"


def describe(action: Action) -> str:
    """`name(arguments)`, short enough for a line."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in action.arguments.items())
    return f"{action.name}({shorten(arguments, 120)})"

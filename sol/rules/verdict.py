"""Verdicts: labels of results, and the status tags that a text may end with."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_FENCE_OPEN: Final = re.compile(r"(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_CLOSE: Final = re.compile(r"(`{3,}|~{3,})[ \t]*")
_FENCE_INDENT: Final = " \t>"
_MAX_DIGITS: Final = 9


@dataclass(frozen=True, slots=True)
class TagFound:
    """The last tag chose a rule; `index` counts from 0, `tag` is the tag in upper case."""

    index: int
    tag: str


@dataclass(frozen=True, slots=True)
class TagOutOfRange:
    """The last tag names no rule of the step, which has `count`. Earlier tags are not taken instead."""

    tag: str
    count: int


@dataclass(frozen=True, slots=True)
class TagMissing:
    """There is no tag of this step outside code fences."""


TagResult = TagFound | TagOutOfRange | TagMissing
"""What a text says by its status tags."""


def format_tag(step: str, number: int) -> str:
    """Write the tag that chooses rule `number` (from 1) of `step`. Source: R15."""
    return f"[{step.upper()}:{number}]"


def find_tag(text: str, step: str, count: int) -> TagResult:
    """Find the rule that a text chose by its last status tag.

    Args:
        text: What was written, Markdown; tags within code fences do not count.
        step: Name of the step; upper and lower case are the same.
        count: How many rules the step has, of every kind.

    Source: R15.
    """
    # Folding both sides, not re.IGNORECASE, since upper case can be longer than lower case (ß, SS).
    pattern = re.compile(rf"\[{re.escape(_fold(step))}:([0-9]+)\]")
    written = pattern.findall(_fold(_without_fences(text)))
    if not written:
        return TagMissing()
    tag = f"[{step.upper()}:{written[-1]}]"
    digits = written[-1].lstrip("0")
    number = int(digits) if digits and len(digits) <= _MAX_DIGITS else 0
    return TagFound(number - 1, tag) if 1 <= number <= count else TagOutOfRange(tag, count)


def _fold(text: str) -> str:
    return text.upper().casefold()


def _without_fences(text: str) -> str:
    """Drop fenced code, by the fence rules of Markdown; a fence that is never closed reaches to the end."""
    kept: list[str] = []
    fence = ""
    for line in text.splitlines():
        content = line.lstrip(_FENCE_INDENT)
        if fence:
            closing = _FENCE_CLOSE.fullmatch(content)
            if closing and closing.group(1).startswith(fence):
                fence = ""
            continue
        opening = _FENCE_OPEN.match(content)
        if opening:
            fence = opening.group(1)
        else:
            kept.append(line)
    return "\n".join(kept)


def read_verdict(data: object, allowed: Sequence[str], *, field: str = "verdict") -> str | None:
    """Read a verdict from a structured answer; None means that there is none, never a default.

    Args:
        data: A mapping, or a text that is one JSON object from end to end. Anything else has no verdict.
        allowed: The verdicts there are. The value must be one of them; upper and lower case and outer white space may
            differ, unless that would leave two to choose from.
        field: Name of the field.

    Returns:
        The verdict as `allowed` writes it.

    Source: R23.
    """
    value = _object(data).get(field)
    if not isinstance(value, str):
        return None
    given = value.strip()
    if given in allowed:
        return given
    near = {verdict for verdict in allowed if verdict.casefold() == given.casefold()}
    return near.pop() if len(near) == 1 else None


def _object(data: object) -> Mapping[object, object]:
    if isinstance(data, str):
        try:
            data = json.loads(data, object_pairs_hook=_unique)
        except (ValueError, RecursionError):
            return {}
    return data if isinstance(data, Mapping) else {}


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build an object, refusing one that says the same field twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("The object has a field twice.")
    return found

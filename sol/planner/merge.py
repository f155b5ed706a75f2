"""Puts results of parts together by their shape alone, in the order given, and says where that was not certain.

It must not guess: what does not fit is a conflict, never dropped in silence.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

_SHOWN_CHARACTERS = 60


@dataclass(slots=True)
class Merged:
    """One value made of several.

    Attributes:
        value: The whole; None when there was nothing to merge.
        conflicts: Places where two parts say different things; the earlier one was kept.
        mismatches: Those of the conflicts where even the types differ.
        unsure: Places inside objects where parts hold equal numbers (kept once) or equal lists (put one after the
            other); nobody knows whether that was meant.
    """

    value: Any = None
    conflicts: list[str] = field(default_factory=list)
    mismatches: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)


def merge(values: Iterable[Any]) -> Merged:
    """Merge results in order: lists are concatenated, texts joined by line ends, objects merged key by key.

    None is skipped. Equal values inside objects are kept once. One-line texts that differ under the same key are a
    conflict, and so are numbers that are whole results, even equal ones: adding them or not depends on their meaning.
    """
    merged = Merged()
    for value in values:
        merged.value = _both(merged.value, value, "", merged)
    return merged


def _both(left: Any, right: Any, where: str, merged: Merged) -> Any:  # noqa: ANN401 - any JSON
    if left is None or right is None:
        return left if right is None else right
    if type(left) is not type(right):
        if _is_number(left) and _is_number(right):
            return _conflict(left, right, where, merged)
        merged.mismatches.append(where)
        return _conflict(left, right, where, merged)
    match left:
        case list():
            if where and left and left == right:
                merged.unsure.append(f"{where}: equal lists, put one after the other")
            return [*left, *right]
        case dict():
            return left | {key: _both(left.get(key), value, f"{where}/{key}", merged) for key, value in right.items()}
        case str() if not where or (left != right and "\n" in left + right):
            return left + right if left.endswith("\n") or not left else f"{left}\n{right}"
        case _ if left != right or (not where and _is_number(left)):
            return _conflict(left, right, where, merged)
        case _:
            if _is_number(left):
                merged.unsure.append(f"{where}: equal numbers, kept once")
            return left


def _conflict(left: Any, right: Any, where: str, merged: Merged) -> Any:  # noqa: ANN401 - any JSON
    merged.conflicts.append(f"{where or 'result'}: {_short(left)} and {_short(right)}")
    return left


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"

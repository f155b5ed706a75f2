"""Whether the values of a result occur literally in the source they were taken from. Decides nothing else."""

import re
from collections.abc import Iterator
from decimal import Decimal

from pydantic import JsonValue

_NUMBER = re.compile(r"(?P<sign>[-\u2212]?)(?P<mantissa>\d+(?:\.\d+)?)(?P<exponent>[eE][+-]?\d{1,4})?")
_BORDER = "\0"  # between the texts of a structured source, so that no value spans two of them


class Source:
    """All texts and numbers of one source.

    Texts are compared with each run of white space taken for one space; numbers with the numbers that stand in the
    source, by value of their decimal text: 12.5 occurs in "12.50", neither 2 nor 12 does.

    Args:
        value: A text, or JSON whose texts, numbers and keys count.
    """

    def __init__(self, value: JsonValue) -> None:
        texts: list[str] = []
        self._numbers: set[Decimal] = set()
        for leaf in _leaves_with_keys(value):
            if isinstance(leaf, str):
                texts.append(_normalised(leaf))
            else:
                number = _decimal(leaf)
                self._numbers.add(number)
                texts.append(str(number))
        self._text = _BORDER.join(texts)
        self._numbers.update(_numbers_in(self._text))

    def has(self, value: str | float) -> bool:
        """Tell whether `value` occurs in it."""
        if isinstance(value, str):
            return _normalised(value) in self._text
        return _decimal(value) in self._numbers

    def missing(self, result: JsonValue) -> Iterator[tuple[str, str | int | float]]:
        """The values of a result that do not occur, each with its JSON pointer.

        Keys, booleans and nulls need no source.
        """
        return ((pointer, value) for pointer, value in _values(result, "") if not self.has(value))


def _normalised(text: str) -> str:
    return " ".join(text.split())


def _decimal(number: float) -> Decimal:
    return Decimal(number) if isinstance(number, int) else Decimal(repr(number))


def _numbers_in(text: str) -> Iterator[Decimal]:
    for found in _NUMBER.finditer(text):
        sign, mantissa, exponent = found["sign"], found["mantissa"], found["exponent"]
        for written in (mantissa, mantissa + exponent) if exponent else (mantissa,):
            yield Decimal(written)
            if sign:  # "3-5" holds 5, "-5" holds both
                yield -Decimal(written)
        if found.start("mantissa") and text[found.start("mantissa") - 1] == ".":
            yield Decimal("0." + mantissa.partition(".")[0])


def _leaves_with_keys(value: JsonValue) -> Iterator[str | int | float]:
    stack = [value]
    while stack:
        match stack.pop():
            case None | bool():
                pass
            case dict() as mapping:
                stack.extend(mapping)
                stack.extend(mapping.values())
            case list() as items:
                stack.extend(items)
            case leaf:
                yield leaf


def _values(value: JsonValue, pointer: str) -> Iterator[tuple[str, str | int | float]]:
    stack = [(pointer, value)]
    while stack:
        where, item = stack.pop()
        match item:
            case None | bool():
                pass
            case dict():
                pairs = [(f"{where}/{key.replace('~', '~0').replace('/', '~1')}", v) for key, v in item.items()]
                stack.extend(reversed(pairs))
            case list():
                stack.extend(reversed([(f"{where}/{i}", v) for i, v in enumerate(item)]))
            case _:
                yield where, item

"""JSON, strictly: what may be stored, and the one value that a text holds. Nothing is repaired by guessing."""

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, TypeAlias

import msgspec
from pydantic import JsonValue

MAX_DEPTH: Final = 200
"""The deepest nesting that is written: far below where readers give up."""

_MAX_DIGITS = 4_300  # more are neither written nor read by Python, unless it is told to
_TOO_LARGE = 10**_MAX_DIGITS
_LARGE_BITS = _TOO_LARGE.bit_length() - 1
_SHOWN = 60
_STEPS_SHOWN = 5
_CONSTANTS = frozenset({bool, type(None)})
_CONTAINERS = frozenset({dict, list, tuple})
_NESTING = (dict, list, tuple)

RefusalKind: TypeAlias = Literal["invalid", "duplicate_keys"]


class RefusedError(ValueError):
    """JSON that other readers would take differently. Raised while decoding; the message says what is in it."""

    def __init__(self, message: str, kind: RefusalKind = "invalid") -> None:
        super().__init__(message, kind)
        self.kind = kind

    def __str__(self) -> str:
        return str(self.args[0])


def decoder(*, parse_int: Callable[[str], int] = int) -> json.JSONDecoder:
    """A decoder that raises `RefusedError` for a key that is there twice, NaN, and numbers too large for a float."""
    return json.JSONDecoder(
        object_pairs_hook=_without_duplicates,
        parse_int=parse_int,
        parse_float=_float,
        parse_constant=_refuse_constant,
    )


def loads(text: str) -> JsonValue:
    """The one JSON value that `text` is.

    Raises:
        ValueError: If it is none, holds a key twice, NaN or a number too large for a float, or is nested too deeply.
    """
    try:
        value: JsonValue = _DECODER.decode(text)
    except RecursionError:
        raise RefusedError("nested too deeply") from None
    return value


def require_json(value: object, *, what: str = "the value") -> None:
    """Check that `value` can be written as JSON and reads back the same; tuples read back as lists.

    NaN, infinity, integers of more than 4,300 digits, halves of surrogate pairs, keys that are no text, nesting deeper
    than 200 levels and whatever is no plain text, number, bool, None, list, tuple or dict are refused.

    Args:
        value: Anything.
        what: What it is, for the message, before the place.

    Raises:
        ValueError: Names the place and what is wrong there.
    """
    if not (isinstance(value, dict | list) and _survives(value)):
        _search(value, what)


def as_json(value: object, *, what: str = "the value") -> Any:  # noqa: ANN401 - JSON
    """The value itself if it reads back the same, else a copy with lists for tuples.

    Raises:
        ValueError: As `require_json`.
    """
    if isinstance(value, dict | list) and _survives(value):
        return value
    _search(value, what)
    return _listed(value)


def _listed(value: object) -> Any:  # noqa: ANN401 - JSON
    """The value with lists for tuples; it is not nested too deeply."""
    if isinstance(value, dict):
        return {key: _listed(inner) if isinstance(inner, _NESTING) else inner for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_listed(inner) if isinstance(inner, _NESTING) else inner for inner in value]
    return value


def _survives(value: dict[object, object] | list[object]) -> bool:
    """Whether it surely does; for nearly all values, and without a loop in Python for small ones."""
    try:
        text = msgspec.json.encode(value)
        if msgspec.json.decode(text) != value:
            return False
    except (TypeError, ValueError, RecursionError):
        return False
    # Many brackets may mean deep nesting, or just many small parts.
    return text.count(b"[") + text.count(b"{") <= MAX_DEPTH or _is_shallow(value)


def _is_shallow(value: dict[object, object] | list[object]) -> bool:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, _NESTING)
        ]
        if not level:
            return True
    return False


def _search(value: object, what: str) -> None:
    """Go through all of it."""
    if fault := _fault(value):
        raise _unfit(what, (), fault)
    open_ends: list[tuple[Any, tuple[str | int, ...]]] = [(value, ())] if isinstance(value, _NESTING) else []
    while open_ends:
        container, place = open_ends.pop()
        items: Iterable[tuple[str | int, object]]
        if type(container) is dict:
            for key in container:
                if type(key) is not str:
                    raise _unfit(what, place, f"has the key {_shown(key)}; keys must be text")
                if not _is_whole(key):
                    raise _unfit(what, place, f"has a key with half of a surrogate pair: {_shown(key)}")
            items = container.items()
        else:
            items = enumerate(container)
        if len(place) >= MAX_DEPTH:
            raise _unfit(what, place[:_STEPS_SHOWN], f"is nested more than {MAX_DEPTH} levels deep")
        for step, inner in items:
            if fault := _fault(inner):
                raise _unfit(what, (*place, step), fault)
            if isinstance(inner, _NESTING):
                open_ends.append((inner, (*place, step)))


def _fault(value: object) -> str:
    """What is wrong about a value, apart from what it contains; "" for nothing."""
    kind = type(value)
    if kind in _CONSTANTS or kind in _CONTAINERS:
        return ""
    if isinstance(value, str) and kind is str:
        return "" if _is_whole(value) else f"holds half of a surrogate pair: {_shown(value)}"
    if isinstance(value, int) and kind is int:
        fits = value.bit_length() <= _LARGE_BITS or -_TOO_LARGE < value < _TOO_LARGE
        return "" if fits else f"is an integer of more than {_MAX_DIGITS:,} digits"
    if isinstance(value, float) and kind is float:
        return "" if math.isfinite(value) else f"is {value}, which JSON cannot hold"
    return f"is a {kind.__name__}, which is not JSON"


def _is_whole(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unfit(what: str, place: tuple[str | int, ...], fault: str) -> ValueError:
    return ValueError(f"{what}{''.join(f'[{step!r}]' for step in place)} {fault}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _refuse_constant(name: str) -> NoReturn:
    raise RefusedError(f"{name} is no JSON value")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise RefusedError(f"{text} is too large for a number")
    return number


def _without_duplicates(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise RefusedError(f"the key {twice!r} is there twice", "duplicate_keys")
    return value


_DECODER = decoder()


MAX_TEXT_DEPTH = 64
MAX_FAILURES = 100
MAX_DIGITS = 400
MAX_VALUES = 1000

TAG_NAMES = "think|thinking|thought|reasoning"
CLOSING_TAG = re.compile(rf"</(?:{TAG_NAMES})>", re.IGNORECASE)
_TOKEN = re.compile(
    rf"<(?P<close>/?)(?P<tag>{TAG_NAMES})>|(?P<fence>`{{3,}}|~{{3,}})[ \t]*(?P<name>[\w+#./-]*)|(?P<open>[{{\[])",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s*")
_BEGINS_LIKE_JSON = re.compile(r"""\{\s*(?:["'}]|\w+\s*:)|\[\s*(?:["\[{\]\d-]|(?:true|false|null|NaN)\b)""")
_BEGINS_STRUCTURE = re.compile(r"""\{|\[\s*["\[{]""")
_LITERAL_TO_END = re.compile(r"[\w.+-]*\s*")
_SURROGATE = re.compile("[\ud800-\udfff]")
_BRACKET_OR_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|["{}\[\]]', re.DOTALL)

FaultKind: TypeAlias = Literal["truncated", "ambiguous", "no_json", "invalid", "duplicate_keys"]


@dataclass(frozen=True, slots=True)
class Found:
    """A complete value; not `certain` in prose if an array or empty: "[1]" may be a footnote, "{}" a piece of code."""

    value: JsonValue
    certain: bool


@dataclass(frozen=True, slots=True)
class ScanFault:
    """Something that makes the whole reply unusable."""

    kind: FaultKind
    message: str


class Scan:
    """The result of looking through one reply.

    Attributes:
        found: Complete values outside reasoning and foreign blocks, in order; not those inside other values.
        fault: Why nothing of the reply may be used, or None.
        broken: Message on a passage that looks like JSON and is not, or None.
    """

    def __init__(self, text: str) -> None:
        self.found: list[Found] = []
        self.fault: ScanFault | None = None
        self.broken: str | None = None
        self._text = text
        self._position = 0
        self._first = _end_of_space(text, 0)
        self._last = len(text.rstrip())
        self._fence = ""
        self._reasoned = False
        self._failures = 0
        self._run()

    def _run(self) -> None:
        if self._text[self._first : self._first + 1] not in {"{", "["} and self._whole_scalar():
            return
        while token := _TOKEN.search(self._text, self._position):
            if token["tag"]:
                self._on_tag(token)
            elif token["fence"]:
                self._on_fence(token)
            else:
                self._on_bracket(token.start())

    def _whole_scalar(self) -> bool:
        try:
            value, end = _decode(self._text, self._first)
        except ValueError:
            return False
        if end < self._last:
            return False
        self.found.append(Found(value, certain=True))
        return True

    def _on_tag(self, token: re.Match[str]) -> None:
        self._position = token.end()
        if not token["close"]:
            closing = CLOSING_TAG.search(self._text, self._position)
            if closing is None:
                self._stop(ScanFault("no_json", "The reasoning is never closed, so no answer follows it."))
                return
            self._position = closing.end()
        elif not self._reasoned:
            # The opening tag is missing: all so far was reasoning.
            self.found.clear()
            self.fault = self.broken = None
            self._fence = ""
            self._failures = 0
        self._reasoned = True
        self._first = _end_of_space(self._text, self._position)

    def _on_fence(self, token: re.Match[str]) -> None:
        run, name = token["fence"], token["name"].lower()
        self._position = token.end()
        if self._fence and (len(run) < len(self._fence) or run[0] != self._fence[0]):
            return
        # Behind a space it is prose after the closing fence, not the name of a new block.
        if self._fence and (not name or token.end("fence") < token.start("name")):
            self._fence = ""
            return
        self._fence = ""
        if name in {"", "json"}:
            start = _end_of_space(self._text, token.end())
            if self._text[start : start + 1] in {"{", "["}:
                self._fence, self._position = run, start
                return
        body_end, end = _block_ends(self._text, token.end(), run)
        tag = CLOSING_TAG.search(self._text, token.end(), body_end)
        # A tag in a block is text, unless the block seems to reach over the fences of another one behind the tag.
        real = tag is not None and self._text.find(run, tag.end(), body_end) >= 0
        self._go_on(end, tag if real else None)

    def _on_bracket(self, start: int) -> None:
        if not _BEGINS_LIKE_JSON.match(self._text, start):
            self._position = start + 1
            return
        try:
            value, self._position = _decode(self._text, start)
        except RefusedError as error:
            self._spoil(ScanFault(error.kind, f"The JSON cannot be used: {error}."))
            end = _balanced_end(self._text, start) or len(self._text)
            self._go_on(end, _tag_outside_strings(self._text, start, end, sound_to=end + 1))
        except json.JSONDecodeError as error:
            self._on_broken(start, error)
        else:
            alone = start == self._first and self._position == self._last
            full_object = isinstance(value, dict) and bool(value)
            self.found.append(Found(value, certain=full_object or alone or bool(self._fence)))
            if len(self.found) > MAX_VALUES:
                self._stop(ScanFault("ambiguous", f"The reply holds more than {MAX_VALUES} JSON values. Give one."))

    def _on_broken(self, start: int, error: json.JSONDecodeError) -> None:
        self._failures += 1
        if self._failures > MAX_FAILURES:
            self._stop(ScanFault("no_json", "The reply holds too many brackets that are not JSON."))
            return
        if not self._fence and not _BEGINS_STRUCTURE.match(self._text, start):
            self._position = start + 1
            return
        self.broken = f"The JSON is broken at line {error.lineno} column {error.colno}: {error.msg}."
        if error.msg.startswith("Unterminated") or _LITERAL_TO_END.fullmatch(self._text, error.pos):
            self._spoil(ScanFault("truncated", "The JSON is cut off before its end. Give a complete, shorter one."))
            self._position = len(self._text)
            return
        end = _balanced_end(self._text, start)
        if end is None:
            # Nothing tells where it ends, so nothing behind its start is surely outside it.
            self._spoil(ScanFault("no_json", self.broken))
            end = len(self._text)
        self._go_on(end, _tag_outside_strings(self._text, start, end, sound_to=error.pos))

    def _stop(self, fault: ScanFault) -> None:
        self._spoil(fault)
        self._go_on(len(self._text), CLOSING_TAG.search(self._text, self._position))

    def _go_on(self, end: int, tag: re.Match[str] | None) -> None:
        """Go to `end`, or to a closing tag before it that may end reasoning without an opening tag."""
        self._position = end if self._reasoned or tag is None else tag.start()

    def _spoil(self, fault: ScanFault) -> None:
        self.fault = self.fault or fault


def _end_of_space(text: str, start: int) -> int:
    space = _SPACE.match(text, start)
    return start if space is None else space.end()


def _block_ends(text: str, start: int, run: str) -> tuple[int, int]:
    """Where the body of a block that is not JSON ends, and the block: at its closing line, or on its opening line."""
    line_end = text.find("\n", start)
    inline = text.find(run, start, line_end if line_end >= 0 else len(text))
    if inline >= 0:
        return inline, inline + len(run)
    closing = re.compile(rf"^[ \t]*{run}{run[0]}*[ \t]*$", re.MULTILINE).search(text, start)
    return closing.span() if closing else (len(text), len(text))


def _tag_outside_strings(text: str, start: int, end: int, *, sound_to: int) -> re.Match[str] | None:
    """The first closing tag in what looked like JSON that is not text in one of its strings.

    A string that the decoder read and went on behind (before `sound_to`) is one. What looks like a string further on
    may be an accident of quotes, and is no string if the tag in it is followed by a bracket: there an answer begins.
    """
    last_sound = len(text[:sound_to].rstrip())
    position = start
    for string in _BRACKET_OR_STRING.finditer(text, start, end):
        if len(string[0]) == 1:
            continue
        if between := CLOSING_TAG.search(text, position, string.start()):
            return between
        inside = CLOSING_TAG.search(text, string.start(), string.end())
        if inside and string.end() >= last_sound and re.search(r"[{\[]", text[inside.end() : string.end()]):
            return inside
        position = string.end()
    return CLOSING_TAG.search(text, position, end)


def _balanced_end(text: str, start: int) -> int | None:
    """Behind the bracket that closes the one at `start`; None when there is none. Brackets in strings do not count."""
    depth = 0
    for part in _BRACKET_OR_STRING.finditer(text, start):
        match part[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
                if depth == 0:
                    return part.end()
            case '"':
                return None
            case _:
                pass
    return None


def _decode(text: str, start: int) -> tuple[JsonValue, int]:
    try:
        value, end = _SCAN_DECODER.raw_decode(text, start)
    except RecursionError:
        raise _too_deep() from None
    _check_depth(value)
    if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise RefusedError("a text holds half of a surrogate pair")
    return value, end


def _too_deep() -> RefusedError:
    return RefusedError(f"it is nested deeper than {MAX_TEXT_DEPTH} levels")


def _check_depth(value: JsonValue) -> None:
    level: list[JsonValue] = [value]
    for _ in range(MAX_TEXT_DEPTH + 1):
        containers = [item for item in level if isinstance(item, dict | list)]
        level = [child for item in containers for child in (item.values() if isinstance(item, dict) else item)]
        if not containers:
            return
    raise _too_deep()


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise RefusedError(f"a number has {len(digits)} digits")
    return int(digits)


_SCAN_DECODER = decoder(parse_int=_integer)

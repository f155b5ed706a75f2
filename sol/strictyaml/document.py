"""Strict YAML: text to plain data with the place of each value. Builds no objects from tags, follows no references."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import yaml

from sol.errors import UsageError

YamlPath: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Position:
    """Where something stands in its source; both numbers count from 1, the column in characters."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a source: where, what, and what to do about it."""

    position: Position
    what: str
    remedy: str


class StrictYamlError(UsageError):
    """A YAML text is refused, or does not fit its model. Raised by this module before anything is done with the text.

    The message has one line for each problem: `source:line:column: what; what to do`.

    Attributes:
        source: Name of the text, as given by the caller.
        problems: At least one, at most 10, in the order of the text.
        omitted: How many further problems are not listed.
    """

    def __init__(self, source: str, problems: Sequence[Problem], *, omitted: int = 0) -> None:
        lines = [f"{source}:{p.position.line}:{p.position.column}: {p.what}; {p.remedy}" for p in problems]
        if omitted:
            lines.append(f"{source}: {omitted} more problems are not listed")
        super().__init__("\n".join(lines))
        self.source = source
        self.problems = tuple(problems)
        self.omitted = omitted

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild_error, (self.source, self.problems, self.omitted))

    @property
    def line(self) -> int:
        """Line of the first problem, from 1."""
        return self.problems[0].position.line

    @property
    def column(self) -> int:
        """Column of the first problem, from 1."""
        return self.problems[0].position.column


def _rebuild_error(source: str, problems: tuple[Problem, ...], omitted: int) -> StrictYamlError:
    return StrictYamlError(source, problems, omitted=omitted)


@dataclass(frozen=True, slots=True)
class Document:
    """A loaded text.

    Attributes:
        value: Plain data: dict with text keys, list, str, int, float, bool, None.
        source: Name of the text in messages.
    """

    value: Any
    source: str
    _values: Mapping[YamlPath, Position] = field(repr=False)
    _keys: Mapping[YamlPath, Position] = field(repr=False)
    _raws: Mapping[YamlPath, str] = field(repr=False)

    def at(self, path: YamlPath) -> Position:
        """Where the value at `path` begins; the nearest known ancestor's position when there is no such value."""
        while path not in self._values:
            path = path[:-1]
        return self._values[path]

    def key_at(self, path: YamlPath) -> Position:
        """Where the key that leads to `path` begins; where there is none (list items, the root), as `at`."""
        return self._keys.get(path) or self.at(path)

    def raw(self, path: YamlPath) -> str | None:
        """The unquoted scalar at `path` as it was written ("1.10"), or None when nothing unquoted stands there."""
        return self._raws.get(path)

    def error(self, path: YamlPath, what: str, remedy: str) -> StrictYamlError:
        """Make (not raise) the error for a problem with the value at `path`."""
        return StrictYamlError(self.source, (Problem(self.at(path), what, remedy),))


MAX_DEPTH = 64
MAX_NUMBER_CHARACTERS = 64

# The stubs call the marks of events optional, which those of a parsed text never are.
_Event: TypeAlias = Any
_Mark: TypeAlias = Any

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?(?:0|[1-9][0-9]*)?\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}
_REFUSED_CHARACTER = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NUL_BYTE = b"\0"


def load_yaml(text: str | bytes, *, source: str, max_depth: int = MAX_DEPTH) -> Document:
    """Read one YAML document strictly.

    Only `true` and `false` are booleans; `null`, `~` and nothing are None. Numbers are plain decimals without leading
    zeros; an exponent needs a decimal point (`1.0e3`), so that `1e3` stays text like `no`, `1_000`, `0o17` and dates.
    A byte order mark and CRLF line ends are accepted. Refused: anchors, aliases, merge keys, tags, directives,
    duplicate keys, keys that are not text, several documents, an empty one, tabs outside quotes and block texts,
    control characters, anything that is not UTF-8, numbers of more than 64 characters or beyond the float range.

    Args:
        text: The document. Its size is not limited here.
        source: What messages call it, usually the path.
        max_depth: How many lists and mappings may be nested, 1 to 64.

    Raises:
        StrictYamlError: With the position and the remedy.
        ValueError: If `max_depth` is out of range.

    Source: W03.
    """
    if not 1 <= max_depth <= MAX_DEPTH:
        raise ValueError(f"max_depth is {max_depth!r}; give a number from 1 to {MAX_DEPTH}")
    decoded = _decode(text, source) if isinstance(text, bytes) else text.removeprefix("\ufeff")
    if found := _REFUSED_CHARACTER.search(decoded):
        what = f"character U+{ord(found[0]):04X} is not allowed"
        remedy = f'remove it, or write it as an escape in double quotes ("\\u{ord(found[0]):04x}")'
        if found[0] == "\0":
            remedy = "remove it, and save the text as UTF-8 if it is UTF-16"
        raise StrictYamlError(source, (Problem(_position_in(decoded, found.start()), what, remedy),))
    return _Builder(decoded, source, max_depth).document()


def _decode(data: bytes, source: str) -> str:
    if data[:2] in {b"\xff\xfe", b"\xfe\xff"} or (len(data) > 1 and _NUL_BYTE in data[:2]):
        problem = Problem(Position(1, 1), "the text is not UTF-8 but looks like UTF-16", "save it as UTF-8")
        raise StrictYamlError(source, (problem,))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # With a byte order mark the codec counts from behind it.
        body = data.removeprefix(b"\xef\xbb\xbf")
        position = _position_in(body[: error.start].decode("utf-8"), error.start)
        what = f"the text is not UTF-8 (byte 0x{body[error.start]:02x})"
        raise StrictYamlError(source, (Problem(position, what, "save it as UTF-8"),)) from None


def _position_in(text: str, index: int) -> Position:
    lines = re.split(r"\r\n|\n|\r", text[:index])
    return Position(len(lines), len(lines[-1]) + 1)


def _position(mark: _Mark) -> Position:
    return Position(mark.line + 1, mark.column + 1)


class _Builder:
    """Turns the parser's events into a Document; one for each text."""

    def __init__(self, text: str, source: str, max_depth: int) -> None:
        self._text = text
        loader = yaml.SafeLoader(text)
        self._get_event: Callable[[], _Event] = loader.get_event
        self._get_mark: Callable[[], _Mark] = loader.get_mark
        self._source = source
        self._max_depth = max_depth
        self._values: dict[YamlPath, Position] = {}
        self._keys: dict[YamlPath, Position] = {}
        self._raws: dict[YamlPath, str] = {}

    def document(self) -> Document:
        self._next()
        event = self._next()
        if isinstance(event, yaml.StreamEndEvent):
            self._refuse(Position(1, 1), "the document is empty", "write at least one value")
        event = self._next()
        if isinstance(event, yaml.ScalarEvent) and not event.value and event.style is None:
            self._refuse(_position(event.start_mark), "the document is empty", "write at least one value")
        value = self._node(event, (), 0)
        self._next()
        event = self._next()
        if not isinstance(event, yaml.StreamEndEvent):
            self._refuse(_position(event.start_mark), "a second document begins here", "put it into a file of its own")
        return Document(value, self._source, self._values, self._keys, self._raws)

    def _refuse(self, position: Position, what: str, remedy: str) -> NoReturn:
        raise StrictYamlError(self._source, (Problem(position, what, remedy),))

    def _next(self) -> _Event:
        try:
            event = self._get_event()
        except yaml.MarkedYAMLError as error:
            what, remedy = _explain(error)
            self._refuse(_position(error.problem_mark or error.context_mark), what, remedy)
        except (ValueError, OverflowError):
            # The scanner converts escapes and version numbers without looking at their range.
            self._refuse(_position(self._get_mark()), "a number or escape is out of range", "correct it")
        position = _position(event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            self._refuse(position, f"alias *{event.anchor} is not supported", "write the value out, or quote the text")
        if getattr(event, "anchor", None) is not None:
            self._refuse(position, f"anchor &{event.anchor} is not supported", "remove it, or quote the text")
        if isinstance(event, yaml.DocumentStartEvent):
            # The parser drops directives that it does not know; the event then begins at the directive.
            if event.explicit and self._directive_at(event.start_mark):
                self._refuse(position, "directives (%) are not supported", "remove the line")
        elif getattr(event, "tag", None) is not None:
            self._refuse(position, f"tag {event.tag!r} is not supported", "remove it, or quote the text")
        return event

    def _directive_at(self, mark: _Mark) -> bool:
        return self._text[mark.index] == "%"

    def _node(self, event: _Event, path: YamlPath, depth: int) -> object:
        position = _position(event.start_mark)
        self._values[path] = position
        if isinstance(event, yaml.ScalarEvent):
            if event.style is None:
                self._raws[path] = event.value
            return self._scalar(event)
        if depth == self._max_depth:
            self._refuse(position, f"nesting is deeper than {self._max_depth}", "flatten it")
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[object] = []
            while not isinstance(item := self._next(), yaml.SequenceEndEvent):
                items.append(self._node(item, (*path, len(items)), depth + 1))
            return items
        return self._mapping(path, depth)

    def _mapping(self, path: YamlPath, depth: int) -> dict[str, object]:
        items: dict[str, object] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            key = self._key(event)
            here = (*path, key)
            position = _position(event.start_mark)
            if key in items:
                line = self._keys[here].line
                what = f"key {key!r} on line {position.line} was already given on line {line}"
                self._refuse(position, what, "keep one of them")
            self._keys[here] = position
            items[key] = self._node(self._next(), here, depth + 1)
        return items

    def _key(self, event: _Event) -> str:
        position = _position(event.start_mark)
        if not isinstance(event, yaml.ScalarEvent):
            self._refuse(position, "a list or mapping cannot be a key", "quote the key if it is a text")
        if event.style is None and event.value == "<<":
            self._refuse(position, "merge key << is not supported", "write the fields out")
        key = self._scalar(event)
        if not isinstance(key, str):
            what = f"key {event.value} is not text" if event.value else "a key is missing before ':'"
            self._refuse(position, what, f'quote it: "{event.value}"' if event.value else "write one")
        return key

    def _scalar(self, event: _Event) -> str | int | float | bool | None:
        text: str = event.value
        position = _position(event.start_mark)
        if event.style is not None:
            return self._quoted(text, position)
        if text in _WORDS:
            return _WORDS[text]
        number = int if _INTEGER.fullmatch(text) else float if _DECIMAL.fullmatch(text) else None
        if number is None:
            return text
        if len(text) > MAX_NUMBER_CHARACTERS:
            what = f"a number of {len(text)} characters is too long (at most {MAX_NUMBER_CHARACTERS})"
            self._refuse(position, what, "quote it if it is meant as text")
        value = number(text)
        if not math.isfinite(value):
            self._refuse(position, f"number {text} is out of range", "quote it if it is meant as text")
        return value

    def _quoted(self, text: str, position: Position) -> str:
        if "\0" in text:
            self._refuse(position, "character U+0000 is not allowed", "remove it")
        try:
            # JSON writes characters beyond U+FFFF as two escapes; put such pairs together.
            return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
        except UnicodeDecodeError:
            self._refuse(position, "an escape names half of a surrogate pair", "write the character itself")


def _explain(error: yaml.MarkedYAMLError) -> tuple[str, str]:
    """Say in plain words what the parser met, and what to do."""
    problem = error.problem or "the text is not YAML"
    if "mapping values are not allowed" in problem or problem.endswith("but got ':'"):
        return "': ' inside an unquoted text, or wrong indentation", "quote the whole text, or align the line"
    if r"'\t'" in problem:
        return "tab used for indentation or before a value", "use spaces"
    if found := re.match(r"found character (.+) that cannot start any token", problem):
        return f"an unquoted text cannot begin with {found[1]}", "quote the text"
    if "tag handle" in problem:
        return f"tags are not supported ({problem})", "remove it, or quote the text"
    if "could not find expected ':'" in problem:
        return "a line has no 'key: value'", "add the ': ', or quote or indent the text"
    where = f"{error.context}, {problem}" if error.context else problem
    return where, "check the indentation, brackets and quotes here"

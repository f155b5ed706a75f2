"""Finds the complete JSON values in a chat model's reply, past prose, fenced blocks and reasoning tags.

One pass, linear in the reply's length. It must never take a part of broken or cut-off JSON for a value.
"""

import json
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import JsonValue

from luna.strictjson import RefusedError, decoder

MAX_DEPTH = 64
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
        value, end = _DECODER.raw_decode(text, start)
    except RecursionError:
        raise _too_deep() from None
    _check_depth(value)
    if _SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        raise RefusedError("a text holds half of a surrogate pair")
    return value, end


def _too_deep() -> RefusedError:
    return RefusedError(f"it is nested deeper than {MAX_DEPTH} levels")


def _check_depth(value: JsonValue) -> None:
    level: list[JsonValue] = [value]
    for _ in range(MAX_DEPTH + 1):
        containers = [item for item in level if isinstance(item, dict | list)]
        level = [child for item in containers for child in (item.values() if isinstance(item, dict) else item)]
        if not containers:
            return
    raise _too_deep()


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise RefusedError(f"a number has {len(digits)} digits")
    return int(digits)


_DECODER = decoder(parse_int=_integer)

"""Text from tools and models: made harmless, shortened, measured; secrets taken out. Nothing here interprets it."""

import json
import os
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

HIDDEN = "[hidden]"
_SHORTEST = 8
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_SHAPES = (
    (re.compile(r"(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"), HIDDEN),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (
        re.compile(
            r"(\b[\w-]*(?:api[_-]?key|token|secret|passw(?:or)?d)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;&)}]{4,}",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abp]|hf)[-_][\w-]{12,}"), HIDDEN),
    (re.compile(r"\bAKIA[0-9A-Z]{16}\b"), HIDDEN),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}"), HIDDEN),
)


def redact(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return `text` with what looks like a secret replaced by `[hidden]`.

    Args:
        text: Anything.
        environ: Variables whose values are hidden when their names say key, token, secret, password or credential;
            values shorter than 8 characters are left, they would hide ordinary words.
    """
    for name, value in environ.items():
        if len(value) >= _SHORTEST and value in text and _SECRET_NAME.search(name):
            text = text.replace(value, HIDDEN)
    for shape, instead in _SHAPES:
        text = shape.sub(instead, text)
    return text


MIN_LIMIT_BYTES = 64
MAX_UNIT_CHARACTERS = 1024
MIN_REPEATS = 6
MIN_RUN_CHARACTERS = 64

_ZWJ = "\u200d"
_LOOKBACK = 64
_SURROGATE = re.compile("[\ud800-\udfff]")
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
# Skin tones, flag tags, Hangul vowels and finals: like combining marks, they continue the character before.
_CONTINUING = (range(0x1F3FB, 0x1F400), range(0xE0020, 0xE0080), range(0x1160, 0x1200))
_OPEN_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\(?:u[0-9a-fA-F]{0,3})?$")
_HIGH_ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}$")
_CONTROLS = re.compile(
    # Strings for the terminal (OSC, DCS, SOS, PM, APC) with their body, CSI sequences, other escapes, single controls.
    # A body holds no controls, so that an unfinished string takes nothing with it and the search stays linear.
    r"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*+(?:\x07|\x1b\\|\x9c)"
    r"|(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]"
    r"|\x1b[ -/]*+[0-~]"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)
_MARKER = re.compile(r"\[(?=\s*(?:BEGIN|END)\s+DATA)", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z0-9]{8,64}")
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9 _-]{0,39}")


@dataclass(frozen=True, slots=True)
class Clipped:
    """A text within its limit.

    Attributes:
        text: Valid UTF-8 when encoded; at most the limit, the note on what was left out included.
        omitted_bytes: Bytes of the original that are not in it; 0 when it is whole.
    """

    text: str
    omitted_bytes: int


@dataclass(frozen=True, slots=True)
class Repetition:
    """Evidence of runaway repetition: `unit` stands `count` times in a row."""

    unit: str
    count: int


def size_bytes(text: str) -> int:
    """Size of the UTF-8 form in bytes; half a surrogate pair counts 3, as its replacement does."""
    return len(text.encode("utf-8", "surrogatepass"))


def whole_characters(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair, which UTF-8 cannot hold."""
    return _SURROGATE.sub("\ufffd", text)


def clip(text: str, *, limit_bytes: int, keep: Literal["head", "head_tail"] = "head_tail") -> Clipped:
    r"""Shorten a text to a limit in bytes, and say in it how many bytes were left out.

    A cut never splits a code point, and moves up to 64 characters so as not to split what belongs together: a letter
    and its combining marks, joined or coloured emoji, flags, CR LF, a `\uXXXX` escape and its pair. Halves of surrogate
    pairs become U+FFFD, in whole texts too.

    Args:
        text: Any text.
        limit_bytes: Size of the result in bytes of UTF-8, at least 64. A text of exactly this size stays whole.
        keep: The beginning, or the beginning and the end in equal parts.

    Raises:
        ValueError: If `limit_bytes` is too small to say anything.

    Source: BYTE-01.
    """
    if limit_bytes < MIN_LIMIT_BYTES:
        raise ValueError(f"limit_bytes is {limit_bytes!r}; give at least {MIN_LIMIT_BYTES}")
    text = whole_characters(text)
    data = text.encode("utf-8")
    if len(data) <= limit_bytes:
        return Clipped(text, 0)
    room = limit_bytes - len(_note(len(data), keep))
    match keep:
        case "head":
            head_bytes = room
        case "head_tail":
            head_bytes = room - room // 2
        case _:
            assert_never(keep)
    head = text[: _cut_before(text, len(data[:head_bytes].decode("utf-8", "ignore")))]
    tail_bytes = room - head_bytes
    tail = data[len(data) - tail_bytes :].decode("utf-8", "ignore")
    tail = text[_cut_after(text, len(text) - len(tail)) :]
    omitted = len(data) - size_bytes(head) - size_bytes(tail)
    return Clipped(head + _note(omitted, keep) + tail, omitted)


def _note(omitted: int, keep: str) -> str:
    return f"\n[{omitted} bytes left out]" + ("" if keep == "head" else "\n")


def _cut_before(text: str, index: int) -> int:
    """The nearest good place for a cut at or before `index`; `index` itself when there is none near."""
    return next((i for i in range(index, max(index - _LOOKBACK, 0), -1) if not _joined(text, i)), index)


def _cut_after(text: str, index: int) -> int:
    end = min(index + _LOOKBACK, len(text))
    return next((i for i in range(index, end) if not _joined(text, i)), index)


def _joined(text: str, index: int) -> bool:
    """Whether the characters on both sides of `index` belong together."""
    before, after = text[index - 1], text[index]
    if before == _ZWJ or _extends(after) or (before == "\r" and after == "\n"):
        return True
    if before in _FLAG_LETTERS and after in _FLAG_LETTERS:
        # Flags are pairs of letters, counted from the start of the run.
        return (index - len(text[:index].rstrip(_FLAG_LETTERS))) % 2 == 1
    near = text[max(0, index - _LOOKBACK) : index]
    if _OPEN_ESCAPE.search(near):
        return True
    return after == "\\" and _HIGH_ESCAPE.search(near) is not None


def _extends(character: str) -> bool:
    marks_or_joins = character == _ZWJ or unicodedata.category(character) in {"Mn", "Mc", "Me"}
    return marks_or_joins or any(ord(character) in codes for codes in _CONTINUING)


def delimited(text: str, *, label: str, source: str, token: str) -> str:
    r"""Wrap text that nobody vouches for as labelled data in a block whose end it cannot forge.

    Args:
        text: The data. Inside, the token becomes `[token]`, and block marks get a backslash (`[\END DATA`).
        label: What the data is ("report"): a letter, then up to 39 letters, digits, spaces, `_` or `-`.
        source: Where it comes from; controls and line ends are removed, quotes escaped.
        token: 8 to 64 ASCII letters and digits, drawn at random for each run and unknown to whoever wrote the text.

    Raises:
        ValueError: If `label` or `token` has another form.
    """
    if not _LABEL.fullmatch(label):
        raise ValueError(f"label is {label!r}; use a letter, then letters, digits, spaces, '_' or '-', at most 40")
    if not _TOKEN.fullmatch(token):
        raise ValueError(f"token of {len(token)} characters; use 8 to 64 ASCII letters and digits")
    origin = json.dumps(defuse(" ".join(strip_controls(source).split()), token=token), ensure_ascii=False)
    return f"[BEGIN DATA {token} {label} from {origin}]\n{defuse(text, token=token)}\n[END DATA {token}]"


def defuse(text: str, *, token: str) -> str:
    r"""Text that can neither begin nor end a block: the token becomes `[token]`, marks get a backslash."""
    without_token = re.sub(re.escape(token), "[token]", text, flags=re.IGNORECASE)
    return _MARKER.sub(r"[\\", without_token)


def strip_controls(text: str) -> str:
    """Remove what would steer a terminal: ANSI and OSC sequences, and all C0 and C1 controls but tab and line feed."""
    return _CONTROLS.sub("", text)


def repeated(text: str, *, min_repeats: int = 50, min_characters: int = 2000) -> Repetition | None:
    """Find the longest stretch that is one word, phrase or paragraph over and over.

    Finds exact repetition of units of up to 1,024 characters anywhere in the text, in time linear in its length.

    Args:
        text: Any text.
        min_repeats: How often the unit must stand in a row, at least 6.
        min_characters: How long the stretch must be, at least 64 characters.

    Returns:
        The shortest unit of the stretch, beginning at a word where it has several, and how often it stands there.

    Raises:
        ValueError: If a minimum is too small.

    Source: LOOP-07.
    """
    if min_repeats < MIN_REPEATS or min_characters < MIN_RUN_CHARACTERS:
        given = f"min_repeats={min_repeats!r}, min_characters={min_characters!r}"
        raise ValueError(f"{given}; give at least {MIN_REPEATS} and {MIN_RUN_CHARACTERS}")
    best: tuple[int, int, int] | None = None
    width = 16
    # A stretch of 3 widths covers a whole aligned window of 2, and six repeats of more than half a width are that long.
    while width <= MAX_UNIT_CHARACTERS:
        for start, end, period in _runs(text, width):
            long_enough = end - start >= max(min_characters, min_repeats * period)
            if long_enough and (best is None or end - start > best[1] - best[0]):
                best = start, end, period
        width *= 2
    if best is None:
        return None
    start, end, period = best
    unit = text[start : start + period]
    begins_at_word = unit[-1].isspace() and not unit[0].isspace()
    if not begins_at_word and (shift := re.search(r"(?<=\s)\S", unit)):
        unit = unit[shift.start() :] + unit[: shift.start()]
    return Repetition(unit, (end - start) // period)


def _runs(text: str, width: int) -> list[tuple[int, int, int]]:
    """Stretches (start, end, period) with a period of at most `width` that cover an aligned window of 2 widths."""
    runs: list[tuple[int, int, int]] = []
    index = 0
    while index + 2 * width <= len(text):
        found = text.find(text[index : index + width], index + 1, index + 2 * width)
        if found < 0:
            index += width
            continue
        period = found - index
        start, end = index, found + width
        while start > 0 and text[start - 1] == text[start - 1 + period]:
            start -= 1
        while end < len(text) and text[end] == text[end - period]:
            end += 1
        runs.append((start, end, period))
        # The stretch has been seen whole; go on at the first window that is not inside it.
        index = max(index + width, (end // width - 1) * width)
    return runs

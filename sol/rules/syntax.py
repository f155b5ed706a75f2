"""Conditions as text: parsed strictly, with errors that say where. Evaluates nothing."""

import re
from dataclasses import dataclass
from typing import Any, Final, Literal, NoReturn, assert_never

from sol.errors import StrategyError


class ConditionSyntaxError(StrategyError):
    """A condition or rule cannot be read. Raised by the parser; `hint` says what to write instead."""

    def __init__(self, problem: str, *, value: object, hint: str, line: int, column: int) -> None:
        super().__init__(f"Line {line}, column {column}: {problem}, in {value!r}. {hint}")
        self.problem = problem
        self.value = value
        self.hint = hint
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[Any, ...]:
        return (_syntax_error, (self.problem, self.value, self.hint, self.line, self.column))


def _syntax_error(problem: str, value: object, hint: str, line: int, column: int) -> ConditionSyntaxError:
    """Rebuild a pickled error, whose options are keyword-only."""
    return ConditionSyntaxError(problem, value=value, hint=hint, line=line, column=column)


class RuleListError(StrategyError):
    """A rule does not fit its list or its step. Raised by `check_rules`; nothing has been run."""

    def __init__(self, problem: str, *, step: str, rule_index: int, hint: str) -> None:
        super().__init__(f"Rule {rule_index + 1} of step {step!r}: {problem}. {hint}")
        self.problem = problem
        self.step = step
        self.rule_index = rule_index
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        return (_list_error, (self.problem, self.step, self.rule_index, self.hint))


def _list_error(problem: str, step: str, rule_index: int, hint: str) -> RuleListError:
    """Rebuild a pickled error, whose options are keyword-only."""
    return RuleListError(problem, step=step, rule_index=rule_index, hint=hint)


KEYWORDS: Final = ("all", "any", "at_least", "at_most", "ai")
_EXAMPLES: Final = {
    "all": 'all("X")',
    "any": 'any("X")',
    "at_least": 'at_least(2, "X")',
    "at_most": 'at_most(0, "X")',
    "ai": 'ai("Is the work complete?")',
}
_RESERVED: Final = re.compile(rf"({'|'.join(KEYWORDS)})\(")
_SINGLE_QUOTED: Final = re.compile(r"\s*(?:[0-9]+\s*,\s*)?'")
_COUNT: Final = re.compile(r"[0-9]{1,9}(?![0-9])")


@dataclass(frozen=True, slots=True)
class Label:
    """Holds when a status tag or a report names this label. `text` is trimmed and not empty."""

    text: str

    def __post_init__(self) -> None:
        _require_trimmed(self.text)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """What the verdicts of the children must be. Several targets: `any` of them, or `all` of them by position.

    Source: R01, R02, R16.
    """

    op: Literal["all", "any"]
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.targets:
            raise ValueError(f"{self.op}() needs at least one label.")
        for target in self.targets:
            _require_trimmed(target)


@dataclass(frozen=True, slots=True)
class Quorum:
    """How many children must, or may at most, have the verdict `target`. `count` is at least 1 for `at_least`.

    Source: R18.
    """

    op: Literal["at_least", "at_most"]
    count: int
    target: str

    def __post_init__(self) -> None:
        _require_trimmed(self.target)
        if self.count < (1 if self.op == "at_least" else 0):
            raise ValueError(f"{self.op}({self.count}, …) says nothing; give a larger count.")


@dataclass(frozen=True, slots=True)
class Ai:
    """A question to the judge: one model call, made only when the rule is reached."""

    question: str

    def __post_init__(self) -> None:
        _require_trimmed(self.question)


@dataclass(frozen=True, slots=True)
class When:
    """Holds when the value behind a reference equals `equals` in type and value.

    `value` is the reference as `normalise_reference` writes it. Source: R19, R19.
    """

    value: str
    equals: str | bool


@dataclass(frozen=True, slots=True)
class Otherwise:
    """Holds when no `When` on the reference matched; without a reference, when no `When` at all matched.

    Source: R19, R19.
    """

    value: str | None = None


Condition = Label | Aggregate | Quorum | Ai | When | Otherwise
"""Everything a rule can ask for."""

Kind = Literal["label", "aggregate", "ai", "when", "otherwise"]
"""How a condition is decided; a quorum is an aggregate."""


def _require_trimmed(text: str) -> None:
    if not text or text != text.strip():
        raise ValueError(f"The text {text!r} must have no outer white space and not be empty.")


def kind_of(condition: Condition) -> Kind:
    """Tell how a condition is decided. Source: R10, R19."""
    match condition:
        case Label():
            return "label"
        case Aggregate() | Quorum():
            return "aggregate"
        case Ai():
            return "ai"
        case When():
            return "when"
        case Otherwise():
            return "otherwise"
        case _:
            assert_never(condition)


def parse_condition(text: str, *, line: int = 1, column: int = 1) -> Condition:
    """Read the text of one condition.

    A text that starts with a keyword directly followed by `(` is a reserved form and must be one to its end, except
    that single-quoted arguments make it a plain label (see `lint_rules`). Any other text is a label.

    Args:
        text: The condition as the YAML loader gave it.
        line: Line of the first character of `text`, from 1; only used in messages.
        column: Column of the first character of `text`, from 1.

    Raises:
        ConditionSyntaxError: If the text is blank or a malformed reserved form.

    Source: R16, R17, R22.
    """
    start = len(text) - len(text.lstrip())
    reader = _Reader(text, start, line, column)
    trimmed = text.strip()
    if not trimmed:
        reader.fail(
            "a condition must not be empty", 'Write a label such as approved, or a form such as all("approved").'
        )
    match = _RESERVED.match(trimmed)
    if match is None or _SINGLE_QUOTED.match(trimmed, match.end()):
        return Label(trimmed)
    keyword = match.group(1)
    reader.pos = start + match.end()
    condition = _parse_form(reader, keyword)
    reader.end(keyword)
    return condition


def _parse_form(reader: "_Reader", keyword: str) -> Condition:
    """Read the arguments of a reserved form, up to and with the closing bracket."""
    match keyword:
        case "all" | "any":
            return Aggregate("all" if keyword == "all" else "any", reader.texts(keyword))
        case "ai":
            return Ai(reader.single(keyword))
        case _:
            op: Literal["at_least", "at_most"] = "at_least" if keyword == "at_least" else "at_most"
            count = reader.count(keyword)
            return Quorum(op, count, reader.single(keyword))


class _Reader:
    """A position in a condition text, with the small steps the parser is made of."""

    def __init__(self, text: str, pos: int, line: int, column: int) -> None:
        self.text = text
        self.pos = pos
        self._line = line
        self._column = column

    def fail(self, problem: str, hint: str, *, pos: int | None = None) -> NoReturn:
        """Raise the error for `pos`, by default the current position."""
        before = self.text[: self.pos if pos is None else pos]
        breaks = before.count("\n")
        column = len(before) - before.rfind("\n") if breaks else self._column + len(before)
        raise ConditionSyntaxError(problem, value=self.text, hint=hint, line=self._line + breaks, column=column)

    def peek(self) -> str:
        """Skip white space; return the next character, or "" at the end."""
        while self.pos < len(self.text) and self.text[self.pos].isspace():
            self.pos += 1
        return self.text[self.pos : self.pos + 1]

    def texts(self, keyword: str) -> tuple[str, ...]:
        """Read quoted texts separated by commas, and the closing bracket."""
        found: list[str] = []
        while True:
            self._refuse_missing(keyword, first=not found)
            found.append(self._quoted(keyword))
            if self._separator(keyword) == ")":
                return tuple(found)

    def single(self, keyword: str) -> str:
        """Read exactly one quoted text and the closing bracket."""
        self._refuse_missing(keyword, first=True)
        text = self._quoted(keyword)
        at = self.pos
        if self._separator(keyword) != ")":
            self.fail(f"{keyword}() takes one text only", f"Write {_EXAMPLES[keyword]}.", pos=at)
        return text

    def count(self, keyword: str) -> int:
        """Read the whole number that comes first in a quorum, and the comma after it."""
        self.peek()
        match = _COUNT.match(self.text, self.pos)
        if match is None:
            self.fail(f"{keyword}() needs a whole number first", f"Write {_EXAMPLES[keyword]}.")
        count = int(match.group())
        if keyword == "at_least" and count == 0:
            self.fail("at_least(0, …) would always hold", f"Write {_EXAMPLES[keyword]}, or at_most(0, …) for none.")
        self.pos = match.end()
        if self.peek() != ",":
            self.fail("a comma is missing after the number", f"Write {_EXAMPLES[keyword]}.")
        self.pos += 1
        return count

    def end(self, keyword: str) -> None:
        """Require that nothing follows the form."""
        if self.peek():
            self.fail(
                f"nothing may follow {keyword}(…)",
                "Conditions have no operators: write two rules with the same next for “or”, "
                "and the fields condition and when in one rule for “and”.",
            )

    def _refuse_missing(self, keyword: str, *, first: bool) -> None:
        if self.peek() == ")":
            problem = f"{keyword}() needs a text in double quotes" if first else "a comma stands before the bracket"
            self.fail(problem, f"Write {_EXAMPLES[keyword]}.")

    def _separator(self, keyword: str) -> str:
        """Step over a comma or the closing bracket and return which it was."""
        sign = self.peek()
        if sign not in {",", ")"}:
            problem = "a comma is missing between two texts" if sign == '"' else f"{keyword}(…) is not closed here"
            self.fail(problem, f"Write {_EXAMPLES[keyword]}, with commas between several texts.")
        self.pos += 1
        return sign

    def _quoted(self, keyword: str) -> str:
        """Read one double-quoted text, trimmed. Source: R16, R22."""
        opened = self.pos
        if self.peek() != '"':
            self.fail("a text must stand in double quotes", f"Write {_EXAMPLES[keyword]}.")
        self.pos += 1
        parts: list[str] = []
        while (char := self.text[self.pos : self.pos + 1]) != '"':
            if not char:
                self.fail("the double quote is never closed", f"Write {_EXAMPLES[keyword]}.", pos=opened)
            if char == "\\":
                self.pos += 1
                char = self.text[self.pos : self.pos + 1]
                if not char or char not in '"\\':
                    self.fail(
                        "unknown escape", r"Only \" and \\ are escapes; write \\ for a backslash.", pos=self.pos - 1
                    )
            parts.append(char)
            self.pos += 1
        self.pos += 1
        text = "".join(parts).strip()
        if not text:
            self.fail("a text in quotes must not be blank", f"Write {_EXAMPLES[keyword]}.", pos=opened)
        return text


def print_condition(condition: Condition) -> str:
    """Write a condition as text; `parse_condition` reads it back, save for `When` and `Otherwise`, which are YAML."""
    match condition:
        case Label(text):
            return text
        case Aggregate(op, targets):
            return f"{op}({', '.join(map(_quote, targets))})"
        case Quorum(op, count, target):
            return f"{op}({count}, {_quote(target)})"
        case Ai(question):
            return f"ai({_quote(question)})"
        case When(value, equals):
            return f"when {value} equals {_quote(equals) if isinstance(equals, str) else str(equals).lower()}"
        case Otherwise(value):
            return "otherwise" if value is None else f"otherwise of {value}"
        case _:
            assert_never(condition)


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

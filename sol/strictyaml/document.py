"""What a loaded YAML text is: plain data, the position of every value and key, and the error that names positions.

Knows nothing of the parser or of models. It must not change the data.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

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

    def require_unique(self, path: YamlPath, name: str) -> None:
        """Check that no two mappings in the list at `path` give the same value for the field `name`.

        Items that are no mappings, or lack the field, are left to the model's validation.

        Raises:
            StrictYamlError: At the second use; names the line of the first.
        """
        items = self.value
        for step in path:
            items = items[step]
        seen: dict[str, YamlPath] = {}
        for index, item in enumerate(items):
            if not isinstance(item, dict) or not isinstance(item.get(name), str):
                continue
            here = (*path, index, name)
            first = seen.setdefault(item[name], here)
            if first != here:
                line = self.at(first).line
                raise self.error(here, f"{name} {item[name]!r} is already used on line {line}", "give each its own")

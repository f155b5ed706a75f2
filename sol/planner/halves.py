"""Where parts made by halving inputs stand in the whole, told from their inputs alone.

Halving is deterministic, so halving the whole again comes by every part. It must not guess: what is not found is None.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

from pydantic import JsonValue

from luna.inputs import InputError, halve, size_of
from sol.tree.effects import Part
from sol.tree.node import DIGITS
from sol.tree.values import Json

_TWO = 2


def largest_input(inputs: Mapping[str, Json], workspace: Path) -> tuple[str, int] | None:
    """Name and number of units of the input that has the most, the first of equals; None when none can be halved.

    An input that cannot be read is passed over: the worker will say so.
    """
    sizes: dict[str, int] = {}
    for name, value in inputs.items():
        try:
            sizes[name] = size_of(cast("JsonValue", value), workspace) or 0
        except InputError:
            continue
    name, size = max(sizes.items(), key=lambda item: item[1], default=("", 0))
    return None if size < _TWO else (name, size)


class Halved(NamedTuple):
    """The inputs twice, each time with one half of the input `name`, which has so many units."""

    name: str
    units: int
    inputs: tuple[Mapping[str, Json], Mapping[str, Json]]


def halved(inputs: Mapping[str, Json], workspace: Path) -> Halved | None:
    """The two halves by the largest input; None when none can be halved."""
    largest = largest_input(inputs, workspace)
    if largest is None:
        return None
    name, units = largest
    try:
        first, second = halve(cast("JsonValue", inputs[name]), workspace)
    except InputError:  # its file has changed just now
        return None
    return Halved(name, units, ({**inputs, name: first}, {**inputs, name: second}))


def in_order(whole: Mapping[str, Json], parts: Sequence[Part], workspace: Path) -> tuple[Part, ...] | None:
    """The parts in the order in which their inputs stand in those of the whole; parts halved once more are left out.

    Args:
        whole: Inputs of the task that the parts belong to.
        parts: Of one node, in path order.
        workspace: Root of the files that inputs refer to.

    Returns:
        Parts that together cover the whole exactly once; None when there are none such.
    """
    walk = _Walk(parts, workspace)
    return tuple(walk.found) if walk.cover(whole) and not walk.left() else None


def are_first(parts: Sequence[Part]) -> bool:
    """Whether the parts are all of a node's children, so that the order of their paths is that of their inputs."""
    return "".join(part.path[-1:] for part in parts) == DIGITS[: len(parts)]


@dataclass(slots=True)
class _Walk:
    """One way through the whole. `steps`: what is looked at, at most; more means that the parts are not of it."""

    parts: Sequence[Part]
    workspace: Path
    found: list[Part] = field(default_factory=list)
    _by_inputs: dict[str, list[Part]] = field(default_factory=dict)
    _steps: int = 0

    def __post_init__(self) -> None:
        self._steps = 4 * len(self.parts) + 4
        for part in self.parts:
            self._by_inputs.setdefault(_key(part.inputs), []).append(part)

    def left(self) -> bool:
        return any(self._by_inputs.values())

    def cover(self, inputs: Mapping[str, Json]) -> bool:
        """Find the parts that these inputs consist of."""
        self._steps -= 1
        if self._steps < 0:
            return False
        same = self._by_inputs.get(_key(inputs))
        part = same.pop(0) if same else None
        if part is not None and (part.state == "success" or not self._is_halved_again(inputs)):
            self.found.append(part)
            return True
        halves = halved(inputs, self.workspace)
        return halves is not None and all(self.cover(half) for half in halves.inputs)

    def _is_halved_again(self, inputs: Mapping[str, Json]) -> bool:
        halves = halved(inputs, self.workspace)
        return halves is not None and all(self._by_inputs.get(_key(half)) for half in halves.inputs)


def _key(inputs: Mapping[str, Json] | None) -> str:
    return json.dumps(inputs, sort_keys=True, separators=(",", ":"))

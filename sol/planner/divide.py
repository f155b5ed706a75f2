"""Splits that need no model: by what the report suggests, by its unknowns, by halving the largest input.

All text of a report is data that becomes a child's goal at most; nothing of it is executed.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, cast

from pydantic import JsonValue

from luna.inputs import InputError, halve, size_of
from luna.text import clip
from sol.tree.effects import CannotSplit, Claim, How, Part, SplitRequest, normalised
from sol.tree.node import DIGITS, State
from sol.tree.values import AssignmentData, ChildPlan, Json, SplitAnswer, plain

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


UNKNOWNS_DIMENSION = "unknown_a_unknown_b"
HALVING = "inputs"
"""Names the split that halves an input; not one of the strategy's dimensions, for it needs no thought."""
_GOAL_BYTES = 2000


def divide(request: SplitRequest, workspace: Path) -> SplitAnswer | CannotSplit:
    """The first split of the report's suggestion, its unknowns, and the halved inputs that was not tried on this node.

    With `splitter: inputs` only the inputs are looked at.

    Source: S16, S22, S23.
    """
    if request.splitter != HALVING:
        for answer in _by_report(request):
            if tuple(normalised(child.goal) for child in answer.children) not in request.tried:
                return answer
    return halve_inputs(request, workspace)


def _by_report(request: SplitRequest) -> Iterator[SplitAnswer]:
    report = request.report
    if report is None:
        return
    suggested = _distinct(report.suggested_split)
    if len(suggested) >= _TWO:
        goals = _grouped(suggested, request.arity)
        children = tuple(_step(goal, request.assignment, last=goal is goals[-1]) for goal in goals)
        yield SplitAnswer(
            children, sequential=True, dimension="suggested", reason="the report suggests it", how=How.SUGGESTED
        )
    unknowns = _distinct(report.unknown)
    if len(unknowns) >= _TWO:
        yield SplitAnswer(
            tuple(_question(unknown) for unknown in _grouped(unknowns, request.arity)),
            sequential=False,
            dimension=UNKNOWNS_DIMENSION,
            reason=f"the report lists {len(unknowns)} unknowns",
            how=How.UNKNOWNS,
        )


def _distinct(texts: Sequence[str]) -> list[str]:
    found: dict[str, str] = {}
    for text in texts:
        if key := normalised(text):
            found.setdefault(key, clip(text.strip(), limit_bytes=_GOAL_BYTES).text)
    return list(found.values())


def _grouped(texts: list[str], arity: int) -> list[str]:
    """The texts themselves, or two lists of them when there are more than `arity`."""
    if len(texts) <= arity:
        return texts
    cut = (len(texts) + 1) // 2
    groups = [texts[:cut], texts[cut:]]
    return [group[0] if len(group) == 1 else "\n".join(f"- {text}" for text in group) for group in groups]


def _step(goal: str, assignment: AssignmentData, *, last: bool) -> ChildPlan:
    own = {"text": f"The result shows that this was done: {goal}"}
    if last:  # it builds on the others, so it hands back what the whole task asks for and is held to its criteria
        criteria: tuple[Json, ...] = (own, *(plain(one) for one in assignment.success_criteria))
        expected = plain(assignment.expected_output)
        return ChildPlan(goal, Claim.SIMPLER, success_criteria=criteria, expected_output=expected)
    output = {"description": f"The outcome of: {goal}"}
    return ChildPlan(goal, Claim.SIMPLER, success_criteria=(own,), expected_output=output)


def _question(unknown: str) -> ChildPlan:
    gap = "\n" if "\n" in unknown else " "
    return ChildPlan(
        f"Find out:{gap}{unknown}",
        Claim.INDEPENDENT,
        success_criteria=({"text": f"The result answers this and gives the evidence: {unknown}"},),
        expected_output={"description": "The answer, with the evidence for it"},
    )


def halve_inputs(request: SplitRequest, workspace: Path) -> SplitAnswer | CannotSplit:
    """Split by halving the largest input; both children keep the goal and the criteria of the whole.

    When parts of an earlier halving are done, only what the one failed part had is halved, wherever that stands.

    Source: S25.
    """
    remaining = _remaining(request, workspace)
    if isinstance(remaining, str):
        return CannotSplit(remaining)
    halves = halved(remaining, workspace)
    if halves is None:
        return CannotSplit("no input has two units or more to halve, and the report names nothing to split along")
    children = tuple(ChildPlan(request.assignment.goal, Claim.SIMPLER, inputs=half) for half in halves.inputs)
    return SplitAnswer(
        children,
        sequential=False,
        dimension=HALVING,
        reason=f"input {halves.name!r} has {halves.units} units",
        how=How.INPUTS,
    )


def _remaining(request: SplitRequest, workspace: Path) -> Mapping[str, Json] | str:
    """The inputs that still have to be done, or why they cannot be told."""
    whole = request.assignment.inputs
    others_done = [part.path for part in request.done if part.inputs == whole]
    parts = sorted((*request.done, *request.failed), key=lambda part: part.path)
    halves = [part for part in parts if part.inputs != whole]  # parts of a split of another kind have all of them
    found = None if others_done or not halves else in_order(whole, halves, workspace)
    if found is None and request.done:
        return "parts of another kind of split are done, and halving the inputs would do them again"
    if found is None:
        return whole
    open_ = [part for part in found if part.state != State.SUCCESS]
    if len(open_) != 1 or open_[0].inputs is None:
        return f"the inputs were halved already; just one open part can be halved again, and there are {len(open_)}"
    if open_[0].halved:
        return f"the inputs were halved already, and so was part {open_[0].path}, which did not work out"
    return open_[0].inputs

"""Splits that need no model: by what the report suggests, by its unknowns, by halving the largest input.

All text of a report is data that becomes a child's goal at most; nothing of it is executed.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from luna.inputs import InputError, halve, size_of
from luna.text import clip
from sol.core.requests import CannotSplit, ChildPlan, Claim, How, Json, Part, SplitAnswer, SplitRequest
from sol.core.split import normalised

UNKNOWNS_DIMENSION = "unknown_a_unknown_b"
HALVING = "inputs"
"""Names the split that halves an input; not one of the strategy's dimensions, for it needs no thought."""
_GOAL_BYTES = 2000
_TWO = 2


def largest_input(inputs: Json, workspace: Path) -> tuple[str, int] | None:
    """Name and number of units of the input that has the most, the first of equals; None when none can be halved.

    An input that cannot be read is passed over: the worker will say so.
    """
    sizes: dict[str, int] = {}
    for name, value in inputs.items():
        try:
            sizes[name] = size_of(value, workspace) or 0
        except InputError:
            continue
    name, size = max(sizes.items(), key=lambda item: item[1], default=("", 0))
    return None if size < _TWO else (name, size)


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
    report = request.report or {}
    suggested = _distinct(report.get("suggested_split", ()))
    if len(suggested) >= _TWO:
        goals = _grouped(suggested, request.arity)
        children = tuple(_step(goal, request.assignment, last=goal is goals[-1]) for goal in goals)
        yield SplitAnswer(
            children, sequential=True, dimension="suggested", reason="the report suggests it", how=How.SUGGESTED
        )
    unknowns = _distinct(report.get("unknown", ()))
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


def _step(goal: str, assignment: Json, *, last: bool) -> ChildPlan:
    own = {"text": f"The result shows that this was done: {goal}"}
    if last:  # it builds on the others, so it hands back what the whole task asks for and is held to its criteria
        criteria = (own, *assignment["success_criteria"])
        return ChildPlan(goal, Claim.SIMPLER, success_criteria=criteria, expected_output=assignment["expected_output"])
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

    When parts of an earlier halving are done, only what the failed part had is halved.
    """
    inputs = dict(request.assignment["inputs"])
    largest = largest_input(inputs, workspace)
    if largest is None:
        return CannotSplit("no input has two units or more to halve, and the report names nothing to split along")
    name, size = largest
    value: Any = inputs[name]
    try:
        if request.done or request.failed:
            if not _only_last_failed(request.done, request.failed):
                return CannotSplit(f"input {name!r} was halved already, and its failed part is not the last of two")
            value = halve(value, workspace)[1]
            size = size_of(value, workspace) or 0
            if size < _TWO:
                return CannotSplit(f"what failed of input {name!r} has {size} unit(s), and a split needs two")
        halves = halve(value, workspace)
    except InputError as error:
        return CannotSplit(f"input {name!r} cannot be halved: {error}")
    children = tuple(
        ChildPlan(str(request.assignment["goal"]), Claim.SIMPLER, inputs={**inputs, name: half}) for half in halves
    )
    return SplitAnswer(
        children,
        sequential=False,
        dimension=HALVING,
        reason=f"input {name!r} has {size} units",
        how=How.INPUTS,
    )


def _only_last_failed(done: Sequence[Part], failed: Sequence[Part]) -> bool:
    """Whether the first half was accepted and the second was not.

    Only then do the new halves follow, in path order, on what is done, so that merging keeps the order.
    """
    return [part.path[-1:] for part in done] == ["0"] and [part.path[-1:] for part in failed] == ["1"]

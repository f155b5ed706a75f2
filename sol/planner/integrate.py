"""Integration by rule, without a model: which parts make the whole, and what can honestly be said about it (S60)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sol.planner.halves import are_first, in_order
from sol.planner.merge import Merged, merge
from sol.tree.effects import How, IntegrateAnswer, IntegrateRequest, IntegrationCheck, Part

_SUCCESS, _SET_ASIDE = "success", "skipped"
_NOT_JUDGED = "not judged: no Sol model is set"


def open_parts(parts: Sequence[Part]) -> tuple[str, ...]:
    """One line for each part that was neither accepted nor set aside. Source: S60."""
    return tuple(
        f"{part.path} {part.state}: {part.goal}" + (f" ({part.reason})" if part.reason else "")
        for part in parts
        if part.state not in {_SUCCESS, _SET_ASIDE}
    )


def integrate_by_rule(request: IntegrateRequest, workspace: Path) -> IntegrateAnswer:
    """Put parts together by how the split was made.

    Halved inputs are merged by shape, in the order of the inputs. Of a sequential split the last part, which has built
    on the others, is the whole. Other parts are merged when they are all lists or all objects without conflict, else
    kept side by side under `parts`, by path. Answers to unknowns never are the whole (S62).

    Source: S60, S62.
    """
    left_open = open_parts(request.parts)
    if request.how == How.INPUTS:
        return _merged(_of_halves(request, workspace), request.parts, left_open)
    accepted = [part for part in request.parts if part.state == _SUCCESS]
    results = [part.result for part in accepted]
    if request.sequential:
        given = [result for result in results if result is not None]
        implies = not left_open or None
        note = "the last part built on the earlier ones"
        return _answer(given[-1] if given else None, note, left_open, implies=implies)
    side_by_side: dict[str, Any] = {"parts": {part.path: part.result for part in accepted}}
    if request.how == How.UNKNOWNS:
        note = "the answers are new information; the task itself still has to be done with them"
        return _answer(side_by_side, note, left_open, implies=False)
    same_shape = len({type(result) for result in results}) == 1 and isinstance(results[0], list | dict)
    merged = merge(results) if same_shape else None
    if merged is not None and not merged.conflicts and not merged.unsure:
        return _answer(merged.value, _NOT_JUDGED, left_open, implies=None)
    return _answer(side_by_side, _NOT_JUDGED, left_open, implies=None)


def _of_halves(request: IntegrateRequest, workspace: Path) -> Merged:
    parts: Sequence[Part] | None = request.parts
    if not are_first(request.parts):  # a failed part was halved again, so its parts come last by path
        parts = in_order(request.assignment.inputs, request.parts, workspace)
    merged = merge(part.result for part in parts or request.parts if part.state == _SUCCESS)
    if parts is None:
        merged.unsure.append("what the parts are of the inputs cannot be told, so they were put in the order made")
    return merged


def _merged(merged: Merged, parts: Sequence[Part], left_open: tuple[str, ...]) -> IntegrateAnswer:
    aside = [part.path for part in parts if part.state == _SET_ASIDE]
    count = len(parts) - len(aside) - len(left_open)
    implies: bool | None = None
    if left_open or merged.conflicts:
        implies, note = False, "parts are missing or disagree"
    elif aside:
        note = f"parts set aside: {', '.join(aside)}"
    elif merged.unsure:
        note = "; ".join(merged.unsure)
    else:
        implies, note = True, f"the {count} parts cover the inputs once and in order"
    answer = _answer(merged.value, note, left_open, implies=implies)
    checks = {
        **answer.checks,
        "no_contradiction": _check("; ".join(merged.conflicts), ok=not merged.conflicts),
        "interfaces_agree": _check("types differ at " + ", ".join(merged.mismatches), ok=False)
        if merged.mismatches
        else _check("", ok=True),
    }
    return IntegrateAnswer(
        merged.value, f"{count} parts put together in order", checks, (*left_open, *merged.conflicts)
    )


def _answer(result: Any, note: str, left_open: tuple[str, ...], *, implies: bool | None) -> IntegrateAnswer:  # noqa: ANN401 - any JSON
    checks = {
        "no_contradiction": _check(_NOT_JUDGED),
        "interfaces_agree": _check(_NOT_JUDGED),
        "goal_met": _check("not judged here: the criteria of the whole decide"),
        "nothing_open": _check("; ".join(left_open), ok=not left_open),
        "parts_imply_whole": _check(note, ok=implies),
    }
    return IntegrateAnswer(result, note[:1].upper() + note[1:], checks, left_open)


def _check(note: str, *, ok: bool | None = None) -> IntegrationCheck:
    return IntegrationCheck(ok, note)

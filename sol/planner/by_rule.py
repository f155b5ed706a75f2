"""The planner that calls no model: splits by what a report suggests, puts results together by their form."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, assert_never, runtime_checkable

from luna.protocol import FailedKind, StuckKind, Usage
from sol.errors import PlannerError
from sol.planner.divide import are_first, divide, in_order, largest_input
from sol.tree.effects import (
    Answered,
    AtomicAnswer,
    AtomicRequest,
    Finding,
    How,
    IntegrateAnswer,
    IntegrateRequest,
    IntegrationCheck,
    JudgeRequest,
    Part,
    PlannerRequest,
    ReassessAnswer,
    ReassessRequest,
    Remedy,
    ReviewRequest,
    RuleRequest,
    SplitRequest,
)
from sol.tree.values import AnswerValue, ReportData

__all__ = ["Planner", "PlannerRequest"]


@runtime_checkable
class Planner(Protocol):
    """Answers requests about tasks. Safe to call from many tasks of one event loop at the same time."""

    async def answer(self, request: PlannerRequest) -> Answered:
        """ParsedAnswer with the kind of answer that belongs to the request.

        `SplitRequest` gives `SplitAnswer` or `CannotSplit`; `ReviewRequest` and `RuleRequest` give `Judged`; each other
        request gives the answer of its own name.

        Raises:
            PlannerError: If there is no usable answer. The message says what to change; `usage` what it cost.
            luna.errors.Interruption: If the same request may simply be made again later (S51).
        """
        ...


_SHOWN_CHARACTERS = 60


@dataclass(slots=True)
class Merged:
    """One value made of several.

    Attributes:
        value: The whole; None when there was nothing to merge.
        conflicts: Places where two parts say different things; the earlier one was kept.
        mismatches: Those of the conflicts where even the types differ.
        unsure: Places inside objects where parts hold equal numbers (kept once) or equal lists (put one after the
            other); nobody knows whether that was meant.
    """

    value: Any = None
    conflicts: list[str] = field(default_factory=list)
    mismatches: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)


def merge(values: Iterable[Any]) -> Merged:
    """Merge results in order: lists are concatenated, texts joined by line ends, objects merged key by key.

    None is skipped. Equal values inside objects are kept once. One-line texts that differ under the same key are a
    conflict, and so are numbers that are whole results, even equal ones: adding them or not depends on their meaning.
    """
    merged = Merged()
    for value in values:
        merged.value = _both(merged.value, value, "", merged)
    return merged


def _both(left: Any, right: Any, where: str, merged: Merged) -> Any:  # noqa: ANN401 - any JSON
    if left is None or right is None:
        return left if right is None else right
    if type(left) is not type(right):
        if _is_number(left) and _is_number(right):
            return _conflict(left, right, where, merged)
        merged.mismatches.append(where)
        return _conflict(left, right, where, merged)
    match left:
        case list():
            if where and left and left == right:
                merged.unsure.append(f"{where}: equal lists, put one after the other")
            return [*left, *right]
        case dict():
            return left | {key: _both(left.get(key), value, f"{where}/{key}", merged) for key, value in right.items()}
        case str() if not where or (left != right and "\n" in left + right):
            return left + right if left.endswith("\n") or not left else f"{left}\n{right}"
        case _ if left != right or (not where and _is_number(left)):
            return _conflict(left, right, where, merged)
        case _:
            if _is_number(left):
                merged.unsure.append(f"{where}: equal numbers, kept once")
            return left


def _conflict(left: Any, right: Any, where: str, merged: Merged) -> Any:  # noqa: ANN401 - any JSON
    merged.conflicts.append(f"{where or 'result'}: {_short(left)} and {_short(right)}")
    return left


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


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


_FINDINGS: Mapping[Finding, frozenset[str]] = {
    Finding.DEFINITION_WRONG: frozenset(
        {
            StuckKind.PREMISE_WRONG,
            StuckKind.VERIFICATION,
            StuckKind.UNVERIFIED_SUCCESS,
            StuckKind.DRIFT,
            StuckKind.SCOPE,
            FailedKind.PREMISE,
        }
    ),
    Finding.INFORMATION_MISSING: frozenset(
        {
            StuckKind.INFORMATION_MISSING,
            StuckKind.NEEDS_HUMAN,
            StuckKind.UNSPECIFIED,
            StuckKind.NO_NEW_EVIDENCE,
        }
    ),
    Finding.ARCHITECTURE_PROBLEM: frozenset(
        {
            StuckKind.ACCESS_MISSING,
            StuckKind.DEPENDENCY_UNAVAILABLE,
            StuckKind.FIX_BREAKS_ELSEWHERE,
            StuckKind.SEVERAL_CAUSES,
            FailedKind.KILLED,
            FailedKind.EXIT,
            FailedKind.EXCEPTION,
            FailedKind.NOT_STARTED,
        }
    ),
    Finding.GOAL_IMPOSSIBLE: frozenset({FailedKind.REFUSED}),
}
_FINDING_OF: dict[str, Finding] = {str(kind): finding for finding, kinds in _FINDINGS.items() for kind in kinds}
_CHECKED = {StuckKind.VERIFICATION, StuckKind.UNVERIFIED_SUCCESS}


@dataclass(frozen=True, slots=True)
class FreePlanner:
    """Plans without a model; costs nothing.

    Attributes:
        workspace: Root of the files that inputs refer to.
    """

    judges: ClassVar[bool] = False
    """It never judges words."""

    workspace: Path

    async def answer(self, request: PlannerRequest) -> Answered:
        """ParsedAnswer by rule.

        Raises:
            PlannerError: For requests that need judgement of words: `JudgeRequest`, `ReviewRequest`, `RuleRequest`.
        """
        return Answered(self._answer(request), Usage())

    def _answer(self, request: PlannerRequest) -> AnswerValue:
        match request:
            case SplitRequest():
                return divide(request, self.workspace)
            case IntegrateRequest():
                return integrate_by_rule(request, self.workspace)
            case ReassessRequest():
                return reassess_by_kind(request)
            case AtomicRequest():
                return _atomic(request, self.workspace)
            case JudgeRequest() | ReviewRequest() | RuleRequest():
                raise PlannerError(
                    f"{type(request).__name__} needs a model to judge words; set a Sol model (--sol-model or SOL_MODEL)"
                )
            case _:
                assert_never(request)


def _atomic(request: AtomicRequest, workspace: Path) -> AtomicAnswer:
    largest = largest_input(request.assignment.inputs, workspace)
    if largest is None:
        return AtomicAnswer(atomic=True, reason="no input can be halved")
    name, size = largest
    return AtomicAnswer(atomic=False, reason=f"input {name!r} has {size} units")


def reassess_by_kind(request: ReassessRequest) -> ReassessAnswer:
    """Read the finding off the kind of the last report; a kind that says nothing blames the split dimension.

    Failed checks are new information for one more attempt; a question goes to a human; else the node is given up.

    Source: S57, S58.
    """
    report = request.report or ReportData("")
    kind = report.kind
    finding = _FINDING_OF.get(kind, Finding.WRONG_DIMENSION)
    reason = f"the last report is {kind or 'missing'}, after {request.trigger}"
    evidence = "\n".join(report.evidence)
    if kind in _CHECKED and evidence:
        return ReassessAnswer(
            finding, Remedy.REDEFINE, reason, information=f"The last result did not pass these checks:\n{evidence}"
        )
    if question := report.question:
        return ReassessAnswer(finding, Remedy.ASK, reason, question=question)
    return ReassessAnswer(finding, Remedy.GIVE_UP, reason)

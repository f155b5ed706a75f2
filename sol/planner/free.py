"""The planner that needs no model: it splits by what the report says or by halving inputs, and merges by rule.

It never judges words. The core does not ask it to when it knows that no Sol model is set.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, assert_never

from luna.protocol import FailedKind, StuckKind, Usage
from sol.errors import PlannerError
from sol.planner.divide import divide
from sol.planner.halves import largest_input
from sol.planner.integrate import integrate_by_rule
from sol.planner.protocol import PlannerRequest
from sol.tree.effects import (
    Answered,
    AtomicAnswer,
    AtomicRequest,
    Finding,
    IntegrateRequest,
    JudgeRequest,
    ReassessAnswer,
    ReassessRequest,
    Remedy,
    ReviewRequest,
    RuleRequest,
    SplitRequest,
)
from sol.tree.values import AnswerValue, ReportData

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
        """Answer by rule.

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

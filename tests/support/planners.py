"""A planner that a test writes down: splits by goal, everything else agreed to unless the test says otherwise."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from luna.protocol import Usage
from sol.tree.effects import (
    CHECKS_OF_INTEGRATION,
    Answered,
    AnswerValue,
    AtomicAnswer,
    AtomicRequest,
    CannotSplit,
    Claim,
    Finding,
    How,
    IntegrateAnswer,
    IntegrateRequest,
    IntegrationCheck,
    JudgeAnswer,
    Judged,
    JudgeRequest,
    PlannerRequest,
    ReassessAnswer,
    ReassessRequest,
    Remedy,
    SplitRequest,
)
from sol.tree.values import ChildPlan, SplitAnswer


def split_into(*goals: str, sequential: bool = False, **changes: Any) -> SplitAnswer:
    """A split into these goals, each with a criterion of its own."""
    children = tuple(
        ChildPlan(goal, Claim.SIMPLER, success_criteria=({"text": f"done: {goal}"},), **changes) for goal in goals
    )
    return SplitAnswer(children, sequential=sequential, dimension="data_logic", reason="two things", how=How.MODEL)


_ONE_CALL = Usage(calls=1)


class ScriptedPlanner:
    """Splits as its table says and remembers what it was asked.

    Args:
        splits: From a goal to its split, to several for one time after the other, or to a function of the request; a
            goal that is not there cannot be split.
        answer: Asked first about every request; None leaves it to the defaults.
        usage: What each answer costs.

    Attributes:
        asked: All requests, in order.
        count: How often each kind of request came.
    """

    def __init__(
        self,
        splits: Mapping[str, Any] | Callable[[SplitRequest], AnswerValue] | None = None,
        *,
        answer: Callable[[PlannerRequest], AnswerValue | None] = lambda request: None,
        usage: Usage = _ONE_CALL,
    ) -> None:
        self._splits = splits or {}
        self._answer = answer
        self._usage = usage
        self.asked: list[PlannerRequest] = []
        self.count: Counter[str] = Counter()

    async def answer(self, request: PlannerRequest) -> Answered:
        self.asked.append(request)
        self.count[type(request).__name__.removesuffix("Request").lower()] += 1
        given = self._answer(request)
        return Answered(self._default(request) if given is None else given, self._usage)

    def _default(self, request: PlannerRequest) -> AnswerValue:
        match request:
            case SplitRequest():
                return self._split(request)
            case JudgeRequest():
                return JudgeAnswer(tuple(Judged(holds=True, reason="seen") for _ in request.questions))
            case IntegrateRequest():
                return whole({part.path: part.result for part in request.parts})
            case AtomicRequest():
                known = isinstance(self._splits, Mapping) and request.assignment.goal in self._splits
                return AtomicAnswer(atomic=not known, reason="so")
            case ReassessRequest():
                return ReassessAnswer(Finding.WRONG_DIMENSION, Remedy.GIVE_UP, "as it is")
            case _:
                return Judged(holds=True, reason="seen")

    def _split(self, request: SplitRequest) -> AnswerValue:
        if callable(self._splits):
            return self._splits(request)
        found = self._splits.get(request.assignment.goal)
        if found is None:
            return CannotSplit("one piece")
        if callable(found):
            answer: AnswerValue = found(request)
            return answer
        if isinstance(found, Sequence):
            before = sum(
                isinstance(one, SplitRequest) and one.assignment.goal == request.assignment.goal for one in self.asked
            )
            return found[min(before, len(found)) - 1]  # type: ignore[no-any-return]  # the test's own table
        return found  # type: ignore[no-any-return]  # the test's own table


def whole(result: Any, *, wrong: Sequence[str] = (), left_open: Sequence[str] = ()) -> IntegrateAnswer:
    """An integration; `wrong` names the checks that do not hold."""
    checks = {name: IntegrationCheck(name not in wrong, f"about {name}") for name in CHECKS_OF_INTEGRATION}
    return IntegrateAnswer(result, "put together", checks, tuple(left_open))

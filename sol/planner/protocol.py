"""What a planner is: Sol's own thinking, one request at a time, with what it cost.

A planner decides nothing: the core may refuse each of its answers. It never does a task's own work (S02).
"""

from typing import Protocol, runtime_checkable

from sol.tree.effects import Answered, PlannerRequest

__all__ = ["Planner", "PlannerRequest"]


@runtime_checkable
class Planner(Protocol):
    """Answers requests about tasks. Safe to call from many tasks of one event loop at the same time."""

    async def answer(self, request: PlannerRequest) -> Answered:
        """Answer with the kind of answer that belongs to the request.

        `SplitRequest` gives `SplitAnswer` or `CannotSplit`; `ReviewRequest` and `RuleRequest` give `Judged`; each other
        request gives the answer of its own name.

        Raises:
            PlannerError: If there is no usable answer. The message says what to change; `usage` what it cost.
            luna.errors.Interruption: If the same request may simply be made again later (S51).
        """
        ...

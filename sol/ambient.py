"""Limits that a run inherits when it is started from inside a worker of another run. They only ever narrow."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from luna.protocol import Usage
from sol.errors import TaskError
from sol.strategy.schema import Budget

CHAIN_LIMIT = 8
"""Most runs inside one another."""


@dataclass(frozen=True, slots=True)
class Ambient:
    """What the run around this one leaves.

    Attributes:
        depth_left: Levels that its depth limit leaves below the node that is being worked on.
        budget: What its budget leaves.
        chain: Goals of the runs around this one, outermost first.
        charge: Books what this run uses on the one around it.

    Source: S13, case DEPTH-02.
    """

    depth_left: int
    budget: Budget
    chain: tuple[str, ...]
    charge: Callable[[Usage], None]


AMBIENT: ContextVar[Ambient | None] = ContextVar("sol_ambient", default=None)


def enter(goal: str) -> tuple[str, ...]:
    """The chain of goals with this one at its end.

    Raises:
        TaskError: If the goal is in the chain already, or the chain is too long; the message shows it.
    """
    around = AMBIENT.get()
    chain = (*(around.chain if around else ()), goal)
    if goal in chain[:-1] or len(chain) > CHAIN_LIMIT:
        shown = " > ".join(repr(one) for one in chain)
        raise TaskError(f"A run may not start itself again from inside, nor {CHAIN_LIMIT} deep: {shown}.")
    return chain

"""Limits that a run inherits when it is started from inside a worker of another run. They only ever narrow."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from luna.protocol import Usage
from sol.errors import TaskError
from sol.strategy.schema import Budget, Strategy
from sol.tree.node import Spending

CHAIN_LIMIT = 8
"""Most runs inside one another."""


@dataclass(frozen=True, slots=True)
class Enclosing:
    """What the run around this one leaves.

    Attributes:
        depth_left: Levels that its depth limit leaves below the node that is being worked on.
        left: Says what its budget leaves now.
        chain: Goals of the runs around this one, outermost first.
        charge: Books what this run uses on the one around it.

    Source: S13, case DEPTH-02.
    """

    depth_left: int
    left: Callable[[], Budget]
    chain: tuple[str, ...]
    charge: Callable[[Usage], None]


ENCLOSING: ContextVar[Enclosing | None] = ContextVar("sol_enclosing", default=None)


def narrowed(strategy: Strategy) -> Strategy:
    """The strategy with no more than what the run around this one leaves, if there is any. Source: S13."""
    around = ENCLOSING.get()
    return strategy if around is None else strategy.narrowed(max_depth=around.depth_left, budget=around.left())


def charging(spent: Spending) -> Callable[[], None]:
    """A function that books on the run around this one, if there is any, what was spent since its last call.

    Called as it is spent, so that runs inside one another stop at the outermost budget however many there are.

    Source: S13.
    """
    around = ENCLOSING.get()
    if around is None:
        return lambda: None
    told = Usage(calls=spent.calls, tokens=spent.tokens, cost=spent.cost)

    def charge() -> None:
        nonlocal told
        now = Usage(calls=spent.calls, tokens=spent.tokens, cost=spent.cost)
        if now != told:
            cost = max(now.cost - told.cost, 0.0)
            around.charge(Usage(calls=now.calls - told.calls, tokens=now.tokens - told.tokens, cost=cost))
            told = now

    return charge


def enter(goal: str) -> tuple[str, ...]:
    """The chain of goals with this one at its end.

    Raises:
        TaskError: If the goal is in the chain already, or the chain is too long; the message shows it.
    """
    around = ENCLOSING.get()
    chain = (*(around.chain if around else ()), goal)
    if goal in chain[:-1] or len(chain) > CHAIN_LIMIT:
        shown = " > ".join(repr(one) for one in chain)
        raise TaskError(f"A run may not start itself again from inside, nor {CHAIN_LIMIT} deep: {shown}.")
    return chain

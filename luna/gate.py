"""One gate per provider: when it limits or is out, everybody who calls it waits, and nobody else.

Retries what may be retried unchanged (`Interruption`), inside a budget. Never decides about a task: a closed gate is
neither STUCK nor FAILED.
"""

import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import Field

from luna.clock import Clock
from luna.errors import Interruption
from luna.protocol import Data

T = TypeVar("T")


class RetryPolicy(Data):
    """How long an interrupted call is tried again.

    Attributes:
        max_tries: Calls in all, the first included.
        base_s: Longest pause after the first interruption, in seconds; doubled after each further one.
        cap_s: Longest pause without the provider asking for a longer one.
        budget_s: Seconds that one call may spend waiting in all; a pause that would not fit is not begun.
        jitter: Part of a pause that is random: 1 is "full jitter", 0 none.
    """

    max_tries: int = Field(default=6, ge=1)
    base_s: float = Field(default=1.0, ge=0)
    cap_s: float = Field(default=60.0, ge=0)
    budget_s: float = Field(default=900.0, ge=0)
    jitter: float = Field(default=1.0, ge=0, le=1)

    def pause_s(self, tries: int, rng: random.Random) -> float:
        """Seconds to wait after the `tries`-th interruption (from 1) of a call."""
        longest = min(self.cap_s, self.base_s * 2.0 ** min(tries - 1, 60))
        return longest * (1 - self.jitter) + rng.uniform(0.0, longest * self.jitter)


class GaveUp(Interruption):
    """An interrupted call was not tried again: its tries or its budget were used up. The work can be resumed later.

    Raised by `Gates.run`; an outer `Gates.run` hands it on. `tries` calls were made in `seconds`.
    """

    def __init__(self, last: Interruption, *, tries: int, seconds: float) -> None:
        super().__init__(last.kind, str(last), provider=last.provider, retry_after_s=last.retry_after_s)
        self.tries = tries
        self.seconds = seconds

    def __reduce__(self) -> tuple[Any, ...]:
        last = Interruption(self.kind, str(self), provider=self.provider, retry_after_s=self.retry_after_s)
        return (_gave_up, (last, self.tries, self.seconds))


def _gave_up(last: Interruption, tries: int, seconds: float) -> GaveUp:
    return GaveUp(last, tries=tries, seconds=seconds)


@dataclass(slots=True)
class _Gate:
    closed_until: float
    why: Interruption


class Gates:
    """The gates of all providers of one process; share one object between everything that calls providers.

    A waiting call holds whatever its caller holds. So take a concurrency slot inside `call`, not around `run`:
    otherwise the calls of one limited provider sit on the slots that the others could use.

    Source: S51.
    """

    def __init__(self, *, clock: Clock, rng: random.Random, policy: RetryPolicy | None = None) -> None:
        self._clock = clock
        self._rng = rng
        self._policy = policy or RetryPolicy()
        self._gates: dict[str, _Gate] = {}

    async def run(self, provider: str, call: Callable[[], Awaitable[T]]) -> T:
        """Make a call as soon as the provider's gate is open, and again when it was interrupted.

        Args:
            provider: Whose gate to respect; "" has none, such a call only waits for itself.
            call: Makes one try; called at most `max_tries` times.

        Raises:
            GaveUp: Tries or budget were used up, by this call or by waiting for others'.
        """
        policy, clock = self._policy, self._clock
        started = clock.monotonic()
        not_before, waited, tries = started, 0.0, 0
        names = {provider} - {""}
        while True:
            try:
                if self._gates or tries:
                    waited += await self._wait(names, not_before, budget=policy.budget_s - waited)
                tries += 1
                return await call()
            except GaveUp:
                raise
            except _OverBudgetError as error:
                raise GaveUp(error.why, tries=tries, seconds=clock.monotonic() - started) from error.why
            except Interruption as error:
                pause = max(_asked_s(error), policy.pause_s(tries, self._rng))
                not_before = clock.monotonic() + pause
                name = error.provider or provider
                if name:
                    names.add(name)
                    self._close(name, not_before, error)
                if tries >= policy.max_tries or pause > policy.budget_s - waited:
                    raise GaveUp(error, tries=tries, seconds=clock.monotonic() - started) from error

    def _close(self, name: str, until: float, why: Interruption) -> None:
        gate = self._gates.get(name)
        if gate is None or gate.closed_until < until:
            self._gates[name] = _Gate(until, why)

    async def _wait(self, names: set[str], not_before: float, *, budget: float) -> float:
        """Wait until all gates are open and `not_before` is past; the seconds that took."""
        waited = 0.0
        while True:
            now = self._clock.monotonic()
            closed = [gate for name in names if (gate := self._gates.get(name)) and gate.closed_until > now]
            until = max((gate.closed_until for gate in closed), default=not_before)
            left = max(until, not_before) - now
            if left <= 0:
                return waited
            if closed and waited + left > budget:
                raise _OverBudgetError(max(closed, key=lambda gate: gate.closed_until).why)
            # Spread out, or all who were held would knock at the same moment; the late ones then see it closed again.
            pause = left + self._rng.uniform(0.0, self._policy.base_s * self._policy.jitter)
            await self._clock.sleep(pause)
            waited += self._clock.monotonic() - now


class _OverBudgetError(Exception):
    def __init__(self, why: Interruption) -> None:
        super().__init__(str(why))
        self.why = why


def _asked_s(error: Interruption) -> float:
    asked = error.retry_after_s
    return asked if asked is not None and math.isfinite(asked) and asked > 0 else 0.0

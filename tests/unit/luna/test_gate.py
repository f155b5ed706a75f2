import asyncio
import pickle
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic import ValidationError

from luna.errors import Interruption
from luna.gate import Gates, GaveUp, RetryPolicy
from luna.testing import FakeClock


def limited(retry_after_s: float | None = None, *, provider: str = "") -> Interruption:
    return Interruption("rate_limit", "HTTP 429", provider=provider, retry_after_s=retry_after_s)


class Provider:
    """Answers with the given answers, the last one for ever; notes when it was called."""

    def __init__(self, clock: FakeClock, *answers: Any) -> None:
        self.clock = clock
        self.answers = list(answers)
        self.called_at: list[float] = []

    async def __call__(self) -> Any:
        self.called_at.append(self.clock.monotonic())
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def gates(clock: FakeClock, **policy: Any) -> Gates:
    return Gates(clock=clock, rng=random.Random(7), policy=RetryPolicy(**policy))


@pytest.mark.req("S51")
@pytest.mark.case("RATE-01")
async def test_rate_limited_call_waits_as_asked_then_backs_off_then_succeeds() -> None:
    clock = FakeClock(auto=True)
    call = Provider(clock, limited(20), limited(), "done")
    assert await gates(clock).run("acme", call) == "done"
    first, second, third = call.called_at
    assert first == 0
    assert second >= 20
    assert second < third <= second + 2 + 1  # longest pause after the second interruption, and the spread


@pytest.mark.req("S51")
@pytest.mark.case("RATE-01")
async def test_other_branches_of_the_provider_wait_too_and_those_of_others_do_not() -> None:
    clock = FakeClock()
    shared = gates(clock)
    limited_call, sibling, stranger = Provider(clock, limited(20), "a"), Provider(clock, "b"), Provider(clock, "c")
    first = asyncio.ensure_future(shared.run("acme", limited_call))
    await clock.settle()
    others = [
        asyncio.ensure_future(shared.run("acme", sibling)),
        asyncio.ensure_future(shared.run("other", stranger)),
    ]
    await clock.advance(19.9)
    assert (len(limited_call.called_at), len(sibling.called_at), stranger.called_at) == (1, 0, [0.0])
    await clock.advance(3)
    assert [await first, *[await other for other in others]] == ["a", "b", "c"]
    assert len(limited_call.called_at) == 2
    assert sibling.called_at[0] >= 20


@pytest.mark.case("RATE-01")
async def test_endless_rate_limit_gives_up_after_max_tries() -> None:
    clock = FakeClock(auto=True)
    call = Provider(clock, limited())
    with pytest.raises(GaveUp) as caught:
        await gates(clock, max_tries=6).run("acme", call)
    assert len(call.called_at) == 6
    assert (caught.value.kind, caught.value.tries) == ("rate_limit", 6)
    assert caught.value.seconds == pytest.approx(call.called_at[-1])


async def test_held_callers_do_not_all_knock_again_when_the_first_is_refused() -> None:
    clock = FakeClock(auto=True)
    shared = gates(clock, max_tries=3)
    call = Provider(clock, limited(30))
    results = await asyncio.gather(*(shared.run("acme", call) for _ in range(10)), return_exceptions=True)
    assert all(isinstance(result, GaveUp) for result in results)
    # All ten had started before the first refusal; after that one at a time found out for the others.
    assert len(call.called_at) <= 30
    gaps = [b - a for a, b in zip(call.called_at[9:], call.called_at[10:], strict=False)]
    assert all(gap >= 29 for gap in gaps)


async def test_pause_longer_than_the_budget_is_not_begun() -> None:
    clock = FakeClock(auto=True)
    call = Provider(clock, limited(3600))
    with pytest.raises(GaveUp):
        await gates(clock, budget_s=900).run("acme", call)
    assert (len(call.called_at), clock.monotonic()) == (1, 0)


async def test_caller_held_by_others_gives_up_within_its_budget_too() -> None:
    clock = FakeClock(auto=True)
    shared = gates(clock, budget_s=100)
    with pytest.raises(GaveUp):
        await shared.run("acme", Provider(clock, limited(500)))
    held = Provider(clock, "never")
    with pytest.raises(GaveUp) as caught:
        await shared.run("acme", held)
    assert (held.called_at, caught.value.tries, caught.value.retry_after_s) == ([], 0, 500)


async def test_interruption_closes_the_gate_of_the_provider_it_names() -> None:
    clock = FakeClock()
    shared = gates(clock)
    task = asyncio.ensure_future(shared.run("", Provider(clock, limited(20, provider="tools"), "done")))
    await clock.settle()
    await clock.advance(19.9)
    assert not task.done()
    await clock.advance(2.1)
    assert await task == "done"


async def test_call_without_provider_waits_for_itself_only() -> None:
    clock = FakeClock()
    shared = gates(clock)
    task = asyncio.ensure_future(shared.run("", Provider(clock, limited(20), "late")))
    await clock.settle()
    assert await shared.run("", Provider(clock, "at once")) == "at once"
    await clock.advance(22)
    assert await task == "late"


async def test_inner_gate_that_gave_up_is_not_retried_by_an_outer_one() -> None:
    clock = FakeClock(auto=True)
    shared = gates(clock, max_tries=2)
    call = Provider(clock, limited())
    with pytest.raises(GaveUp):
        await shared.run("outer", lambda: shared.run("inner", call))
    assert len(call.called_at) == 2


@pytest.mark.parametrize("asked", [None, -5.0, float("nan"), float("inf")])
async def test_senseless_retry_after_counts_as_none(asked: float | None) -> None:
    clock = FakeClock(auto=True)
    assert await gates(clock).run("acme", Provider(clock, limited(asked), "done")) == "done"
    assert clock.monotonic() <= 2


async def test_error_that_is_no_interruption_passes_through_at_once() -> None:
    clock = FakeClock(auto=True)
    call = Provider(clock, ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        await gates(clock).run("acme", call)
    assert len(call.called_at) == 1


async def test_cancelled_waiter_leaves_the_gate_usable() -> None:
    clock = FakeClock()
    shared = gates(clock)
    task = asyncio.ensure_future(shared.run("acme", Provider(clock, limited(20), "x")))
    await clock.settle()
    task.cancel()
    await clock.advance(21)
    assert task.cancelled()
    assert await shared.run("acme", Provider(clock, "open")) == "open"


async def test_slot_taken_inside_the_call_is_free_while_the_gate_is_closed() -> None:
    clock = FakeClock()
    shared, slots = gates(clock), asyncio.Semaphore(1)

    def in_slot(call: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[Any]]:
        async def run() -> Any:
            async with slots:
                return await call()

        return run

    waiting = asyncio.ensure_future(shared.run("acme", in_slot(Provider(clock, limited(20), "late"))))
    await clock.settle()
    assert await shared.run("other", in_slot(Provider(clock, "at once"))) == "at once"
    await clock.advance(22)
    assert await waiting == "late"


def test_pause_grows_to_its_cap_and_jitter_is_full_or_none() -> None:
    policy, rng = RetryPolicy(base_s=1, cap_s=60, jitter=0), random.Random(1)
    assert [policy.pause_s(n, rng) for n in (1, 2, 3, 7, 5000)] == [1, 2, 4, 60, 60]
    full = RetryPolicy(base_s=8, cap_s=8)
    pauses = [full.pause_s(1, rng) for _ in range(200)]
    assert (min(pauses) < 1, 7 < max(pauses) <= 8) == (True, True)


def test_gave_up_survives_pickling() -> None:
    error = GaveUp(limited(3, provider="acme"), tries=4, seconds=9.5)
    again = pickle.loads(pickle.dumps(error))
    assert (again.kind, str(again), again.provider, again.retry_after_s) == ("rate_limit", "HTTP 429", "acme", 3)
    assert (again.tries, again.seconds) == (4, 9.5)


def test_policy_refuses_values_that_cannot_work() -> None:
    for bad in ({"max_tries": 0}, {"base_s": -1}, {"jitter": 2}, {"unknown": 1}):
        with pytest.raises(ValidationError):
            RetryPolicy.model_validate(bad)

import asyncio

import pytest

from luna.clock import Clock, SystemClock
from luna.testing import FakeClock


async def test_advance_wakes_sleepers_in_the_order_of_their_times() -> None:
    clock, woken = FakeClock(), []

    async def sleep(seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append((seconds, clock.monotonic()))

    tasks = [asyncio.ensure_future(sleep(seconds)) for seconds in (3, 1, 2, 9)]
    await clock.advance(5)
    assert woken == [(1, 1), (2, 2), (3, 3)]
    assert (clock.monotonic(), clock.sleeping, clock.slept) == (5, 1, [3, 1, 2, 9])
    await clock.advance(4)
    assert all(task.done() for task in tasks)


async def test_sleeper_that_sleeps_again_is_woken_within_one_advance() -> None:
    clock, ticks = FakeClock(), []

    async def tick() -> None:
        for _ in range(3):
            await clock.sleep(2)
            ticks.append(clock.monotonic())

    task = asyncio.ensure_future(tick())
    await clock.advance(10)
    assert (ticks, task.done()) == ([2, 4, 6], True)


async def test_sleep_of_no_time_lets_others_run_and_needs_no_move() -> None:
    clock, order = FakeClock(), []

    async def other() -> None:
        order.append("other")

    task = asyncio.ensure_future(other())
    await clock.sleep(0)
    order.append("own")
    await clock.sleep(-1)
    assert (order, clock.monotonic(), task.done()) == (["other", "own"], 0, True)


async def test_auto_clock_runs_a_program_through_in_no_time() -> None:
    clock = FakeClock(auto=True)

    async def work(seconds: float) -> float:
        for _ in range(100):
            await asyncio.sleep(0)  # busy for many rounds of the loop: not idle
        await clock.sleep(seconds)
        return clock.monotonic()

    assert await asyncio.gather(work(3600), work(60)) == [3600, 60]
    assert clock.now() == 1_700_000_000 + 3600


async def test_auto_clock_with_idle_time_waits_for_threads() -> None:
    clock = FakeClock(auto=True, idle_s=0.3)
    sleeper = asyncio.ensure_future(clock.sleep(100))
    await asyncio.to_thread(sum, range(1000))
    assert not sleeper.done()
    await sleeper
    assert clock.monotonic() == 100


async def test_cancelled_sleeper_does_not_hold_the_clock() -> None:
    clock = FakeClock(auto=True)
    sleeper = asyncio.ensure_future(clock.sleep(1000))
    await asyncio.sleep(0)
    sleeper.cancel()
    await clock.sleep(1)
    assert clock.monotonic() == 1


async def test_auto_clock_refuses_to_be_moved_by_hand() -> None:
    with pytest.raises(RuntimeError, match="moves by itself"):
        await FakeClock(auto=True).advance(1)


async def test_settle_names_a_task_that_never_becomes_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("luna.testing.fakes._MOST_ROUNDS", 50)

    async def spin() -> None:
        for _ in range(1000):
            await asyncio.sleep(0)

    task = asyncio.ensure_future(spin())
    with pytest.raises(RuntimeError, match="may spin"):
        await FakeClock().settle()
    task.cancel()


async def test_system_clock_goes_forward() -> None:
    clock: Clock = SystemClock()
    before, epoch = clock.monotonic(), clock.now()
    await clock.sleep(-1)
    await clock.sleep(0.01)
    assert clock.monotonic() - before >= 0.009
    assert clock.now() - epoch < 60
    assert epoch > 1_600_000_000


def test_testing_package_loads_lazily_and_names_what_is_missing() -> None:
    from luna import testing

    for name in ("FakeClock", "Pause", "ScriptedWorker", "WorkerContract"):
        assert getattr(testing, name).__name__ == name
    with pytest.raises(AttributeError, match="NoSuchThing"):
        _ = testing.NoSuchThing


async def test_call_later_calls_at_its_time_unless_it_is_cancelled() -> None:
    clock, called = FakeClock(), []
    for seconds in (2, 1, -1):
        clock.call_later(seconds, lambda: called.append(clock.monotonic()))
    clock.call_later(1, lambda: called.append("cancelled")).cancel()
    await clock.advance(1)
    assert called == [0, 1]
    await clock.advance(1)
    assert called == [0, 1, 2]


async def test_system_clock_calls_later() -> None:
    called = asyncio.Event()
    SystemClock().call_later(60, called.set).cancel()
    SystemClock().call_later(-1, called.set)
    await asyncio.wait_for(called.wait(), 10)

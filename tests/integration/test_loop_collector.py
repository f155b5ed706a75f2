"""Python's garbage collector looks less often while runs are at work, and as before once the last one has ended."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sol import Sol
from sol.engine.loop import THRESHOLDS
from tests.support.runs import done, stuck, task


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[tuple[int, int, int]]:
    before = gc.get_threshold()
    gc.set_threshold(701, 11, 12)
    yield gc.get_threshold()
    gc.set_threshold(*before)


class Watching:
    """Reports what the collector is set to while it works. Two of them wait for each other."""

    def __init__(self, runs: int) -> None:
        self._runs = runs
        self._begun = 0
        self._all = asyncio.Event()
        self.seen: list[tuple[int, int, int]] = []

    async def run(self, assignment: Any, delivery: Any) -> Any:
        self._begun += 1
        if self._begun == self._runs:
            self._all.set()
        await self._all.wait()
        self.seen.append(gc.get_threshold())
        yield done()


async def test_thresholds_are_raised_for_the_loop_and_put_back(
    sol: Callable[..., Sol], thresholds: tuple[int, int, int]
) -> None:
    worker = Watching(1)
    await sol(worker).asolve(task())
    assert worker.seen == [tuple(map(max, thresholds, THRESHOLDS))]
    assert gc.get_threshold() == thresholds


async def test_thresholds_are_put_back_after_the_last_of_several_runs(
    sol: Callable[..., Sol], thresholds: tuple[int, int, int]
) -> None:
    worker = Watching(2)
    await asyncio.gather(sol(worker).asolve(task()), sol(worker).asolve(task("count the bricks")))
    assert worker.seen == [tuple(map(max, thresholds, THRESHOLDS))] * 2
    assert gc.get_threshold() == thresholds


async def test_thresholds_are_put_back_when_sol_itself_breaks(
    sol: Callable[..., Sol], thresholds: tuple[int, int, int]
) -> None:
    class Broken:
        judges = False

        async def answer(self, request: Any) -> Any:
            raise RuntimeError("the planner is broken")

    with pytest.raises(RuntimeError, match="broken"):
        await sol(lambda inputs: stuck(), Broken()).asolve(task())
    assert gc.get_threshold() == thresholds

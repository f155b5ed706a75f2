"""Workers under supervision: scripted, awkward and stubborn ones."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from luna.monitor import Monitors, MonitorSettings
from luna.protocol import Action, Assignment, Delivery, Success
from luna.supervisor import Finished, Lost, supervise
from luna.testing import FakeClock, ScriptedWorker
from tests.support.assignments import assignment

DONE = Success(summary="done", result=7)
LOOKUP = Action(name="lookup", arguments={"q": "gallium boiling"}, observation="3 hits: a,b,c")
DELIVERY = Delivery(key="run/0/attempt/1", workspace=Path())


def scripted(*items: Any, clock: FakeClock | None = None) -> ScriptedWorker:
    return ScriptedWorker({"count": list(items)}, clock=clock)


async def outcome_of(worker: Any, *, clock: FakeClock | None = None, **options: Any) -> Finished | Lost:
    return await supervise(worker, assignment(), DELIVERY, clock=clock or FakeClock(auto=True), **options)


async def finished(worker: Any, **options: Any) -> Finished:
    outcome = await outcome_of(worker, **options)
    assert isinstance(outcome, Finished)
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return outcome


def monitors(**settings: Any) -> Monitors:
    return Monitors.from_settings(MonitorSettings(**settings), assignment())


def in_evidence(report: Any, text: str) -> bool:
    return any(text in item for item in report.evidence)


class Awkward:
    """A worker whose run is not an async generator."""

    def __init__(self, run: Any) -> None:
        self.run = run


class Stubborn:
    """Acts for ever; on being stopped it lingers, heeds nothing, or raises."""

    def __init__(self, clock: FakeClock, *, linger_s: float = 0.0, heeds: bool = True, item: Any = LOOKUP) -> None:
        self.clock = clock
        self.linger_s = linger_s
        self.heeds = heeds
        self.item = item
        self.calls = 0
        self.ended_at: float | None = None

    async def run(self, given: Assignment, delivery: Delivery) -> AsyncIterator[Any]:
        try:
            while True:
                self.calls += 1
                yield self.item
                await self.clock.sleep(1)
        finally:
            ends = self.clock.monotonic() + self.linger_s
            while self.clock.monotonic() < ends:
                try:
                    await self.clock.sleep(ends - self.clock.monotonic())
                except asyncio.CancelledError:
                    if self.heeds:
                        break
            self.ended_at = self.clock.monotonic()

"""Effects that say nothing about the task (no model, wrong settings, no plan) lose an attempt and split nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from luna.errors import Interruption, ModelError, WorkerConfigError
from luna.protocol import Assignment, Delivery, ProgressEvent, Report, Stuck, StuckKind, Success, Usage
from luna.testing import FakeClock
from sol import Sol
from sol.errors import PlannerError
from sol.journal import MemoryJournal
from sol.planner import FreePlanner
from sol.planner.by_rule import PlannerRequest
from sol.run import Run
from sol.tree.effects import Answered, SplitRequest
from tests.support.processes import until

Does = Callable[[list[int]], Report]


class Doubler:
    """Doubles numbers as long as `does` lets it; notes what it was asked."""

    def __init__(self, does: Does) -> None:
        self.does = does
        self.asked: list[list[int]] = []

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        numbers: Any = assignment.inputs["numbers"]
        self.asked.append(numbers)
        yield self.does(numbers)


def doubled(numbers: list[int]) -> Report:
    return Success(summary="doubled", result=[2 * number for number in numbers])


def too_many(limit: int) -> Does:
    def does(numbers: list[int]) -> Report:
        if len(numbers) > limit:
            return Stuck(kind=StuckKind.SCOPE_TOO_LARGE, blocker=f"{len(numbers)} numbers are too many")
        return doubled(numbers)

    return does


def task(numbers: list[int]) -> dict[str, Any]:
    return {
        "goal": "Double each number.",
        "context": "none",
        "inputs": {"numbers": numbers},
        "constraints": "none",
        "expected_output": {"description": "the doubled numbers", "json_schema": {"type": "array"}},
        "success_criteria": [{"json_schema": {"type": "array"}}],
        "stop_conditions": ["a number is missing"],
    }


def sol_with(worker: Doubler, workspace: Path, **options: Any) -> Sol:
    return Sol(worker=worker, workspace=workspace, store=MemoryJournal(), strategy="halve", **options)


def splits(run: Run) -> int:
    return sum(node.splits for node in run.state.nodes.values())


@pytest.mark.req("S51")
@pytest.mark.parametrize(
    ("error", "kind"),
    [(ModelError("the key was refused"), "model"), (WorkerConfigError("no such program"), "worker")],
)
async def test_worker_that_cannot_be_used_loses_one_attempt_and_splits_nothing(
    tmp_path: Path, error: Exception, kind: str
) -> None:
    def refuse(numbers: list[int]) -> Report:
        raise error

    worker = Doubler(refuse)
    sol = sol_with(worker, tmp_path)
    run = await sol.asolve(task([1, 2, 3, 4]))
    assert (len(worker.asked), splits(run), len(run.state.nodes)) == (1, 0, 1)
    assert (run.state.root.kind, run.reason, run.resumable) == (kind, str(error), True)
    worker.does = doubled
    run = await sol.aresume(run.id)
    assert (run.result, len(worker.asked), splits(run)) == ([2, 4, 6, 8], 2, 0)


@pytest.mark.req("S51")
async def test_part_whose_model_is_gone_waits_for_a_resume_and_the_done_part_is_kept(tmp_path: Path) -> None:
    def refuse_three(numbers: list[int]) -> Report:
        if numbers == [3, 4]:
            raise ModelError("the key was refused")
        return too_many(2)(numbers)

    worker = Doubler(refuse_three)
    sol = sol_with(worker, tmp_path)
    run = await sol.asolve(task([1, 2, 3, 4]))
    assert (run.status, run.resumable) == ("blocked", True)
    assert (worker.asked, splits(run)) == ([[1, 2, 3, 4], [1, 2], [3, 4]], 1)
    worker.does = too_many(2)
    run = await sol.aresume(run.id)
    assert run.result == [2, 4, 6, 8]
    assert (worker.asked[3:], splits(run)) == ([[3, 4]], 1)


class Clueless(FreePlanner):
    """Gives no usable split, at a price."""

    asked: list[SplitRequest] = []  # noqa: RUF012 - one object in one test

    async def answer(self, request: PlannerRequest) -> Answered:
        if isinstance(request, SplitRequest):
            self.asked.append(request)
            raise PlannerError("three replies and none usable", usage=Usage(calls=3, tokens=700))
        return await super().answer(request)


async def test_planner_that_gives_no_usable_answer_is_charged(tmp_path: Path) -> None:
    planner = Clueless(tmp_path)
    worker = Doubler(too_many(2))
    run = await sol_with(worker, tmp_path, planner=planner).asolve(task([1, 2, 3, 4]))
    assert (run.state.root.kind, run.resumable) == ("planner", True)
    assert (len(worker.asked), len(planner.asked), splits(run)) == (1, 1, 0)
    assert (run.spent.calls, run.spent.tokens) == (1 + 3, 700)


@pytest.mark.req("S25", "S60")
async def test_first_half_that_cannot_be_done_is_halved_again_and_merged_in_its_place(tmp_path: Path) -> None:
    def does(numbers: list[int]) -> Report:
        return too_many(1 if 1 in numbers else 2)(numbers)

    worker = Doubler(does)
    run = await sol_with(worker, tmp_path, max_depth=1).asolve(task([1, 2, 3, 4]))
    assert run.result == [2, 4, 6, 8]
    assert worker.asked.count([3, 4]) == 1
    assert run.state.root.children == ("0", "1", "2", "3")
    assert splits(run) == 2


@pytest.mark.req("S16")
async def test_half_that_was_halved_itself_is_not_halved_again_from_above(tmp_path: Path) -> None:
    """One item of eight never works: each of its halves is tried once, and nothing that was accepted is done again."""

    def does(numbers: list[int]) -> Report:
        return too_many(0)(numbers) if 2 in numbers else doubled(numbers)

    worker = Doubler(does)
    run = await sol_with(worker, tmp_path).asolve(task([1, 2, 3, 4, 5, 6, 7, 8]))
    assert run.status == "failed"
    asked = [tuple(numbers) for numbers in worker.asked]
    assert sorted(asked) == sorted(set(asked))
    assert len(asked) == 7


class Limited(Doubler):
    """Refuses its first call for half a minute."""

    def __init__(self, name: str) -> None:
        super().__init__(self._once)
        self.name = name
        self.given: list[str | None] = []

    def gate(self, model: str | None) -> str:
        self.given.append(model)
        return self.name

    def _once(self, numbers: list[int]) -> Report:
        if len(self.asked) == 1:
            raise Interruption("rate_limit", "slow down", retry_after_s=30)
        return doubled(numbers)


@pytest.mark.req("S51")
@pytest.mark.case("RATE-01")
@pytest.mark.parametrize(("gate", "is_held"), [("acme", True), ("", False)])
async def test_worker_that_names_its_gate_holds_up_all_calls_through_it(
    tmp_path: Path, gate: str, is_held: bool
) -> None:
    clock, worker = FakeClock(), Limited(gate)
    sol = sol_with(worker, tmp_path, clock=clock, luna_model="acme:small")
    first = await sol.start(task([1]))
    await until(lambda: clock.sleeping == 1)
    second = await sol.start(task([2]))
    await until(lambda: clock.sleeping == 2 or second.solved)
    assert (len(worker.asked), second.solved) == ((1, False) if is_held else (2, True))
    await clock.advance(60)
    await asyncio.gather(first.wait(), second.wait())
    assert (first.result, second.result, len(worker.asked)) == ([2], [4], 3)
    assert worker.given == ["acme:small"] * 2

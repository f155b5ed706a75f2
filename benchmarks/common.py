"""What the benchmarks share: a binary tree of workers without latency, and printing."""

import argparse
import asyncio
import json
import random
import resource
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from luna.protocol import Assignment, Delivery, ProgressEvent, Report, Stuck, Success, Usage
from sol import Run, Sol, Strategy
from sol.journal import Journal
from sol.planner import PlannerRequest
from sol.strategy.catalog import load_strategy
from sol.tree.effects import Answered, IntegrateAnswer, IntegrateRequest, SplitRequest
from sol.tree.values import ChildPlan, SplitAnswer

ROOT = Path(__file__).resolve().parent.parent


def counting(part: Sequence[int]) -> str:
    """The goal of a part, another one for each: nothing may be saved because nodes say the same."""
    return f"Count the numbers from {part[0]} to below {part[1]}"


def task(leaves: int) -> dict[str, Any]:
    """A task that takes a worker for each number below `leaves`; stuck on more than one."""
    return {
        "goal": counting([0, leaves]),
        "context": "none",
        "inputs": {"range": [0, leaves]},
        "constraints": "none",
        "expected_output": "The count.",
        "success_criteria": ["Every number is counted once."],
        "stop_conditions": ["There is more than one number."],
    }


def strategy(*, concurrency: int) -> Strategy:
    """The strategy `halve` with a concurrency of its own."""
    return load_strategy("halve").model_copy(update={"concurrency": concurrency})


@dataclass
class CountWorker:
    """Stuck on a range of more than one number; otherwise done.

    Attributes:
        latency_s: Mean of the random time it takes, in seconds, exponentially distributed.
        latest_s: Instead, the longest, evenly distributed.
    """

    latency_s: float = 0.0
    latest_s: float = 0.0
    seed: int = 0
    calls: int = 0
    took_s: dict[tuple[int, int], float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        """Count, or be stuck."""
        self.calls += 1
        low, high = assignment.inputs["range"]  # type: ignore[misc]
        if self.latency_s or self.latest_s:
            pause = self._rng.expovariate(1 / self.latency_s) if self.latency_s else self._rng.uniform(0, self.latest_s)
            self.took_s[low, high] = pause
            await asyncio.sleep(pause)
        if high - low > 1:
            yield Stuck(blocker="There is more than one number.")
        else:
            yield Success(summary="Counted.", result=1)


@dataclass
class RangePlanner:
    """Halves the range and adds the counts up. Takes no time."""

    judges: bool = False
    calls: int = 0

    async def answer(self, request: PlannerRequest) -> Answered:
        """Answer splits and integrations; nothing else is asked."""
        self.calls += 1
        return Answered(self._answer(request), Usage())

    def _answer(self, request: PlannerRequest) -> SplitAnswer | IntegrateAnswer:
        if isinstance(request, SplitRequest):
            low, high = _inputs(request)["range"]
            middle = (low + high) // 2
            halves = [[low, middle], [middle, high]]
            children = tuple(ChildPlan(goal=counting(half), claim="simpler", inputs={"range": half}) for half in halves)
            return SplitAnswer(children, sequential=False, dimension="data_logic", reason="Halved.", how="inputs")
        if isinstance(request, IntegrateRequest):
            return IntegrateAnswer(sum(part.result for part in request.parts), "Added up.", {})
        raise TypeError(f"not expected here: {request!r}")


def _inputs(request: SplitRequest) -> Mapping[str, Any]:
    assignment: Any = request.assignment
    return assignment["inputs"] if isinstance(assignment, dict) else assignment.inputs  # a dict in the engine before


def make_sol(
    directory: Path, *, concurrency: int, worker: CountWorker | None = None, store: str | Journal | None = None
) -> Sol:
    """A library user's solver of counting tasks in a directory, without any switch."""
    return Sol(
        strategy=strategy(concurrency=concurrency),
        worker=worker or CountWorker(),
        planner=RangePlanner(),
        workspace=directory,
        store=store or f"sqlite:///{directory}/runs.db",
    )


def expect(run: Run, result: object, nodes: int) -> None:
    """Stop where a run has not come out as it must: its figures would be of something else."""
    if not run.solved or run.result != result or len(run.tree) != nodes:
        raise SystemExit(f"wrong: {run.status}, {len(run.tree)} nodes: {run.reason or run.result!r:.200}")


def rss_mb() -> float:
    """Largest resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def show(figures: dict[str, Any], options: argparse.Namespace) -> None:
    """Print figures, as JSON on one line or one a line."""
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:24} {value:.4g}" if isinstance(value, float) else f"{name:24} {value}")

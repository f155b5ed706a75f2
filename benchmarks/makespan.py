"""How close a run comes to its critical path: trees of workers with random latency, as wall time over critical path.

The critical path is the slowest chain of workers from the root down. Sleeping workers wake late on a busy machine; the
same sleeps without Sol, on the same chain, tell how much of the ratio that explains.

Example: `python benchmarks/makespan.py --json`
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from typing import Any

from common import CountWorker, RangePlanner, show, strategy, task

from sol import Sol


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=8)
    parser.add_argument("--leaves", type=int, default=64, help="a power of 2")
    parser.add_argument(
        "--latency", type=float, default=0.5, help="mean seconds of a worker, exponentially distributed"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    ratios, bare = [], []
    for seed in range(options.trees):
        ratio, floor = asyncio.run(measure(options.leaves, options.latency, seed))
        ratios.append(ratio)
        bare.append(floor)
    show(
        {
            "trees": options.trees,
            "nodes": 2 * options.leaves - 1,
            "median": statistics.median(ratios),
            "worst": max(ratios),
            "noise_median": statistics.median(bare),
            "noise_worst": max(bare),
            "ratios": [round(ratio, 4) for ratio in ratios],
        },
        options,
    )


async def measure(leaves: int, latency_s: float, seed: int) -> tuple[float, float]:
    """Wall time over critical path of one tree, with Sol and for the bare sleeps of its slowest chain."""
    with tempfile.TemporaryDirectory() as directory:
        worker = CountWorker(latency_s=latency_s, seed=seed)
        sol = Sol(
            strategy=strategy(concurrency=10 * leaves),
            worker=worker,
            planner=RangePlanner(),
            workspace=directory,
            store=f"sqlite:///{directory}/runs.db",
        )
        await sol.asolve(task(2))
        worker.took_s.clear()
        began = time.perf_counter()
        run = await sol.asolve(task(leaves))
        wall = time.perf_counter() - began
        if not run.solved or run.result != leaves:
            raise SystemExit(f"wrong: {run.status}, {run.result}")
    chain = critical_path(worker.took_s, (0, leaves))
    began = time.perf_counter()
    for pause in chain:
        await asyncio.sleep(pause)
    return wall / sum(chain), (time.perf_counter() - began) / sum(chain)


def critical_path(took_s: dict[tuple[int, int], float], part: tuple[int, int]) -> list[float]:
    """The pauses of the slowest chain from a part down to a single number."""
    low, high = part
    if high - low == 1:
        return [took_s[part]]
    middle = (low + high) // 2
    below: list[Any] = [critical_path(took_s, (low, middle)), critical_path(took_s, (middle, high))]
    return [took_s[part], *max(below, key=sum)]


if __name__ == "__main__":
    main()

"""What a node costs when a real list is halved: records with a JSON Schema, a function that refuses too many.

Sol's own planner without a model halves the list and puts the results together; each result is checked.

Example: `python benchmarks/halving.py --items 5000 --most 20 --json`
"""

import argparse
import asyncio
import tempfile
import time
from typing import Any

from common import expect, rss_mb, show, strategy

from luna.protocol import Stuck
from sol import Sol

SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "number": {"type": "integer", "minimum": 0},
            "name": {"type": "string", "minLength": 1},
            "cents": {"type": "integer"},
        },
        "required": ["number", "name", "cents"],
        "additionalProperties": False,
    },
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument("--most", type=int, default=20, help="what the worker takes at once; 20 of 5000: 511 nodes")
    parser.add_argument("--concurrency", type=int, default=4, help="4 is that of the strategy `halve` as it comes")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    show(asyncio.run(measure(options.items, options.most, options.concurrency)), options)


def task(items: int) -> dict[str, Any]:
    """A task that converts so many orders."""
    orders = [{"order": n, "customer": f" name {n % 97} ", "amount": f"{n % 89}.{n % 100:02}"} for n in range(items)]
    return {
        "goal": "Convert the orders",
        "context": "none",
        "inputs": {"orders": orders},
        "constraints": "none",
        "expected_output": {"description": "Number, name and cents of each order.", "json_schema": SCHEMA},
        "success_criteria": [{"json_schema": {"type": "array", "minItems": 1}}],
        "stop_conditions": ["There is no order."],
    }


def converted(order: dict[str, Any]) -> dict[str, Any]:
    """One order as the schema wants it."""
    units, cents = order["amount"].split(".")
    return {"number": order["order"], "name": order["customer"].strip(), "cents": 100 * int(units) + int(cents)}


def nodes_of(items: int, most: int) -> int:
    """How many nodes it takes to halve so many items until each part is small enough."""
    return 1 if items <= most else 1 + nodes_of(items // 2, most) + nodes_of(items - items // 2, most)


async def measure(items: int, most: int, concurrency: int) -> dict[str, Any]:
    """Solve a small list to warm up, then the whole for the figures."""

    def convert(inputs: dict[str, Any]) -> list[dict[str, Any]] | Stuck:
        if len(inputs["orders"]) > most:
            return Stuck(blocker=f"More than {most} orders.")
        return [converted(order) for order in inputs["orders"]]

    with tempfile.TemporaryDirectory() as directory:
        halve = strategy(concurrency=concurrency)
        sol = Sol(strategy=halve, worker=convert, workspace=directory, store=f"sqlite:///{directory}/runs.db")
        await sol.asolve(task(2 * most))
        whole = task(items)
        wall, cpu = time.perf_counter(), time.process_time()
        run = await sol.asolve(whole)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        nodes = nodes_of(items, most)
        expect(run, [converted(order) for order in whole["inputs"]["orders"]], nodes)
    return {
        "items": items,
        "nodes": nodes,
        "concurrency": concurrency,
        "cpu_ms_per_node": cpu * 1e3 / nodes,
        "wall_s": wall,
        "rss_mb": rss_mb(),
    }


if __name__ == "__main__":
    main()

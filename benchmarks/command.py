"""What an attempt of a trivial command costs this process, beside a bare asyncio subprocess of the same command.

Supervised as Sol does it, with a registry of processes, one after the other. Then again with idle processes beside it,
children of a shell in a session of its own: the cost must not grow with what else runs on the machine. Own CPU only
(RUSAGE_SELF), without the command's. Needs a POSIX system.

Example: `python benchmarks/command.py --attempts 100 --idle 300 --json`
"""

import argparse
import asyncio
import os
import resource
import signal
import statistics
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from common import show

from luna.clock import SystemClock
from luna.process.execute import ProcessRegistry
from luna.protocol import Assignment, Delivery, Success
from luna.supervisor import Finished, supervise
from luna.workers.command import create
from luna.workers.shared import WorkerSettings

COMMAND = "true"
ROUNDS = 5


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=100)
    parser.add_argument("--idle", type=int, default=300, help="idle processes of the second part; 0 leaves it out")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        figures = asyncio.run(measure(Path(directory), options.attempts))
        if options.idle:
            with idle(options.idle):
                crowded = asyncio.run(measure(Path(directory), options.attempts))
            figures |= {"idle_processes": options.idle}
            figures |= {f"{name}_beside_idle": value for name, value in crowded.items()}
    show({"attempts": options.attempts, **figures}, options)


async def measure(directory: Path, attempts: int) -> dict[str, float]:
    """Medians of rounds in which both are measured in turn."""
    settings = WorkerSettings(processes=ProcessRegistry(directory / "processes"))
    worker = create({"command": COMMAND, "input": "none"}, settings=settings)
    assignment = Assignment(
        goal="Do nothing",
        context="none",
        inputs="none",
        constraints="none",
        expected_output="Nothing.",
        success_criteria=["It ends."],
        stop_conditions=["It does not end."],
    )

    async def attempt() -> None:
        delivery = Delivery(key="run//attempt/1", workspace=directory)
        ended = await supervise(worker, assignment, delivery, clock=SystemClock())
        if not isinstance(ended, Finished) or not isinstance(ended.report, Success):
            raise SystemExit(f"wrong: {ended!r}")

    own, bare = [], []
    await cpu_ms(attempt, 3)
    await cpu_ms(plain, 3)
    for _ in range(ROUNDS):
        own.append(await cpu_ms(attempt, attempts // ROUNDS))
        bare.append(await cpu_ms(plain, attempts // ROUNDS))
    figures = {"own_cpu_ms": statistics.median(own), "bare_cpu_ms": statistics.median(bare)}
    return figures | {"ratio": figures["own_cpu_ms"] / figures["bare_cpu_ms"]}


async def plain() -> None:
    """The same command with asyncio alone."""
    process = await asyncio.create_subprocess_exec(
        COMMAND,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    await process.communicate()


async def cpu_ms(what: Callable[[], Awaitable[None]], times: int) -> float:
    """CPU milliseconds of this process for each call."""
    before = used_s()
    for _ in range(times):
        await what()
    return (used_s() - before) * 1e3 / max(times, 1)


def used_s() -> float:
    """CPU seconds of this process so far, children not counted."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


@contextmanager
def idle(number: int) -> Iterator[None]:
    """So many sleeping processes, ended with the context."""
    script = f"n={number}; while [ $n -gt 0 ]; do sleep 3600 & n=$((n - 1)); done; echo; wait"
    shell = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    try:
        shell.stdout.readline()  # type: ignore[union-attr]
        yield
    finally:
        os.killpg(shell.pid, signal.SIGKILL)  # the shell has not been waited for, so the group is still ours
        shell.communicate()


if __name__ == "__main__":
    main()

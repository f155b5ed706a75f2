"""Workers as LangChain runnables, to put one into a chain or a graph of somebody else's.

Nothing supervises or verifies them there: the last report is handed on as the worker gave it.
"""

import asyncio
import contextvars
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from luna.protocol import Assignment, Delivery, Failed, FailedKind, Report, Stuck, Success, Worker

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable


def as_runnable(
    worker: Worker, *, workspace: Path | None = None
) -> "Runnable[Assignment | Mapping[str, Any], dict[str, Any]]":
    """Make a runnable that takes an assignment, or its seven fields as a mapping, and gives the report as a dict.

    `ainvoke` and `abatch` run in the caller's event loop; `invoke` runs a loop in a thread of its own, so it works in
    notebooks too.

    Args:
        worker: Any worker. What it raises goes to the caller.
        workspace: Directory it works in; None: the current directory.

    Raises:
        ImportError: If langchain-core is not installed.
    """
    from langchain_core.runnables import RunnableLambda  # noqa: PLC0415 - slow to import, and not needed otherwise

    numbers = count(1)
    fence = secrets.token_hex(16)

    async def run(task: Assignment | Mapping[str, Any]) -> dict[str, Any]:
        assignment = task if isinstance(task, Assignment) else Assignment.model_validate(dict(task))
        key = f"runnable//attempt/{next(numbers)}"
        delivery = Delivery(key=key, workspace=workspace or Path.cwd(), delimiter=fence)
        report: Report | None = None
        async for item in worker.run(assignment, delivery):
            if isinstance(item, Success | Stuck | Failed):
                report = item
        if report is None:
            report = Failed(kind=FailedKind.NO_STATUS, reason="the worker ended without a report")
        return report.model_dump(mode="json")

    def run_in_thread(task: Assignment | Mapping[str, Any]) -> dict[str, Any]:
        context = contextvars.copy_context()
        with ThreadPoolExecutor(max_workers=1) as pool:
            return pool.submit(context.run, asyncio.run, run(task)).result()

    return RunnableLambda(run_in_thread, run, name=f"luna:{type(worker).__name__}")

"""Runs for the tests of the page, and the browser to look at it with."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, async_playwright

from luna.protocol import Action, Failed, Spent, Stuck, Success, Usage
from luna.testing import ScriptedWorker
from sol import Sol
from sol.inspect.page import About
from sol.journal import MemoryJournal
from tests.support.planners import ScriptedPlanner, split_into

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str:
    """Path of Chromium; skips the test where there is none."""
    found = os.environ.get("SOL_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("there is no Chromium; install it, or name it in SOL_CHROMIUM")
    return found


@asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    path = chromium()
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


def about(**changes: Any) -> About:
    return About(**({"run_id": "brick7", "status": "success", "now": 200.0, "created_t": 100.0} | changes))


SPLITS = {
    "build the wall": split_into("lay the bricks", "paint the bricks", sequential=True),
    "lay the bricks": split_into("the lower rows", "the upper rows"),
}

USED = Spent(usage=Usage(calls=1, tokens=1200, cost=0.02))


def builder(**scripts: Any) -> ScriptedWorker:
    """A worker for `build the wall`: stuck on what can be split, else done; `scripts` by the goal's last word."""

    def script(assignment: Any) -> Any:
        goal = assignment.goal
        chosen = scripts.get(goal.split()[-1]) if goal not in SPLITS else None
        if chosen is not None:
            return chosen(assignment) if callable(chosen) else chosen
        if goal in SPLITS:
            return [USED, Stuck(blocker=f"{goal} is more than one thing", known=("there are bricks",))]
        return [
            Action(name="trowel", arguments={"what": goal}, observation="it stands"),
            USED,
            Success(summary="done", result={"goal": goal}, evidence=("seen",)),
        ]

    return ScriptedWorker(script)


def failing(reason: str) -> Any:
    return [Failed(reason=reason)]


def a_sol(workspace: Path, worker: ScriptedWorker | None = None, **more: Any) -> Sol:
    options: dict[str, Any] = {"planner": ScriptedPlanner(SPLITS), "store": MemoryJournal()} | more
    return Sol(worker=worker or builder(), workspace=workspace, **options)

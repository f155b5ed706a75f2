"""Runs for the tests of the page, and the browser to look at it with."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, async_playwright

from luna.protocol import Action, Failed, Spent, Stuck, Success, Usage
from luna.testing import ScriptedWorker
from sol import Sol
from sol.journal import MemoryJournal
from sol.page import About
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


@asynccontextmanager
async def a_page() -> AsyncIterator[Page]:
    """A page of a browser; what goes wrong in it fails the test."""
    faults: list[str] = []
    async with a_browser() as browser:
        found = await browser.new_page(viewport={"width": 1280, "height": 800})
        found.on("pageerror", lambda error: faults.append(str(error)))
        found.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        found.on("dialog", lambda dialog: faults.append(f"dialog {dialog.message}"))
        yield found
    assert not faults, faults


def row(page: Page, path: str) -> Locator:
    return page.locator(f'[role=treeitem][data-path="{path}"]')


async def paths(page: Page) -> list[str]:
    """Paths of the rows in sight, from top to bottom."""
    rows = await page.locator("[role=treeitem]").all()
    found = [(float((await one.bounding_box() or {})["y"]), await one.get_attribute("data-path") or "") for one in rows]
    return [path for _, path in sorted(found)]


def about(**changes: Any) -> About:
    return About(**({"run_id": "brick7", "status": "success", "now": 200.0, "created_t": 100.0} | changes))


WALL = "build the wall"
SPLITS = {
    WALL: split_into("lay the bricks", "paint the bricks", sequential=True),
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

"""How large the page of a run is, and how long a browser takes to open it, to filter and to scroll.

Needs Chromium and Playwright. Example: `python benchmarks/page.py --nodes 20000 --json`
"""

import argparse
import asyncio
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from common import CountWorker, RangePlanner, show, strategy, task
from playwright.sync_api import Page, sync_playwright

from sol import Sol
from sol.journal import MemoryJournal
from sol.page import write_page

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20_000, help="nodes of the run, made an odd number")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", type=Path, help="keep the page as this file")
    options = parser.parse_args()
    chromium = os.environ.get("SOL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        parser.error("there is no Chromium; install it, or name it in SOL_CHROMIUM")
    with tempfile.TemporaryDirectory() as directory:
        file = options.keep or Path(directory) / "page.html"
        figures = asyncio.run(write(file, max(options.nodes // 2, 1)))
        figures["page_mb"] = file.stat().st_size / 1e6
        show({**figures, **in_browser(file, chromium)}, options)


async def write(file: Path, leaves: int) -> dict[str, Any]:
    """Solve a task with that many leaves and write its page."""
    with tempfile.TemporaryDirectory() as directory:
        sol = Sol(
            strategy=strategy(concurrency=1_000),
            worker=CountWorker(),
            planner=RangePlanner(),
            workspace=directory,
            store=MemoryJournal(),
        )
        run = await sol.asolve(task(leaves))
        began = time.perf_counter()
        await write_page(run, file)
        return {
            "nodes": len(run.tree),
            "write_s": time.perf_counter() - began,
        }


def in_browser(file: Path, chromium: str) -> dict[str, Any]:
    """Open the page, and use it; the fastest of three, since other work on the machine only ever adds."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        found = [_once(browser.new_page(viewport={"width": 1280, "height": 800}), file) for _ in range(3)]
        browser.close()
    return {name: min(one[name] for one in found) for name in found[0]}


def _once(page: Page, file: Path) -> dict[str, float]:
    began = time.perf_counter()
    page.goto(file.resolve().as_uri(), wait_until="commit")
    page.wait_for_selector("[role=treeitem]")
    opened = time.perf_counter() - began
    figures = {
        "open_s": opened,
        "expand_all_ms": _timed(page, "document.getElementById('open-all').click()"),
        "filter_ms": _timed(page, "app.model.filter.text = '1010'; app.refilter()"),
        "scroll_frame_ms": _timed(
            page, "app.clearFilter(); app.tree.refresh(); document.getElementById('scroll').scrollTop = 3e5"
        ),
    }
    page.evaluate("app.select(app.model.rows.length - 1, { show: true })")
    began = time.perf_counter()
    page.wait_for_selector(".panel .events li")
    figures["story_ms"] = (time.perf_counter() - began) * 1e3
    page.close()
    return figures


def _timed(page: Page, script: str) -> float:
    """Milliseconds from a call until what it changed has been drawn."""
    wait = "new Promise((done) => requestAnimationFrame(() => setTimeout(done)))"
    return float(
        page.evaluate(
            f"async () => {{ const t = performance.now(); {script}; await {wait}; return performance.now() - t; }}"
        )
    )


if __name__ == "__main__":
    main()

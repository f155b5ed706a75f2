"""The page in a real browser, live from the server: following, answering, cancelling."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from luna.protocol import Stuck, StuckKind, Success
from sol import Sol
from sol.run import Run
from sol.ui.server import Service, serve
from tests.support.hostile import ATTACK
from tests.support.pages import WALL, a_browser, a_page, a_sol, builder, paths, row
from tests.support.runs import task

pytestmark = pytest.mark.slow


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with a_page() as found:
        yield found


@asynccontextmanager
async def a_server(sol: Sol) -> AsyncIterator[str]:
    """A server for the runs of a Sol; its address, with the token."""
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    service = Service(sol=sol, by="somebody", poll_s=0.02)
    task = asyncio.create_task(serve(service, port=0, path="/", tell=address.set_result))
    try:
        yield await address
    finally:
        service.stopping.set()
        await task


async def open_run(page: Page, address: str, run: Run) -> None:
    await page.goto(address)
    await page.get_by_role("link", name=run.id).click()
    await row(page, ".").wait_for()


async def test_live_run_is_followed_to_its_end(page: Page, tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    def held(_: Any) -> Any:
        begun.set()
        return [go_on, Success(summary="done", result=1)]

    sol = a_sol(tmp_path, builder(bricks=held))
    run = await sol.start(task(WALL))
    await begun.wait()
    async with a_server(sol) as address:
        await open_run(page, address, run)
        assert "token" not in page.url
        await expect(page.locator("#link")).to_have_text("live")
        await expect(page.locator("#status")).to_have_text("running")
        await expect(page.locator(".card").first).to_contain_text("1 at work")
        await expect(row(page, "1")).to_have_attribute("aria-label", re.compile("^running"))
        await row(page, "1").click()
        go_on.set()
        await expect(page.locator("#status")).to_have_text("success")
        await expect(row(page, "1")).to_have_attribute("aria-label", re.compile("^success"))
        await expect(page.locator("#panel")).to_contain_text("attempt 1 reported SUCCESS")
        await expect(page.locator("#cancel-run")).to_be_hidden()
    assert (await run.wait()).solved


async def test_new_nodes_appear_while_one_looks(page: Page, tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    def held(_: Any) -> Any:
        begun.set()
        return [go_on, Stuck(blocker="more than one thing")]

    worker = builder()
    inner = worker._script
    worker._script = lambda assignment: held(assignment) if assignment.goal == WALL else inner(assignment)  # type: ignore[operator]
    sol = a_sol(tmp_path, worker)
    run = await sol.start(task(WALL))
    await begun.wait()
    async with a_server(sol) as address:
        await open_run(page, address, run)
        assert await paths(page) == ["."]
        go_on.set()
        await expect(page.locator("[role=treeitem]")).to_have_count(5)
        await expect(page.locator("#status")).to_have_text("success")
        assert await paths(page) == [".", "0", "00", "01", "1"]
    await run.wait()


async def test_question_is_answered_in_the_page(page: Page, tmp_path: Path) -> None:
    asked: list[int] = []

    def asking(_: Any) -> Any:
        asked.append(1)
        if len(asked) == 1:
            return [Stuck(kind=StuckKind.NEEDS_HUMAN, blocker="two colours", question=f"red or {ATTACK}?")]
        return [Success(summary="done", result="red")]

    sol = a_sol(tmp_path, builder(bricks=asking))
    run = await sol.asolve(task(WALL))
    assert run.status == "waiting"
    async with a_server(sol) as address:
        await open_run(page, address, run)
        await expect(page.locator(".card").nth(1)).to_contain_text(f"red or {ATTACK}?")
        await page.locator(".card").nth(1).get_by_role("button", name="Node 1").click()
        await page.get_by_role("textbox", name="Answer").fill("red, as the house")
        await page.get_by_role("button", name="Answer").click()
        await expect(page.locator("#notice")).to_have_text(f"Noted. Go on with: sol resume {run.id}")
        await expect(row(page, "1")).to_have_attribute("aria-label", re.compile("^pending"))
        resumed = await sol.start_again(run.id)
        await expect(page.locator("#status")).to_have_text("success")
    assert (await resumed.wait()).solved
    assert "red, as the house" in resumed.tree["1"].notes[0]


async def test_node_and_run_are_cancelled_in_the_page(page: Page, tmp_path: Path) -> None:
    begun = asyncio.Event()

    def held(_: Any) -> Any:
        begun.set()
        return [asyncio.Event()]

    sol = a_sol(tmp_path, builder(rows=held))
    run = await sol.start(task(WALL))
    await begun.wait()
    async with a_server(sol) as address:
        await open_run(page, address, run)
        await row(page, "00").click()
        await page.get_by_role("button", name="Cancel this node").click()
        await page.get_by_role("textbox", name="Reason").fill("it rains")
        await page.get_by_role("button", name="Keep it").click()
        await expect(row(page, "00")).to_have_attribute("aria-label", re.compile("^running"))
        await page.get_by_role("button", name="Cancel this node").click()
        await page.get_by_role("textbox", name="Reason").fill("it rains")
        await page.get_by_role("button", name="Cancel it").click()
        await expect(row(page, "00")).to_have_attribute("aria-label", re.compile("^cancelled.*it rains"))
        await page.locator("#cancel-run").click()
        await page.get_by_role("button", name="Cancel it").click()
        await expect(page.locator("#status")).to_have_text("cancelled")
    await run.wait()
    assert run.status == "cancelled"


async def test_list_of_runs_shows_new_ones(page: Page, tmp_path: Path) -> None:
    sol = a_sol(tmp_path)
    async with a_server(sol) as address:
        await page.goto(address)
        await expect(page.locator("#runs")).to_contain_text("There are no runs yet")
        run = await sol.asolve(task(f"{ATTACK} lay"))
        await expect(page.get_by_role("link", name=run.id)).to_be_visible()
        await expect(page.locator("td.title")).to_have_text(f"{ATTACK} lay")
        assert await page.locator("img").count() == 0


async def test_other_pages_of_the_browser_get_nothing(tmp_path: Path) -> None:
    sol = a_sol(tmp_path)
    run = await sol.asolve(task("lay"))
    async with a_server(sol) as address, a_browser() as browser:
        context = await browser.new_context()
        page = await context.new_page()
        await page.goto(address)
        await page.get_by_role("link", name=run.id).wait_for()
        origin = address.partition("/?")[0]
        other = await context.new_page()
        other_file = tmp_path / "other.html"
        other_file.write_text("<!doctype html><title>other</title>")
        await other.goto(other_file.as_uri())
        for method in ("GET", "POST"):
            options = f"{{method: '{method}', mode: 'no-cors', credentials: 'include'}}"
            asked = f"fetch('{origin}/api/runs/{run.id}/cancel', {options}).then(() => 'sent', () => 'refused')"
            assert await other.evaluate(asked) == "refused"
        read = f"fetch('{origin}/api/runs', {{credentials: 'include'}}).then(() => 'read', () => 'refused')"
        assert await other.evaluate(read) == "refused"
    assert (await sol.load(run.id)).solved

"""The page in a real browser, as a file: at a glance, the tree, filters, keys, the time line, hostile texts."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from sol.page import page_data, render, write_page
from tests.support.hostile import ATTACK, STEERING, damaged, monster
from tests.support.pages import WALL, a_browser, a_page, a_sol, about, builder, failing, paths, row
from tests.support.runs import task

pytestmark = pytest.mark.slow


@pytest.fixture
async def page() -> AsyncIterator[Page]:
    async with a_page() as found:
        yield found


async def a_file(tmp_path: Path, **scripts: Any) -> str:
    sol = a_sol(tmp_path, builder(**scripts))
    run = await sol.asolve(task(WALL))
    return (await write_page(run, tmp_path / "page.html")).as_uri()


def kept(tmp_path: Path, text: str) -> str:
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    return (tmp_path / "page.html").as_uri()


# --- a file ----------------------------------------------------------------------------------------------------------


async def test_page_answers_at_a_glance(page: Page, tmp_path: Path) -> None:
    await page.goto(await a_file(tmp_path, rows=failing("there are no bricks")))
    await expect(page.locator("#title")).to_have_text(WALL)
    await expect(page.locator("#status")).to_have_text("failed")
    cards = page.locator(".card")
    await expect(cards).to_have_count(5)
    await expect(cards.nth(0)).to_contain_text("Ended failed")
    await expect(cards.nth(1)).to_contain_text("there are no bricks")
    await expect(cards.nth(2)).to_contain_text("data logic")
    await expect(cards.nth(3)).to_contain_text("$")
    assert await paths(page) == [".", "0", "00", "01", "1"]


async def test_node_panel_tells_the_story(page: Page, tmp_path: Path) -> None:
    await page.goto(await a_file(tmp_path))
    await row(page, "00").click()
    panel = page.locator("#panel")
    await expect(panel.locator("h2")).to_have_text("the lower rows")
    await expect(panel).to_contain_text("SUCCESS → validate")
    await expect(panel).to_contain_text("attempt 1 reported SUCCESS")
    await panel.get_by_text("attempt 1 reported SUCCESS: done").click()
    await expect(panel.locator("details[open] .code")).to_contain_text('"status": "SUCCESS"')
    assert page.url.endswith("#00")
    await panel.get_by_role("button", name="Node 0: lay the bricks").click()
    await expect(panel.locator("h2")).to_have_text("lay the bricks")
    await panel.get_by_role("button", name="Close").click()
    await expect(panel).to_be_hidden()


async def test_address_of_a_node_opens_it(page: Page, tmp_path: Path) -> None:
    await page.goto(f"{await a_file(tmp_path)}#01")
    await expect(page.locator("#panel h2")).to_have_text("the upper rows")
    await expect(row(page, "01")).to_have_attribute("aria-selected", "true")


async def test_tree_collapses_and_expands(page: Page, tmp_path: Path) -> None:
    await page.goto(await a_file(tmp_path))
    await row(page, "0").locator(".twist").click()
    await expect(row(page, "00")).to_have_count(0)
    await expect(row(page, "0")).to_have_attribute("aria-expanded", "false")
    assert await paths(page) == [".", "0", "1"]
    await page.get_by_role("button", name="Collapse").click()
    assert await paths(page) == [".", "0", "1"]
    await page.get_by_role("button", name="Expand").click()
    assert await paths(page) == [".", "0", "00", "01", "1"]


async def test_filters_show_what_matches_and_what_is_above_it(page: Page, tmp_path: Path) -> None:
    await page.goto(await a_file(tmp_path, rows=failing("there are no bricks")))
    await page.locator("#search").fill("PAINT")
    await expect(row(page, "0")).to_have_count(0)
    assert await paths(page) == [".", "1"]
    await expect(row(page, "1").locator("mark")).to_have_text("paint")
    await expect(page.locator("#ruler")).to_contain_text("1 match of 5 nodes")
    await page.locator("#search").fill("no such thing")
    await expect(page.locator("#nothing")).to_be_visible()
    await page.locator("#search").fill("")
    await page.locator('[data-chip="failed"]').click()
    await expect(page.locator('[data-chip="failed"]')).to_have_attribute("aria-pressed", "true")
    await expect(page.locator('[data-chip="failed"]')).to_be_focused()
    await expect(row(page, "1")).to_have_count(0)
    await expect(row(page, "00")).to_have_count(1)
    await page.locator('[data-chip="failed"]').click()
    await page.locator('[data-chip="critical path"]').click()
    for one in await page.locator(".row:not(.aside)").all():
        assert await one.locator("i.critical").count() > 0


async def test_keys_lead_through_the_tree(page: Page, tmp_path: Path) -> None:
    await page.goto(await a_file(tmp_path))
    tree = page.get_by_role("tree")

    async def active() -> str:
        name = await tree.get_attribute("aria-activedescendant")
        return await page.locator(f"#{name}").get_attribute("data-path") or ""

    await tree.focus()
    seen = []
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft", "ArrowDown", "End", "Home", "p"):
        await page.keyboard.press(key)
        seen.append(await active())
    assert seen == ["0", "00", "01", "0", "0", "1", "1", ".", "1"]
    await expect(row(page, "0")).to_have_attribute("aria-expanded", "false")
    await page.keyboard.press("Enter")
    await expect(page.locator("#panel")).to_be_focused()
    await expect(page.locator("#panel h2")).to_have_text("paint the bricks")
    await page.keyboard.press("Escape")
    await expect(page.locator("#panel")).to_be_hidden()
    await expect(tree).to_be_focused()
    await page.keyboard.press("/")
    await expect(page.locator("#search")).to_be_focused()


async def test_tree_tells_assistive_programs_its_shape(page: Page, tmp_path: Path) -> None:
    await page.goto(await a_file(tmp_path))
    second = row(page, "01")
    found = {name: await second.get_attribute(f"aria-{name}") for name in ("level", "posinset", "setsize", "expanded")}
    assert found == {"level": "3", "posinset": "2", "setsize": "2", "expanded": None}
    assert await second.get_attribute("aria-label") == "success, node 01: the upper rows"


async def test_columns_show_time_and_costs(page: Page, tmp_path: Path) -> None:
    await page.goto(await a_file(tmp_path))
    assert await row(page, "00").locator(".lane i").count() > 0
    await page.locator('[data-chip="Tokens"]').click()
    await expect(row(page, ".").locator(".number")).to_have_text("6.0k")
    await expect(row(page, "00").locator(".number")).to_have_text("1.2k")
    await page.locator('[data-chip="Cost"]').click()
    await expect(row(page, ".").locator(".number")).to_have_text("$0.1000")


async def test_time_line_zooms_by_keys_and_by_dragging(page: Page, tmp_path: Path) -> None:
    await page.goto(await a_file(tmp_path))
    strip = page.locator("#strip-canvas")
    await strip.focus()
    await page.keyboard.press("+")
    await expect(page.locator("#unzoom")).to_be_visible()
    await page.keyboard.press("0")
    await expect(page.locator("#unzoom")).to_be_hidden()
    box = await strip.bounding_box()
    assert box is not None
    await page.mouse.move(box["x"] + 100, box["y"] + 10)
    await page.mouse.down()
    await page.mouse.move(box["x"] + 300, box["y"] + 10)
    await page.mouse.up()
    await expect(page.locator("#range")).to_contain_text("–")
    await page.locator("#unzoom").click()
    await expect(page.locator("#range")).to_contain_text("at once")


async def test_light_and_dark_follow_the_system_until_chosen(page: Page, tmp_path: Path) -> None:
    async def back() -> str:
        return str(await page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))

    await page.emulate_media(color_scheme="light")
    await page.goto(await a_file(tmp_path))
    light = await back()
    await page.emulate_media(color_scheme="dark")
    dark = await back()
    assert light != dark
    await page.locator("#theme").click()
    assert await back() == light
    await page.reload()
    assert await back() == light


async def test_paper_has_the_whole_tree(page: Page, tmp_path: Path) -> None:
    await page.goto(await a_file(tmp_path))
    await page.emulate_media(media="print")
    await page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    await expect(page.locator("#print .p")).to_have_count(5)
    await expect(page.locator("#print")).to_contain_text("the upper rows")
    await expect(page.locator("#scroll")).to_be_hidden()


async def test_phone_shows_a_node_on_the_whole_screen(page: Page, tmp_path: Path) -> None:
    await page.set_viewport_size({"width": 400, "height": 800})
    await page.goto(await a_file(tmp_path))
    assert await page.evaluate("document.documentElement.scrollWidth") <= 400
    await row(page, "00").click()
    box = await page.locator("#panel").bounding_box()
    assert box == {"x": 0, "y": 0, "width": 400, "height": 800}
    await page.get_by_role("button", name="Close").click()
    await expect(page.locator("#panel")).to_be_hidden()


@pytest.mark.case("NB-02")
@pytest.mark.parametrize("make", [lambda: monster({"long": "x" * 10_000_000}), damaged], ids=["hostile", "damaged"])
async def test_any_tree_opens_and_nothing_in_it_runs(page: Page, tmp_path: Path, make: Callable[[], Any]) -> None:
    text = render(page_data(make(), [], about(run_id=ATTACK, status=STEERING.replace("\ud800", ""))))
    assert len(text.encode()) < 10_000_000
    await page.goto(kept(tmp_path, text))
    await row(page, ".").first.wait_for()
    await page.get_by_role("button", name="Expand").click()
    await page.evaluate("document.getElementById('scroll').scrollTop = 1e9")
    await page.evaluate("app.select(0, { show: true })")
    await expect(page.locator("#panel dl").first).to_be_visible()
    assert await page.locator("img").count() == 0
    assert await page.locator("[role=treeitem]").count() < 100
    if make is not damaged:
        await expect(page.locator("#title")).to_have_text(ATTACK)


async def test_page_that_was_tampered_with_runs_no_other_script(tmp_path: Path) -> None:
    text = (Path((await a_file(tmp_path)).removeprefix("file://"))).read_text()
    evil = "<script>document.title = 'taken'</script><img src=x onerror=\"document.title = 'taken'\">"
    async with a_browser() as browser:
        page = await browser.new_page()
        refused: list[str] = []
        page.on("console", lambda said: refused.append(said.text))
        await page.goto(kept(tmp_path, text.replace("<header", f"{evil}<header")))
        await row(page, ".").wait_for()
        assert await page.title() == f"success: {WALL}"
        assert any("Content Security Policy" in one for one in refused)

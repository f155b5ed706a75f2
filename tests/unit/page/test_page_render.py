"""The page as a file: whole, small, and closed to whatever a run's texts hold."""

import base64
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luna.testing import FakeClock
from sol.errors import UsageError
from sol.page import page_data, render, write_page
from sol.page.render import HISTORIES_A_BLOCK, render_live, safe_json
from sol.tree.events import Decided, RunStarted
from sol.tree.node import Tree
from sol.tree.values import CheckResult, CriterionData, ExpectedData, ReportData, WorkerData
from tests.support.hostile import ATTACK, STEERING, monster
from tests.support.pages import a_sol, about
from tests.support.runs import task
from tests.support.trees import a_node, grown

TEXTS = st.text() | st.sampled_from(
    [ATTACK, STEERING, "</script>", "<!--", "<script>", "]]>", "{{data}}", "\u2028", "&lt;", "\ud800", '"', "\x00"]
)


class Reader(HTMLParser):
    """Elements with their attributes, and what is in each script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.scripts: dict[str, str] = {}
        self._id: str | None = None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        self._id = str(dict(attrs).get("id", "script")) if tag == "script" else None

    def handle_data(self, data: str) -> None:
        if self._id is not None:
            self.scripts[self._id] = self.scripts.get(self._id, "") + data

    def handle_endtag(self, tag: str) -> None:
        self._id = None


def with_text(text: str) -> Tree:
    """A small tree with this text wherever a run's text can be."""
    tree = grown(3)
    tree.started = RunStarted(
        strategy={"name": text, "budget": {}}, worker=WorkerData(text), sol_model=text, luna_model=text
    )
    for node in tree.nodes.values():
        tree.nodes[node.path] = a_node(
            node.path,
            goal=text,
            context=text,
            inputs={text: text},
            constraints=(text,),
            expected_output=ExpectedData(text),
            success_criteria=(CriterionData(text=text),),
            stop_conditions=(text,),
            worker=WorkerData(text, {text: text}),
            kind=text,
            reason=text,
            question=text,
            dimension=text,
            result={text: [text]},
            notes=(text,),
            partial={text: text},
            report=ReportData(text, summary=text, known=(text,)),
            checks=(CheckResult(text, "text", ok=None, detail=text),),
            decisions=(Decided(text, 0, condition=text, next=text, read={text: text}),),
            children=node.children,
        )
    return tree


def page_with(text: str) -> str:
    return render(page_data(with_text(text), [], about(run_id=text, status=text)))


PLAIN = Reader(page_with("plain"))


@given(TEXTS)
@settings(max_examples=60, deadline=None)
def test_no_text_gets_out_of_its_place(text: str) -> None:
    page = page_with(text)
    page.encode()
    found = Reader(page)
    assert found.elements == PLAIN.elements
    assert found.scripts["script"] == PLAIN.scripts["script"]
    data = json.loads(found.scripts["data"])
    assert data["about"]["id"] == text
    assert all(not name.startswith("on") for _, names in found.elements for name in names)


@given(st.recursive(TEXTS | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)))
def test_safe_json_reads_back_the_same_and_holds_no_markup(value: Any) -> None:
    text = safe_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)
    text.encode()


def test_stories_are_packed_in_blocks() -> None:
    data = page_data(grown(2 * HISTORIES_A_BLOCK + 1), [], about())
    found = Reader(render(data))
    blocks = [text for name, text in found.scripts.items() if name.startswith("histories-")]
    assert len(blocks) == json.loads(found.scripts["data"])["packed"]["blocks"] == 3
    unpacked = [history for block in blocks for history in json.loads(zlib.decompress(base64.b64decode(block)))]
    assert unpacked == data["histories"]


def test_page_allows_only_its_own_script_and_no_network() -> None:
    page = page_with("plain")
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "connect-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert not re.search(r"(?:src|href)=\"(?!data:|/\")", page)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)


def test_script_makes_no_markup_of_text() -> None:
    script = PLAIN.scripts["script"]
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
        assert word not in script


def test_live_page_has_no_data_of_runs_and_may_talk_to_its_server() -> None:
    page = render_live({"post": "t0ken"})
    assert json.loads(Reader(page).scripts["data"]) == {"live": {"post": "t0ken"}}
    assert "connect-src 'self'" in page


@pytest.mark.case("NB-02")
def test_page_of_a_hostile_large_run_is_small() -> None:
    page = render(page_data(monster({"long": "x" * 10_000_000}), [], about()))
    assert len(page.encode()) < 10_000_000
    assert [element for element in Reader(page).elements if element[0] == "img"] == []


async def test_write_page_writes_one_file(tmp_path: Path) -> None:
    sol = a_sol(tmp_path)
    run = await sol.asolve(task("build the wall"))
    file = await write_page(await sol.load(run.id), tmp_path / "page.html", clock=FakeClock())
    data = json.loads(Reader(file.read_text()).scripts["data"])
    assert (data["about"]["id"], data["about"]["status"], len(data["rows"])) == (run.id, "success", 5)
    assert list(tmp_path.glob(".*part")) == []


async def test_write_page_replaces_a_file_only_by_a_whole_one(tmp_path: Path) -> None:
    sol = a_sol(tmp_path)
    run = await sol.asolve(task("build the wall"))
    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError, match="Cannot write the page"):
        await write_page(run, tmp_path / "there")
    with pytest.raises(UsageError, match="Cannot write the page"):
        await write_page(run, tmp_path / "missing" / "page.html")
    assert list(tmp_path.glob(".*part")) == []

"""Every kind of run in every situation, through everything that looks at runs: each node is drawn with its edge.

A journal that was cut into still shows what is there, and says what is missing.
"""

import asyncio
import io
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace
from rich.console import Console

from luna.testing import FakeClock
from sol.cli._output import event_line
from sol.engine.reading import read_anyway
from sol.page import page_data, render, write_page
from sol.run import Run
from sol.telemetry import spans_of
from sol.tree.events import Event, Lost, Started
from sol.tree.listeners import Listeners
from sol.tree.node import AnyState
from sol.tree.soundness import Salvage
from sol.tree.timeline import timeline
from sol.ui.follow import Followed
from sol.view import labels
from sol.view.diagrams import short_path
from sol.view.diff import compare
from sol.view.history import happened
from sol.view.live import LiveTree
from sol.view.notebook import run_html
from sol.view.outline import outline
from sol.view.terminal import Page, headline, tree_lines
from sol.view.treeview import TreeView
from tests.support.every_program import RUN, Case, case, every_case
from tests.support.markup import Reader
from tests.support.pages import about
from tests.support.spans import Spans, said

PAGE = Page(width=200, now=2_000.0)


@pytest.fixture(params=every_case())
def one(request: pytest.FixtureRequest) -> Case:
    return case(*request.param)


def view_of(one: Case) -> TreeView:
    return TreeView(one.state, lambda: one.events, name=RUN)


def labels_of(one: Case) -> dict[str, str]:
    """What is written beside each node: its name and its title in contrast to the node above."""
    state = one.state
    return {path: labels.title_of(node, state.above(node)) for path, node in state.nodes.items()}


# --- text ------------------------------------------------------------------------------------------------------------


def test_terminal_has_a_line_for_each_node_below_that_of_the_node_above(one: Case) -> None:
    lines = outline(one.state, room=None)
    assert {(line.above.path, line.node.path) for line in lines if line.above is not None} == one.edges
    shown = [line.plain for line in tree_lines(one.state, PAGE)]
    assert len(shown) == len(one.state.nodes)
    for line, text in zip(lines, shown, strict=True):
        assert f" {short_path(line.node.path)} {labels_of(one)[line.node.path]}" in text
        assert len(text) - len(text.lstrip(" │├└╴")) == 2 * line.depth
    assert one.state.status in headline(one.state, PAGE, run_id=RUN, elapsed_s=None).plain


def test_story_has_all_that_happened_to_a_node_and_what_is_below_it(one: Case) -> None:
    view = view_of(one)
    for path, node in one.state.nodes.items():
        history = view.node(path)
        text = str(history)
        assert labels.clean(node.title) in text
        assert [child.path for child in history.children] == [below for above, below in _in_order(one) if above == path]
        assert all(f"{short_path(child.path)} {labels_of(one)[child.path]}" in text for child in history.children)
        effects = [event.data for event in one.events if event.node == path and isinstance(event.data, Started)]
        told = [words for _, words in happened(node, one.events)]
        assert sum(words.startswith(f"{data.kind} {data.n} started") for data in effects for words in told) == len(
            effects
        )
        assert not Reader(history._repr_html_()).flaws


def _in_order(one: Case) -> list[tuple[str, str]]:
    return [(node.parent, path) for path, node in one.state.nodes.items() if path]


def test_events_as_json_lines_hold_what_the_journal_holds(one: Case) -> None:
    for event in one.events:
        line = json.loads(event_line(RUN, event))
        assert (line["type"], line["run"], line["node"], line["t"]) == (event.type, RUN, event.node, event.t)
    stored = [json.loads(record.data) for record in one.records]
    firsts = [transition[0] for transition in one.transitions]
    assert [json.loads(event_line(RUN, event))["data"] for event in firsts] == stored


# --- graphs and tables -----------------------------------------------------------------------------------------------

_BOX = re.compile(r'^  n(\d+) ?\[(?:label=)?"(\S+) (\S+) (.*?)(?:<br/>|\\n|")', re.MULTILINE)
_EDGE = re.compile(r"^  n(\d+) -+> n(\d+)", re.MULTILINE)


def _unescaped(mermaid: str) -> str:
    return re.sub(r"#(\d+);", lambda found: chr(int(found[1])), mermaid)


@pytest.mark.parametrize("language", ["mermaid", "dot"])
def test_diagram_has_a_box_for_each_node_and_an_arrow_for_each_edge(one: Case, language: str) -> None:
    view = view_of(one)
    text = _unescaped(view.to_mermaid()) if language == "mermaid" else view.to_dot()
    paths = {short_path(path): path for path in one.state.nodes}
    boxes = {number: (paths[name], title) for number, _, name, title in _BOX.findall(text)}
    assert dict(boxes.values()) == labels_of(one)
    assert {(boxes[above][0], boxes[below][0]) for above, below in _EDGE.findall(text)} == one.edges
    assert "damaged" not in text
    assert not view.faults


def test_networkx_graph_has_the_edges(one: Case) -> None:
    graph = view_of(one).to_networkx()
    assert set(graph.edges) == one.edges
    assert {path: data["goal"] for path, data in graph.nodes(data=True)} == one.titles


def test_dataframe_has_a_row_for_each_node(one: Case) -> None:
    frame = view_of(one).to_dataframe()
    assert dict(zip(frame.index, frame["goal"], strict=True)) == one.titles
    assert dict(zip(frame.index, frame["depth"], strict=True)) == {
        path: node.depth for path, node in one.state.nodes.items()
    }


def test_plot_has_a_line_for_each_node_and_one_to_the_node_above(one: Case) -> None:
    figure = view_of(one).plot()
    tree, time = figure.axes
    words = {text.get_text() for text in tree.texts}
    assert {f"{short_path(path)}  {title}" for path, title in labels_of(one).items()} <= words
    [guides] = tree.collections
    assert len(guides.get_segments()) == len(one.edges)
    assert time.collections
    figure.savefig(io.BytesIO(), format="png", dpi=30)


def test_a_run_does_not_differ_from_itself_but_from_one_that_ended_otherwise(one: Case) -> None:
    assert compare(one.state, one.state).same
    other = case(*_names(one, "failed" if one.situation != "failed" else "success"))
    found = compare(one.state, other.state)
    assert not found.same
    assert "Changed" in str(found)
    assert not Reader(found._repr_html_()).flaws


def _names(one: Case, situation: str) -> tuple[str, str]:
    kinds = {"tree": "tree", "countdown": "countdown"}
    return kinds.get(one.kind.name, "workflow"), situation


def test_timeline_has_every_effect_and_a_critical_path(one: Case) -> None:
    spans = timeline(one.events, one.state.nodes)
    started = [(event.node, event.data.kind, event.data.n) for event in one.events if isinstance(event.data, Started)]
    assert [(span.path, span.kind, span.n) for span in spans] == started
    assert {(span.path, span.kind, span.n) for span in spans if not span.ended} == set(one.state.inflight)
    assert any(span.critical for span in spans)


# --- HTML ------------------------------------------------------------------------------------------------------------


class Nested(HTMLParser):
    """Which node stands inside which one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.edges: set[tuple[str, str]] = set()
        self.found: list[str] = []
        self._open: list[str | None] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        title = dict(attrs).get("title") or ""
        if tag == "details":
            self._open.append(None)
        elif title.startswith("node "):
            path = labels.path_of(title.removeprefix("node "))
            self.found.append(path)
            around = [one for one in self._open if one is not None]
            self.edges |= {(around[-1], path)} if around else set()
            if self._open and self._open[-1] is None:
                self._open[-1] = path

    def handle_endtag(self, tag: str) -> None:
        if tag == "details":
            self._open.pop()


def test_notebook_shows_each_node_inside_the_one_above(one: Case) -> None:
    html = run_html(one.state, RUN, result=one.state.root.result)
    assert not Reader(html).flaws
    nested = Nested(html)
    assert sorted(nested.found) == sorted(one.state.nodes)
    assert nested.edges == one.edges
    assert "damaged" not in html


def rows_of(rows: list[list[Any]]) -> list[tuple[str | None, str, str]]:
    """Path of the node above, own path and title of each row, as the page's script reads them."""
    found: list[tuple[str | None, str, str]] = []
    for above, path, *rest in rows:
        parent = found[above][1] if above >= 0 else None
        found.append((parent, (parent or "") + path if isinstance(path, str) else path[0], rest[2]))
    return found


def test_page_has_a_row_for_each_node_and_its_story(one: Case) -> None:
    data = page_data(one.state, one.events, about(status=one.state.status))
    rows = rows_of(data["rows"])
    assert {(above, path) for above, path, _ in rows if above is not None} == one.edges
    assert {path: title for _, path, title in rows} == labels_of(one)
    assert data["about"]["title"] == one.state.root.title
    assert data["about"]["faults"] == []
    assert len(data["spans"]) == len(timeline(one.events, one.state.nodes))
    by_node = [sum(event.node == path for event in one.events) for path in one.state.nodes]
    assert [len(history["events"]) for history in data["histories"]] == by_node
    text = render(data)
    [stored] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert json.loads(stored)["rows"] == data["rows"]


async def test_page_is_written_from_the_journal(one: Case, tmp_path: Path) -> None:
    journal, stored, _ = await one.journal()
    file = await write_page(_run(one, journal), tmp_path / "run.html", clock=FakeClock())
    assert one.state.root.title in file.read_text()
    assert stored.id in file.read_text()


def _run(one: Case, journal: Any, state: AnyState | None = None) -> Run:
    class Opened:
        async def __aenter__(self) -> Any:
            return journal

        async def __aexit__(self, *_: object) -> None: ...

    return Run(RUN, one.kind, one.state if state is None else state, Opened)


async def test_live_follow_tells_the_same_as_the_whole_page(one: Case) -> None:
    journal, stored, _ = await one.journal([])
    followed, told = Followed(stored, FakeClock()), dict[int, list[Any]]()
    for record in one.new_records:
        lease = await journal.claim(RUN, stored_by(), now=record.t)
        await journal.append(lease, [record], status=one.state.status)
        await journal.release(lease)
        before = followed.seq
        await followed.catch_up(journal)
        told |= {place: row for place, *row in followed.changes(before)["rows"]}
    whole = page_data(one.state, one.events, about())
    assert followed.overview()["rows"] == whole["rows"]
    assert followed.overview()["spans"] == whole["spans"]
    assert [told[place] for place in sorted(told)] == whole["rows"]
    for path, history in zip(one.state.nodes, whole["histories"], strict=True):
        assert await followed.history(journal, path) == history


def stored_by() -> Any:
    from sol.journal import this_process

    return this_process("token")


# --- OpenTelemetry ---------------------------------------------------------------------------------------------------


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    """The global provider of this test."""
    found = Spans()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: found.provider)
    return found


def record(one: Case, *, before_told: Callable[[Event], None] = lambda event: None) -> None:
    """Let a tracer hear of a run as a session tells it."""
    reading, listeners = one.kind.reading, Listeners(RUN)
    state = reading.empty()
    listener = spans_of(run=RUN, state=state, strategy="binary", clock=FakeClock())
    if listener is not None:
        listeners.add(listener)
    for transition in one.transitions:
        for event in transition:
            reading.apply(state, event)
        for event in transition:
            before_told(event)
            listeners.on_event(event)
    listeners.on_end(None)


def test_spans_stand_below_one_another_as_nodes_do(one: Case, spans: Spans) -> None:
    record(one)
    nodes = spans.nodes
    assert set(nodes) == set(one.state.nodes)
    for path, span in nodes.items():
        above = nodes[one.state.nodes[path].parent] if path else spans.run
        assert spans.above(span) is above
        assert said(span)["sol.depth"] == one.state.nodes[path].depth
    effects = [span for span in spans.all if "sol.effect" in said(span)]
    assert len(effects) == sum(isinstance(event.data, Started) for event in one.events)
    assert all(spans.above(span) is nodes[said(span)["sol.node"]] for span in effects)
    assert said(spans.run)["sol.state"] == one.state.status


class BrokenError(Exception):
    """What a provider of somebody else does."""


@pytest.mark.parametrize("method", ["add_event", "set_attributes", "end"])
def test_a_tracer_that_fails_ends_no_run(
    one: Case, spans: Spans, method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from opentelemetry.sdk.trace import Span

    def fail(*_: object, **__: object) -> None:
        raise BrokenError("no")

    heard: list[Event] = []
    monkeypatch.setattr(Span, method, fail)
    record(one, before_told=heard.append)
    assert heard == one.events
    assert method == "add_event" or "A listener of run" in caplog.text


def test_a_tracer_that_cannot_begin_ends_no_run(
    one: Case, spans: Spans, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise BrokenError("no")

    monkeypatch.setattr(trace, "get_tracer", fail)
    record(one)
    assert "is not recorded" in caplog.text


async def test_a_display_that_fails_ends_no_run(one: Case, caplog: pytest.LogCaptureFixture) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=100)

    def fail() -> float:
        raise BrokenError("no")

    live = LiveTree(one.state, RUN, console, FakeClock(), elapsed=fail)
    async with live.shown():
        await asyncio.sleep(0)
        for event in one.events:
            live.on_event(event)
    assert "cannot be shown" in caplog.text


# --- journals that were cut into -------------------------------------------------------------------------------------


def looked_at(state: AnyState, events: list[Event], unread: tuple[str, ...] = ()) -> str:
    """Everything that there is to see of a run, one after the other."""
    view = TreeView(state, lambda: events, name=RUN)
    tree_text = "\n".join(line.plain for line in tree_lines(state, PAGE))
    texts = [tree_text, view.to_mermaid(), view.to_dot(), run_html(state, RUN), repr(view)]
    texts += [str(view.node(path)) for path in state.nodes]
    texts.append(render(page_data(state, events, about(unread=unread))))
    assert len(list(view)) == len(state.nodes)
    assert all(labels.clean(node.title) in tree_text for node in view)
    view.to_networkx()
    view.plot()
    view.diff(view)
    if state.nodes:
        view.to_dataframe()
    return "\n".join(texts)


def test_a_journal_without_one_of_its_rows_still_shows_what_is_there(one: Case) -> None:
    for missing in range(len(one.records) - 1):
        read: Salvage[AnyState] = Salvage(one.kind.reading)
        events = [event for n, row in enumerate(one.records) if n != missing for event in read.take(row)]
        text = looked_at(read.state, events, tuple(read.faults))
        lost = set(one.state.nodes) - set(read.state.nodes)
        assert not lost or read.faults, missing
        assert all(fault in text for fault in read.faults if '"' not in fault and "<" not in fault)


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_journal_that_ends_early_shows_what_was_until_then(one: Case, rows: int) -> None:
    read: Salvage[AnyState] = Salvage(one.kind.reading)
    events = [event for row in one.records[:rows] for event in read.take(row)]
    looked_at(read.state, events)
    assert not read.faults


def test_nodes_whose_parents_are_not_there_are_shown_and_said_to_hang_in_the_air(one: Case) -> None:
    for path in [path for path, node in one.state.nodes.items() if node.children]:
        read: Salvage[AnyState] = Salvage(one.kind.reading)
        for row in one.records:
            read.take(row)
        del read.state.nodes[path]
        text = looked_at(read.state, one.events)
        assert "in the air" in text or "does not exist" in text


async def test_a_row_that_cannot_be_read_is_passed_over_and_told(one: Case) -> None:
    rows = one.new_records
    rows[-1] = type(rows[-1])(rows[-1].t, "from_the_future", "", b"{}")
    journal, stored, _ = await one.journal(rows)
    read = await read_anyway(journal, one.kind.reading, RUN)
    assert len(read.faults) == 1
    assert "from_the_future" in read.faults[0]
    followed = Followed(stored, FakeClock())
    await followed.catch_up(journal)
    assert followed.overview()["about"]["faults"] == [fault[:240] for fault in read.faults] or "…" in str(
        followed.overview()["about"]["faults"]
    )
    assert followed.seq == len(rows)
    assert all([await followed.history(journal, path) for path in followed.tree.nodes])


def test_events_of_nodes_that_are_not_known_harm_nobody(one: Case) -> None:
    unknown = Event("nowhere/at/all", Lost(kind="attempt", n=1, lost="killed", reason="gone"), one.events[-1].t)
    looked_at(one.state, [*one.events, unknown])

import asyncio
import io
import time

import pytest
from rich.console import Console

from luna.testing import FakeClock
from sol.tree.events import Event, Progressed, Started
from sol.tree.node import State
from sol.tree.values import ProgressData, WorkerData
from sol.view import labels
from sol.view.live import LiveTree
from sol.view.terminal import Page, headline, tree_lines
from tests.support.trees import a_node, chain, grown, run

NARROW = Page(width=80, now=1_000.0)


def plain(lines: list[object]) -> list[str]:
    return [str(line).rstrip() for line in lines]


def test_tree_lines_draw_a_tree() -> None:
    tree = grown(5)
    run(tree, "00").since = 990.0
    tree.nodes["01"].spent.seconds = 2.0
    tree.nodes["1"].state, tree.nodes["1"].reason = State.FAILED, "It broke."
    assert plain(tree_lines(tree, NARROW)) == [
        "◇ split     . Convert each of the records                                   2.0s",
        "├╴◇ split     0 records: lines 1–32                                         2.0s",
        "│ ├╴◐ running   00 records: lines 1–16 — at work                             10s",
        "│ └╴✓ success   01 records: lines 17–32                                     2.0s",
        "└╴✗ failed    1 records: lines 33–64 — It broke.",
    ]


def test_tree_lines_say_what_is_below_a_collapsed_node() -> None:
    tree = grown(15)
    assert plain(tree_lines(tree, NARROW, room=3))[1:] == [
        "├╴◇ split     0 records: lines 1–32 — below: 4 success",
        "└╴◇ split     1 records: lines 33–64 — below: 4 success",
    ]
    tree.nodes["001"].state = State.SKIPPED
    assert plain(tree_lines(tree, NARROW, room=3))[1:] == [
        "└╴◇ split     0 records: lines 1–32 — below: 3 success",
        "  ┊ ⊘ skipped   001 records: lines 9–16",
    ]


def test_tree_lines_show_workers_tokens_and_cost_where_there_is_room_and_need() -> None:
    tree = grown(3)
    tree.nodes["0"].worker = WorkerData("agent")
    tree.nodes["0"].spent.tokens, tree.nodes["0"].spent.cost = 1_234, 0.5
    wide = plain(tree_lines(tree, Page(width=120, now=0.0)))
    assert wide[1].split()[-3:] == ["agent", "1.2k", "$0.5000"]
    assert wide[0].split()[-3:] == ["command", "1.2k", "$0.5000"]
    narrow = plain(tree_lines(tree, NARROW))
    assert narrow[1].split()[-2:] == ["agent", "1.2k"]
    tiny = plain(tree_lines(tree, Page(width=40, now=0.0)))
    assert "agent" not in tiny[1]


def test_tree_lines_never_pass_task_text_to_the_terminal_uncleaned() -> None:
    tree = grown(1)
    goal = "\x1b[2J\x1b]0;evil\x07[bold red]Convert[/] \x9b31m"
    tree.nodes[""] = a_node(goal=goal, state=State.FAILED, reason="bad\r\nline\x1b[31m")
    console = Console(file=io.StringIO(), width=80, force_terminal=True)
    for line in tree_lines(tree, NARROW):
        console.print(line)
    shown = console.file.getvalue()  # type: ignore[attr-defined] # a StringIO
    assert "[bold red]Convert[/]" in shown
    assert "evil" not in shown
    assert "\x1b[2J" not in shown
    assert "\x9b" not in shown
    assert "\r" not in shown


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_tree_lines_fit_their_page(width: int, *, ascii_only: bool) -> None:
    tree = grown(63)
    for number, node in enumerate(tree.nodes.values()):
        node.state = list(State)[number % 10]
        node.reason = "Ein sehr langer Grund 漢字漢字漢字漢字 " * 9
        node.spent.tokens, node.spent.cost, node.spent.seconds = 999_999, 123.4, 4_000.0
    run(tree, "00000")
    lines = tree_lines(tree, Page(width=width, now=5.0, ascii_only=ascii_only))
    assert max(line.cell_len for line in lines) <= width
    if ascii_only:
        drawn = "".join(str(line) for line in lines).replace("–", "").translate({ord("漢"): None, ord("字"): None})
        assert drawn.isascii()


def test_tree_lines_of_deep_nodes_keep_room_for_words() -> None:
    lines = plain(tree_lines(chain(60), NARROW))
    assert "◐ running" in lines[-1]
    assert lines[-1].startswith("┊ ")
    assert "…" in lines[-1]


def test_tree_lines_mark_a_node_whose_ancestors_are_left_out() -> None:
    lines = plain(tree_lines(chain(40), NARROW, room=4))
    assert any(line.lstrip().startswith("┊ ◐ running") for line in lines)


def test_tree_lines_show_a_checked_node_as_at_work() -> None:
    tree = grown(1)
    run(tree, "", kind="check")
    tree.root.state = State.SUCCESS
    assert "✓ success" in plain(tree_lines(tree, NARROW))[0]
    tree.root.state = State.SPLIT
    assert "◐ running   . Convert each of the records — checking the result" in plain(tree_lines(tree, NARROW))[0]


def test_tree_lines_of_20_000_nodes_are_quick_and_bounded() -> None:
    tree = grown(20_001)
    began = time.perf_counter()
    lines = tree_lines(tree, NARROW, room=22)
    assert time.perf_counter() - began < 0.7
    assert len(lines) == 22


def test_headline_tells_the_run_in_one_line() -> None:
    tree = grown(7)
    run(tree, "00")
    tree.spent.calls, tree.spent.tokens, tree.spent.cost, tree.spent.unreported = 1, 1_500, 0.25, 1
    wide = Page(width=200, now=0.0)
    assert str(headline(tree, wide, run_id="k3f", elapsed_s=61.0)) == (
        "k3f running · 1:01 · 1 call · 1.5k tokens · $0.2500 · 1 did not say what they used · "
        "7 nodes: 1 running, 3 success"
    )
    assert str(headline(tree, wide, run_id="k3f", elapsed_s=None, status="killed")).startswith("k3f killed · 1 call")
    assert headline(tree, Page(width=30, now=0.0, ascii_only=True), run_id="k3f", elapsed_s=1.0).cell_len == 30


def test_headline_of_one_node_counts_nothing() -> None:
    assert str(headline(grown(1), NARROW, run_id="k3f", elapsed_s=1.0)) == "k3f running · 1.0s"


def test_settled_line_has_state_title_and_reason() -> None:
    tree = grown(3)
    tree.nodes["0"].reason = "Because."
    told = labels.settled_line(tree.nodes["0"], tree.root, state="failed")
    assert told == "0 failed: records: lines 1–32 (Because.)"
    assert labels.settled_line(tree.root, None) == ". split: Convert each of the records"


class Gone(io.StringIO):
    """A terminal that has gone away."""

    def write(self, text: str, /) -> int:
        raise OSError(5, "Input/output error")


def said(path: str, text: str) -> Event:
    return Event(path, Progressed(kind="attempt", n=1, event=ProgressData("said", text=text)))


def live(file: io.StringIO, clock: FakeClock, *, nodes: int = 127) -> LiveTree:
    console = Console(file=file, force_terminal=True, width=80, height=12, color_system=None)
    return LiveTree(grown(nodes), "k3f", console, clock, elapsed=clock.monotonic)


async def test_live_tree_draws_frames_that_fit_the_terminal() -> None:
    file, clock = io.StringIO(), FakeClock()
    view = live(file, clock)
    run(view.tree, "000000")
    async with view.shown():
        await clock.settle()
        view.on_event(said("000000", "nearly there"))
        await clock.advance(1.0)
        view.note = "Stopping the workers"
    frames = file.getvalue().split("k3f running")
    assert len(frames) >= 5
    assert all(frame.count("\n") <= 12 for frame in frames)
    assert "— at work" in frames[1]
    assert "— nearly there" in frames[-1]
    assert "Stopping the workers" in frames[-1]
    assert file.getvalue().endswith("\x1b[?25h")


async def test_live_tree_forgets_what_an_ended_attempt_said() -> None:
    view = live(io.StringIO(), FakeClock(), nodes=1)
    run(view.tree, "")
    view.on_event(said("", "nearly there"))
    view.on_event(Event("", Started(kind="attempt", n=2)))
    async with view.shown():
        await asyncio.sleep(0)
    assert "nearly there" not in view.console.file.getvalue()  # type: ignore[attr-defined] # a StringIO


async def test_live_tree_does_not_mind_a_terminal_that_goes_away() -> None:
    clock = FakeClock()
    async with live(Gone(), clock).shown():
        await clock.settle()
        await clock.advance(1.0)

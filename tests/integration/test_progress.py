"""A run is shown while it is at work, wherever that is, and is done just the same when it cannot be shown."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from luna.protocol import Action, Assignment
from luna.testing import FakeClock, ScriptedWorker
from luna.testing.fakes import Pause
from luna.text import strip_controls
from sol import Sol, Task
from sol.planner import FreePlanner
from tests.support.markup import Reader
from tests.support.runs import GOAL, done, stuck, task


class Cell:
    """What a notebook's cell shows: one output, drawn anew."""

    def __init__(self) -> None:
        self.frames: list[dict[str, str]] = []
        self.shell: Any = SimpleNamespace(kernel=object())

    def display(self, frame: dict[str, str], *, raw: bool, display_id: bool) -> "Cell":
        assert raw
        assert display_id
        assert not self.frames, "there is one output, and it is changed in its place"
        self.frames.append(frame)
        return self

    def update(self, frame: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.frames.append(frame)


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> Cell:
    """Makes this process look like the kernel of a notebook."""
    cell = Cell()
    module = ModuleType("IPython")
    module.get_ipython = lambda: cell.shell  # type: ignore[attr-defined]
    module.display = SimpleNamespace(display=cell.display)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", module)
    return cell


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def slow(clock: FakeClock) -> ScriptedWorker:
    """Says what it does and needs a while for the whole, and is stuck then; does the halves at once."""

    def script(assignment: Assignment) -> list[Any]:
        if len(assignment.inputs["bricks"]) > 1:
            return [Action(name="count", arguments={"what": "bricks"}), Pause(5.0), stuck("too many")]
        return [done(assignment.inputs["bricks"])]

    return ScriptedWorker(script, clock=clock)


def listing() -> Task:
    """A task that a program can check."""
    return task(success_criteria=[{"json_schema": {"type": "array"}}])


def plain(frame: dict[str, str]) -> str:
    return frame["text/plain"].split(": ", 1)[1]


async def test_progress_in_a_notebook_is_one_output_that_ends_with_the_last_state(
    sol: Callable[..., Sol], cell: Cell, tmp_path: Path
) -> None:
    clock = FakeClock(auto=True)
    run = await sol(slow(clock), FreePlanner(tmp_path), strategy="halve", clock=clock, progress=True).asolve(listing())
    assert run.solved
    assert plain(cell.frames[0]) == "pending, 0 nodes"
    assert plain(cell.frames[-1]) == "success, 3 nodes"
    assert "running, 1 node" in [plain(frame) for frame in cell.frames]
    assert any("count bricks" in Reader(frame["text/html"]).words for frame in cell.frames)
    for frame in (cell.frames[0], cell.frames[-1]):
        assert not Reader(frame["text/html"]).flaws
    assert run.session is not None
    assert len(run.session.listeners) == 2, "who shows a run lets go of it"


async def test_progress_outside_a_kernel_is_not_taken_for_a_notebook(sol: Callable[..., Sol], cell: Cell) -> None:
    cell.shell = None
    await sol(ScriptedWorker.succeeding(), progress=True).asolve(task())
    assert cell.frames == []


@pytest.mark.usefixtures("no_notebook")
async def test_progress_in_a_terminal_is_the_live_tree(
    sol: Callable[..., Sol], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    run = await sol(ScriptedWorker.succeeding(), progress=True).asolve(task())
    shown = strip_controls(terminal.getvalue())
    assert f"{run.id} success" in shown
    assert f"✓ success   . {GOAL}" in shown


@pytest.mark.usefixtures("no_notebook")
async def test_progress_elsewhere_is_a_line_for_the_upper_nodes(
    sol: Callable[..., Sol], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    log = io.StringIO()
    monkeypatch.setattr(sys, "stderr", log)
    clock = FakeClock(auto=True)
    await sol(slow(clock), FreePlanner(tmp_path), strategy="halve", clock=clock, progress=True).asolve(listing())
    assert sorted(log.getvalue().splitlines()) == [
        f". success: {GOAL} (split: too many)",
        "0 success: bricks: red",
        "1 success: bricks: blue",
    ]


@pytest.mark.usefixtures("no_notebook")
@pytest.mark.parametrize("terminal", [True, False])
async def test_run_does_not_end_because_nobody_can_read_its_progress(
    sol: Callable[..., Sol], monkeypatch: pytest.MonkeyPatch, *, terminal: bool
) -> None:
    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

        def isatty(self) -> bool:
            return terminal

    monkeypatch.setattr(sys, "stderr", Gone())
    assert (await sol(ScriptedWorker.succeeding(), progress=True).asolve(task())).solved


async def test_progress_of_a_run_that_is_only_looked_at_is_nothing(sol: Callable[..., Sol], cell: Cell) -> None:
    maker = sol(ScriptedWorker.succeeding())
    await maker.asolve(task())
    run = await maker.load("latest")
    assert await run.wait(progress=True) is run
    assert cell.frames == []


async def test_resumed_run_shows_its_progress_too(sol: Callable[..., Sol], cell: Cell) -> None:
    script = iter([[stuck("no currency", question="Which one?")], [done("booked")]])
    maker = sol(ScriptedWorker(lambda _: next(script)), progress=True)
    run = await maker.asolve(task())
    assert plain(cell.frames[-1]) == "waiting, 1 node"
    cell.frames.clear()
    await maker.request(run.id, "answer", {"node": "", "text": "kroner"}, by="me")
    assert (await maker.aresume(run.id)).solved
    assert plain(cell.frames[-1]) == "success, 1 node"

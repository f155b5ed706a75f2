"""What people do in notebooks, where an event loop is running: solve, look, interrupt, look again."""

import asyncio
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from luna.protocol import Assignment
from luna.testing import FakeClock, ScriptedWorker
from sol import Sol
from sol.journal import SqlJournal
from tests.support.planners import ScriptedPlanner
from tests.support.runs import done, task, telling


def halving(tmp_path: Path, worker: ScriptedWorker, **options: object) -> Sol:
    return Sol(worker=worker, planner=ScriptedPlanner(), workspace=tmp_path, strategy="halve", **options)  # type: ignore[arg-type]


@pytest.mark.case("NB-01")
async def test_solve_works_twice_and_from_two_threads_while_a_loop_runs(tmp_path: Path) -> None:
    worker = ScriptedWorker.succeeding()
    sol = halving(tmp_path, worker)
    first, second = sol.solve(task("paint the wall")), sol.solve(task("paint the door"))
    runs = await asyncio.gather(
        asyncio.to_thread(sol.solve, task("paint the roof")), asyncio.to_thread(sol.solve, task("paint the gate"))
    )
    assert all(run.solved for run in (first, second, *runs))
    assert len({run.id for run in (first, second, *runs)}) == 4
    assert sum(worker.calls.values()) == 4


@pytest.mark.case("NB-01")
def test_interrupting_a_cell_stops_the_workers_and_leaves_the_tree_readable(tmp_path: Path) -> None:
    def interrupt(_: Assignment) -> list[object]:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)
        return [asyncio.Event(), done()]

    worker = ScriptedWorker(interrupt)  # type: ignore[arg-type]  # a script may hold events to wait for
    sol = halving(tmp_path, worker)

    async def cell() -> None:
        sol.solve(task())

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    loop = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
    finally:
        signal.signal(signal.SIGINT, before)
        for left in asyncio.all_tasks(loop):
            left.cancel()
        loop.close()
    assert worker.running == 0
    assert sum(worker.calls.values()) == 1
    run = sol.last
    assert run is not None
    assert run.status == "interrupted"
    assert run.resumable
    assert "cancelled" in run.tree._repr_html_()
    assert "interrupted" in str(run.tree.node(""))


@pytest.mark.parametrize("given", ["url", "object", "memory"])
async def test_story_and_time_line_can_be_had_while_the_run_is_at_work(
    tmp_path: Path, sol: Callable[..., Sol], given: str
) -> None:
    begun = asyncio.Event()
    go_on = asyncio.Event()
    worker = ScriptedWorker(telling(begun, go_on, done(["red", "blue"])))
    if given == "memory":
        maker = sol(worker, strategy="halve")
    else:
        url = f"sqlite+aiosqlite:///{tmp_path}/runs.db"
        maker = halving(tmp_path, worker, store=url if given == "url" else SqlJournal(url))
    run = await maker.start(task())
    await begun.wait()
    assert [event.type for event in run.tree.node("").events][-1] == "started"
    assert [span.ended for span in run.tree.timeline()] == [False]
    go_on.set()
    await run.wait()
    assert [event.type for event in run.tree.node("").events][-1] == "run_status"
    assert all(span.ended for span in run.tree.timeline())
    assert len(run.history()) == len([event async for event in run.events()])
    if isinstance(maker.store, SqlJournal):
        await maker.store.close()


async def test_history_is_read_once(sol: Callable[..., Sol]) -> None:
    maker = sol(ScriptedWorker.succeeding(), clock=FakeClock(auto=True))
    run = await maker.asolve(task())
    events = run.history()
    assert run.history() == events
    events.clear()
    assert run.history()
    assert repr(run) == f"<Run {run.id}: success, 1 node>"
    assert "success" in run._repr_html_()


async def test_two_runs_can_be_compared(sol: Callable[..., Sol]) -> None:
    maker = sol(ScriptedWorker.succeeding())
    here, there = await maker.asolve(task("sort the bricks")), await maker.asolve(task("sort the tiles"))
    diff = here.tree.diff(there.tree)
    assert [sorted(pair.changes) for pair in diff.changed] == [["goal", "result"]]
    assert here.tree.diff(here.tree).same

"""Where effects work: what is finished although the effect is stopped, and when a checkout is removed."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from luna.workspaces import Applied, Conflict, ConflictFile, Merge, Retained, Side, WorkspaceError
from sol.dispatch.isolation import Isolated, Merged
from sol.tree.effects import ApplyAnswer, ApplyRequest, AttemptRequest, Checkout, MergeAnswer, MergeRequest
from sol.tree.events import Lost, Reported
from sol.tree.values import AssignmentData, ReportData, WorkerData, read
from tests.support.core import assignment_of

PLACE = Checkout("root.1", "base")
TASK = read(AssignmentData, assignment_of())
REQUEST = AttemptRequest(TASK, WorkerData("function"), checkout=PLACE)
MERGE = MergeRequest(
    TASK, Checkout("root.merge", "base", (("0", "a"), ("1", "b"), ("2", "c"))), (), WorkerData("function")
)


@dataclass
class SlowWorkspaces:
    """Checkouts that only write down what is asked of them; what is named in `slow` waits until it is let go."""

    slow: str = ""
    fails: dict[str, Exception] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def _do(self, what: str) -> None:
        name = what.partition(" ")[0]
        if name in self.fails:
            raise self.fails[name]
        if name == self.slow:
            self.reached.set()
            await self.go_on.wait()
        self.done.append(what)

    async def begin(self) -> str:
        return "base"

    async def checkout(self, name: str, *, base: str, also: Sequence[Side] = ()) -> Path:
        await self._do(f"checkout {name}")
        return Path(name)

    async def keep(self, name: str, *, message: str) -> str:
        await self._do(f"keep {name}")
        return "kept"

    async def merge(self, name: str, *, base: str, sides: Sequence[Side], message: str) -> Merge:
        await self._do(f"merge {' '.join(side.label for side in sides)}")
        if base == "settled":
            return Merge("all", tuple(side.label for side in sides))
        return Merge("some", ("0",), Conflict(sides[1], (ConflictFile("f.txt", None, "a", "b"),)))

    async def resolve(self, name: str, *, message: str) -> str | tuple[str, ...]:
        await self._do(f"resolve {name}")
        return "settled"

    async def drop(self, name: str) -> None:
        await self._do(f"drop {name}")

    async def apply(self, snapshot: str, *, base: str) -> Applied:
        await self._do(f"apply {snapshot}")
        return Applied(applied=True, where="", note="done", changed=("f.txt",))

    async def finish(self, *, result: str | None) -> tuple[Retained, ...]:
        await self._do(f"finish {result}")
        return ()


def isolated(workspaces: SlowWorkspaces) -> Isolated:
    return Isolated("run", workspaces, context_bytes=1000)


def reported(report: ReportData) -> Reported:
    return Reported(kind="attempt", n=1, report=report)


async def works(request: AttemptRequest, path: Path) -> Reported | Lost:
    return reported(ReportData("SUCCESS", summary="done"))


async def stopped_while_slow(workspaces: SlowWorkspaces, action: Any) -> Any:
    """Stop an action, twice, while it does the slow thing; then let it go on."""
    task = asyncio.ensure_future(action)
    await workspaces.reached.wait()
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
    assert not task.done()
    workspaces.go_on.set()
    return await task


async def test_landing_that_has_begun_is_finished_though_it_is_stopped() -> None:
    workspaces = SlowWorkspaces("apply")
    answer = await stopped_while_slow(workspaces, isolated(workspaces).apply(ApplyRequest("whole", "base")))
    assert answer == ApplyAnswer(True, "", "done", ("f.txt",))
    assert workspaces.done == ["apply whole"]


@pytest.mark.req("S25")
async def test_work_of_a_luna_that_has_reported_is_taken_though_the_attempt_is_stopped() -> None:
    workspaces = SlowWorkspaces("keep")
    ended = await stopped_while_slow(workspaces, isolated(workspaces).attempt(REQUEST, PLACE, works))
    assert isinstance(ended, Reported)
    assert ended.snapshot == "kept"


@pytest.mark.req("S61")
async def test_conflict_that_a_luna_has_settled_is_merged_though_the_merge_is_stopped() -> None:
    workspaces = SlowWorkspaces("resolve")
    merged = await stopped_while_slow(workspaces, isolated(workspaces).merge(MERGE, works))
    assert isinstance(merged, Merged)
    assert merged.answer == MergeAnswer("all", ("0", "1", "2"), None)
    assert merged.by == await works(REQUEST, Path())
    assert workspaces.done == ["merge 0 1 2", "checkout root.merge", "resolve root.merge", "merge 2"]


async def test_place_is_removed_only_once_the_stopped_luna_has_left_it() -> None:
    workspaces = SlowWorkspaces()
    begun = asyncio.Event()

    async def leaves_slowly(request: AttemptRequest, path: Path) -> Reported | Lost:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            workspaces.done.append("left")
        raise AssertionError

    mine = isolated(workspaces)
    task = asyncio.ensure_future(mine.attempt(REQUEST, PLACE, leaves_slowly))
    await begun.wait()
    mine.release(["root.1", "root.2"])  # as a session does: it lets checkouts go, and stops what works there afterwards
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await mine.close(result=None, ended=False)
    assert workspaces.done == ["checkout root.1", "drop root.2", "left", "drop root.1"]


async def test_attempt_without_success_leaves_a_snapshot_and_no_place() -> None:
    async def fails(request: AttemptRequest, path: Path) -> Reported | Lost:
        return reported(ReportData("STUCK", blocker="no", kind="other"))

    workspaces = SlowWorkspaces()
    mine = isolated(workspaces)
    ended = await mine.attempt(REQUEST, PLACE, fails)
    assert isinstance(ended, Reported)
    assert ended.snapshot == "kept"
    await mine.close(result=None, ended=True)
    assert workspaces.done == ["checkout root.1", "keep root.1", "drop root.1", "finish None"]


@pytest.mark.parametrize("error", [WorkspaceError("git refuses"), OSError("busy")])
async def test_place_that_cannot_be_removed_takes_nothing_from_the_run(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    mine = isolated(SlowWorkspaces(fails={"drop": error, "finish": error}))
    mine.release(["root.1"])
    with caplog.at_level(logging.WARNING):
        await mine.close(result="whole", ended=True)
    assert [str(error) in record.message for record in caplog.records] == [True, True]

"""Whole runs whose Lunas are kept apart: in git worktrees and in copies."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from luna.protocol import Assignment, Failed
from luna.workspaces.opening import list_retained
from sol import Sol
from sol.errors import ConflictError, UsageError
from sol.journal import MemoryJournal
from sol.run import Run
from sol.tree.effects import ApplyAnswer
from tests.support.core import strategy_of
from tests.support.editing import Editor, Files, git, read, repository, written
from tests.support.planners import ScriptedPlanner, split_into
from tests.support.programs import with_git
from tests.support.runs import states, stuck, task

pytestmark = with_git

GOAL = "mend the boat"
DOOR, LAMP = "mend the door of the boat", "mend the lamp of the boat"
BOAT = {"door.txt": "stuck\n", "lamp.txt": "dark\n", "log.txt": "monday\n"}
MENDED: dict[str, Files] = {DOOR: {"door.txt": "opens\n"}, LAMP: {"lamp.txt": "shines\n"}}


def mending(work: dict[str, Files], *, settle: Any = None) -> Editor:
    """The whole is too much at once and leaves a mess; each part is written as `work` says."""

    def script(assignment: Assignment, saw: dict[str, str]) -> tuple[Files, Any]:
        if assignment.goal.startswith("Settle the conflict"):
            return settle(assignment, saw)  # type: ignore[no-any-return]  # as the test says
        if assignment.goal in work:
            return work[assignment.goal], None
        return {"door.txt": "in pieces\n", "mess.txt": "screws\n"}, stuck("two things at once")

    return Editor(script)


def sol_for(workspace: Path, worker: Any, **changes: Any) -> Sol:
    options: dict[str, Any] = {
        "strategy": "binary",
        "worker": worker,
        "planner": ScriptedPlanner({GOAL: split_into(DOOR, LAMP)}),
        "workspace": workspace,
        "isolation": "worktree",
        "store": MemoryJournal(),
    }
    return Sol(**(options | changes))


async def applied(run: Run) -> ApplyAnswer:
    assert run.state.applied is not None
    return run.state.applied


async def kept_of(workspace: Path) -> list[tuple[str, str]]:
    return [(one.name, one.where) for one in await list_retained(workspace, workspace / ".sol")]


@pytest.mark.parametrize("isolation", ["worktree", "copy"])
@pytest.mark.req("S25", "S60", "S62")
async def test_parts_work_apart_and_their_work_is_merged_and_brought_home(tmp_path: Path, isolation: Any) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    worker = mending(MENDED)
    run = await sol_for(boat, worker, isolation=isolation).asolve(task(GOAL))
    assert (run.status, states(run)) == ("success", {"": "success", "0": "success", "1": "success"})
    assert worker.calls == {GOAL: 1, DOOR: 1, LAMP: 1}
    assert worker.saw[DOOR] == worker.saw[LAMP] == BOAT, "the mess of a stuck Luna is not built on"
    assert len({worker.at[goal] for goal in (GOAL, DOOR, LAMP)}) == 3
    assert read(boat) == {"door.txt": "opens\n", "lamp.txt": "shines\n", "log.txt": "monday\n"}
    told = await applied(run)
    assert told.applied
    assert told.changed == ("door.txt", "lamp.txt")
    assert [name for name, _ in await kept_of(boat)] == ["root.1"], "what the stuck Luna did is kept, and no more"
    assert not any(path.exists() for path in worker.at.values()), "places are removed"
    if isolation == "worktree":
        assert git(boat, "status", "--porcelain") == ""
        assert set(git(boat, "log", "--format=%s", "--no-merges", "main").splitlines()) == {LAMP, DOOR, "begin"}


def both_sides(assignment: Assignment, saw: dict[str, str]) -> tuple[Files, Any]:
    conflicts: Any = assignment.inputs["conflicts"]
    assert [one["path"] for one in conflicts] == ["log.txt"]
    assert "<<<<<<<" in saw["log.txt"]
    assert ">>>>>>>" in saw["log.txt"]
    texts = [conflicts[0]["ours"], conflicts[0]["theirs"]]
    added = [text.removeprefix(conflicts[0]["before"]) for text in texts]
    return {"log.txt": conflicts[0]["before"] + "".join(added)}, None


CLASHING: dict[str, Files] = {
    DOOR: {"door.txt": "opens\n", "log.txt": "monday\ndoor\n"},
    LAMP: {"lamp.txt": "shines\n", "log.txt": "monday\nlamp\n"},
}


@pytest.mark.parametrize("isolation", ["worktree", "copy"])
@pytest.mark.req("S61")
async def test_conflict_goes_to_a_new_luna_with_both_sides_and_no_work_is_lost(tmp_path: Path, isolation: Any) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    worker = mending(CLASHING, settle=both_sides)
    run = await sol_for(boat, worker, isolation=isolation).asolve(task(GOAL))
    assert run.status == "success"
    assert read(boat) == {"door.txt": "opens\n", "lamp.txt": "shines\n", "log.txt": "monday\ndoor\nlamp\n"}
    settling = [goal for goal in worker.calls if goal.startswith("Settle")]
    assert len(settling) == 1
    assert worker.calls == {GOAL: 1, DOOR: 1, LAMP: 1, settling[0]: 1}
    given = worker.given[settling[0]]
    assert DOOR in given.context
    assert LAMP in given.context
    assert run.spent.calls == 4 + 5, "four attempts; Sol's split, integration and three judgements"


@pytest.mark.parametrize(
    ("settle", "why"),
    [
        pytest.param(lambda *_: ({}, None), "conflict markers are left", id="markers-left"),
        pytest.param(lambda *_: ({}, stuck("they undo each other")), "they undo each other", id="stuck"),
    ],
)
@pytest.mark.req("S62")
async def test_conflict_that_cannot_be_settled_fails_and_keeps_both_sides(
    tmp_path: Path, settle: Any, why: str
) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    begin = git(boat, "rev-parse", "HEAD")
    run = await sol_for(boat, mending(CLASHING, settle=settle)).asolve(task(GOAL))
    assert run.status == "failed"
    assert why in run.tree[""].stuck
    assert git(boat, "rev-parse", "HEAD") == begin
    assert read(boat) == BOAT
    where = dict(await kept_of(boat))
    assert git(boat, "show", f"{where['0.1']}:log.txt") == "monday\ndoor"
    assert git(boat, "show", f"{where['1.1']}:log.txt") == "monday\nlamp"


@pytest.mark.req("S24")
async def test_part_that_follows_another_starts_with_its_work(tmp_path: Path) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    worker = mending(MENDED)
    planner = ScriptedPlanner({GOAL: split_into(DOOR, LAMP, sequential=True)})
    run = await sol_for(boat, worker, planner=planner).asolve(task(GOAL))
    assert run.solved
    assert worker.saw[LAMP] == {**BOAT, "door.txt": "opens\n"}
    assert read(boat) == {"door.txt": "opens\n", "lamp.txt": "shines\n", "log.txt": "monday\n"}


@pytest.mark.req("S59")
async def test_checks_run_at_the_place_and_a_file_that_was_only_checked_out_is_not_new(tmp_path: Path) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    idle = Editor(lambda assignment, saw: ({}, None))
    given = task(GOAL, success_criteria=[{"command": "test -f lamp.txt"}, {"file": "door.txt"}])
    run = await sol_for(boat, idle, strategy="single", planner=None).asolve(given)
    assert run.status == "failed"
    oks = {check.criterion: check.ok for check in run.tree[""].checks}
    assert list(oks.values()) == [True, False]
    busy = Editor(lambda assignment, saw: ({"door.txt": "opens\n"}, None))
    again = await sol_for(boat, busy, strategy="single", planner=None).asolve(given)
    assert again.status == "success"
    assert read(boat)["door.txt"] == "opens\n"


async def test_dirty_repository_is_refused_and_nothing_is_started(tmp_path: Path) -> None:
    boat = written(repository(tmp_path / "boat", BOAT), {"lamp.txt": "half mended\n"})
    worker, journal = mending(MENDED), MemoryJournal()
    with pytest.raises(UsageError, match=r"lamp\.txt"):
        await sol_for(boat, worker, store=journal).asolve(task(GOAL))
    assert not worker.calls
    assert await journal.list(limit=5) == ()
    assert read(boat)["lamp.txt"] == "half mended\n"


async def test_isolation_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="in_place, copy, worktree"):
        await sol_for(tmp_path, mending({}), isolation="bubble").asolve(task(GOAL))


async def test_run_whose_id_can_name_no_branch_is_refused(tmp_path: Path) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    with pytest.raises(UsageError, match=r"'two words' cannot name"):
        await sol_for(boat, mending({})).start(task(GOAL), run_id="two words")


@pytest.mark.req("S25")
async def test_retry_of_the_whole_starts_with_the_parts_that_were_accepted(tmp_path: Path) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    whole: dict[str, Files] = {}

    def script(assignment: Assignment, saw: dict[str, str]) -> tuple[Files, Any]:
        if assignment.goal == DOOR:
            return MENDED[DOOR], None
        if assignment.goal == LAMP or not whole:
            return {"mess.txt": "screws\n"}, stuck("no bulb")
        return whole[GOAL], None

    worker = Editor(script)
    sol = sol_for(boat, worker, strategy=strategy_of(max_depth=1, max_replans=0))
    run = await sol.asolve(task(GOAL))
    assert states(run) == {"": "failed", "0": "success", "1": "failed"}
    whole[GOAL] = MENDED[LAMP]
    again = await (await sol.start_again(run.id, ask={"kind": "retry", "node": "", "note": "here is a bulb"})).wait()
    assert again.solved
    assert worker.saw[GOAL] == {**BOAT, "door.txt": "opens\n"}
    assert read(boat) == {"door.txt": "opens\n", "lamp.txt": "shines\n", "log.txt": "monday\n"}
    assert worker.calls[DOOR] == 1


@pytest.mark.parametrize("isolation", ["worktree", "copy"])
async def test_workspace_that_someone_changed_meanwhile_is_left_alone(tmp_path: Path, isolation: Any) -> None:
    boat = repository(tmp_path / "boat", BOAT)

    def script(assignment: Assignment, saw: dict[str, str]) -> tuple[Files, Any]:
        written(boat, {"lamp.txt": "by hand\n"})
        return {"lamp.txt": "shines\n"}, None

    run = await sol_for(boat, Editor(script), isolation=isolation, strategy="single").asolve(task(GOAL))
    assert run.solved
    assert read(boat) == {**BOAT, "lamp.txt": "by hand\n"}
    told = await applied(run)
    assert not told.applied
    assert told.where
    if isolation == "worktree":
        assert git(boat, "show", f"{told.where}:lamp.txt") == "shines"
    else:
        assert Path(told.where, "lamp.txt").read_text() == "shines\n"


async def test_copy_of_a_directory_without_git(tmp_path: Path) -> None:
    shed = written(tmp_path / "shed", {"a/tools.txt": "rusty\n"})
    worker = Editor(lambda assignment, saw: ({"a/tools.txt": "clean\n", "new.txt": "oil\n"}, None))
    run = await sol_for(shed, worker, isolation="copy", strategy="single").asolve(task(GOAL))
    assert run.solved
    assert read(shed) == {"a/tools.txt": "clean\n", "new.txt": "oil\n"}
    assert not worker.at[GOAL].exists()
    assert await kept_of(shed) == []


async def test_run_that_is_interrupted_goes_on_with_what_was_accepted(tmp_path: Path) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    reached, hold = asyncio.Event(), asyncio.Event()
    editor = mending(MENDED)

    class Waiting:
        async def run(self, assignment: Assignment, delivery: Any) -> Any:
            if assignment.goal == LAMP and not hold.is_set():
                written(delivery.workspace, {"lamp.txt": "in the hand\n"})
                reached.set()
                await asyncio.Event().wait()
            async for item in editor.run(assignment, delivery):
                yield item

    sol = sol_for(boat, Waiting(), planner=ScriptedPlanner({GOAL: split_into(DOOR, LAMP, sequential=True)}))
    run = await sol.start(task(GOAL))
    await reached.wait()
    run.interrupt()
    await run.wait()
    assert run.status == "interrupted"
    hold.set()
    again = await sol.aresume(run.id)
    assert again.solved
    assert editor.calls == {GOAL: 1, DOOR: 1, LAMP: 1}
    assert editor.saw[LAMP] == {**BOAT, "door.txt": "opens\n"}
    assert read(boat) == {"door.txt": "opens\n", "lamp.txt": "shines\n", "log.txt": "monday\n"}
    kept = dict(await kept_of(boat))
    assert git(boat, "show", f"{kept['1.1']}:lamp.txt") == "in the hand", "unfinished work is kept"


async def test_luna_that_integrates_works_on_the_merged_work(tmp_path: Path) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    whole = f"Put the results of the parts together so that they meet this goal: {GOAL}"
    worker = mending({**MENDED, whole: {"log.txt": "monday\nall mended\n"}})
    run = await sol_for(boat, worker, strategy=strategy_of(integrate="luna")).asolve(task(GOAL))
    assert run.solved
    assert worker.saw[whole] == {"door.txt": "opens\n", "lamp.txt": "shines\n", "log.txt": "monday\n"}
    assert read(boat)["log.txt"] == "monday\nall mended\n"


async def test_worker_that_fails_leaves_the_workspace_as_it_was(tmp_path: Path) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    worker = Editor(lambda assignment, saw: ({"door.txt": "in pieces\n"}, stuck("no screws")))
    run = await sol_for(boat, worker, strategy="single", planner=None).asolve(task(GOAL))
    assert run.status == "failed"
    assert read(boat) == BOAT
    assert git(boat, "status", "--porcelain") == ""
    assert [name for name, _ in await kept_of(boat)] == ["root.1"]


@pytest.mark.req("S25")
async def test_retry_of_the_whole_that_changes_nothing_keeps_the_accepted_parts(tmp_path: Path) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    told: list[str] = []

    def script(assignment: Assignment, saw: dict[str, str]) -> tuple[Files, Any]:
        if assignment.goal == DOOR:
            return MENDED[DOOR], None
        return ({}, None) if told and assignment.goal == GOAL else ({"mess.txt": "screws\n"}, stuck("no bulb"))

    sol = sol_for(boat, Editor(script), strategy=strategy_of(max_depth=1, max_replans=0))
    run = await sol.asolve(task(GOAL))
    assert run.status == "failed"
    told.append("the lamp is not needed")
    ask = {"kind": "retry", "node": "", "note": told[0]}
    again = await (await sol.start_again(run.id, ask=ask)).wait()
    assert again.solved
    assert read(boat) == {**BOAT, "door.txt": "opens\n"}


@pytest.mark.req("S24", "S25")
async def test_part_after_one_that_changed_nothing_has_what_was_accepted_before(tmp_path: Path) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    look, light = "look at the lamp of the boat", "light the lamp of the boat"

    def script(assignment: Assignment, saw: dict[str, str]) -> tuple[Files, Any]:
        if assignment.goal == LAMP:
            return {}, Failed(reason="there is no such lamp")
        work: dict[str, Files] = {**MENDED, look: {}, light: MENDED[LAMP]}
        return (work[assignment.goal], None) if assignment.goal in work else ({}, stuck("two things at once"))

    editor = Editor(script)
    planner = ScriptedPlanner({GOAL: [split_into(DOOR, LAMP), split_into(look, light, sequential=True)]})
    run = await sol_for(boat, editor, planner=planner).asolve(task(GOAL))
    assert run.solved
    assert editor.saw[look]["door.txt"] == editor.saw[light]["door.txt"] == "opens\n"
    assert read(boat) == {**BOAT, "door.txt": "opens\n", "lamp.txt": "shines\n"}


async def test_run_whose_id_is_taken_touches_nothing_of_the_other(tmp_path: Path) -> None:
    boat = repository(tmp_path / "boat", BOAT)
    sol = sol_for(boat, Editor(lambda assignment, saw: ({"door.txt": "in pieces\n"}, stuck("no screws"))))
    run = await (await sol.start(task(GOAL), run_id="mine")).wait()
    kept = await kept_of(boat)
    git(boat, "commit", "-q", "--allow-empty", "-m", "more")
    with pytest.raises(ConflictError, match="mine"):
        await sol.start(task(GOAL), run_id="mine")
    assert await kept_of(boat) == kept
    assert run.id == "mine"

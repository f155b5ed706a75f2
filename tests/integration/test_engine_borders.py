"""What comes from planners, callers and journals that fail: kept as it reads back, or refused; a run survives it."""

import asyncio
import gc
import math
import tempfile
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from luna.protocol import Assignment, Delivery, Stuck, StuckKind
from luna.workspaces import IsolationMode
from sol.engine.loop import _patient_collector
from sol.engine.requests import read_state
from sol.errors import ConflictError, NotFoundError, StoreError, UsageError
from sol.journal import Lease, MemoryJournal, NewRecord, RunInfo, this_process
from sol.journal.database import connect
from sol.run import Run, kind_for
from sol.solver import Sol
from sol.tree.effects import (
    CHECKS_OF_INTEGRATION,
    AtomicAnswer,
    CannotSplit,
    IntegrateAnswer,
    IntegrateRequest,
    IntegrationCheck,
    JudgeAnswer,
    SplitRequest,
)
from sol.workflow import Workflow
from tests.support.planners import ScriptedPlanner, split_into

TASK = "Count the stones in the yard"
HALVES = split_into("Count the left stones", "Count the right stones")


def in_parts(inputs: Any, assignment: Assignment) -> Any:
    """Stuck with the whole, done with a half."""
    return 1 if assignment.goal != TASK else Stuck(blocker="too big", kind=StuckKind.SCOPE_TOO_LARGE)


def sol(store: Any = None, *, worker: Any = in_parts, answer: Any = lambda _: None, **options: Any) -> Sol:
    planner = ScriptedPlanner({TASK: HALVES}, answer=answer)
    place = options.pop("workspace", None) or tempfile.mkdtemp()
    return Sol(worker=worker, planner=planner, store=store or MemoryJournal(), workspace=place, **options)


def waiting(at_work: asyncio.Event) -> Any:
    """A worker that says when it has begun, and never ends."""

    async def waits(inputs: Any) -> None:
        at_work.set()
        await asyncio.Event().wait()

    return waits


async def as_stored(run: Run, store: MemoryJournal) -> Any:
    return await read_state(store, run.kind.reading, run.id)


# --- planners --------------------------------------------------------------------------------------------------------


def whole(result: Any) -> IntegrateAnswer:
    return IntegrateAnswer(result, "s", {name: IntegrationCheck(ok=True) for name in CHECKS_OF_INTEGRATION})


@pytest.mark.parametrize("result", [{"x": (1, [2])}, [{1}, 2], {"a": [1.5, None, True]}], ids=str)
async def test_answer_is_kept_as_it_reads_back(result: Any) -> None:
    store = MemoryJournal()
    run = await sol(store, answer=lambda r: whole(result) if isinstance(r, IntegrateRequest) else None).asolve(TASK)
    assert run.solved
    assert await as_stored(run, store) == run.state


@pytest.mark.parametrize(
    "result",
    [{"x": math.nan}, [math.inf], "\ud800", {1: 2}, datetime(2020, 1, 1, tzinfo=UTC), b"x", 10**5000, object()],
    ids=lambda result: type(result).__name__,
)
async def test_answer_that_json_cannot_hold_is_refused(result: Any) -> None:
    store = MemoryJournal()
    run = await sol(store, answer=lambda r: whole(result) if isinstance(r, IntegrateRequest) else None).asolve(TASK)
    assert (run.status, run.state.root.kind) == ("failed", "planner")
    assert await as_stored(run, store) == run.state


@pytest.mark.parametrize(
    "given",
    [JudgeAnswer(()), CannotSplit(None), AtomicAnswer(atomic=True, reason="")],  # type: ignore[arg-type]
    ids=lambda given: type(given).__name__,
)
async def test_answer_of_another_class_or_with_fields_of_another_type_is_refused(given: Any) -> None:
    store = MemoryJournal()
    run = await sol(store, answer=lambda r: given if isinstance(r, SplitRequest) else None).asolve(TASK)
    assert (run.status, run.state.root.kind) == ("failed", "planner")
    assert await as_stored(run, store) == run.state


# --- callers ---------------------------------------------------------------------------------------------------------


def task(**changes: Any) -> dict[str, Any]:
    fields = {"goal": TASK, "context": "none", "inputs": "none", "constraints": "none", "expected_output": "a number"}
    return {**fields, "success_criteria": ["all are counted"], "stop_conditions": ["no yard"], **changes}


@pytest.mark.parametrize("value", [math.nan, -math.inf, "\udfff", 10**5000], ids=lambda value: type(value).__name__)
async def test_task_that_json_cannot_hold_is_not_started(value: Any) -> None:
    store = MemoryJournal()
    schema = {"description": "a", "json_schema": {"const": value}}
    for given in (task(inputs={"x": [value]}), task(expected_output=schema)):
        with pytest.raises(UsageError, match="This cannot be started"):
            await sol(store).start(given)
    for worker in ({"kind": "command", "command": ["true"], "on_error": [value]}, {"kind": "command", "x": value}):
        with pytest.raises(UsageError, match="The worker 'command' cannot be used"):
            await sol(store, worker=worker).start(TASK)
    assert not await store.list(limit=1)


async def test_worker_may_write_to_all_that_it_is_given() -> None:
    def spoils(inputs: Any, assignment: Assignment, delivery: Delivery) -> Any:
        delivery.partial["x"] = delivery.answers["y"] = "z"  # type: ignore[index]
        return in_parts(inputs, assignment)

    store = MemoryJournal()
    run = await sol(store, worker=spoils).asolve(TASK)
    assert run.solved
    assert not run.state.root.partial
    assert not run.state.root.answers
    assert await as_stored(run, store) == run.state


async def test_reason_of_an_interruption_may_be_any_text() -> None:
    at_work = asyncio.Event()
    run = await sol(worker=waiting(at_work)).start(TASK)
    await at_work.wait()
    run.interrupt("out of \ud800")
    await run.wait()
    assert (run.status, run.state.root.reason) == ("interrupted", "out of \ufffd")


async def test_request_on_a_run_that_was_killed_before_its_task_was_recorded() -> None:
    store = MemoryJournal()
    lease = await store.create(RunInfo(id="r1", created_t=0.0, title="t", meta={}), this_process("t"))
    await store.release(lease)
    with pytest.raises(ConflictError, match="was killed before its task was recorded"):
        await sol(store).start_again("r1", ask={"kind": "retry", "node": ""})
    with pytest.raises(NotFoundError, match="was killed before its task was recorded"):
        await sol(store).request("r1", "cancel", {"node": ""}, by="me")


FLOW = """
name: small
initial_step: ask
max_steps: 4
steps:
  - name: ask
    instruction: ask for {task}
    rules:
      - {condition: it is unclear, requires_user_input: true, interactive_only: false, next: ask}
      - {condition: it is fine, next: COMPLETE}
"""


@pytest.mark.parametrize("isolation", ["copy", "worktree"])
async def test_steps_work_in_the_workspace_itself_whatever_isolation_is_asked_for(
    isolation: IsolationMode, tmp_path: Path
) -> None:
    (tmp_path / "flow.yaml").write_text(FLOW, encoding="utf-8")
    solver = sol(worker=lambda inputs: "[ask:2]", workspace=tmp_path, isolation=isolation)
    run = await solver.asolve(Workflow.load(tmp_path / "flow.yaml"), task="five apples")
    assert not run.state.is_isolated
    assert not (tmp_path / ".sol" / "worktrees").exists()


async def test_request_is_posted_to_a_live_workflow_although_its_file_has_changed(tmp_path: Path) -> None:
    at_work = asyncio.Event()
    file = tmp_path / "flow.yaml"
    file.write_text(FLOW, encoding="utf-8")
    solver = sol(worker=waiting(at_work), workspace=tmp_path)
    run = await solver.start(Workflow.load(file), task="five apples")
    await at_work.wait()
    file.unlink()
    path = next(path for path in run.state.nodes if path)
    with pytest.raises(ConflictError, match="it cannot be asked to answer"):
        await solver.request(run.id, "answer", {"node": path, "text": "no"}, by="me")
    assert await solver.request(run.id, "cancel", {"node": path}, by="me") == "posted"
    run.interrupt()
    await run.wait()


# --- journals that fail ----------------------------------------------------------------------------------------------


class Failing(MemoryJournal):
    """Fails once, at the append for which `when` says so."""

    def __init__(self, when: Callable[[Sequence[NewRecord]], bool]) -> None:
        super().__init__()
        self.when = when
        self.after_failure = 0
        self.failed = False

    async def append(self, lease: Lease, records: Sequence[NewRecord], **said: Any) -> int:
        if not self.failed and self.when(records):
            self.failed = True
            raise StoreError("the disk is full")
        self.after_failure += self.failed
        return await super().append(lease, records, **said)


async def test_nothing_is_written_on_top_of_a_step_that_was_not() -> None:

    async def half(inputs: Any, assignment: Assignment) -> Any:
        if assignment.goal == HALVES.children[1].goal:
            await asyncio.Event().wait()
        return in_parts(inputs, assignment)

    store = Failing(lambda records: any(one.node == "0" and one.type == "reported" for one in records))
    solver = sol(store, worker=half)
    with pytest.raises(StoreError, match="the disk is full"):
        await solver.asolve(TASK)
    assert store.after_failure == 0
    solver.worker = in_parts
    assert solver.last is not None
    run = await solver.aresume(solver.last.id)
    assert run.solved
    assert await as_stored(run, store) == run.state


class Slow(MemoryJournal):
    """Takes its time with leases, and takes them to their end."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self.leases: list[Lease] = []

    async def _taken(self, lease: Lease) -> Lease:
        self.leases.append(lease)
        self.asked.set()
        await self.go.wait()
        return lease

    async def create(self, *given: Any) -> Lease:
        return await self._taken(await super().create(*given))

    async def claim(self, *given: Any, **said: Any) -> Lease:
        return await self._taken(await super().claim(*given, **said))


async def given_up(store: Slow, doing: Any) -> None:
    store.asked.clear()
    store.go.clear()
    work = asyncio.ensure_future(doing)
    await store.asked.wait()
    work.cancel()
    store.go.set()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert (await store.info(store.leases[-1].run)).holding is None


async def test_lease_that_nobody_waits_for_any_more_is_given_back() -> None:
    store = Slow()
    await given_up(store, sol(store).start(TASK))
    store.go.set()
    run = await sol(store, worker=lambda inputs: Stuck(blocker="x", question="which?")).asolve(TASK)
    await given_up(store, sol(store).start_again(run.id))
    await given_up(store, sol(store).request(run.id, "cancel", {"node": ""}, by="me"))


class Unreadable(MemoryJournal):
    """Cannot be read once a run is claimed."""

    claimed = False

    async def claim(self, *given: Any, **said: Any) -> Lease:
        self.claimed = True
        return await super().claim(*given, **said)

    async def read(self, *given: Any, **said: Any) -> Any:
        if self.claimed:
            raise RuntimeError("no more")
        return await super().read(*given, **said)


async def test_lease_is_given_back_whatever_keeps_a_run_from_being_taken_up() -> None:
    store = Unreadable()
    run = await sol(store, worker=lambda inputs: Stuck(blocker="x", question="which?")).asolve(TASK)
    with pytest.raises(RuntimeError, match="no more"):
        await sol(store).start_again(run.id)
    assert (await store.info(run.id)).holding is None


async def test_run_of_a_damaged_journal_cannot_be_loaded_and_says_so() -> None:
    class Gap(MemoryJournal):
        async def read(self, *given: Any, **said: Any) -> Any:
            return tuple(one for one in await super().read(*given, **said) if one.seq != self.gap)

        gap = 0

    store = Gap()
    run = await sol(store).asolve(TASK)
    for store.gap in (1, 3):
        with pytest.raises(StoreError, match="does not fit what came before it"):
            await sol(store).load(run.id)


async def test_no_thread_is_left_of_a_journal_whose_opening_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening, go = threading.Event(), threading.Event()

    def slowly(*given: Any, **said: Any) -> Any:
        opening.set()
        go.wait()
        return connect(*given, **said)

    monkeypatch.setattr("sol.journal.store.connect", slowly)
    work = asyncio.ensure_future(sol(f"sqlite:///{tmp_path}/runs.db", workspace=tmp_path).load("latest"))
    await asyncio.to_thread(opening.wait)
    work.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert not [one for one in threading.enumerate() if one.name.startswith("sol-journal")]


def test_collector_that_is_switched_off_stays_so() -> None:
    before = gc.get_threshold()
    try:
        gc.set_threshold(0, 10, 10)
        with _patient_collector():
            assert gc.get_threshold() == (0, 10, 10)
        assert gc.get_threshold() == (0, 10, 10)
    finally:
        gc.set_threshold(*before)


def test_thing_that_starts_nothing_is_refused_with_what_does() -> None:
    with pytest.raises(UsageError, match=r"with 3\.5 \(float\)\. Give a task: text, .* or a `Workflow`"):
        kind_for(3.5)

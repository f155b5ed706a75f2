"""Each way of being stuck has a kind of its own, from the worker or a detector to the node's record and the finding."""

from pathlib import Path

import pytest

from luna.monitor import Monitors, MonitorSettings
from luna.protocol import Action, Assignment, Delivery, Stuck, StuckKind
from luna.testing import ScriptedWorker
from luna.workers.function import FunctionWorker
from sol import Sol
from sol.tree.events import EventType
from tests.support.runs import events_of, task

SAID_BY_WORKERS = [
    pytest.param(StuckKind.INFORMATION_MISSING, marks=pytest.mark.req("S35")),
    pytest.param(StuckKind.ACCESS_MISSING, marks=pytest.mark.req("S36")),
    pytest.param(StuckKind.DEPENDENCY_UNAVAILABLE, marks=pytest.mark.req("S37")),
    pytest.param(StuckKind.PREMISE_WRONG, marks=pytest.mark.req("S38")),
    pytest.param(StuckKind.NOT_SOLVABLE_ALONE, marks=pytest.mark.req("S39")),
    pytest.param(StuckKind.ENTANGLED_UNKNOWNS, marks=pytest.mark.req("S43")),
    pytest.param(StuckKind.SCOPE_TOO_LARGE, marks=pytest.mark.req("S44")),
]


@pytest.mark.parametrize("kind", SAID_BY_WORKERS)
async def test_kind_that_a_worker_names_is_what_sol_analyses_and_reassesses(tmp_path: Path, kind: StuckKind) -> None:
    worker = ScriptedWorker(lambda _: Stuck(kind=kind, blocker="the tower is locked"))
    run = await Sol(strategy="single", worker=worker, workspace=tmp_path).asolve(task())
    analysed = [event.data for event in await events_of(run) if event.type == EventType.ANALYSED]
    assert [(data.kind, data.blocker) for data in analysed] == [(kind, "the tower is locked")]
    assert worker.calls.total() == 1
    assert "Reassessed as" in run.reason


@pytest.mark.req("S44")
async def test_inputs_that_do_not_fit_at_once_are_a_scope_that_is_too_large(tmp_path: Path) -> None:
    worker = FunctionWorker(lambda inputs: inputs, input_bytes=8)
    assignment = Assignment.model_validate(task(inputs={"bricks": ["red"] * 10}).assignment)
    reports = [item async for item in worker.run(assignment, Delivery(key="r//attempt/1", workspace=tmp_path))]
    assert [(report.status, report.kind) for report in reports] == [("STUCK", StuckKind.SCOPE_TOO_LARGE)]


@pytest.mark.req("S45")
def test_attempts_without_progress_are_stuck_when_patience_ends() -> None:
    monitors = Monitors.from_settings(MonitorSettings(patience=3), Assignment.model_validate(task().assignment))
    fails = [Action(name=f"try {number}", observation="no", error=True) for number in range(5)]
    alarms = [monitors.see(action, at=float(number)) for number, action in enumerate(fails)]
    assert [alarm is not None for alarm in alarms[:3]] == [False, False, True]
    assert alarms[2] is not None
    assert alarms[2].kind == StuckKind.NO_PROGRESS

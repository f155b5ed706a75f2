"""Which models, servers and planners a run uses; after a resume what is given now, else what it was started with."""

from pathlib import Path

import pytest

from luna.errors import ModelError
from luna.testing import ScriptedWorker
from sol import Sol
from sol.planner import FreePlanner
from tests.support.runs import done, task


@pytest.fixture
def broken_then_done() -> ScriptedWorker:
    scripts = iter([ModelError("the key was refused"), done()])
    return ScriptedWorker(lambda _: next(scripts))


async def test_resume_takes_the_luna_model_that_the_run_was_started_with(
    tmp_path: Path, broken_then_done: ScriptedWorker
) -> None:
    run = await Sol(worker=broken_then_done, workspace=tmp_path, luna_model="openai:first").asolve(task())
    assert not run.solved
    assert run.resumable
    run = await Sol(worker=broken_then_done, workspace=tmp_path).aresume(run.id)
    assert run.solved
    assert [delivery.model for _, delivery in broken_then_done.deliveries] == ["openai:first", "openai:first"]


async def test_resume_prefers_a_model_given_to_it(tmp_path: Path, broken_then_done: ScriptedWorker) -> None:
    run = await Sol(worker=broken_then_done, workspace=tmp_path, luna_model="openai:first").asolve(task())
    await Sol(worker=broken_then_done, workspace=tmp_path, luna_model="openai:second").aresume(run.id)
    assert [delivery.model for _, delivery in broken_then_done.deliveries] == ["openai:first", "openai:second"]


@pytest.mark.parametrize(
    ("address", "kept"),
    [("http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1"), ("http://me:secret@127.0.0.1:9/v1", None)],
)
async def test_run_records_its_server_but_no_password(tmp_path: Path, address: str, kept: str | None) -> None:
    sol = Sol(worker=ScriptedWorker(lambda _: done()), workspace=tmp_path, base_url=address)
    run = await sol.asolve(task())
    assert run.state.config.base_url == kept


async def test_planner_that_judges_nothing_is_not_asked_to(tmp_path: Path) -> None:
    sol = Sol(worker=ScriptedWorker(lambda _: done()), planner=FreePlanner(tmp_path), workspace=tmp_path)
    run = await sol.asolve(task())
    assert run.solved
    assert run.tree.root.unchecked

"""Workers as LangChain runnables."""

import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from pydantic import ValidationError

from luna.protocol import Assignment, Delivery, Note, ProgressEvent, Report, Stuck, Success
from luna.runnable import as_runnable
from luna.testing import ScriptedWorker
from luna.workers.function import FunctionWorker

TASK: dict[str, Any] = {
    "goal": "g",
    "context": "none",
    "inputs": {"n": 2},
    "constraints": "none",
    "expected_output": "a number",
    "success_criteria": ["right"],
    "stop_conditions": "never",
}


async def test_runnable_gives_the_report_as_a_dict(tmp_path: Path) -> None:
    worker = ScriptedWorker({"g": [Note(text="begun"), Stuck(blocker="b")]})
    runnable = as_runnable(worker, workspace=tmp_path)
    for task in (TASK, Assignment.model_validate(TASK)):
        report = await runnable.ainvoke(task)
        assert (report["status"], report["kind"], report["blocker"]) == ("STUCK", "other", "b")
    assert [delivery.key for _, delivery in worker.deliveries] == ["runnable//attempt/1", "runnable//attempt/2"]
    assert {delivery.workspace for _, delivery in worker.deliveries} == {tmp_path}
    assert len({delivery.delimiter for _, delivery in worker.deliveries}) == 1
    assert worker.deliveries[0][1].delimiter


async def test_runnable_works_in_the_current_directory_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    runnable = as_runnable(FunctionWorker(lambda inputs, delivery: str(delivery.workspace)))
    assert (await runnable.ainvoke(TASK))["result"] == str(tmp_path)


async def test_runnable_is_part_of_a_chain() -> None:
    worker = FunctionWorker(lambda inputs: inputs["n"] + 1)
    chain = (
        RunnableLambda(lambda n: TASK | {"inputs": {"n": n}}) | as_runnable(worker) | (lambda report: report["result"])
    )
    assert await chain.abatch([1, 5]) == [2, 6]
    assert chain.invoke(7) == 8  # in a running loop, as in a notebook


def test_runnable_is_invoked_without_a_loop() -> None:
    assert as_runnable(ScriptedWorker.succeeding()).invoke(TASK)["result"] == "g"


async def test_runnable_tells_of_a_missing_report() -> None:
    report = await as_runnable(ScriptedWorker({"g": [Note()]})).ainvoke(TASK)
    assert (report["status"], report["kind"]) == ("FAILED", "no_status")


async def test_runnable_raises_what_the_worker_raises() -> None:
    with pytest.raises(LookupError):
        await as_runnable(ScriptedWorker({})).ainvoke(TASK)
    with pytest.raises(ValidationError, match="stop_conditions"):
        await as_runnable(ScriptedWorker({})).ainvoke({**TASK, "stop_conditions": "none"})


async def test_runnable_takes_any_worker() -> None:
    class Mine:
        async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
            yield Success(summary="s", result=assignment.inputs)

    assert (await as_runnable(Mine()).ainvoke(TASK))["result"] == {"n": 2}


def test_langchain_is_imported_when_needed() -> None:
    source = "import sys, luna.runnable; assert not {'langchain', 'langchain_core'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", source], check=True, timeout=60)

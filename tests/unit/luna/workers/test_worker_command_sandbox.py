"""Commands as workers where there is no sandbox to be had."""

from pathlib import Path

import pytest

from luna.errors import WorkerConfigError
from luna.protocol import Note, Stuck, Success, WorkerSpec
from luna.workers.registry import make_worker
from tests.support.commands import run, sh
from tests.support.processes import linux

pytestmark = linux

WARNING = "/bin/sh ran without a sandbox: bubblewrap (bwrap) is not installed"


@pytest.fixture(autouse=True)
def _no_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


def shell(text: str) -> list[str]:
    return ["/bin/sh", *sh(text)[1:]]


def test_required_sandbox_refuses_the_worker_before_any_task() -> None:
    spec = WorkerSpec.parse({"kind": "command", "command": "true", "sandbox": "required"})
    with pytest.raises(WorkerConfigError, match="sandbox: required, but there can be none here: bubblewrap"):
        make_worker(spec)


def test_option_that_cannot_be_kept_is_refused_with_its_reason() -> None:
    spec = WorkerSpec.parse({"kind": "command", "command": "true", "network": False})
    with pytest.raises(WorkerConfigError, match="network: false needs sandbox"):
        make_worker(spec)


async def test_preferred_sandbox_that_is_missing_is_told_first_and_in_the_report(tmp_path: Path) -> None:
    note, report = await run(tmp_path, shell("echo hi"), sandbox="preferred")
    assert note == Note(text=WARNING)
    assert isinstance(report, Success)
    assert (report.result, report.remaining_risks) == ("hi", (WARNING,))
    _, report = await run(tmp_path, shell("echo hi; while :; do :; done"), sandbox="preferred", timeout_s=0.3)
    assert isinstance(report, Stuck)
    assert report.evidence == ("stdout: hi", WARNING)

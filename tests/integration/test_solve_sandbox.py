"""Whole runs with a sandbox: the commands that check a Luna's work are in it too."""

from pathlib import Path

import pytest

from sol import Sol
from sol.journal import MemoryJournal
from tests.support.processes import with_sandbox
from tests.support.runs import task


@with_sandbox
@pytest.mark.req("S59")
async def test_checks_run_in_the_sandbox_of_the_luna_whose_work_they_check(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    worker = {
        "kind": "command",
        "command": ["sh", "-c", "echo 'echo x > ../outside' > check.sh"],
        "sandbox": "required",
    }
    given = task(success_criteria=[{"command": "sh check.sh"}])
    sol = Sol(worker=worker, workspace=place, store=MemoryJournal(), strategy="single")
    run = await sol.asolve(given)
    assert run.solved
    assert not (tmp_path / "outside").exists()
    free = Sol(worker=worker | {"sandbox": "off"}, workspace=place, store=MemoryJournal(), strategy="single")
    assert (await free.asolve(given)).solved
    assert (tmp_path / "outside").exists()

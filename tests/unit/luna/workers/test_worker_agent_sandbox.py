"""Commands of agents in a sandbox, and under limits."""

from pathlib import Path

import pytest

from luna.errors import WorkerConfigError
from luna.protocol import Success
from luna.testing.fakes import ScriptedChatModel, calls
from tests.support.agents import DONE, actions, work
from tests.support.processes import with_sandbox


@with_sandbox
async def test_command_of_an_agent_writes_nowhere_but_in_its_workspace(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    tools = [("run_command", {"argv": ["touch", "inside", "../outside"]}), DONE]
    events = await work(ScriptedChatModel([calls(one) for one in tools]), place, sandbox="required")
    assert isinstance(events[-1], Success)
    assert (place / "inside").exists()
    assert not (tmp_path / "outside").exists()


async def test_agent_without_the_sandbox_that_it_would_rather_have_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    events = await work(ScriptedChatModel([calls(DONE)]), tmp_path, sandbox="preferred")
    (risk,) = events[-1].remaining_risks
    assert risk.startswith("commands ran without a sandbox: ")
    quiet = await work(ScriptedChatModel([calls(DONE)]), tmp_path, sandbox="preferred", tools=["read_file"])
    assert quiet[-1].remaining_risks == ()
    with pytest.raises(WorkerConfigError, match="sandbox: required"):
        await work(ScriptedChatModel([]), tmp_path, sandbox="required")


async def test_command_of_an_agent_is_ended_at_its_limit(tmp_path: Path) -> None:
    busy = ("run_command", {"argv": ["sh", "-c", "while :; do :; done"]})
    events = await work(ScriptedChatModel([calls(busy), calls(DONE)]), tmp_path, cpu_s=1)
    (action,) = actions(events)
    assert action.error
    assert "used up its limit of 1 s of processor time" in action.observation

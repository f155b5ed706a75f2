"""From the command line: an agent asks before a call, a human answers, and exactly that call is let through."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from luna.testing import ScriptedServer
from luna.testing.fakes import calls
from tests.support.cli import CommandLine

pytest.importorskip("langchain_openai", reason="needs the extra [openai]")

TASK = """\
goal: Remove the file a.txt
context: none
inputs: none
constraints: none
expected_output: a.txt is gone
success_criteria: [{{command: "test ! -e a.txt"}}]
stop_conditions: [There is no such file]
strategy: single
worker: {{kind: agent, model: "openai:scripted", base_url: "{url}", approve: {{tools: [run_command], how: ask}}}}
"""
REMOVE = ("run_command", {"argv": ["rm", "a.txt"]})
QUESTION = 'question of node .: May this run: run_command {"argv": ["rm", "a.txt"]}? Answer yes or no.'


def removing(messages: Sequence[BaseMessage]) -> AIMessage:
    """Try it, and report what came of it."""
    answers = [message.text for message in messages if isinstance(message, ToolMessage)]
    if not answers:
        return calls(REMOVE)
    if answers[-1].startswith("exit code 0"):
        return calls(("ReportSuccess", {"summary": "removed", "result": "gone"}))
    return calls(("ReportStuck", {"blocker": answers[-1], "kind": "access_missing"}))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_API_BASE",
        "SOL_MODEL",
        "LUNA_MODEL",
        "SOL_BASE_URL",
        "SOL_STORE",
    ):
        monkeypatch.delenv(name, raising=False)
    with ScriptedServer(removing) as serving:
        yield serving


@pytest.fixture
def sol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], server: ScriptedServer
) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "task.yaml").write_text(TASK.format(url=server.url))
    return CommandLine(tmp_path, monkeypatch, capsys)


def test_yes_lets_the_call_through_and_the_run_ends_well(sol: CommandLine, server: ScriptedServer) -> None:
    ended = sol("solve", "task.yaml")
    assert (ended.code, server.count) == (5, 1)
    assert QUESTION in ended.err
    assert (sol.directory / "a.txt").exists()
    answered = sol("answer", "latest", "yes")
    assert (answered.code, answered.out, server.count) == (0, "gone\n", 3)
    assert not (sol.directory / "a.txt").exists()


def test_no_is_told_to_the_agent(sol: CommandLine, server: ScriptedServer) -> None:
    assert sol("solve", "task.yaml").code == 5
    answered = sol("answer", "latest", "no, keep it")
    assert answered.code == 1
    assert "denied: no, keep it" in answered.err
    assert (sol.directory / "a.txt").exists()

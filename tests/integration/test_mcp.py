"""Tools of MCP servers: a real one from the package index, and one with the faults that real ones have."""

import asyncio
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from langchain_core.messages import BaseMessage

from luna.errors import WorkerConfigError
from luna.process.group import ProcessRegistry
from luna.protocol import Stuck, Success
from luna.testing.fakes import ScriptedChatModel, calls
from luna.workers.agent import create
from luna.workers.shared import WorkerSettings
from tests.support import mcp_server
from tests.support.agents import DONE, actions, agent, assignment, delivery, work
from tests.support.processes import until

pytestmark = pytest.mark.slow

TIME = {"command": [sys.executable, "-m", "mcp_server_time", "--local-timezone=UTC"]}
NOW = ("time__get_current_time", {"timezone": "Europe/Vienna"})
NO_ARGUMENTS = ("fail", "long", "picture", "bare", "dotted_name")
TOKYO = ("time__convert_time", {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"})


def odd(*arguments: str, **more: Any) -> dict[str, Any]:
    return {"command": [sys.executable, mcp_server.__file__, *arguments], **more}


def children() -> list[psutil.Process]:
    found = psutil.Process().children(recursive=True)
    return [child for child in found if child.status() != psutil.STATUS_ZOMBIE]


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    assert children() == []


async def test_tool_of_a_real_server_is_called_by_an_agent(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(NOW, TOKYO), calls(DONE)])
    events = await work(model, tmp_path, mcp={"time": TIME})
    now, tokyo = sorted(actions(events), key=lambda action: action.name, reverse=True)
    assert (now.name, now.arguments, now.error) == (NOW[0], NOW[1], False)
    assert json.loads(now.observation)["timezone"] == "Europe/Vienna"
    assert json.loads(tokyo.observation)["time_difference"] == "+9.0h"
    assert isinstance(events[-1], Success)
    offered = {tool["function"]["name"]: tool["function"] for tool in model.bound[0]["tools"]}
    assert offered.keys() > {NOW[0], TOKYO[0], "read_file"}
    assert offered[NOW[0]]["parameters"]["required"] == ["timezone"]


async def test_command_of_a_server_may_be_one_text(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(NOW), calls(DONE)])
    events = await work(model, tmp_path, mcp={"time": {"command": shlex.join(TIME["command"])}})
    assert [action.error for action in actions(events)] == [False]


async def test_refusal_of_a_real_server_is_an_observation(tmp_path: Path) -> None:
    wrong = [calls((NOW[0], {"timezone": "Mars/Olympus"})), calls((NOW[0], {})), calls(DONE)]
    events = await work(ScriptedChatModel(wrong), tmp_path, mcp={"time": TIME})
    assert [action.error for action in actions(events)] == [True, True]
    assert "Mars/Olympus" in actions(events)[0].observation
    assert "timezone" in actions(events)[1].observation
    assert isinstance(events[-1], Success)


async def test_only_allowed_tools_of_a_server_are_offered(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(NOW), calls(DONE)])
    events = await work(model, tmp_path, tools=[], mcp={"time": {**TIME, "tools": ["convert_time"]}})
    assert {tool["function"]["name"] for tool in model.bound[0]["tools"]} >= {TOKYO[0], "record_progress"}
    assert [action.error for action in actions(events)] == [True]


async def test_server_is_recorded_as_a_process_of_its_node(tmp_path: Path) -> None:
    registry = ProcessRegistry(tmp_path / "processes")
    recorded: list[list[Path]] = []

    def script(messages: Sequence[BaseMessage]) -> Any:
        recorded.append(list((tmp_path / "processes").iterdir()))
        return calls(DONE)

    worker = agent(ScriptedChatModel(script), WorkerSettings(processes=registry), mcp={"time": TIME})
    assert [event async for event in worker.run(assignment(), delivery(tmp_path))]
    assert len(recorded[0]) == 1
    assert list((tmp_path / "processes").iterdir()) == []


async def test_server_killed_in_the_middle_is_an_observation(tmp_path: Path) -> None:
    def script(messages: Sequence[BaseMessage]) -> Any:
        if len(messages) == 4:
            for child in children():
                child.kill()
                child.wait()
        return calls(NOW if len(messages) < 8 else DONE)

    events = await work(ScriptedChatModel(script), tmp_path, mcp={"time": TIME})
    assert [action.error for action in actions(events)] == [False, True, True]
    assert "the server 'time' has ended" in actions(events)[1].observation
    assert isinstance(events[-1], Success)


async def test_server_that_ends_in_a_call_says_why(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(("odd__die", {})), calls(("odd__fail", {})), calls(DONE)])
    events = await work(model, tmp_path, mcp={"odd": odd(tools=["die", "fail"])})
    assert [action.error for action in actions(events)] == [True, True]
    assert all("fatal: out of luck" in action.observation for action in actions(events))
    assert all(len(action.observation) <= 1_000 for action in actions(events))


async def test_one_server_can_end_without_the_other(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(("odd__die", {})), calls(NOW), calls(DONE)])
    events = await work(model, tmp_path, mcp={"odd": odd(tools=["die", "fail"]), "time": TIME})
    assert [action.error for action in actions(events)] == [True, False]


@pytest.mark.parametrize("arguments", [(), ("stubborn",)])
@pytest.mark.req("S10")
async def test_cancelled_attempt_leaves_no_process(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    calling = asyncio.Event()

    def script(messages: Sequence[BaseMessage]) -> Any:
        calling.set()
        return calls(("odd__change", {}))

    task = asyncio.create_task(
        work(ScriptedChatModel(script), tmp_path, mcp={"odd": odd(*arguments, tools=["change"])})
    )
    await calling.wait()
    assert children()
    await until(lambda: called(tmp_path) == ["change"])
    while not task.done():  # again and again, as somebody impatient would
        task.cancel()
        await asyncio.wait({task}, timeout=0.2)
    assert task.cancelled()
    assert children() == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


def called(workspace: Path) -> list[str]:
    path = workspace / mcp_server.CALLS
    return path.read_text().splitlines() if path.exists() else []


async def test_attempt_cancelled_while_a_server_starts_leaves_no_process(tmp_path: Path) -> None:
    task = asyncio.create_task(
        work(ScriptedChatModel([]), tmp_path, mcp={"odd": {"command": ["sleep", "600"]}, "time": TIME})
    )
    await until(lambda: len(children()) == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert children() == []


async def test_attempt_may_be_closed_by_another_task(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(NOW), calls(DONE)])
    run = agent(model, mcp={"time": TIME}).run(assignment(), delivery(tmp_path))
    await anext(run)
    await asyncio.create_task(run.aclose())
    assert children() == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_whatever_a_server_answers_is_an_observation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODD_TOKEN", "1")
    monkeypatch.setenv("OTHER_TOKEN", "2")
    wanted = [("echo", {"config": "a", "runtime": "b", "callbacks": "c"}), *((name, {}) for name in NO_ARGUMENTS)]
    model = ScriptedChatModel([*(calls((f"odd__{name}", given)) for name, given in wanted), calls(DONE)])
    tools = [name.replace("dotted_", "dotted.") for name, _ in wanted]
    events = await work(model, tmp_path, mcp={"odd": odd(env=["ODD_TOKEN"], tools=tools)})
    echo, fail, long, picture, bare, environment = actions(events)
    assert [action.error for action in actions(events)] == [False, True, False, False, False, False]
    assert echo.observation == "config=a runtime=b callbacks=c"
    assert "the disk is on fire" in fail.observation
    assert "bytes left out" in long.observation
    assert len(model.prompts[3][-1].text) <= 16_000
    shown = ["a dot", "[image/png, not shown]", "a line", "[image/gif, not shown]", "[file:///c]"]
    assert picture.observation == "\n".join(shown)
    assert json.loads(bare.observation) == {"n": 7}
    assert "ODD_TOKEN" in environment.observation
    assert "OTHER_TOKEN" not in environment.observation


async def test_time_out_is_tried_once_more_where_the_server_says_that_this_is_safe(tmp_path: Path) -> None:
    names = ["look", "ignore", "change"]
    model = ScriptedChatModel([calls(*((f"odd__{name}", {}) for name in names)), calls(DONE)])
    events = await work(model, tmp_path, mcp={"odd": odd(timeout_s=1.5, tools=names)})
    observed = {action.name: (action.observation, action.error) for action in actions(events)}
    none = ("error: no answer within 1.5 s", True)
    assert observed == {"odd__look": ("seen", False), "odd__ignore": none, "odd__change": none}
    assert sorted(called(tmp_path)) == ["change", "ignore", "ignore", "look", "look"]


async def test_calls_of_servers_in_one_turn_are_made_at_once(tmp_path: Path) -> None:
    both = calls(("odd__meet", {}), ("odd__meet", {}))
    events = await work(ScriptedChatModel([both, calls(DONE)]), tmp_path, mcp={"odd": odd(tools=["meet"])})
    assert [action.observation for action in actions(events)] == ["met", "met"]


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ({"command": ["no-such-program"]}, "no such program"),
        ({"command": [sys.executable, "-c", "import sys; sys.exit('no settings')"]}, "it wrote last: no settings"),
        ({"command": ["sleep", "600"], "start_timeout_s": 0.2}, "not ready within 0.2 s"),
        ({"command": ["sleep", "0"], "env": ["NO_SUCH_VARIABLE"]}, "variable 'NO_SUCH_VARIABLE'"),
        ({"url": "http://127.0.0.1:9/mcp"}, "cannot be used: "),
        (odd(tools=["no_such"]), "no tool 'no_such'; its tools are bare, change, "),
        (odd(), "has several tools that would be called 'odd__dotted_name' here"),
    ],
)
async def test_server_that_cannot_be_used_is_told_before_the_model_is_asked(
    tmp_path: Path, server: dict[str, Any], message: str
) -> None:
    model = ScriptedChatModel([])
    with pytest.raises(WorkerConfigError, match="MCP server 'odd'") as raised:
        await work(model, tmp_path, mcp={"odd": server})
    assert message in str(raised.value)
    assert len(str(raised.value)) <= 1_100
    assert model.count == 0


@pytest.mark.parametrize(
    "options",
    [
        {"mcp": {"a": {}}},
        {"mcp": {"a": {"command": ["x"], "url": "http://x"}}},
        {"mcp": {"a": {"url": "file:///x"}}},
        {"mcp": {"a": {"url": "http://x", "env": ["X"]}}},
        {"mcp": {"a": {"command": ["x"], "headers": {"X": "Y"}}}},
        {"mcp": {"a__b": {"command": ["x"]}}},
        {"mcp": {"a": {"command": ["x"]}}, "approve": {"tools": ["b__c"]}},
    ],
)
def test_wrong_settings_of_a_server_are_refused_when_the_worker_is_made(options: dict[str, Any]) -> None:
    with pytest.raises(WorkerConfigError, match=r"option 'mcp|approve\.tools"):
        create(options, settings=WorkerSettings())


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ({"comand": ["x"]}, "has no option 'mcp.a.comand'; check"),
        ({"command": ["x"], "timeout_s": -1}, "option 'mcp.a.timeout_s' is -1: Input should be greater"),
        ({"command": {"x": 1}}, "option 'mcp.a.command' is {'x': 1}: Input should be a list"),
        ({"command": "x 'y"}, "Close the quote"),
    ],
)
def test_wrong_setting_inside_of_an_option_is_named_with_its_place(server: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkerConfigError, match=message):
        create({"mcp": {"a": server}}, settings=WorkerSettings())


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_mcp_adapters.tools", None)
    with pytest.raises(WorkerConfigError, match=r"pip install 'sol-luna\[mcp\]'"):
        create({"mcp": {"a": {"command": ["x"]}}}, settings=WorkerSettings())


@pytest.mark.case("PAR-03")
async def test_tools_of_a_server_can_need_consent(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(TOKYO), calls(NOW)])
    events = await work(model, tmp_path, mcp={"time": TIME}, approve={"tools": ["time__get*"]})
    assert [action.name for action in actions(events)] == [TOKYO[0]]
    assert isinstance(events[-1], Stuck)
    assert events[-1].question == (
        'May this run: time__get_current_time {"timezone": "Europe/Vienna"}? Answer yes or no.'
    )


async def test_consent_for_a_tool_that_no_server_has_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkerConfigError, match="'time__sleep', which is no tool"):
        await work(ScriptedChatModel([]), tmp_path, mcp={"time": TIME}, approve={"tools": ["time__sleep"]})

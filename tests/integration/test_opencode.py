"""A real coding agent (opencode, from npm) as a worker, with a scripted model on the loopback address.

Opt-in: set SOL_TEST_OPENCODE=1. Needs npm once, to install the agent into the user's cache; after that no network.
"""

import asyncio
import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from luna.errors import WorkerConfigError
from luna.protocol import Action, Success
from luna.testing import Hang, ScriptedServer
from luna.testing.wire_format import WireReply
from tests.support.acp_runs import DONE, items_of, make
from tests.support.processes import until

VERSION = "1.18.33"
REPORT = str(DONE["say"])
PASSED_ON = ["OPENCODE_CONFIG_CONTENT", "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_MODELS_FETCH"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(os.environ.get("SOL_TEST_OPENCODE") != "1", reason="set SOL_TEST_OPENCODE=1 to run opencode"),
]
Worker = Callable[..., Any]


@pytest.fixture(scope="module")
def program() -> str:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    place = cache / "sol-luna" / f"opencode-{VERSION}"
    found = place / "node_modules" / ".bin" / "opencode"
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the tests may run in several processes
        if not found.exists():
            npm = shutil.which("npm")
            if npm is None:
                pytest.skip("npm is not installed")
            words = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(place), f"opencode-ai@{VERSION}"]
            try:
                done = subprocess.run(words, capture_output=True, text=True, timeout=400)
            except subprocess.TimeoutExpired:
                pytest.skip("opencode could not be installed within 400 s")
            if done.returncode != 0:
                pytest.skip(f"opencode could not be installed: {(done.stderr.strip().splitlines() or ['?'])[0]}")
    return str(found)


@pytest.fixture
def worker(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """Makes a worker whose model is the server's."""

    def with_model(server: ScriptedServer, **options: Any) -> Any:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": server.url, "apiKey": "none"},
            "models": {"one": {}, "two": {}},
        }
        config = {
            "autoupdate": False,
            "share": "disabled",
            "enabled_providers": ["scripted"],
            "model": "scripted/one",
            "small_model": "scripted/one",
            "provider": {"scripted": provider},
            "permission": {"edit": "ask", "bash": "ask"},
        }
        home = tmp_path / "home"
        home.mkdir()
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("OPENCODE_CONFIG_CONTENT", json.dumps(config))
        monkeypatch.setenv("OPENCODE_DISABLE_AUTOUPDATE", "1")
        monkeypatch.setenv("OPENCODE_DISABLE_MODELS_FETCH", "1")
        return make([program, "acp"], env=PASSED_ON, **options)

    return with_model


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def scripted(replies: Sequence[WireReply]) -> Callable[[Sequence[BaseMessage]], WireReply]:
    """Answers by how many tool results there are; the request for a title of the session is answered too."""

    def script(messages: Sequence[BaseMessage]) -> WireReply:
        if "title" in str(messages[0].content)[:300].lower():
            return "A title"
        return replies[sum(isinstance(message, ToolMessage) for message in messages)]

    return script


def call(name: str, **arguments: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"{name}-1"}])


async def test_opencode_edits_and_reports_and_is_denied_commands(worker: Worker, workspace: Path) -> None:
    write = call("write", filePath="out.txt", content="7")
    replies: list[WireReply] = [write, call("bash", command="ls", description="look"), REPORT]
    with ScriptedServer(scripted(replies)) as server:
        *events, report = await items_of(worker(server), workspace)
    assert report == Success(summary="counted", result=7)
    assert (workspace / "out.txt").read_text() == "7"
    written, denied = [event for event in events if isinstance(event, Action)]
    assert (written.name, written.paths, written.error) == ("edit", ("out.txt",), False)
    assert (denied.name, denied.arguments["command"], denied.error) == ("execute", "ls", True)
    asked = [request.messages[-1].text for request in server.requests]
    assert sum("was denied, and stays denied" in text for text in asked) == 1


async def test_opencode_may_run_commands_where_that_is_granted(worker: Worker, workspace: Path) -> None:
    replies: list[WireReply] = [call("bash", command="echo 7 > out.txt", description="write"), REPORT]
    with ScriptedServer(scripted(replies)) as server:
        made = worker(server, permissions="allow", model="scripted/two", mode="build")
        *_, report = await items_of(made, workspace)
    assert isinstance(report, Success)
    assert (workspace / "out.txt").read_text() == "7\n"
    assert {request.model for request in server.requests} >= {"two"}


async def test_opencode_works_in_a_sandbox(worker: Worker, workspace: Path) -> None:
    command = call("bash", command="test ! -w /etc && echo 7 > out.txt", description="write")
    with ScriptedServer(scripted([command, REPORT])) as server:
        try:
            made = worker(server, permissions="allow", sandbox="required", network=True)
        except WorkerConfigError as error:
            pytest.skip(str(error))
        *_, report = await items_of(made, workspace)
    assert isinstance(report, Success)
    assert (workspace / "out.txt").read_text() == "7\n"


async def test_model_that_opencode_does_not_offer_is_refused_with_those_it_does(
    worker: Worker, workspace: Path
) -> None:
    with ScriptedServer([]) as server, pytest.raises(WorkerConfigError, match="takes scripted/one, scripted/two"):
        await items_of(worker(server, model="scripted/on"), workspace)
    assert server.count == 0


async def test_cancelled_opencode_is_gone_soon(worker: Worker, workspace: Path) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    with ScriptedServer(scripted([Hang()])) as server:
        task = asyncio.create_task(items_of(worker(server), workspace))
        await until(lambda: server.count > 0, 60)
        begun = time.monotonic()
        task.cancel()
        await asyncio.wait({task})
        seconds = time.monotonic() - begun
    assert task.cancelled()
    assert seconds < 5
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    print(f"gone {seconds:.2f} s after it was cancelled")

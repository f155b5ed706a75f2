"""Tools of an MCP server behind a URL: one of our own, on this machine."""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from langchain_core.messages import BaseMessage
from mcp.server.fastmcp import FastMCP

from luna.protocol import Success
from luna.testing.fakes import ScriptedChatModel, calls
from tests.support.agents import DONE, actions, work

pytestmark = pytest.mark.slow
ADD = ("sums__add", {"a": 2, "b": 3})


class Sums:
    """A server that adds, and remembers what credentials it was shown."""

    def __init__(self) -> None:
        self.shown: set[str] = set()
        self.broken = False
        mcp = FastMCP("sums")
        mcp.add_tool(self.add)
        self._app: Any = mcp.streamable_http_app()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/mcp"
        config = uvicorn.Config(
            self._seen, interface="asgi3", lifespan="on", log_level="critical", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)

    def add(self, a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    async def _seen(self, scope: Any, receive: Any, send: Any) -> None:
        self.shown |= {value.decode() for name, value in scope.get("headers", ()) if name == b"authorization"}
        if self.broken and scope["type"] == "http":
            raise RuntimeError("out of order")
        await self._app(scope, receive, send)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Sums"]:
        task = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        try:
            yield self
        finally:
            self._server.should_exit = True
            await task
            self._socket.close()


async def test_tool_behind_a_url_is_called_with_the_credentials_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUMS_AUTHORIZATION", "Bearer s3cret")
    model = ScriptedChatModel([calls(ADD), calls(("sums__add", {"a": "x", "b": 1})), calls(DONE)])
    async with Sums().serving() as sums:
        server = {"url": sums.url, "headers": {"Authorization": "SUMS_AUTHORIZATION"}}
        events = await work(model, tmp_path, mcp={"sums": server})
    right, wrong = actions(events)
    assert (right.observation, right.error) == ("5", False)
    assert wrong.error
    assert isinstance(events[-1], Success)
    assert sums.shown == {"Bearer s3cret"}


async def test_server_behind_a_url_that_breaks_is_an_observation(tmp_path: Path) -> None:
    async with Sums().serving() as sums:

        def script(messages: Sequence[BaseMessage]) -> Any:
            sums.broken = len(messages) in {4, 6}
            return calls(ADD if len(messages) < 10 else DONE)

        events = await work(ScriptedChatModel(script), tmp_path, mcp={"sums": {"url": sums.url, "timeout_s": 2}})
    assert [action.error for action in actions(events)] == [False, True, True, False]
    assert "the connection was lost" in actions(events)[1].observation
    assert isinstance(events[-1], Success)


async def test_cancelled_attempt_lets_go_of_the_server(tmp_path: Path) -> None:
    waiting = asyncio.Event()

    class Silent(ScriptedChatModel):
        async def _agenerate(self, *args: Any, **more: Any) -> Any:
            waiting.set()
            await asyncio.Event().wait()

    async with Sums().serving() as sums:
        before = asyncio.all_tasks()
        task = asyncio.create_task(work(Silent([]), tmp_path, mcp={"sums": {"url": sums.url}}))
        await asyncio.wait_for(waiting.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert {each for each in asyncio.all_tasks() - before if "luna" in repr(each.get_coro())} == set()

"""Tools of MCP servers: connections, their tools as LangChain tools, and how faults on the wire are told."""

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, TypeAlias

from langchain_core.tools import BaseTool
from pydantic import Field, PrivateAttr, StringConstraints, ValidationError, field_validator, model_validator

from luna.errors import LunaError, WorkerConfigError
from luna.process.conversation import Conversation, converse
from luna.process.execute import ProcessLimits, ProcessRegistry, split_command
from luna.protocol import Data, Text
from luna.text import clip, redact
from luna.tools.builtin import Outcome

if TYPE_CHECKING:
    from mcp import ClientSession
    from mcp.types import CallToolResult, ContentBlock


class Wire:
    """Hands messages to and fro. Needs the optional package.

    Attributes:
        is_over: Nothing more will be heard from the program.
    """

    def __init__(self, talk: Conversation) -> None:
        self._talk = talk
        self.is_over = False

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[tuple[Any, Any]]:
        """What the session reads from and writes to."""
        import anyio  # noqa: PLC0415 - comes with the optional package

        heard, read = anyio.create_memory_object_stream[Any](0)
        write, said = anyio.create_memory_object_stream[Any](0)
        pumps = [asyncio.create_task(self._hear(heard)), asyncio.create_task(self._say(said))]
        try:
            yield read, write
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.wait(pumps)
            for stream in (heard, read, write, said):
                stream.close()

    async def _hear(self, heard: Any) -> None:  # noqa: ANN401 - anyio's
        """Hand on what the program says; lines that are no messages are passed over."""
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - optional
        from mcp.types import JSONRPCMessage  # noqa: PLC0415 - optional

        with suppress(ValueError):  # a line that is too long
            while line := await self._talk.reader.readline():
                with suppress(ValidationError):
                    await heard.send(SessionMessage(JSONRPCMessage.model_validate_json(line)))
        self.is_over = True
        heard.close()  # calls that wait for an answer end

    async def _say(self, said: Any) -> None:  # noqa: ANN401 - anyio's
        with suppress(OSError):  # it has closed its input; that it has ended is noticed by hearing
            async for each in said:
                text = each.message.model_dump_json(by_alias=True, exclude_none=True)
                self._talk.writer.write(f"{text}\n".encode())
                await self._talk.writer.drain()
        said.close()


SEPARATOR: Final = "__"
"""Between the name of a server and that of its tool."""
_ANSWER_BYTES = 16_000
_DESCRIPTION_BYTES = 2_000
_REASON_BYTES = 1_000
_NAME_CHARACTERS = 64

ServerName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+(?:[_-][A-Za-z0-9]+)*$", max_length=24)]


class McpServer(Data):
    """One MCP server.

    Attributes:
        command: Program and arguments, or one string that is split by shell-like rules, of a server that talks over its
            standard streams; it is started in the workspace for each attempt, and ended with it.
        url: Address of a server that talks streamable HTTP, instead of `command`.
        env: Names of variables of our own environment that the program gets, beside a few harmless ones.
        headers: HTTP headers for `url`: the name of each, and of the environment variable that holds its value.
        tools: Names of the server's tools that the agent may use, as the server calls them; None: all.
        start_timeout_s: Seconds until it must be ready. Some programs fetch themselves first.
        timeout_s: Seconds for each call.
    """

    command: tuple[Text, ...] = ()
    url: str | None = Field(default=None, pattern=r"^https?://")
    env: tuple[Text, ...] = ()
    headers: dict[Text, Text] = Field(default_factory=dict)
    tools: tuple[Text, ...] | None = None
    start_timeout_s: float = Field(default=120.0, gt=0)
    timeout_s: float = Field(default=60.0, gt=0)

    @field_validator("command", mode="before")
    @classmethod
    def _words(cls, value: object) -> object:
        return split_command(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if bool(self.command) == (self.url is not None):
            raise ValueError("give either a command or a url")
        if (self.env and not self.command) or (self.headers and self.command):
            raise ValueError("env goes with a command, headers go with a url")
        return self


class McpFaultError(LunaError):
    """A call was not answered, of a tool that may be called again. Raised for the middleware that does that."""


class McpTool(BaseTool):
    """A tool of a server, under a name of ours. Its arguments are passed on as they are; the server checks them.

    Attributes:
        repeatable: The server says of it that it only reads, or that calling it twice does no more than once.
    """

    repeatable: bool
    response_format: Literal["content_and_artifact"] = "content_and_artifact"
    _server: "_Server" = PrivateAttr()
    _own_name: str = PrivateAttr()

    def __init__(self, server: "_Server", own_name: str, **fields: Any) -> None:  # noqa: ANN401 - the base's own
        super().__init__(**fields)
        self._server = server
        self._own_name = own_name

    def _run(self, *args: Any, **arguments: Any) -> Any:  # noqa: ANN401 - the base's own
        raise NotImplementedError("tools of MCP servers can be awaited only")

    async def _arun(self, /, *_: Any, **arguments: Any) -> tuple[str, Outcome]:  # noqa: ANN401 - the server's own
        outcome = await self._server.call(self._own_name, arguments, repeatable=self.repeatable)
        return outcome.text, outcome


def fit_name(name: str) -> str:
    """The name of a tool in letters, digits, `_` and `-`, at most 64 of them: providers refuse others."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_NAME_CHARACTERS] or "_"


def require_mcp() -> None:
    """Check that the optional packages are there.

    Raises:
        WorkerConfigError: If they are not.
    """
    try:
        import_module("langchain_mcp_adapters.tools")
    except ImportError as error:
        raise WorkerConfigError(
            f"MCP servers need optional packages, and there is: {error}. Install them: pip install 'sol-luna[mcp]'"
        ) from error


@asynccontextmanager
async def mcp_tools(
    servers: Mapping[str, McpServer], *, workspace: Path, registry: ProcessRegistry | None = None
) -> AsyncGenerator[list[McpTool]]:
    """Start servers and give their tools, named `server__tool`; when this is left, all of them have ended.

    It may be left by another task than the one that entered it.

    Args:
        servers: By name.
        workspace: Where those that are programs run.
        registry: Where their processes are recorded.

    Raises:
        WorkerConfigError: If one cannot be started or reached, or does not have the tools it should; the message says
            why, with what it wrote last.
    """
    running = [_Server(name, server, workspace, registry) for name, server in servers.items()]
    try:
        await asyncio.gather(*(server.start() for server in running))
        yield [tool for server in running for tool in server.tools]
    finally:
        await _end_all(running)


async def _end_all(running: list["_Server"]) -> None:
    """End all, however often we are cancelled meanwhile: each ends within a bounded time."""
    tasks = [task for server in running if (task := server.stop()) is not None]
    cancelled = False
    while pending := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError:
            cancelled = True
    if cancelled:
        raise asyncio.CancelledError


class _Server:
    """A server in a task of its own, since what the MCP package opens must be closed by the task that opened it.

    Attributes:
        tools: What it offers, once it has started.
    """

    def __init__(self, name: str, server: McpServer, workspace: Path, registry: ProcessRegistry | None) -> None:
        self.tools: list[McpTool] = []
        self._name = name
        self._server = server
        self._workspace = workspace
        self._registry = registry
        self._task: asyncio.Task[None] | None = None
        self._session: ClientSession | None = None
        self._talk: Conversation | None = None
        self._wire: Wire | None = None
        self._connecting = asyncio.Lock()

    async def start(self) -> None:
        """Start it and read what it offers."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(ready))
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())  # or asyncio complains
        await asyncio.wait({ready, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if ready.done():
            return
        error = None if self._task.cancelled() else _first(self._task.exception())
        if isinstance(error, WorkerConfigError):
            raise error
        raise self._unusable(str(error or "") or "it could not be reached") from None

    def stop(self) -> asyncio.Task[None] | None:
        """Begin to end it; return what to wait for."""
        if self._task is not None:
            self._task.cancel()
        return self._task

    async def call(self, tool: str, arguments: dict[str, Any], *, repeatable: bool) -> Outcome:
        """Call one of its tools. The connection to a server behind a URL is made anew where it was lost.

        Raises:
            McpFaultError: If it did not answer, or the connection was lost, and it may be called again.
        """
        try:
            async with self._connecting:
                if self._is_over() and self._server.url is not None:
                    await self.start()
            return await self._answer(tool, arguments)
        except McpFaultError as fault:
            if repeatable:
                raise
            return _error(fault)
        except Exception as error:  # noqa: BLE001 - whatever the transport or an answer of no form raises
            return _error(error)

    async def _answer(self, tool: str, arguments: dict[str, Any]) -> Outcome:
        if self._session is None or self._task is None or self._is_over():
            return self._gone()
        asking = asyncio.ensure_future(self._session.call_tool(tool, arguments))
        try:
            await asyncio.wait(
                {asking, self._task}, timeout=self._server.timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.wait({asking})
        if asking.cancelled():
            lost = self._task.done()
            raise McpFaultError("the connection was lost" if lost else f"no answer within {self._server.timeout_s:g} s")
        if asking.exception() is not None and self._is_over():
            return self._gone()
        return _outcome(asking.result())

    def _is_over(self) -> bool:
        return self._task is None or self._task.done() or (self._wire is not None and self._wire.is_over)

    def _gone(self) -> Outcome:
        text = self._with_last_words(f"error: the server {self._name!r} has ended and cannot be used any more")
        return Outcome(clip(text, limit_bytes=_REASON_BYTES).text, error=True)

    def _unusable(self, why: str) -> WorkerConfigError:
        text = redact(self._with_last_words(f"MCP server {self._name!r} cannot be used: {why}"))
        return WorkerConfigError(clip(text, limit_bytes=_REASON_BYTES).text)

    def _unfit(self, why: str) -> WorkerConfigError:
        text = f"MCP server {self._name!r} {why}"
        return WorkerConfigError(clip(text, limit_bytes=_REASON_BYTES).text)

    def _with_last_words(self, text: str) -> str:
        tail = self._talk.stderr_tail if self._talk is not None else ""
        return f"{text}; it wrote last: {tail}" if tail else text

    async def _hold(self, ready: "asyncio.Future[None]") -> None:
        """Keep the session open until cancelled."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(self._server.start_timeout_s):
                    self._session = await self._opened(stack)
                    await self._session.initialize()
                    self.tools = await self._offered(self._session)
            except TimeoutError:
                raise self._unusable(f"it was not ready within {self._server.start_timeout_s:g} s") from None
            ready.set_result(None)
            await asyncio.Event().wait()

    async def _opened(self, stack: AsyncExitStack) -> "ClientSession":
        from langchain_mcp_adapters.sessions import StreamableHttpConnection, create_session  # noqa: PLC0415 - optional
        from mcp import ClientSession  # noqa: PLC0415 - optional

        if self._server.url is not None:
            headers = {header: self._variable(name) for header, name in self._server.headers.items()}
            connection = StreamableHttpConnection(transport="streamable_http", url=self._server.url, headers=headers)
            return await stack.enter_async_context(create_session(connection))
        env = {name: self._variable(name) for name in self._server.env}
        limits = ProcessLimits(timeout_s=None)  # it lives as long as the attempt
        self._talk = await stack.enter_async_context(
            converse(self._server.command, cwd=self._workspace, limits=limits, env=env, registry=self._registry)
        )
        self._wire = Wire(self._talk)
        read, write = await stack.enter_async_context(self._wire.streams())
        return await stack.enter_async_context(ClientSession(read, write))

    def _variable(self, name: str) -> str:
        value = os.environ.get(name)
        if value is None:
            raise self._unfit(f"needs the environment variable {name!r}; set it")
        return value

    async def _offered(self, session: "ClientSession") -> list[McpTool]:
        """Its tools that may be used. They are called through the session: arguments may have any name then."""
        from langchain_mcp_adapters.tools import load_mcp_tools  # noqa: PLC0415 - optional

        listed = {tool.name: tool for tool in await load_mcp_tools(session)}
        allowed = listed.keys() if self._server.tools is None else dict.fromkeys(self._server.tools)
        if missing := [name for name in allowed if name not in listed]:
            raise self._unfit(f"has no tool {missing[0]!r}; its tools are {', '.join(sorted(listed))}")
        tools = [self._named(listed[name]) for name in allowed]
        names = [tool.name for tool in tools]
        if twice := {name for name in names if names.count(name) > 1}:
            raise self._unfit(f"has several tools that would be called {twice.pop()!r} here; choose one with `tools`")
        return tools

    def _named(self, tool: BaseTool) -> McpTool:
        hints = tool.metadata or {}
        return McpTool(
            self,
            tool.name,
            name=fit_name(f"{self._name}{SEPARATOR}{tool.name}"),
            description=clip(tool.description, limit_bytes=_DESCRIPTION_BYTES).text,
            args_schema=tool.args_schema,
            repeatable=bool(hints.get("readOnlyHint") or hints.get("idempotentHint")),
        )


def _first(error: BaseException | None) -> BaseException | None:
    """The first single exception of a group: the MCP package wraps all that is raised while a session is open."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _error(error: Exception) -> Outcome:
    text = redact(str(error)) or type(error).__name__
    return Outcome(f"error: {clip(text, limit_bytes=_REASON_BYTES).text}", error=True)


def _outcome(result: "CallToolResult") -> Outcome:
    texts = [_text(block) for block in result.content]
    if not texts and result.structuredContent is not None:
        texts = [json.dumps(result.structuredContent, ensure_ascii=False)]
    text = clip("\n".join(texts) or "done", limit_bytes=_ANSWER_BYTES).text
    return Outcome(f"error: {text}" if result.isError else text, error=bool(result.isError))


def _text(block: "ContentBlock") -> str:
    """What a block says in words; pictures and sounds are named only."""
    match block.type:
        case "text":
            return block.text
        case "resource":
            return getattr(block.resource, "text", f"[{block.resource.mimeType or 'data'}, not shown]")
        case "resource_link":
            return f"[{block.uri}]"
        case _:
            return f"[{block.mimeType}, not shown]"

"""A conversation with a program as the pair of streams that the MCP package speaks through: one message a line."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

from pydantic import ValidationError

from luna.conversation import Conversation


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

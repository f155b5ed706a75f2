"""An MCP server with the faults that real ones have, as a program. Its tools leave a line for each call in a file."""

import asyncio
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from mcp.server.fastmcp import FastMCP, Image
from mcp.types import (
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ResourceLink,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import AnyUrl

server = FastMCP("odd")
CALLS = Path("calls.txt")
_met = asyncio.Event()


def _called(name: str) -> int:
    with CALLS.open("a") as file:
        file.write(f"{name}\n")
    return CALLS.read_text().splitlines().count(name)


@server.tool()
def echo(config: str, runtime: str, callbacks: str = "") -> str:
    """Say the arguments, whose names others like to use themselves."""
    return f"config={config} runtime={runtime} callbacks={callbacks}"


@server.tool()
def fail() -> str:
    """Go wrong."""
    raise ValueError("the disk is on fire")


@server.tool()
def die() -> str:
    """End the server in the middle of a call."""
    sys.stderr.write("fatal: out of luck\n")
    sys.stderr.flush()
    os._exit(3)


@server.tool(annotations=ToolAnnotations(readOnlyHint=True))
async def look() -> str:
    """Answer at the second time of asking only."""
    import anyio

    if _called("look") == 1:
        await anyio.sleep(600)
    return "seen"


@server.tool(annotations=ToolAnnotations(idempotentHint=True))
async def ignore() -> str:
    """Never answer, however often it is asked."""
    import anyio

    _called("ignore")
    await anyio.sleep(600)
    return "ignored"


@server.tool()
async def change() -> str:
    """Never answer."""
    import anyio

    _called("change")
    await anyio.sleep(600)
    return "changed"


@server.tool()
async def meet() -> str:
    """Answer when it has been called twice."""
    if _called("meet") == 2:
        _met.set()
    await _met.wait()
    return "met"


@server.tool(structured_output=False)
def picture() -> list[Any]:
    """Show something of each kind."""
    blob = BlobResourceContents(uri=AnyUrl("file:///b"), blob="eA==", mimeType="image/gif")
    return [
        "a dot",
        Image(data=b"x", format="png"),
        EmbeddedResource(type="resource", resource=TextResourceContents(uri=AnyUrl("file:///a"), text="a line")),
        EmbeddedResource(type="resource", resource=blob),
        ResourceLink(type="resource_link", uri=AnyUrl("file:///c"), name="c"),
    ]


@server.tool()
def bare() -> CallToolResult:
    """Answer without a word."""
    return CallToolResult(content=[], structuredContent={"n": 7})


@server.tool()
def long() -> str:
    """Say much."""
    return "x" * 1_000_000


@server.tool(name="dotted/name")
def same() -> str:
    """Be called like another one, once the name is made fit."""
    return ""


@server.tool(name="dotted.name")
def environment() -> str:
    """Tell the environment."""
    return " ".join(sorted(os.environ))


if __name__ == "__main__":
    if sys.argv[1:] == ["stubborn"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if os.fork() == 0:
            time.sleep(600)
    print("listening", flush=True)  # which a server must not do, and some do
    sys.stderr.write("x" * 300_000)
    server.run()

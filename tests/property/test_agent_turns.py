"""Whatever a model says in its turns, an agent gives one report, and tells each call and all usage exactly once."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import InvalidToolCall, ToolCall

from luna.protocol import Action, Progress, Spent, Success
from luna.testing import ScriptedServer
from luna.testing.fakes import calls
from luna.workers.agent import create
from luna.workers.shared import WorkerSettings
from tests.support.agents import DONE, assignment, delivery

pytest.importorskip("langchain_openai", reason="needs the extra [openai]")

TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("list_files", {}),
    ("read_file", {"path": "long"}),
    ("read_file", {"path": "../x", "first_line": -1}),
    ("write_file", {"path": "a", "content": "x" * 2_000}),
    ("edit_file", {"path": "a", "old": "x", "new": "\ud83d"}),
    ("record_progress", {"stage": "evidence"}),
    ("record_progress", {"stage": "nearly"}),
    ("functions.no_such", {"n": float("nan")}),
    ("ReportSuccess", {}),
    ("ReportStuck", {"blocker": " "}),
]


def turn(named: list[tuple[str, dict[str, Any]]], bad: int, text: str, *, is_cut: bool) -> AIMessage:
    """Calls, some of them with arguments that are no JSON; at least one, since a turn without ends the agent."""
    metadata = {"response_metadata": {"finish_reason": "length"}} if is_cut else {}
    return AIMessage(
        text,
        tool_calls=[ToolCall(name=name, args=args, id=f"c{n}") for n, (name, args) in enumerate(named)],
        invalid_tool_calls=[
            InvalidToolCall(name="write_file", args='{"p', id=f"b{n}", error=None) for n in range(bad if named else 1)
        ],
        **metadata,
    )


turns = st.builds(
    turn,
    st.lists(st.sampled_from(TOOLS), max_size=4),
    st.integers(0, 2),
    st.sampled_from(["", "thinking " * 40]),
    is_cut=st.sampled_from([False, False, True]),
)


@pytest.mark.req("S52", "S55")
@given(st.lists(turns, min_size=1, max_size=10), st.sampled_from([None, 4_000]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_agent_tells_each_call_once_and_reports_once(said: list[AIMessage], limit: int | None, asks: bool) -> None:
    async def attempt() -> tuple[list[Any], int]:
        rest = iter(said)

        def script(messages: Any) -> AIMessage | str:
            if messages[0].text.startswith("You shorten the history"):
                return "it read and wrote"
            return next(rest, calls(DONE))

        with TemporaryDirectory() as place, ScriptedServer(script) as server:
            Path(place, "long").write_text("word " * 4_000)
            options: dict[str, Any] = {"model": "openai:x", "base_url": server.url, "max_context_tokens": limit}
            if asks:
                options["approve"] = {"tools": ["write_file"], "how": "reject"}
            worker = create(options, settings=WorkerSettings())
            return [event async for event in worker.run(assignment(), delivery(Path(place)))], server.count

    events, asked = asyncio.run(attempt())
    assert events[-1] == Success(summary="done", result="fine")
    told = [event for event in events if isinstance(event, Action | Progress)]
    assert len(told) == sum(len(one.tool_calls) + len(one.invalid_tool_calls) for one in said)
    assert sum(event.usage.calls for event in events if isinstance(event, Spent)) == asked
    for event in events:
        event.model_dump_json()

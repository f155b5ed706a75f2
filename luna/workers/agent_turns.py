"""Makes of each turn of the model something that the loop can go on with, whatever the model said.

Adds nothing that the model did not say, and carries out nothing that it said only in part.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, hook_config
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from luna.answers import CUT
from luna.models.calls import finish_reason
from luna.text import whole_characters
from luna.tools.mcp import McpTool, fit_name

_CUT_OFF = "error: not done, since the turn was cut off at its length limit; do less at once"
_NO_JSON = "error: not done, since the arguments are no JSON object; write them again"


class Turns(AgentMiddleware[Any, Any, Any]):
    """Puts turns in order. Belongs before all other middlewares, so that those count a turn before it is done again.

    Calls with arguments that are no JSON, and all calls of a turn that was cut off, a report among them, are answered
    with an error and not carried out; then the model goes on. Calls of our own tools in one turn are carried out one
    after the other, in the order in which they stand there: two changes of one file at once would lose one of them.

    Source: S52.
    """

    def __init__(self) -> None:
        super().__init__()
        self._one_at_a_time = asyncio.Lock()

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Make the call, and mend its answer."""
        response = await handler(request)
        said, *answers = cast("list[Any]", response.result)
        is_cut = finish_reason(said) in CUT
        said = _mended(said, is_cut=is_cut)
        report = None if is_cut else response.structured_response
        if is_cut:
            answers = []
        elif report is None:
            # LangChain would take its own refusal of a report for the end, where other calls stand beside it.
            answers = [answer.model_copy(update={"status": "error"}) for answer in answers]
        refused = _refusals(said, _CUT_OFF if is_cut else _NO_JSON)
        return replace(response, result=[said, *answers, *refused], structured_response=report)

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ANN401, ARG002 - as in the base class
        """Go on after a turn of which nothing could be carried out; LangChain would end here."""
        said = next(message for message in reversed(state["messages"]) if isinstance(message, AIMessage))
        return {"jump_to": "model"} if said.invalid_tool_calls and not said.tool_calls else None

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Carry out a call when its turn has come; those of MCP servers at once."""
        if isinstance(request.tool, McpTool):
            answer = await handler(request)
        else:
            async with self._one_at_a_time:
                answer = await handler(request)
        if isinstance(answer, ToolMessage):
            return answer.model_copy(update={"content": _plain(answer.content)})
        return answer


def _mended(said: AIMessage, *, is_cut: bool) -> AIMessage:
    """What was said as JSON that can be sent and kept; where it was cut off, its calls are invalid ones."""
    calls = [call | {"name": fit_name(call["name"]), "args": _plain(call["args"])} for call in said.tool_calls]
    undone: list[Any] = [
        call | {"name": fit_name(call["name"] or ""), "args": "{}"}  # some servers parse the arguments again
        for call in said.invalid_tool_calls
        if call["id"] is not None  # or it could not be answered
    ]
    if is_cut:
        given = {"type": "invalid_tool_call", "error": "cut off"}
        undone += [{**call, **given, "args": json.dumps(call["args"])} for call in calls]
        calls = []
    mended = {"content": _plain(said.content), "tool_calls": calls, "invalid_tool_calls": undone}
    return said.model_copy(update=mended)


def _refusals(said: AIMessage, why: str) -> list[ToolMessage]:
    return [
        ToolMessage(why, name=call["name"], tool_call_id=call["id"], status="error") for call in said.invalid_tool_calls
    ]


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON, and what Python takes for it
    """The same without halves of characters, NaN and infinity, which neither clients nor the journal can write."""
    if isinstance(value, str):
        return whole_characters(value)
    return json.loads(whole_characters(json.dumps(value, ensure_ascii=False)), parse_constant=str)

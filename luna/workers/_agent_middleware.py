"""What stands between an agent and its model or tools: order of calls in a turn, limits, consent of a person."""

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, cast

from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    InterruptOnConfig,
    ModelCallLimitMiddleware,
    ModelRequest,
    ModelResponse,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
    hook_config,
)
from langchain.agents.middleware.human_in_the_loop import Decision
from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
from langchain.agents.middleware.tool_call_limit import ToolCallLimitExceededError
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.errors import GraphRecursionError
from langgraph.types import Command
from pydantic import Field, JsonValue

from luna.errors import ModelError
from luna.models.answers import CUT
from luna.models.calls import finish_reason
from luna.models.failures import Declined, meaning
from luna.protocol import Data, Stuck, StuckKind, Text
from luna.text import whole_characters
from luna.tools.mcp import McpFaultError, McpTool, fit_name

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


LIMIT_ERRORS: Final = (ModelCallLimitExceededError, ToolCallLimitExceededError, GraphRecursionError)
"""What ends an agent that has used up its turns."""
_TOOL_CALLS_PER_TURN = 4
_GRAPH_STEPS_PER_TURN = 16


def limits(turns: int) -> list[AgentMiddleware[Any, Any, Any]]:
    """The middlewares that bound model calls and tool calls.

    Limits of the thread, which here is the attempt: those of a run begin anew after each review of a call.
    """
    return [
        ModelCallLimitMiddleware(thread_limit=turns, exit_behavior="error"),
        ToolCallLimitMiddleware(thread_limit=turns * _TOOL_CALLS_PER_TURN, exit_behavior="error"),
    ]


def retries(tools: Iterable[BaseTool]) -> list[AgentMiddleware[Any, Any, Any]]:
    """One more try for calls of MCP tools that were not answered, at once.

    Only of those of which the server says that they may be repeated: another call may have done its work unheard. Tools
    of ours have no such faults.
    """
    names: list[BaseTool | str] = [tool.name for tool in tools if isinstance(tool, McpTool) and tool.repeatable]
    if not names:
        return []
    return [
        ToolRetryMiddleware(
            tools=names, max_retries=1, retry_on=(McpFaultError,), on_failure=_told, initial_delay=0.0, jitter=False
        )
    ]


def _told(error: Exception) -> str:
    return f"error: {error}"


def graph_steps(turns: int) -> int:
    """Steps of the graph for so many turns; LangGraph's own limit is no help against a loop."""
    return (turns + 1) * _GRAPH_STEPS_PER_TURN


class DeclinedError(Exception):
    """The model will not do a call, however often it is asked; ends the agent with a FAILED report."""

    def __init__(self, declined: Declined) -> None:
        super().__init__(declined.reason)
        self.declined = declined


class Failures(AgentMiddleware[Any, Any, Any]):
    """Translates what the model raises, and only that, so that a fault of a tool is not blamed on the model.

    Nothing is tried again here (LangChain's ModelRetryMiddleware would): a rate limit or an outage must reach the
    provider's gate, which makes all branches wait and then delivers the attempt again. Source: S51.
    """

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Make the call.

        Raises:
            Interruption: The same delivery may be made again later.
            ModelError: If the model cannot be used.
            DeclinedError: If it will not do it.
        """
        try:
            return await handler(request)
        except NotImplementedError as error:
            reason = "The model cannot call tools, which an agent has to. Choose another, or a worker of kind model."
            raise ModelError(reason) from error
        except Exception as error:  # noqa: BLE001 - what providers raise has no common root
            found = meaning(error)
            raise (DeclinedError(found) if isinstance(found, Declined) else found) from None


_SHOWN_CHARACTERS: Final = 600
_HASH_DIGITS: Final = 32
_YES: Final = frozenset({"yes", "y"})


class Approve(Data):
    """Which tool calls need consent.

    Attributes:
        tools: Names of tools; `*` stands for anything (`files__*`: all of the server `files`).
        how: `ask` ends the attempt as STUCK with the question; a later attempt heeds the answer. `reject` is for runs
            that nobody watches: such calls are refused, and the agent is told so and may go on without.
    """

    tools: tuple[Text, ...] = Field(min_length=1)
    how: Literal["ask", "reject"] = "ask"

    def covers(self, tool: str) -> bool:
        """Whether calls of this tool need consent."""
        return any(fnmatchcase(tool, pattern) for pattern in self.tools)


class Approval:
    """Decides on the calls of one attempt.

    Args:
        approve: Which calls, and how.
        answers: What humans have answered so far, by question.
    """

    def __init__(self, approve: Approve, answers: Mapping[str, str]) -> None:
        self._approve = approve
        self._answers = answers

    def middleware(self, tools: Iterable[str]) -> HumanInTheLoopMiddleware[Any, Any, Any]:
        """LangChain's review of calls, for those of the tools that need consent.

        Args:
            tools: Names of all tools that the agent has.
        """
        both = InterruptOnConfig(allowed_decisions=["approve", "reject"])
        return HumanInTheLoopMiddleware({name: both for name in tools if self._approve.covers(name)})

    def decide(self, requests: Sequence[Mapping[str, Any]]) -> list[Decision] | Stuck:
        """The decisions on the calls of one turn, or the report that asks for the first one missing.

        Args:
            requests: Name and arguments (`args`) of each, in order.
        """
        decisions: list[Decision] = []
        for request in requests:
            decision = self._decision(request["name"], request["args"])
            if isinstance(decision, Stuck):
                return decision
            decisions.append(decision)
        return decisions

    def _decision(self, tool: str, arguments: Mapping[str, JsonValue]) -> Decision | Stuck:
        if self._approve.how == "reject":
            return {"type": "reject", "message": f"denied: {tool} needs a human's consent, and nobody is there to ask"}
        asked = question(tool, arguments)
        answer = self._answers.get(asked)
        if answer is None:
            return Stuck(
                kind=StuckKind.NEEDS_HUMAN,
                summary="A call needs a human's consent.",
                blocker=f"{tool} must not be called without a human's consent",
                question=asked,
            )
        if answer.strip().lower() in _YES:
            return {"type": "approve"}
        return {"type": "reject", "message": f"denied: {answer.strip() or 'no reason given'}"}


def question(tool: str, arguments: Mapping[str, JsonValue]) -> str:
    """What a human is asked about a call: the same for the same call, another one for any other.

    The arguments are shown as JSON in plain ASCII, so that nothing in them can steer a terminal, look like something
    else, or end the question. Of long ones the middle is left out, and a digest of the whole tells them apart.
    """
    whole = json.dumps(arguments, sort_keys=True, separators=(", ", ": ")).replace("\x7f", "\\u007f")
    shown = whole
    if len(whole) > _SHOWN_CHARACTERS:
        half = _SHOWN_CHARACTERS // 2
        digest = hashlib.sha256(whole.encode()).hexdigest()[:_HASH_DIGITS]
        shown = f"{whole[:half]} … {whole[-half:]} ({len(whole)} characters, SHA-256 {digest})"
    return f"May this run: {tool} {shown}? Answer yes or no."

"""What bounds an agent's loop, and what a failure of its model means.

There is no retry of model calls here: a fault of the provider has to reach its gate, where other branches wait too.
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final

from langchain.agents.middleware import (
    AgentMiddleware,
    ModelCallLimitMiddleware,
    ModelRequest,
    ModelResponse,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langchain.agents.middleware.model_call_limit import ModelCallLimitExceededError
from langchain.agents.middleware.tool_call_limit import ToolCallLimitExceededError
from langchain_core.tools import BaseTool
from langgraph.errors import GraphRecursionError

from luna.errors import ModelError
from luna.models.failures import Declined, meaning
from luna.tools.mcp import McpFaultError, McpTool

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

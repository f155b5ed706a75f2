"""From the changes of an agent's state to progress events: each turn and each action once, in order.

Acts on nothing. What was rewritten (a summarised history, a reviewed turn) is no new step.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from luna.answers import CUT
from luna.callables import in_thread
from luna.models.calls import finish_reason, refusal, usage_of
from luna.protocol import Action, Progress, ProgressEvent, Report, Said, Spent, Stage
from luna.redact import redact
from luna.text import clip
from luna.tools.files import Outcome
from luna.workers.agent_reports import REPORT_NAMES, Form, read_report

_OBSERVATION_BYTES = 4_000


def as_tool(function: Callable[..., Any]) -> BaseTool:
    """A tool whose text the agent reads and whose outcome stays with the message.

    Args:
        function: Returns an `Outcome`, at once or awaited; its docstring is what the agent reads about it.
    """

    @wraps(function)
    async def answered(*args: Any, **kwargs: Any) -> tuple[str, Outcome]:  # noqa: ANN401 - the function's own
        if iscoroutinefunction(function):
            outcome = await function(*args, **kwargs)
        else:
            outcome = await in_thread(partial(function, *args, **kwargs), name=function.__name__)
        return outcome.text, outcome

    return StructuredTool.from_function(
        coroutine=answered, name=function.__name__, response_format="content_and_artifact"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted(Outcome):
    """What `record_progress` answers, with what was recorded."""

    stage: Stage
    evidence: str


def record_progress(stage: Stage, evidence: str = "") -> Noted:
    """Say where you stand now: unknown, hypothesis, evidence, root_cause, solution or verified; with the evidence."""
    text = f"noted: {stage.value}" + (f", {evidence}" if evidence else "")
    return Noted(text=text, stage=stage, evidence=clip(evidence, limit_bytes=_OBSERVATION_BYTES).text)


class Seen:
    """What has come out of an agent so far.

    Attributes:
        turns: Model calls of the agent itself.
        actions: Tool calls, refused ones included.
        last_text: What it said last.
    """

    def __init__(self) -> None:
        self.turns = 0
        self.actions = 0
        self.last_text = ""
        self._cut = False
        self._refusal: str | None = None
        self._turn_id: str | None = None
        self._calls: dict[str | None, dict[str, Any]] = {}  # of this turn
        self._structured: Form | None = None

    def events(self, change: Mapping[str, Any]) -> Iterator[ProgressEvent]:
        """The events in one change of the agent's state."""
        self._structured = change.get("structured_response", self._structured)
        messages = change.get("messages", ())
        if is_rewritten(messages):
            return
        for message in messages:
            if isinstance(message, AIMessage):
                yield from self._turn(message)
            elif isinstance(message, ToolMessage) and not _takes_report(message):
                yield self._action(message)

    def report(self) -> Report:
        """The report that the agent gave, or that it gave none."""
        return read_report(self._structured, cut=self._cut, refusal=self._refusal, last_text=self.last_text)

    def _turn(self, message: AIMessage) -> Iterator[ProgressEvent]:
        if message.id is not None and message.id == self._turn_id:  # handed on by a review
            return
        self.turns += 1
        self._turn_id = message.id
        self._cut = finish_reason(message) in CUT
        self._refusal = refusal(message)
        self._calls = {call["id"]: call["args"] for call in message.tool_calls}
        yield Spent(usage=usage_of(message))
        if text := message.text.strip():
            self.last_text = text
            yield Said(text=text)

    def _action(self, message: ToolMessage) -> ProgressEvent:
        self.actions += 1
        outcome = message.artifact if isinstance(message.artifact, Outcome) else None
        if isinstance(outcome, Noted):
            return Progress(stage=outcome.stage, evidence=outcome.evidence)
        return Action(
            name=message.name or "tool",
            arguments=self._calls.get(message.tool_call_id, {}),
            observation=clip(redact(message.text), limit_bytes=_OBSERVATION_BYTES).text,
            error=outcome is None or outcome.error,  # none: wrong arguments, no such tool, refused call or report
            paths=outcome.paths if outcome is not None else (),
        )


def _takes_report(message: ToolMessage) -> bool:
    """Whether it only says that a report was taken, which is no action."""
    return message.name in REPORT_NAMES and message.status != "error"


def is_rewritten(messages: list[BaseMessage] | tuple[BaseMessage, ...]) -> bool:
    """Whether a change replaces the history instead of adding to it."""
    return bool(messages) and isinstance(messages[0], RemoveMessage)

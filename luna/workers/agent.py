"""The worker that is a chat model with tools: told its task once, followed step by step, asked for a report."""

import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial, reduce, wraps
from inspect import iscoroutinefunction
from operator import or_
from typing import Any, Literal, TypeAlias, get_args

from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command
from pydantic import BaseModel, Field, JsonValue

from luna.callables import in_thread
from luna.errors import ModelError, WorkerConfigError
from luna.models.answers import CUT
from luna.models.calls import finish_reason, refusal, usage_of
from luna.models.resolve import resolve_chat_model
from luna.process.sandbox import Confinement, ConfinementOptions
from luna.protocol import (
    REPORT_TYPES,
    Action,
    Assignment,
    Delivery,
    Failed,
    Progress,
    ProgressEvent,
    Report,
    Said,
    Spent,
    Stage,
    Stuck,
    StuckKind,
)
from luna.text import clip, redact
from luna.tools.builtin import FileTools, Outcome, ShellTools
from luna.tools.mcp import SEPARATOR, McpServer, ServerName, mcp_tools, require_mcp
from luna.workers._agent_context import Assigned, ContextFullError, Room, Summaries
from luna.workers._agent_middleware import (
    LIMIT_ERRORS,
    Approval,
    Approve,
    DeclinedError,
    Failures,
    Turns,
    graph_steps,
    limits,
    retries,
)
from luna.workers.model import model_gate, model_name
from luna.workers.reports import REPORT_NAMES, Form, read_report, report_types, with_warning
from luna.workers.shared import ROLE, WorkerSettings, read_options, task_text

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


class AgentLog:
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


Resolve: TypeAlias = Callable[..., BaseChatModel]
ToolName: TypeAlias = Literal["list_files", "read_file", "search_files", "write_file", "edit_file", "run_command"]
RUN_COMMAND = "run_command"
_INTERRUPT = "__interrupt__"


class AgentOptions(ConfinementOptions):
    """Settings of a worker of kind `agent`, with those of `ConfinementOptions` for the commands that it runs.

    Attributes:
        model: Name of a chat model that can call tools; None: the run's Luna model.
        base_url: Address of another server for it.
        system: Said after the agent's own role.
        tools: Tools that it may use, beside those for progress and reports.
        max_model_calls: Turns before it counts as stuck.
        max_context_tokens: Context of the model, in tokens as estimated from characters. Its history is summarised
            before it outgrows that; a task that does not fit is refused. None: what the model says of itself, and no
            limit where it says nothing.
        keep: Share of the history's room whose newest part stays word for word when the rest is summarised.
        approve: Tool calls that need a human's consent; None: none does.
        mcp: MCP servers by name, whose tools it may use as `name__tool`. They run outside of the sandbox.
    """

    model: str | None = None
    base_url: str | None = None
    system: str | None = None
    tools: tuple[ToolName, ...] = get_args(ToolName)
    max_model_calls: int = Field(default=25, ge=1, le=1000)
    max_context_tokens: int | None = Field(default=None, ge=1)
    keep: float = Field(default=0.3, gt=0, le=0.5)
    approve: Approve | None = None
    mcp: dict[ServerName, McpServer] = Field(default_factory=dict)


def create(options: Mapping[str, JsonValue], *, settings: WorkerSettings) -> "AgentWorker":
    """Make the worker of kind `agent`.

    Raises:
        WorkerConfigError: If an option is unknown or wrong.
    """
    return AgentWorker(read_options("agent", AgentOptions, options), settings=settings)


class AgentWorker:
    """Does a task by a loop of model calls and tools.

    Raises:
        WorkerConfigError: If `approve` names a tool that no agent has, the package for MCP servers is missing, or there
            can be no sandbox and one is required.

    Source: S04, S49, S52, S55.
    """

    def __init__(
        self, options: AgentOptions, *, settings: WorkerSettings, resolve: Resolve = resolve_chat_model
    ) -> None:
        self._options = options
        self._settings = settings
        self._resolve = resolve
        self._models: dict[str, BaseChatModel] = {}
        self.confinement = Confinement(options)
        _check_approve(options)
        if options.mcp:
            require_mcp()

    def gate(self, model: str | None) -> str:
        """Whose gate its calls respect."""
        return model_gate(self._options.model, self._options.base_url, model)

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        """Let the agent work; what it reports is the report.

        Raises:
            WorkerConfigError: If no model is set, or an MCP server cannot be used.
            ModelError: If the model cannot be had or used.
            Interruption: If the same delivery may be made again later.
        """
        name = model_name(self._options.model, delivery)
        warning = self.confinement.warning(delivery.workspace) if RUN_COMMAND in self._options.tools else ""
        try:
            if name not in self._models:
                self._models[name] = self._resolve(name, base_url=self._options.base_url)
            async with self._tools(delivery) as tools:
                work = _Work(self._options, self._models[name], tools, assignment, delivery)
                async with aclosing(work.run()) as items:
                    async for item in items:
                        if warning and isinstance(item, REPORT_TYPES):
                            yield with_warning(item, f"commands {warning}")
                        else:
                            yield item
        except ModelError:
            self._models.pop(name, None)  # its settings may be put right before the next attempt
            raise

    @asynccontextmanager
    async def _tools(self, delivery: Delivery) -> AsyncGenerator[list[BaseTool]]:
        options, workspace = self._options, delivery.workspace
        registry = self._settings.processes.for_attempt(delivery.key) if self._settings.processes is not None else None
        functions: dict[str, Callable[..., Any]] = {
            **FileTools(workspace).all(),
            RUN_COMMAND: ShellTools(workspace, processes=registry, confinement=self.confinement).run_command,
        }
        own = [as_tool(function) for function in [record_progress, *(functions[name] for name in options.tools)]]
        async with mcp_tools(options.mcp, workspace=workspace, registry=registry) as more:
            _check_approve(options, [tool.name for tool in more])
            yield [*own, *more]


def _check_approve(options: AgentOptions, offered: Sequence[str] | None = None) -> None:
    """A name that is misspelt would let calls through unasked. Tools of ours that are only not offered may be named.

    Args:
        options: With what is to be checked.
        offered: Names of the MCP tools; None while they are not known.
    """
    for pattern in options.approve.tools if options.approve is not None else ():
        if offered is None and any(pattern.startswith(f"{server}{SEPARATOR}") for server in options.mcp):
            continue
        known = (*get_args(ToolName), *(offered or ()))
        if not any(Approve(tools=(pattern,)).covers(name) for name in known):
            raise WorkerConfigError(
                f"worker 'agent': approve.tools has {pattern!r}, which is no tool; tools are {', '.join(known)}"
            )


def _keeping(forms: Sequence[type[BaseModel]]) -> JsonPlusSerializer:
    """Keeps an agent's state during a review; what else than messages stands in it has to be named to LangGraph."""
    return JsonPlusSerializer(allowed_msgpack_modules=(Stage, *forms))


@dataclass(slots=True)
class _Work:
    """One delivery of one attempt."""

    options: AgentOptions
    model: BaseChatModel
    tools: Sequence[BaseTool]
    assignment: Assignment
    delivery: Delivery
    seen: AgentLog = field(default_factory=AgentLog)
    summaries: Summaries | None = None
    approval: Approval | None = None
    ending: Stuck | None = None

    async def run(self) -> AsyncGenerator[ProgressEvent | Report]:
        token = self.delivery.delimiter or secrets.token_hex(8)
        task = task_text(self.assignment, self.delivery, token=token)
        role = "\n\n".join(filter(None, (ROLE, self.options.system)))
        forms = report_types(self.assignment.expected_output.json_schema)
        room = Room.measured(
            self.options.max_context_tokens, self.model, texts=(role, task), tools=(*self.tools, *forms)
        )
        if (refused := room.refusal()) is not None:
            yield refused
            return
        if room.limit is not None:
            self.summaries = Summaries(self.model, task, room, keep=self.options.keep, token=token)
        if self.options.approve is not None:
            self.approval = Approval(self.options.approve, self.delivery.answers)
        agent = self._agent(role, Assigned(task, room, token=token), forms)
        try:
            async with aclosing(self._events(agent)) as events:
                async for event in events:
                    yield event
            report = self.ending or self.seen.report()
        except LIMIT_ERRORS:
            report = self._used_up()
        except ContextFullError as error:
            report = error.report
        except DeclinedError as error:
            report = Failed(kind=error.declined.kind, reason=error.declined.reason)
        for event in self.summaries.spent() if self.summaries is not None else ():
            yield event
        yield report

    def _agent(self, role: str, assigned: Assigned, forms: Sequence[type[BaseModel]]) -> Any:  # noqa: ANN401 - a graph
        middleware: list[Any] = [Turns(), *limits(self.options.max_model_calls)]
        if self.summaries is not None:
            middleware.append(self.summaries.middleware())
        if self.approval is not None:
            names = (tool.name for tool in self.tools if tool.name != record_progress.__name__)
            middleware.append(self.approval.middleware(names))
        return create_agent(
            self.model,
            self.tools,
            system_prompt=role,
            middleware=[*middleware, assigned, *retries(self.tools), Failures()],
            response_format=ToolStrategy(reduce(or_, forms)),
            # False, not None: inside another graph's node None would write into that graph's checkpoints.
            checkpointer=False if self.approval is None else InMemorySaver(serde=_keeping(forms)),
        )

    async def _events(self, agent: Any) -> AsyncGenerator[ProgressEvent]:  # noqa: ANN401 - a graph
        """Let the agent run to its end, or to a call that a human must be asked about first."""
        config: dict[str, Any] = {"recursion_limit": graph_steps(self.options.max_model_calls)}
        how: dict[str, Any] = {"stream_mode": "updates"}
        if self.approval is not None:
            # A thread of its own keeps it off the checkpoints of a graph around. Only the end of each part is stored.
            config["configurable"] = {"thread_id": self.delivery.key}
            how["durability"] = "exit"
        entry: Any = {"messages": []}  # the task is put in with each call
        while entry is not None:
            asked: list[Any] = []
            async with aclosing(agent.astream(entry, config, **how)) as updates:
                async for update in updates:
                    for event in self._told(update, asked):
                        yield event
            entry = self._decided(asked)

    def _told(self, update: Mapping[str, Any], asked: list[Any]) -> Sequence[ProgressEvent]:
        events: list[ProgressEvent] = []
        for node, change in update.items():
            if node == _INTERRUPT:
                asked.extend(change)
                continue
            messages = (change or {}).get("messages", ())
            if self.summaries is not None and is_rewritten(messages):
                events += self.summaries.events(messages)
            events += self.seen.events(change or {})
        return events

    def _decided(self, asked: Sequence[Any]) -> Command[Any] | None:
        """How to go on after a review; None when the agent has ended or has to."""
        if self.approval is None or not asked:
            return None
        decisions = self.approval.decide(asked[0].value["action_requests"])
        if isinstance(decisions, Stuck):
            self.ending = decisions
            return None
        return Command(resume={"decisions": decisions})

    def _used_up(self) -> Stuck:
        seen = self.seen
        return Stuck(
            kind=StuckKind.STEP_LIMIT,
            summary=seen.last_text,
            blocker=f"no report after {seen.turns} model calls and {seen.actions} tool calls, which is the limit",
        )

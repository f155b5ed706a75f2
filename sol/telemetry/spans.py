"""Runs, nodes, effects and chat calls as OpenTelemetry spans. Records no word of the task unless told to."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from opentelemetry import context as ambient
from opentelemetry import trace
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, Tracer

from luna.clock import Clock
from luna.models.calls import finish_reason
from luna.text import clip
from sol._version import __version__
from sol.dispatch.tracing import listen
from sol.tree import events as e
from sol.tree.codec import plain_event
from sol.tree.effects import Kind
from sol.tree.events import Command, Event, EventType
from sol.tree.listeners import Listener
from sol.tree.node import AnyState, Node, State, TaskNode
from sol.tree.values import Usage

_FROM_METADATA = {
    "ls_model_name": "gen_ai.request.model",
    "ls_temperature": "gen_ai.request.temperature",
    "ls_max_tokens": "gen_ai.request.max_tokens",
    "ls_provider": "gen_ai.provider.name",
    "sol_run": "sol.run",
    "sol_node": "sol.node",
}


class ChatSpans(BaseCallbackHandler):
    """Opens and ends the spans. Holds nothing of a run, so one object serves all of them."""

    run_inline = True  # in the caller's task, whose current span is the effect's

    def __init__(self) -> None:
        self._open: dict[UUID, Span] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 - LangChain's interface
        messages: list[list[BaseMessage]],  # noqa: ARG002 - as above
        *,
        run_id: UUID,
        **more: Any,  # noqa: ANN401 - as above
    ) -> None:
        """A call begins."""
        said = more.get("metadata") or {}
        attributes = {name: said[key] for key, name in _FROM_METADATA.items() if said.get(key) is not None}
        model = str(attributes.get("gen_ai.request.model", ""))
        self._open[run_id] = trace.get_tracer("sol", __version__).start_span(
            f"chat {model}".strip(),
            kind=SpanKind.CLIENT,
            attributes={"gen_ai.operation.name": "chat", **attributes},
        )

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **more: Any) -> None:  # noqa: ANN401, ARG002 - as above
        """A call has ended well."""
        span = self._open.pop(run_id, None)
        if span is not None:
            span.set_attributes(_of(response))
            span.end()

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:  # noqa: ANN401, ARG002 - as above
        """A call has failed or was cancelled. The text of the error may quote a key or the prompt."""
        span = self._open.pop(run_id, None)
        if span is not None:
            kind = type(error).__name__
            span.set_attribute("error.type", kind)
            span.set_status(Status(StatusCode.ERROR, kind))
            span.end()


CHAT_SPANS = ChatSpans()


def _of(response: LLMResult) -> dict[str, Any]:
    current_children = response.generations[0][0]
    if not isinstance(current_children, ChatGeneration) or not isinstance(current_children.message, AIMessage):
        return {}
    message = current_children.message
    usage = message.usage_metadata
    told = {
        "gen_ai.usage.input_tokens": usage["input_tokens"] if usage else None,
        "gen_ai.usage.output_tokens": usage["output_tokens"] if usage else None,
        "gen_ai.response.finish_reasons": [finish] if (finish := finish_reason(message)) else None,
        "gen_ai.response.model": message.response_metadata.get("model_name"),
    }
    return {name: value for name, value in told.items() if value is not None}


CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
CONTENT_BYTES = 8_000
"""Most bytes of a goal, a result or a reason in an attribute."""

_ERRORS = frozenset({State.FAILED, State.BLOCKED, State.EXHAUSTED})
_TOLD: Mapping[str, tuple[str, ...]] = {
    EventType.SPLIT: ("how", "dimension", "sequential"),
    EventType.REFUSED: ("what", "kind"),
    EventType.DECIDED: ("section", "next"),
    EventType.ASKED: ("kind",),
    EventType.ANSWERED: (),
    EventType.REDEFINED: (),
    EventType.CANCEL_REQUESTED: (),
    EventType.BUDGET_HIT: ("what", "limit"),
}
"""Events that are told on the span of their node (the last one on the run's), with data that quotes nothing."""

_WITH_MODEL = ("model", "agent")


def begin(*, run: str, state: AnyState, strategy: str, clock: Clock) -> "RunSpans | None":
    """Open the span of the run, below whatever span is current; None if the tracer provider does nothing."""
    tracer, now = trace.get_tracer("sol", __version__), _ns(clock.now())
    attributes: dict[str, Any] = {"sol.run": run, "sol.strategy": strategy, "sol.resumed": bool(state.nodes)}
    root = tracer.start_span("sol.run", attributes=attributes, start_time=now)
    if not root.get_span_context().is_valid:
        return None
    spans = RunSpans(run, state, tracer, root, clock)
    # Effects that a killed process had started are made again without a new event.
    for key in state.inflight.keys() - state.abandoned:
        spans.effect_started(*key, now)
    return spans


@dataclass(slots=True)
class _Open:
    """A span that has not ended, and what was used under it so far."""

    span: Span
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def book(self, usage: Usage) -> None:
        self.calls += usage.calls
        self.tokens += usage.tokens
        self.cost += usage.cost

    def end(self, t: int, *, error: str = "", why: str = "") -> None:
        self.span.set_attributes({"sol.calls": self.calls, "sol.tokens": self.tokens, "sol.cost": self.cost})
        if error:
            self.span.set_attribute("error.type", error)
            self.span.set_status(Status(StatusCode.ERROR, why or error))
        self.span.end(t)


class RunSpans(Listener):
    """The spans of one session of a run, whatever its kind. Its methods are called in the session's thread.

    Args:
        run: Id of the run.
        state: Read, never written; all events of a step are folded in before the first of them is told.
        tracer: Makes the spans.
        root: The run's own span.
        clock: Time of the end.
    """

    def __init__(self, run: str, state: AnyState, tracer: Tracer, root: Span, clock: Clock) -> None:
        self._run = run
        self._state = state
        self._tracer = tracer
        self._root = _Open(root)
        self._nodes: dict[str, _Open] = {}
        self._effects: dict[tuple[str, str, int], _Open] = {}
        self._contexts: dict[str, SpanContext] = {}
        self._content = os.environ.get(CAPTURE, "").strip().lower() == "true"
        self._clock = clock

    def on_event(self, event: Event) -> None:
        """Begin and end the spans that the event is about."""
        t = _ns(event.t)
        if event.node in self._state.nodes and event.node not in self._contexts and not isinstance(event.data, e.Late):
            self._node(event.node, t)
        match event.data:
            case e.Reopened():
                self._node(event.node, t)
            case e.Started(kind=kind, n=n):
                self.effect_started(event.node, kind, n, t)
            case e.Progressed() as data:
                self._book(event.node, data.kind, data.n, data.usage)
            case e.Settled() as data:
                self._settled(event.node, data, t)
            case e.Late(outcome=outcome):
                self._effect_ended(event.node, outcome, t, late=True)
            case e.Outcome() as outcome:
                self._effect_ended(event.node, outcome, t)
            case _ if event.type in _TOLD:
                self._happened(event, t)
            case _:
                pass

    def on_effect(self, command: Command) -> None:
        """Make the effect's span the current one of this task, so that what is called from here stands below it."""
        opened = self._effects.get(command.key)
        if opened is not None:
            ambient.attach(trace.set_span_in_context(opened.span))
        listen(CHAT_SPANS)

    def on_end(self, error: BaseException | None) -> None:
        """End all spans. The message of an error may hold anything, so only its type is recorded."""
        now, state = _ns(self._clock.now()), self._state
        for effect in self._effects.values():
            effect.end(now)
        for path in [*self._nodes]:
            node = state.nodes.get(path)
            self._close_node(path, "" if node is None else str(node.state), now)
        self._root.span.set_attributes({"sol.state": state.status, "sol.nodes": len(state.nodes)})
        root = state.nodes.get("")
        kind = (root.kind if root is not None else "") or state.status if state.status in _ERRORS else ""
        self._root.end(now, error=kind if error is None else type(error).__name__)

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _node(self, path: str, t: int) -> _Open:
        """The open span of a node; opened with those above it where it is missing."""
        node = self._state.nodes.get(path)
        missing: dict[str, Node] = {}
        while node is not None and node.path not in self._nodes and node.path not in missing:
            missing[node.path] = node
            node = self._state.above(node)
        for one in reversed(missing.values()):
            self._nodes[one.path] = self._open_node(one, t)
        return self._nodes.get(path, self._root)

    def _open_node(self, node: Node, t: int) -> _Open:
        parent = self._nodes.get(node.parent, self._root) if node.path else self._root
        attributes: dict[str, Any] = {
            "sol.run": self._run,
            "sol.node": node.path,
            "sol.depth": node.depth,
            "sol.worker": node.worker.kind,
        }
        if self._content:
            attributes["sol.goal"] = _text(node.title)
        span = self._start("sol.node", parent, attributes, t, self._links(node))
        self._contexts[node.path] = span.get_span_context()
        return _Open(span)

    def _links(self, node: Node) -> list[Link]:
        """To the span this node had before it was opened again, or to the parts that this one replaces."""
        before = self._contexts.get(node.path)
        if before is not None:
            return [Link(before, {"sol.link": "reopened"})]
        parent = self._state.above(node)
        if not isinstance(parent, TaskNode):
            return []
        replaced = [path for path in parent.children if path not in parent.current_children and path in self._contexts]
        return [Link(self._contexts[path], {"sol.link": "replaces"}) for path in replaced if path != node.path]

    def _settled(self, path: str, data: e.Settled, t: int) -> None:
        self._node(path, t)
        self._close_node(path, data.state, t, kind=data.kind, why=data.reason)

    def _close_node(self, path: str, state: str, t: int, *, kind: str = "", why: str = "") -> None:
        opened, node = self._nodes.pop(path, None), self._state.nodes.get(path)
        if opened is None:
            return
        attributes: dict[str, Any] = {"sol.state": state}
        attributes |= {"sol.kind": kind} if kind else {}
        if node is not None:
            attributes["sol.attempts"] = node.counts.get(Kind.ATTEMPT, 0)
        if isinstance(node, TaskNode) and node.dimension:
            attributes["sol.dimension"] = node.dimension
        if self._content:
            attributes |= {"sol.reason": _text(why)} if why else {}
            attributes |= {"sol.result": _text(node.result)} if node is not None and state == State.SUCCESS else {}
        opened.span.set_attributes(attributes)
        opened.end(t, error=(kind or state) if state in _ERRORS else "", why=_text(why) if self._content else "")

    def _happened(self, event: Event, t: int) -> None:
        opened = self._root if isinstance(event.data, e.BudgetHit) else self._node(event.node, t)
        data = plain_event(event)
        told: dict[str, Any] = {f"sol.{name}": data[name] for name in _TOLD[event.type] if data.get(name) is not None}
        name = f"sol.{event.type}"
        if isinstance(event.data, e.Split):
            told["sol.children"] = len(event.data.children)
            node = self._state.nodes.get(event.node)
            name = "sol.replan" if node is not None and event.data.children[0] != node.children[0] else name
        opened.span.add_event(name, told, t)

    # --- effects -----------------------------------------------------------------------------------------------------

    def effect_started(self, path: str, kind: str, n: int, t: int) -> None:
        """Open the span of an effect, below its node's."""
        node = self._state.nodes.get(path)
        attributes: dict[str, Any] = {"sol.run": self._run, "sol.node": path, "sol.effect": kind, "sol.attempt": n}
        name = f"sol.{kind}"
        if kind == Kind.ATTEMPT and node is not None:
            worker = node.worker.kind
            name = f"invoke_agent {worker}"
            attributes |= {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": worker, **self._model(node)}
        self._effects[path, kind, n] = _Open(self._start(name, self._node(path, t), attributes, t))

    def _model(self, node: Node) -> dict[str, str]:
        """The model that the worker of a node uses, where its specification tells."""
        name, started = node.worker.options.get("model"), self._state.started
        if not name and started is not None and node.worker.kind in _WITH_MODEL:
            name = started.luna_model
        if not name:
            return {}
        provider, _, model = str(name).rpartition(":")
        return {"gen_ai.request.model": model} | ({"gen_ai.provider.name": provider} if provider else {})

    def _book(self, path: str, kind: str, n: int, usage: Usage | None) -> None:
        if usage is None:
            return
        for opened in (self._effects.get((path, kind, n)), self._nodes.get(path), self._root):
            if opened is not None:
                opened.book(usage)

    def _effect_ended(self, path: str, outcome: e.Outcome, t: int, *, late: bool = False) -> None:
        self._book(path, outcome.kind, outcome.n, outcome.usage)
        opened = self._effects.pop((path, outcome.kind, outcome.n), None)
        if opened is None:
            return
        attributes: dict[str, Any] = {"sol.late": True} if late else {}
        error = ""
        match outcome:
            case e.Reported(report=report):
                attributes["sol.report"] = report.status
                error = (report.kind or "failed") if report.status == "FAILED" else ""
            case e.Lost(lost=lost):
                attributes["sol.lost"] = lost
                error = "" if lost == "cancelled" else lost
            case e.Checked(results=results):
                attributes["sol.checks"] = len(results)
                attributes["sol.checks.failed"] = sum(result.ok is False for result in results)
            case e.Interrupted(cause=cause):
                attributes["sol.interrupted"] = cause
            case _:
                pass
        opened.span.set_attributes(attributes)
        opened.end(t, error=error)

    def _start(
        self, name: str, parent: _Open, attributes: dict[str, Any], t: int, links: list[Link] | None = None
    ) -> Span:
        above = trace.set_span_in_context(parent.span, ambient.Context())
        return self._tracer.start_span(name, above, attributes=attributes, links=links, start_time=t)


def _ns(t: float) -> int:
    return int(t * 1e9)


def _text(value: Any) -> str:  # noqa: ANN401 - JSON
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return clip(text, limit_bytes=CONTENT_BYTES).text

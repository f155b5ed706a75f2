"""Spans of one run in work, made from its committed events: the run, its nodes, and their effects below them.

Names of the GenAI semantic conventions 1.41 (status: development) stand here as text, for want of a stable package.
What tasks, reports and people say is recorded only if OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT is `true`.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from opentelemetry import context as ambient
from opentelemetry import trace
from opentelemetry.trace import Link, Span, SpanContext, Status, StatusCode, Tracer

from luna.text import clip
from sol._version import __version__
from sol.tree.effects import Kind
from sol.session import Session
from sol.telemetry.chat import CHAT_SPANS
from sol.tracing import listen
from sol.tree.events import Command, Event, EventType
from sol.tree.node import Node, State, Tree

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
CONTENT_BYTES = 8_000
"""Most bytes of a goal, a result or a reason in an attribute."""

_ERRORS = frozenset({State.FAILED, State.BLOCKED, State.EXHAUSTED})
_OUTCOMES = frozenset(
    {EventType.REPORTED, EventType.CHECKED, EventType.ANSWER, EventType.LOST, EventType.INTERRUPTED, EventType.LATE}
)
_TOLD: Mapping[EventType, tuple[str, ...]] = {
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


def begin(session: Session) -> "RunSpans | None":
    """Open the span of the run, below whatever span is current; None if the tracer provider does nothing."""
    tracer = trace.get_tracer("sol", __version__)
    run, now = session.lease.run, _ns(session.clock.now())
    attributes: dict[str, Any] = {
        "sol.run": run,
        "sol.strategy": session.strategy.name,
        "sol.resumed": bool(session.tree.nodes),
    }
    root = tracer.start_span("sol.run", attributes=attributes, start_time=now)
    if not root.get_span_context().is_valid:
        return None
    spans = RunSpans(run, session.tree, tracer, root)
    # Effects that a killed process had started are made again without a new event.
    for key in session.tree.inflight.keys() - session.tree.abandoned:
        spans.effect_started(*key, now)
    return spans


@dataclass(slots=True)
class _Open:
    """A span that has not ended, and what was used under it so far."""

    span: Span
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def book(self, usage: Mapping[str, Any]) -> None:
        self.calls += usage.get("calls", 0)
        self.tokens += usage.get("tokens", 0)
        self.cost += usage.get("cost", 0.0)

    def end(self, t: int, *, error: str = "", why: str = "") -> None:
        self.span.set_attributes({"sol.calls": self.calls, "sol.tokens": self.tokens, "sol.cost": self.cost})
        if error:
            self.span.set_attribute("error.type", error)
            self.span.set_status(Status(StatusCode.ERROR, why or error))
        self.span.end(t)


class RunSpans:
    """The spans of one session of a run. Its methods are called in the session's thread.

    Args:
        run: Id of the run.
        tree: Read, never written; all events of a step are folded in before the first of them is told.
        tracer: Makes the spans.
        root: The run's own span.
    """

    def __init__(self, run: str, tree: Tree, tracer: Tracer, root: Span) -> None:
        self._run = run
        self._tree = tree
        self._tracer = tracer
        self._root = _Open(root)
        self._nodes: dict[str, _Open] = {}
        self._effects: dict[tuple[str, str, int], _Open] = {}
        self._contexts: dict[str, SpanContext] = {}
        self._content = os.environ.get(CAPTURE, "").strip().lower() == "true"
        self._broken = ""

    def told(self, event: Event) -> None:
        """Take in an event once it is committed."""
        t = _ns(event.t)
        match event.type:
            case EventType.CREATED | EventType.REOPENED:
                self._node(event.node, t)
            case EventType.STARTED:
                self.effect_started(event.node, event.data["kind"], event.data["n"], t)
            case EventType.PROGRESSED:
                self._book(event)
            case EventType.SETTLED:
                self._settled(event, t)
            case outcome if outcome in _OUTCOMES:
                self._book(event)
                self._effect_ended(event, t)
            case told if told in _TOLD:
                self._happened(event, t)
            case _:
                pass

    def enter(self, command: Command) -> None:
        """Make the effect's span the current one of this task, so that what is called from here stands below it."""
        ambient.attach(trace.set_span_in_context(self._effects[command.key].span))
        listen(CHAT_SPANS)

    def broke(self, error: BaseException) -> None:
        """Sol itself did not get to its end. Its message may hold anything, so only its type is recorded."""
        self._broken = type(error).__name__

    def close(self, t: float) -> None:
        """End all spans: the session has let go of the run."""
        now, tree = _ns(t), self._tree
        for effect in self._effects.values():
            effect.end(now)
        for path in [*self._nodes]:
            self._close_node(path, str(tree.nodes[path].state), now)
        self._root.span.set_attributes({"sol.state": tree.status, "sol.nodes": len(tree.nodes)})
        self._root.end(now, error=self._broken or (tree.root.kind or tree.status if tree.status in _ERRORS else ""))

    # --- nodes -------------------------------------------------------------------------------------------------------

    def _node(self, path: str, t: int) -> _Open:
        """The open span of a node; opened with those above it where it is missing."""
        missing = [path]
        while missing[-1] and missing[-1] not in self._nodes:
            missing.append(missing[-1][:-1])
        for one in reversed(missing):
            if one not in self._nodes:
                self._nodes[one] = self._open_node(self._tree.nodes[one], t)
        return self._nodes[path]

    def _open_node(self, node: Node, t: int) -> _Open:
        parent = self._nodes[node.parent] if node.path else self._root
        attributes: dict[str, Any] = {
            "sol.run": self._run,
            "sol.node": node.path,
            "sol.depth": node.depth,
            "sol.worker": node.worker["kind"],
        }
        if self._content:
            attributes["sol.goal"] = _text(node.assignment["goal"])
        span = self._start("sol.node", parent, attributes, t, self._links(node))
        self._contexts[node.path] = span.get_span_context()
        return _Open(span)

    def _links(self, node: Node) -> list[Link]:
        """To the span this node had before it was opened again, or to the parts that this one replaces."""
        before = self._contexts.get(node.path)
        if before is not None:
            return [Link(before, {"sol.link": "reopened"})]
        if not node.path:
            return []
        parent = self._tree.nodes[node.parent]
        replaced = [path for path in parent.children if path not in parent.generation and path in self._contexts]
        return [Link(self._contexts[path], {"sol.link": "replaces"}) for path in replaced if path != node.path]

    def _settled(self, event: Event, t: int) -> None:
        data = event.data
        self._node(event.node, t)
        self._close_node(event.node, str(data["state"]), t, kind=data.get("kind", ""), why=data.get("reason", ""))

    def _close_node(self, path: str, state: str, t: int, *, kind: str = "", why: str = "") -> None:
        opened, node = self._nodes.pop(path), self._tree.nodes[path]
        attributes: dict[str, Any] = {"sol.state": state, "sol.attempts": node.counts.get(Kind.ATTEMPT, 0)}
        attributes |= {"sol.kind": kind} if kind else {}
        attributes |= {"sol.dimension": node.dimension} if node.dimension else {}
        if self._content:
            attributes |= {"sol.reason": _text(why)} if why else {}
            attributes |= {"sol.result": _text(node.result)} if state == State.SUCCESS else {}
        opened.span.set_attributes(attributes)
        opened.end(t, error=(kind or state) if state in _ERRORS else "", why=_text(why) if self._content else "")

    def _happened(self, event: Event, t: int) -> None:
        opened = self._root if event.type == EventType.BUDGET_HIT else self._node(event.node, t)
        data = event.data
        told = {f"sol.{name}": data[name] for name in _TOLD[event.type] if data.get(name) is not None}
        name = f"sol.{event.type}"
        if event.type == EventType.SPLIT:
            told["sol.children"] = len(data["children"])
            replan = data["children"][0] != self._tree.nodes[event.node].children[0]
            name = "sol.replan" if replan else name
        opened.span.add_event(name, told, t)

    # --- effects -----------------------------------------------------------------------------------------------------

    def effect_started(self, path: str, kind: str, n: int, t: int) -> None:
        """Open the span of an effect, below its node's."""
        node = self._tree.nodes[path]
        attributes: dict[str, Any] = {"sol.run": self._run, "sol.node": path, "sol.effect": kind, "sol.attempt": n}
        name = f"sol.{kind}"
        if kind == Kind.ATTEMPT:
            worker = str(node.worker["kind"])
            name = f"invoke_agent {worker}"
            attributes |= {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": worker, **self._model(node)}
        self._effects[path, kind, n] = _Open(self._start(name, self._node(path, t), attributes, t))

    def _model(self, node: Node) -> dict[str, str]:
        """The model that the worker of a node uses, where its specification tells."""
        own = node.worker.get("options", {}).get("model")
        name = own or (self._tree.config.get("luna_model") if node.worker["kind"] in _WITH_MODEL else None)
        if not name:
            return {}
        provider, _, model = str(name).rpartition(":")
        return {"gen_ai.request.model": model} | ({"gen_ai.provider.name": provider} if provider else {})

    def _book(self, event: Event) -> None:
        data = event.data
        usage = data.get("usage")
        if usage:
            for opened in (self._effects.get((event.node, data["kind"], data["n"])), self._nodes.get(event.node)):
                if opened is not None:
                    opened.book(usage)
            self._root.book(usage)

    def _effect_ended(self, event: Event, t: int) -> None:
        data = event.data
        opened = self._effects.pop((event.node, data["kind"], data["n"]), None)
        if opened is None:
            return
        late = event.type == EventType.LATE
        attributes: dict[str, Any] = {"sol.late": True} if late else {}
        error = ""
        match data["was"] if late else event.type:
            case EventType.REPORTED:
                report = data["report"]
                attributes["sol.report"] = report["status"]
                error = str(report.get("kind") or "failed") if report["status"] == "FAILED" else ""
            case EventType.LOST:
                attributes["sol.lost"] = data["lost"]
                error = "" if data["lost"] == "cancelled" else data["lost"]
            case EventType.CHECKED:
                attributes["sol.checks"] = len(data["results"])
                attributes["sol.checks.failed"] = sum(result["ok"] is False for result in data["results"])
            case EventType.INTERRUPTED:
                attributes["sol.interrupted"] = data["cause"]
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

"""Spans of a run: one for each node below its parent's, one for each effect, one for each chat call."""

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models.fake import FakeListLLM
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracerProvider, StatusCode

from luna.clock import SystemClock
from luna.errors import Interruption
from luna.protocol import Assignment, Failed, FailedKind, Spent, Stuck, StuckKind, Success, Usage
from luna.testing import FakeClock, Pause, ScriptedChatModel, ScriptedWorker
from luna.workers.model import ModelOptions, ModelWorker
from sol import Sol, Task
from sol.core.requests import Finding, ReassessAnswer, ReassessRequest, Remedy
from sol.journal import MemoryJournal
from sol.telemetry.spans import CAPTURE
from tests.support.core import assignment_of
from tests.support.planners import ScriptedPlanner, split_into

GOAL = "sort the secret bricks"
TWO = {GOAL: split_into("red", "blue")}


def task(goal: str = GOAL) -> Task:
    return Task.make(assignment_of(goal, expected_output="a text", constraints="none"))


def ends(**scripts: Any) -> ScriptedWorker:
    """A worker that is stuck on the whole, does what is written for a part, and succeeds with the others."""

    def script(assignment: Assignment) -> Any:
        usual = Stuck(blocker="too much") if assignment.goal == GOAL else Success(summary="done", result="ok")
        return scripts.get(assignment.goal, usual)

    return ScriptedWorker(script, clock=FakeClock(auto=True))


class Spans:
    """What was exported."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def all(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.all if span.name == name]

    @property
    def run(self) -> ReadableSpan:
        [span] = self.named("sol.run")
        return span

    @property
    def nodes(self) -> dict[str, ReadableSpan]:
        """By path; each node has one."""
        found = self.named("sol.node")
        by_path = {str(_of(span)["sol.node"]): span for span in found}
        assert len(by_path) == len(found)
        return by_path

    def above(self, span: ReadableSpan) -> ReadableSpan | None:
        return next((one for one in self.all if span.parent and one.context.span_id == span.parent.span_id), None)


def _of(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    """The global provider of this test."""
    spans = Spans()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: spans.provider)
    return spans


@pytest.fixture
def sol(tmp_path: Path) -> Callable[..., Sol]:
    journal = MemoryJournal()

    def make(worker: Any, planner: ScriptedPlanner | None = None, **options: Any) -> Sol:
        settings: dict[str, Any] = {"workspace": tmp_path, "store": journal, "clock": FakeClock(auto=True), **options}
        return Sol(worker=worker, planner=planner or ScriptedPlanner(TWO), **settings)

    return make


async def test_parents_of_spans_are_parents_of_nodes(sol: Callable[..., Sol], spans: Spans) -> None:
    deep = {**TWO, "red": split_into("light", "dark")}
    run = await sol(ends(red=Stuck(blocker="two reds")), ScriptedPlanner(deep)).asolve(task())
    assert run.solved
    assert set(spans.nodes) == {"", "0", "1", "00", "01"} == {node.path for node in run.tree}
    for path, span in spans.nodes.items():
        assert spans.above(span) is (spans.nodes[path[:-1]] if path else spans.run), path
    assert spans.run.parent is None
    assert len({span.context.trace_id for span in spans.all}) == 1


async def test_node_span_says_how_it_ended(sol: Callable[..., Sol], spans: Spans) -> None:
    run = await sol(ends()).asolve(task())
    root, red = spans.nodes[""], spans.nodes["0"]
    assert _of(root) == {
        "sol.run": run.id,
        "sol.node": "",
        "sol.depth": 0,
        "sol.worker": "given",
        "sol.state": "success",
        "sol.attempts": 1,
        "sol.dimension": "data_logic",
        "sol.calls": run.state.root.spent.calls,
        "sol.tokens": 0,
        "sol.cost": 0.0,
    }
    assert (_of(red)["sol.depth"], _of(red)["sol.state"]) == (1, "success")
    assert {span.status.status_code for span in spans.all} == {StatusCode.UNSET}
    assert {name: _of(spans.run)[name] for name in ("sol.strategy", "sol.resumed", "sol.state", "sol.nodes")} == {
        "sol.strategy": "binary",
        "sol.resumed": False,
        "sol.state": "success",
        "sol.nodes": 3,
    }


async def test_effects_stand_below_their_node_with_their_times(sol: Callable[..., Sol], spans: Spans) -> None:
    clock = FakeClock(auto=True)
    slow = ScriptedWorker(lambda _: [Pause(5.0), Success(summary="done", result="ok")], clock=clock)
    begun = clock.now()
    await sol(slow, clock=clock).asolve(task())
    [attempt] = spans.named("invoke_agent given")
    assert spans.above(attempt) is spans.nodes[""]
    assert _of(attempt)["gen_ai.operation.name"] == "invoke_agent"
    assert (_of(attempt)["sol.attempt"], _of(attempt)["sol.report"]) == (1, "SUCCESS")
    assert attempt.start_time == int(begun * 1e9)
    assert (attempt.end_time or 0) - (attempt.start_time or 0) == pytest.approx(5e9, abs=1e6)
    [judge] = spans.named("sol.judge")
    assert spans.above(judge) is spans.nodes[""]


async def test_check_says_how_many_criteria_did_not_hold(sol: Callable[..., Sol], spans: Spans) -> None:
    number = {"json_schema": {"type": "number"}}
    wanted = assignment_of(expected_output="a text", constraints="none", success_criteria=["good", number])
    await sol(ScriptedWorker.succeeding()).asolve(Task.make(wanted))
    check = spans.named("sol.check")[0]
    assert (_of(check)["sol.checks"], _of(check)["sol.checks.failed"]) == (2, 1)


async def test_attempt_names_the_model_of_its_worker(
    sol: Callable[..., Sol], spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = await sol({"kind": "model", "options": {"model": "openai:gpt-x"}}).asolve(task())
    assert not run.solved
    [attempt] = spans.named("invoke_agent model")
    assert (_of(attempt)["gen_ai.provider.name"], _of(attempt)["gen_ai.request.model"]) == ("openai", "gpt-x")
    assert (_of(attempt)["sol.lost"], _of(attempt)["error.type"]) == ("model", "model")


async def test_usage_is_on_effect_node_and_run(sol: Callable[..., Sol], spans: Spans) -> None:
    worker = ends(red=[Spent(usage=Usage(calls=2, tokens=30, cost=0.5)), Success(summary="done", result="ok")])
    planner = ScriptedPlanner(TWO, usage=Usage(calls=1, tokens=7))
    run = await sol(worker, planner).asolve(task())
    [attempt] = [span for span in spans.named("invoke_agent given") if _of(span)["sol.node"] == "0"]
    assert [_of(attempt)[f"sol.{name}"] for name in ("calls", "tokens", "cost")] == [2, 30, 0.5]
    for path, span in spans.nodes.items():
        spent = run.state.nodes[path].spent
        assert (_of(span)["sol.calls"], _of(span)["sol.tokens"]) == (spent.calls, spent.tokens), path
    assert (_of(spans.run)["sol.tokens"], _of(spans.run)["sol.cost"]) == (run.spent.tokens, run.spent.cost)


async def test_failure_is_an_error_on_node_effect_and_run(sol: Callable[..., Sol], spans: Spans) -> None:
    worker = ends(red=Failed(kind=FailedKind.PREMISE, reason="no secret bricks"))
    planner = ScriptedPlanner(TWO)
    run = await sol(worker, planner).asolve(task())
    assert run.status == "failed"
    red = spans.nodes["0"]
    assert (red.status.status_code, red.status.description) == (StatusCode.ERROR, run.state.nodes["0"].kind)
    assert _of(red)["error.type"] == run.state.nodes["0"].kind
    attempts = [span for span in spans.named("invoke_agent given") if _of(span)["sol.node"] == "0"]
    assert {(span.status.status_code, _of(span)["error.type"]) for span in attempts} == {(StatusCode.ERROR, "premise")}
    assert spans.nodes["1"].status.status_code == StatusCode.UNSET
    assert spans.run.status.status_code == StatusCode.ERROR
    assert _of(spans.run)["error.type"] == run.state.root.kind


async def test_lost_effect_is_an_error_with_its_kind(sol: Callable[..., Sol], spans: Spans) -> None:
    run = await sol(ends(red=RuntimeError("secret"))).asolve(task())
    assert not run.solved
    [lost] = [span for span in spans.named("invoke_agent given") if _of(span)["sol.node"] == "0"]
    assert (lost.status.status_code, _of(lost)["error.type"]) == (StatusCode.ERROR, "exception")
    assert "secret" not in "".join(span.to_json() for span in spans.all)


async def test_replan_is_told_and_new_parts_link_to_old_ones(sol: Callable[..., Sol], spans: Spans) -> None:
    again = {GOAL: [split_into("red", "blue"), split_into("round", "square")]}
    run = await sol(ends(red=Failed(kind=FailedKind.PREMISE, reason="no")), ScriptedPlanner(again)).asolve(task())
    assert run.solved
    root = spans.nodes[""]
    told = {event.name: dict(event.attributes or {}) for event in root.events}
    assert told["sol.split"] == {
        "sol.how": "model",
        "sol.dimension": "data_logic",
        "sol.sequential": False,
        "sol.children": 2,
    }
    assert told["sol.replan"]["sol.children"] == 2
    old = {spans.nodes[path].context.span_id for path in ("0", "1")}
    for path in ("2", "3"):
        assert {link.context.span_id for link in spans.nodes[path].links} == old
        assert {dict(link.attributes or {})["sol.link"] for link in spans.nodes[path].links} == {"replaces"}
    assert not spans.nodes["0"].links


async def test_chat_call_stands_below_its_attempt_with_its_tokens(sol: Callable[..., Sol], spans: Spans) -> None:
    model = ScriptedChatModel(["ok"], tokens=(7, 3))
    worker = ModelWorker(ModelOptions(model="house:tiny"), resolve=lambda name, **_: model)
    run = await sol(worker).asolve(task())
    assert run.solved
    [chat] = [span for span in spans.all if span.name.startswith("chat")]
    [attempt] = spans.named("invoke_agent given")
    assert spans.above(chat) is attempt
    said = _of(chat)
    assert said["gen_ai.operation.name"] == "chat"
    assert (said["gen_ai.usage.input_tokens"], said["gen_ai.usage.output_tokens"]) == (7, 3)
    assert said["gen_ai.response.finish_reasons"] == ("stop",)
    assert (said["sol.run"], said["sol.node"]) == (run.id, "")
    assert (spans.run.end_time or 0) > 0


async def test_other_language_models_have_no_chat_span(sol: Callable[..., Sol], spans: Spans) -> None:
    async def luna(inputs: dict[str, Any]) -> str:
        return await FakeListLLM(responses=["ok"]).ainvoke("?")

    run = await sol(luna).asolve(task())
    assert run.solved
    assert not [span for span in spans.all if span.name.startswith("chat")]


async def test_failed_chat_call_is_an_error_without_its_text(sol: Callable[..., Sol], spans: Spans) -> None:
    model = ScriptedChatModel([RuntimeError("key sk-123")])
    worker = ModelWorker(ModelOptions(model="house:tiny"), resolve=lambda name, **_: model)
    await sol(worker).asolve(task())
    [chat] = [span for span in spans.all if span.name.startswith("chat")]
    assert (chat.status.status_code, chat.status.description) == (StatusCode.ERROR, "RuntimeError")
    assert "sk-123" not in "".join(span.to_json() for span in spans.all)


async def test_span_of_a_worker_stands_below_its_attempt(sol: Callable[..., Sol], spans: Spans) -> None:
    def luna(inputs: dict[str, Any]) -> str:
        with trace.get_tracer("mine").start_as_current_span("mine"):
            return "ok"

    await sol(luna).asolve(task())
    [mine] = spans.named("mine")
    assert spans.above(mine) is spans.named("invoke_agent given")[0]


async def test_run_stands_below_the_span_that_is_current(sol: Callable[..., Sol], spans: Spans) -> None:
    with trace.get_tracer("mine").start_as_current_span("request"):
        await sol(ends()).asolve(task())
    assert spans.above(spans.run) is spans.named("request")[0]


@pytest.mark.parametrize("value", [None, "false", "true"])
async def test_content_is_recorded_only_on_demand(
    sol: Callable[..., Sol], spans: Spans, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is None:
        monkeypatch.delenv(CAPTURE, raising=False)
    else:
        monkeypatch.setenv(CAPTURE, value)
    worker = ends(red=Success(summary="done", result={"a": "secret"}), blue=Failed(kind="premise", reason="a secret"))
    await sol(worker).asolve(task())
    told = "".join(span.to_json() for span in spans.all)
    assert ("secret" in told) == (value == "true")
    if value == "true":
        assert _of(spans.nodes[""])["sol.goal"] == GOAL
        assert json.loads(str(_of(spans.nodes["0"])["sol.result"])) == {"a": "secret"}
        assert "secret" in str(_of(spans.nodes["1"])["sol.reason"])


async def test_resume_repeats_no_span_of_what_had_ended(sol: Callable[..., Sol], spans: Spans) -> None:
    first = await sol(ends(blue=Interruption("rate_limit", "later"))).asolve(task())
    assert not first.solved
    assert first.resumable
    before = {path: str(_of(span)["sol.state"]) for path, span in spans.nodes.items()}
    assert before["0"] == "success"
    spans.exporter.clear()
    run = await sol(ends()).aresume(first.id)
    assert run.solved
    assert set(spans.nodes) == {"", "1"}
    assert spans.above(spans.nodes["1"]) is spans.nodes[""]
    assert (_of(spans.run)["sol.run"], _of(spans.run)["sol.resumed"]) == (first.id, True)
    assert not spans.run.links


async def test_question_leaves_the_node_waiting_and_the_answer_goes_on(sol: Callable[..., Sol], spans: Spans) -> None:
    asks = Stuck(kind=StuckKind.NEEDS_HUMAN, blocker="which colour?", question="Which secret colour?")
    worker = ScriptedWorker(lambda a: Success(summary="done", result="ok") if "Answer" in a.context else asks)
    ask = ReassessAnswer(Finding.INFORMATION_MISSING, Remedy.ASK, "why", question="Which secret colour?")
    planner = ScriptedPlanner(answer=lambda request: ask if isinstance(request, ReassessRequest) else None)
    first = await sol(worker, planner).asolve(task())
    assert first.status == "waiting"
    assert _of(spans.nodes[""])["sol.state"] == "waiting"
    assert "sol.asked" in [event.name for event in spans.nodes[""].events]
    spans.exporter.clear()
    run = await (
        await sol(worker, planner).start_again(first.id, ask={"kind": "answer", "node": "", "text": "red"})
    ).wait()
    assert run.solved
    assert _of(spans.nodes[""])["sol.state"] == "success"


async def test_interrupted_run_ends_all_its_spans(sol: Callable[..., Sol], spans: Spans) -> None:
    begun = asyncio.Event()

    def script(_: Assignment) -> Any:
        begun.set()
        return [asyncio.Event()]

    run = await sol(ScriptedWorker(script)).start(task())
    await begun.wait()
    run.interrupt()
    await run.wait()
    [attempt] = spans.named("invoke_agent given")
    assert _of(attempt)["sol.interrupted"] == "interrupt"
    assert _of(spans.nodes[""])["sol.state"] == "cancelled"
    assert _of(spans.run)["sol.state"] == "interrupted"
    assert {span.status.status_code for span in spans.all} == {StatusCode.UNSET}


async def test_node_that_is_opened_again_links_to_its_former_span(sol: Callable[..., Sol], spans: Spans) -> None:
    release = asyncio.Event()

    def script(assignment: Assignment) -> Any:
        match assignment.goal, worker.calls[assignment.goal]:
            case ("red", 1):
                return Failed(kind=FailedKind.PREMISE, reason="no")
            case ("red", _):
                release.set()
            case ("blue", _):
                return [release, Success(summary="done", result="ok")]
            case _:
                return Stuck(blocker="too much")
        return Success(summary="done", result="ok")

    worker = ScriptedWorker(script)
    solver = sol(worker, clock=SystemClock())
    run = await solver.start(task())
    while "0" not in run.state.nodes or not run.state.nodes["0"].ended:
        run.changed.clear()
        await run.changed.wait()
    assert await solver.request(run.id, "retry", {"node": "0", "note": "look again"}, by="me") == "posted"
    await run.wait()
    assert run.solved
    first, second = [span for span in spans.named("sol.node") if _of(span)["sol.node"] == "0"]
    assert (_of(first)["sol.state"], _of(second)["sol.state"]) == ("failed", "success")
    [link] = second.links
    assert (link.context.span_id, dict(link.attributes or {})) == (first.context.span_id, {"sol.link": "reopened"})


class _Breaking(MemoryJournal):
    """Refuses to store reports while it is broken."""

    broken = True

    async def append(self, lease: Any, records: Any, **more: Any) -> Any:
        if self.broken and any(record.type == "reported" for record in records):
            raise OSError("secret disk")
        return await super().append(lease, records, **more)


async def test_broken_run_is_an_error_and_its_effect_is_taken_up_again(sol: Callable[..., Sol], spans: Spans) -> None:
    journal = _Breaking()
    with pytest.raises(OSError, match="disk"):
        await sol(ScriptedWorker.succeeding(), store=journal).asolve(task())
    assert (spans.run.status.status_code, _of(spans.run)["error.type"]) == (StatusCode.ERROR, "OSError")
    assert {span.name for span in spans.all} == {"sol.run", "sol.node", "invoke_agent given"}
    assert "secret" not in "".join(span.to_json() for span in spans.all)
    spans.exporter.clear()
    journal.broken = False
    run = await sol(ScriptedWorker.succeeding(), store=journal).aresume("latest")
    assert run.solved
    [attempt] = spans.named("invoke_agent given")
    assert (spans.above(attempt), _of(attempt)["sol.report"]) == (spans.nodes[""], "SUCCESS")


async def test_passed_budget_is_told_on_the_run_and_late_outcomes_on_their_effect(
    sol: Callable[..., Sol], spans: Spans
) -> None:
    worker = ends(red=[Spent(usage=Usage(calls=1, tokens=500)), asyncio.Event()])
    run = await sol(worker, budget={"tokens": 100}).asolve(task())
    assert run.status == "exhausted"
    assert [(event.name, dict(event.attributes or {})) for event in spans.run.events] == [
        ("sol.budget_hit", {"sol.what": "tokens", "sol.limit": 100})
    ]
    assert spans.run.status.status_code == StatusCode.ERROR
    late = {
        str(_of(span)["sol.node"]): _of(span) for span in spans.named("invoke_agent given") if _of(span).get("sol.late")
    }
    assert (late["0"]["sol.lost"], "error.type" in late["0"]) == ("cancelled", False)


def test_nothing_is_recorded_by_the_provider_that_does_nothing(
    sol: Callable[..., Sol], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "get_tracer_provider", NoOpTracerProvider)
    run = sol(ends()).solve(task())
    assert run.solved
    assert run.session is not None
    assert (len(run.session.listeners), len(run.session.entering)) == (1, 1)


def test_nothing_is_recorded_without_the_package(
    sol: Callable[..., Sol], spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    run = sol(ends()).solve(task())
    assert run.solved
    assert spans.all == []

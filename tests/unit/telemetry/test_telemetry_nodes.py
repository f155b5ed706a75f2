"""Spans of a run: one for each node below its parent's, one for each effect."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from opentelemetry.trace import StatusCode

from luna.clock import SystemClock
from luna.errors import Interruption
from luna.protocol import Assignment, Failed, FailedKind, Spent, Stuck, StuckKind, Success, Usage
from luna.testing import FakeClock, Pause, ScriptedWorker
from sol import Sol, Task
from sol.journal import MemoryJournal
from sol.tree.effects import Finding, ReassessAnswer, ReassessRequest, Remedy
from tests.support.core import assignment_of
from tests.support.planners import ScriptedPlanner, split_into
from tests.support.spans import GOAL, TWO, Spans, ends, said, task


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
    assert said(root) == {
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
    assert (said(red)["sol.depth"], said(red)["sol.state"]) == (1, "success")
    assert {span.status.status_code for span in spans.all} == {StatusCode.UNSET}
    assert {name: said(spans.run)[name] for name in ("sol.strategy", "sol.resumed", "sol.state", "sol.nodes")} == {
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
    assert said(attempt)["gen_ai.operation.name"] == "invoke_agent"
    assert (said(attempt)["sol.attempt"], said(attempt)["sol.report"]) == (1, "SUCCESS")
    assert attempt.start_time == int(begun * 1e9)
    assert (attempt.end_time or 0) - (attempt.start_time or 0) == pytest.approx(5e9, abs=1e6)
    [judge] = spans.named("sol.judge")
    assert spans.above(judge) is spans.nodes[""]


async def test_check_says_how_many_criteria_did_not_hold(sol: Callable[..., Sol], spans: Spans) -> None:
    number = {"json_schema": {"type": "number"}}
    wanted = assignment_of(expected_output="a text", constraints="none", success_criteria=["good", number])
    await sol(ScriptedWorker.succeeding()).asolve(Task.make(wanted))
    check = spans.named("sol.check")[0]
    assert (said(check)["sol.checks"], said(check)["sol.checks.failed"]) == (2, 1)


async def test_attempt_names_the_model_of_its_worker(
    sol: Callable[..., Sol], spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    run = await sol({"kind": "model", "options": {"model": "openai:gpt-x"}}).asolve(task())
    assert not run.solved
    [attempt] = spans.named("invoke_agent model")
    assert (said(attempt)["gen_ai.provider.name"], said(attempt)["gen_ai.request.model"]) == ("openai", "gpt-x")
    assert (said(attempt)["sol.lost"], said(attempt)["error.type"]) == ("model", "model")


async def test_usage_is_on_effect_node_and_run(sol: Callable[..., Sol], spans: Spans) -> None:
    worker = ends(red=[Spent(usage=Usage(calls=2, tokens=30, cost=0.5)), Success(summary="done", result="ok")])
    planner = ScriptedPlanner(TWO, usage=Usage(calls=1, tokens=7))
    run = await sol(worker, planner).asolve(task())
    [attempt] = [span for span in spans.named("invoke_agent given") if said(span)["sol.node"] == "0"]
    assert [said(attempt)[f"sol.{name}"] for name in ("calls", "tokens", "cost")] == [2, 30, 0.5]
    for path, span in spans.nodes.items():
        spent = run.state.nodes[path].spent
        assert (said(span)["sol.calls"], said(span)["sol.tokens"]) == (spent.calls, spent.tokens), path
    assert (said(spans.run)["sol.tokens"], said(spans.run)["sol.cost"]) == (run.spent.tokens, run.spent.cost)


async def test_failure_is_an_error_on_node_effect_and_run(sol: Callable[..., Sol], spans: Spans) -> None:
    worker = ends(red=Failed(kind=FailedKind.PREMISE, reason="no secret bricks"))
    planner = ScriptedPlanner(TWO)
    run = await sol(worker, planner).asolve(task())
    assert run.status == "failed"
    red = spans.nodes["0"]
    assert (red.status.status_code, red.status.description) == (StatusCode.ERROR, run.state.nodes["0"].kind)
    assert said(red)["error.type"] == run.state.nodes["0"].kind
    attempts = [span for span in spans.named("invoke_agent given") if said(span)["sol.node"] == "0"]
    assert {(span.status.status_code, said(span)["error.type"]) for span in attempts} == {(StatusCode.ERROR, "premise")}
    assert spans.nodes["1"].status.status_code == StatusCode.UNSET
    assert spans.run.status.status_code == StatusCode.ERROR
    assert said(spans.run)["error.type"] == run.state.root.kind


async def test_lost_effect_is_an_error_with_its_kind(sol: Callable[..., Sol], spans: Spans) -> None:
    run = await sol(ends(red=RuntimeError("secret"))).asolve(task())
    assert not run.solved
    [lost] = [span for span in spans.named("invoke_agent given") if said(span)["sol.node"] == "0"]
    assert (lost.status.status_code, said(lost)["error.type"]) == (StatusCode.ERROR, "exception")
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


async def test_resume_repeats_no_span_of_what_had_ended(sol: Callable[..., Sol], spans: Spans) -> None:
    first = await sol(ends(blue=Interruption("rate_limit", "later"))).asolve(task())
    assert not first.solved
    assert first.resumable
    before = {path: str(said(span)["sol.state"]) for path, span in spans.nodes.items()}
    assert before["0"] == "success"
    spans.exporter.clear()
    run = await sol(ends()).aresume(first.id)
    assert run.solved
    assert set(spans.nodes) == {"", "1"}
    assert spans.above(spans.nodes["1"]) is spans.nodes[""]
    assert (said(spans.run)["sol.run"], said(spans.run)["sol.resumed"]) == (first.id, True)
    assert not spans.run.links


async def test_question_leaves_the_node_waiting_and_the_answer_goes_on(sol: Callable[..., Sol], spans: Spans) -> None:
    asks = Stuck(kind=StuckKind.NEEDS_HUMAN, blocker="which colour?", question="Which secret colour?")
    worker = ScriptedWorker(lambda a: Success(summary="done", result="ok") if "Answer" in a.context else asks)
    ask = ReassessAnswer(Finding.INFORMATION_MISSING, Remedy.ASK, "why", question="Which secret colour?")
    planner = ScriptedPlanner(answer=lambda request: ask if isinstance(request, ReassessRequest) else None)
    first = await sol(worker, planner).asolve(task())
    assert first.status == "waiting"
    assert said(spans.nodes[""])["sol.state"] == "waiting"
    assert "sol.asked" in [event.name for event in spans.nodes[""].events]
    spans.exporter.clear()
    run = await (
        await sol(worker, planner).start_again(first.id, ask={"kind": "answer", "node": "", "text": "red"})
    ).wait()
    assert run.solved
    assert said(spans.nodes[""])["sol.state"] == "success"


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
    assert said(attempt)["sol.interrupted"] == "interrupt"
    assert said(spans.nodes[""])["sol.state"] == "cancelled"
    assert said(spans.run)["sol.state"] == "interrupted"
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
    first, second = [span for span in spans.named("sol.node") if said(span)["sol.node"] == "0"]
    assert (said(first)["sol.state"], said(second)["sol.state"]) == ("failed", "success")
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
    assert (spans.run.status.status_code, said(spans.run)["error.type"]) == (StatusCode.ERROR, "OSError")
    assert {span.name for span in spans.all} == {"sol.run", "sol.node", "invoke_agent given"}
    assert "secret" not in "".join(span.to_json() for span in spans.all)
    spans.exporter.clear()
    journal.broken = False
    run = await sol(ScriptedWorker.succeeding(), store=journal).aresume("latest")
    assert run.solved
    [attempt] = spans.named("invoke_agent given")
    assert (spans.above(attempt), said(attempt)["sol.report"]) == (spans.nodes[""], "SUCCESS")


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
        str(said(span)["sol.node"]): said(span)
        for span in spans.named("invoke_agent given")
        if said(span).get("sol.late")
    }
    assert (late["0"]["sol.lost"], "error.type" in late["0"]) == ("cancelled", False)

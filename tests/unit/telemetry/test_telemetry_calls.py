"""Spans of chat calls and of workers below an effect; what is recorded, and when nothing is."""

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models.fake import FakeListLLM
from opentelemetry import trace
from opentelemetry.trace import NoOpTracerProvider, StatusCode

from luna.protocol import Failed, Success
from luna.testing import ScriptedChatModel
from luna.workers.model import ModelOptions, ModelWorker
from sol import Sol
from sol.telemetry.spans import CAPTURE
from tests.support.spans import GOAL, Spans, ends, said, task


async def test_chat_call_stands_below_its_attempt_with_its_tokens(sol: Callable[..., Sol], spans: Spans) -> None:
    model = ScriptedChatModel(["ok"], tokens=(7, 3))
    worker = ModelWorker(ModelOptions(model="house:tiny"), resolve=lambda name, **_: model)
    run = await sol(worker).asolve(task())
    assert run.solved
    [chat] = [span for span in spans.all if span.name.startswith("chat")]
    [attempt] = spans.named("invoke_agent given")
    assert spans.above(chat) is attempt
    told = said(chat)
    assert told["gen_ai.operation.name"] == "chat"
    assert (told["gen_ai.usage.input_tokens"], told["gen_ai.usage.output_tokens"]) == (7, 3)
    assert told["gen_ai.response.finish_reasons"] == ("stop",)
    assert (told["sol.run"], told["sol.node"]) == (run.id, "")
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
        assert said(spans.nodes[""])["sol.goal"] == GOAL
        assert json.loads(str(said(spans.nodes["0"])["sol.result"])) == {"a": "secret"}
        assert "secret" in str(said(spans.nodes["1"])["sol.reason"])


def test_nothing_is_recorded_by_the_provider_that_does_nothing(
    sol: Callable[..., Sol], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "get_tracer_provider", NoOpTracerProvider)
    run = sol(ends()).solve(task())
    assert run.solved
    assert run.session is not None
    assert len(run.session.listeners) == 2  # who waits for events, and the marks of calls


def test_nothing_is_recorded_without_the_package(
    sol: Callable[..., Sol], spans: Spans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    run = sol(ends()).solve(task())
    assert run.solved
    assert spans.all == []

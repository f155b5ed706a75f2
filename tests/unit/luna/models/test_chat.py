import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.exceptions import OutputParserException
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from luna.errors import ModelError
from luna.models.answers import Message
from luna.models.calls import CallSettings, Made, NotMade, call_structured, call_text
from luna.models.chat import LocalChatModel
from luna.protocol import FailedKind
from tests.unit.luna.models.conftest import FakeEngine, spoken


class Point(BaseModel):
    x: int
    y: int


@pytest.fixture
def model(fake_engine: FakeEngine, tmp_path: Path) -> LocalChatModel:
    return LocalChatModel(path=tmp_path / "tiny.gguf", model_name="tiny", threads=1)


def test_invoke_sends_the_conversation_and_gives_text_usage_and_reason(
    model: LocalChatModel, fake_engine: FakeEngine
) -> None:
    answer = model.invoke([SystemMessage("be brief"), HumanMessage("q1"), AIMessage("a1"), HumanMessage("q2")])
    assert isinstance(answer, AIMessage)
    assert answer.content == "yes"
    assert answer.response_metadata["finish_reason"] == "stop"
    assert answer.response_metadata["model_name"] == "tiny"
    assert answer.usage_metadata == {
        "input_tokens": 7,
        "output_tokens": 3,
        "total_tokens": 10,
        "input_token_details": {"cache_read": 5},
    }
    (body,) = fake_engine.bodies
    assert [(message["role"], message["content"]) for message in body["messages"]] == [
        ("system", "be brief"),
        ("user", "q1"),
        ("assistant", "a1"),
        ("user", "q2"),
    ]
    assert (body["temperature"], body["seed"], body["max_tokens"], body["cache_prompt"]) == (0.0, 0, 1024, True)
    assert "stop" not in body


def test_bound_options_reach_the_engine(model: LocalChatModel, fake_engine: FakeEngine) -> None:
    model.bind(response_format={"type": "json_object"}, max_tokens=5).invoke("q", stop=["\n"])
    (body,) = fake_engine.bodies
    assert body["response_format"] == {"type": "json_object"}
    assert (body["max_tokens"], body["stop"]) == (5, ["\n"])


async def test_concurrent_calls_ask_once_each(model: LocalChatModel, fake_engine: FakeEngine) -> None:
    answers = await asyncio.gather(*(model.ainvoke(f"q{n}") for n in range(5)))
    assert [answer.content for answer in answers] == ["yes"] * 5
    assert len(fake_engine.bodies) == 5
    assert len(fake_engine.loads) == 1


def test_batch_asks_once_each(model: LocalChatModel, fake_engine: FakeEngine) -> None:
    assert [answer.content for answer in model.batch(["a", "b", "c"])] == ["yes"] * 3
    assert len(fake_engine.bodies) == 3


async def test_cancelled_call_stops_and_the_next_one_works(model: LocalChatModel, fake_engine: FakeEngine) -> None:
    begun, go = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        chunks = spoken("slow")
        yield next(chunks)
        loop.call_soon_threadsafe(begun.set)
        go.wait(10)
        yield from chunks

    fake_engine.script = slow
    task = asyncio.create_task(model.ainvoke("q"))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    fake_engine.script = lambda _: spoken("next")
    assert (await model.ainvoke("q")).content == "next"
    assert fake_engine.stops == 1


@pytest.mark.parametrize("schema", [Point, Point.model_json_schema()], ids=["type", "dict"])
def test_structured_output_is_enforced_and_parsed(schema: Any, model: LocalChatModel, fake_engine: FakeEngine) -> None:
    fake_engine.script = lambda _: spoken('{"x": 1, "y": 2}')
    value = model.with_structured_output(schema).invoke("q")
    assert value == (Point(x=1, y=2) if schema is Point else {"x": 1, "y": 2})
    sent = fake_engine.bodies[0]["response_format"]
    assert sent["type"] == "json_schema"
    assert sent["json_schema"]["schema"]["required"] == ["x", "y"]


def test_structured_output_that_is_cut_off_is_told(model: LocalChatModel, fake_engine: FakeEngine) -> None:
    fake_engine.script = lambda _: spoken('{"x": 1,', "length")
    with pytest.raises(OutputParserException, match="finish reason 'length'"):
        model.with_structured_output(Point).invoke("q")
    raw = model.with_structured_output(Point, include_raw=True).invoke("q")
    assert raw["raw"].content == '{"x": 1,'
    assert raw["parsed"] is None
    assert isinstance(raw["parsing_error"], OutputParserException)


def test_structured_output_with_raw_gives_both(model: LocalChatModel, fake_engine: FakeEngine) -> None:
    fake_engine.script = lambda _: spoken('{"x": 1, "y": 2}')
    raw = model.with_structured_output(Point, include_raw=True).invoke("q")
    assert (raw["parsed"], raw["parsing_error"]) == (Point(x=1, y=2), None)


def test_tools_are_refused(model: LocalChatModel) -> None:
    with pytest.raises(ModelError, match="'tiny' cannot use tools"):
        model.bind_tools([])


def test_threads_come_from_the_setting(
    fake_engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOL_LOCAL_THREADS", "3")
    LocalChatModel(path=tmp_path / "tiny.gguf").invoke("q")
    assert fake_engine.loads[0].cpuparams.n_threads == 3


async def test_prompt_beyond_the_context_is_refused_before_any_call(
    model: LocalChatModel, fake_engine: FakeEngine
) -> None:
    assert model.profile == {"structured_output": True, "tool_calling": False, "max_input_tokens": 4096}
    made = await call_text(model, [Message("user", "word " * 8_000)], settings=CallSettings())
    assert isinstance(made, NotMade)
    assert (made.kind, fake_engine.bodies) == (FailedKind.CONTEXT_TOO_LARGE, [])
    own = LocalChatModel(path=model.path, profile={"max_input_tokens": 9})
    assert own.profile == {"max_input_tokens": 9}


async def test_schema_is_bound_by_what_the_model_says_of_itself(model: LocalChatModel, fake_engine: FakeEngine) -> None:
    fake_engine.script = lambda _: spoken('{"x": 1, "y": 2}')
    made = await call_structured(model, [Message("user", "q")], schema=Point.model_json_schema(), name="point")
    assert isinstance(made, Made)
    assert made.value == {"x": 1, "y": 2}
    assert fake_engine.bodies[0]["response_format"]["json_schema"]["name"] == "point"


def test_model_says_what_it_is(model: LocalChatModel) -> None:
    assert model._llm_type == "sol-local"
    assert model._identifying_params["model_name"] == "tiny"

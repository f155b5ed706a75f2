"""Calls through a provider's real client, against a tiny server on the loopback address."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from luna.errors import Interruption, ModelError
from luna.models.answers import Message
from luna.models.calls import Made, NotMade, call_structured, call_text
from luna.protocol import FailedKind, Usage
from luna.schemas import closed

pytest.importorskip("langchain_openai", reason="needs the extra [openai]")
from langchain_openai import ChatOpenAI

SCHEMA = closed({"n": {"type": "integer"}})
ASKED = [Message("user", "count")]
KEY = "sk-loopback-0123456789abcdef"


@dataclass
class ParsedAnswer:
    """One answer of the server. `sent_bytes`: how much of the body is sent before the connection is cut."""

    status: int = 200
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    sent_bytes: int | None = None


class Server(ThreadingHTTPServer):
    """Gives its answers in order and keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[ParsedAnswer] = []
        self.asked: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        answer = self.server.answers.pop(0)
        data = answer.body.encode()
        self.send_response(answer.status)
        for name, value in {"Content-Type": "application/json", **answer.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: answer.sent_bytes])
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


@pytest.fixture
def model(server: Server) -> Any:
    return ChatOpenAI(
        model="own", base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key=KEY, max_retries=0, timeout=5
    )


def completion(text: str | None, finish: str = "stop", **message: Any) -> str:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
    usage = {"prompt_tokens": 4, "completion_tokens": 2, "total_tokens": 6}
    return json.dumps(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "own", "choices": [choice], "usage": usage}
    )


def chunks(*texts: str, finish: str | None) -> str:
    deltas: list[dict[str, Any]] = [{"delta": {"role": "assistant", "content": text}} for text in texts]
    if finish:
        deltas.append({"delta": {}, "finish_reason": finish})
    lines = [
        {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "own", "choices": [{"index": 0, **delta}]}
        for delta in deltas
    ]
    return "".join(f"data: {json.dumps(line)}\n\n" for line in lines) + ("data: [DONE]\n\n" if finish else "")


async def structured(model: Any) -> Made | NotMade:
    return await call_structured(model, ASKED, schema=SCHEMA, name="count")


async def test_good_structured_answer(server: Server, model: Any) -> None:
    server.answers = [ParsedAnswer(body=completion('{"n": 3}'))]
    assert await structured(model) == Made({"n": 3}, Usage(calls=1, tokens=6))
    asked = server.asked[0]["response_format"]
    assert (asked["type"], asked["json_schema"]["schema"]) == ("json_schema", SCHEMA)


async def test_answer_that_ignores_the_schema_is_asked_for_again(server: Server, model: Any) -> None:
    server.answers = [ParsedAnswer(body=completion("three")), ParsedAnswer(body=completion('{"n": 3}'))]
    assert await structured(model) == Made({"n": 3}, Usage(calls=2, tokens=12))
    assert [message["role"] for message in server.asked[1]["messages"]] == ["user", "assistant", "user"]


@pytest.mark.req("S51")
@pytest.mark.case("RATE-01")
async def test_rate_limit_with_retry_after_is_an_interruption(server: Server, model: Any) -> None:
    server.answers = [ParsedAnswer(429, '{"error": {"message": "slow down"}}', {"Retry-After": "20"})]
    with pytest.raises(Interruption) as raised:
        await structured(model)
    assert (raised.value.kind, raised.value.retry_after_s) == ("rate_limit", 20.0)
    assert len(server.asked) == 1


@pytest.mark.req("S51")
async def test_server_error_is_an_outage(server: Server, model: Any) -> None:
    server.answers = [ParsedAnswer(500, '{"error": {"message": "oops"}}')]
    with pytest.raises(Interruption) as raised:
        await structured(model)
    assert raised.value.kind == "outage"


@pytest.mark.req("S51")
async def test_cut_connection_is_a_transport_interruption(server: Server, model: Any) -> None:
    server.answers = [ParsedAnswer(body=completion('{"n": 3}'), sent_bytes=40)]
    with pytest.raises(Interruption) as raised:
        await structured(model)
    assert raised.value.kind == "transport"


@pytest.mark.req("S51")
async def test_server_that_is_not_there_is_a_transport_interruption(server: Server, model: Any) -> None:
    closed_port = ChatOpenAI(model="own", base_url="http://127.0.0.1:9/v1", api_key=KEY, max_retries=0)
    with pytest.raises(Interruption) as raised:
        await structured(closed_port)
    assert raised.value.kind == "transport"


@pytest.mark.req("S52")
@pytest.mark.case("STAT-01")
async def test_stream_that_is_cut_by_the_connection_is_an_interruption(server: Server, model: Any) -> None:
    body = chunks("one ", "two ", finish="stop")
    server.answers = [ParsedAnswer(body=body, headers={"Content-Type": "text/event-stream"}, sent_bytes=len(body) // 2)]
    with pytest.raises(Interruption) as raised:
        await call_text(model.model_copy(update={"streaming": True}), ASKED)
    assert raised.value.kind == "transport"


@pytest.mark.req("S52")
@pytest.mark.case("STAT-01")
async def test_stream_that_ends_without_finish_reason_is_truncated(server: Server, model: Any) -> None:
    body = chunks("one ", "two ", finish=None)
    server.answers = [ParsedAnswer(body=body, headers={"Content-Type": "text/event-stream"})]
    made = await call_text(model.model_copy(update={"streaming": True}), ASKED)
    assert isinstance(made, NotMade)
    assert made.kind is FailedKind.TRUNCATED


async def test_whole_stream_is_a_text(server: Server, model: Any) -> None:
    body = chunks("one ", "two", finish="stop")
    server.answers = [ParsedAnswer(body=body, headers={"Content-Type": "text/event-stream"})]
    made = await call_text(model.model_copy(update={"streaming": True}), ASKED)
    assert isinstance(made, Made)
    assert made.value == "one two"


async def test_answer_at_the_length_limit_is_truncated_with_its_usage(server: Server, model: Any) -> None:
    server.answers = [ParsedAnswer(body=completion('{"n":', "length"))] * 3
    made = await structured(model)
    assert isinstance(made, NotMade)
    assert (made.kind, made.usage) == (FailedKind.TRUNCATED, Usage(calls=3, tokens=18))


async def test_refusal_is_a_value(server: Server, model: Any) -> None:
    server.answers = [ParsedAnswer(body=completion(None, refusal="I will not"))]
    made = await structured(model)
    assert isinstance(made, NotMade)
    assert made.kind is FailedKind.REFUSED


async def test_wrong_key_is_a_model_error_without_the_key(server: Server, model: Any) -> None:
    server.answers = [ParsedAnswer(401, json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}"}}))]
    with pytest.raises(ModelError) as raised:
        await structured(model)
    assert KEY not in str(raised.value)
    assert "API key" in str(raised.value)


async def test_server_without_structured_output_is_asked_in_words(server: Server, model: Any) -> None:
    server.answers = [
        ParsedAnswer(400, '{"error": {"message": "unknown field response_format"}}'),
        ParsedAnswer(body=completion('{"n": 3}')),
    ]
    assert isinstance(await structured(model), Made)
    assert "response_format" not in server.asked[1]
    assert json.dumps(SCHEMA) in server.asked[1]["messages"][0]["content"]


async def test_prompt_beyond_the_context_is_a_value(server: Server, model: Any) -> None:
    error = {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"}
    server.answers = [ParsedAnswer(400, json.dumps({"error": error}))]
    made = await structured(model)
    assert isinstance(made, NotMade)
    assert made.kind is FailedKind.CONTEXT_TOO_LARGE

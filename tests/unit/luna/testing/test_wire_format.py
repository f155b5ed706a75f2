"""OpenAI's chat completions, read and written."""

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, InvalidToolCall, SystemMessage, ToolMessage

from luna.testing import HttpError
from luna.testing.fakes import calls
from luna.testing.wire_format import Encoder, RateLimited, WireRequest, read_request

USER = {"role": "user", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": "x"}'}}
CALLING = {"role": "assistant", "tool_calls": [CALL]}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "seen"}
KEY = "sk-wire-0123456789abcdef"


def request(**body: Any) -> WireRequest:
    read = read_request(json.dumps({"model": "any", "messages": [USER], **body}).encode(), {})
    assert isinstance(read, WireRequest)
    return read


def encoder(*, tokens: tuple[int, int] | None = (7, 3), **body: Any) -> Encoder:
    return Encoder(2, request(**body), tokens)


def test_request_becomes_messages_of_langchain() -> None:
    given = [{"role": "system", "content": "be"}, USER, CALLING, ANSWER, {"role": "user", "content": ["a"]}]
    assert request(messages=given).messages == (
        SystemMessage("be"),
        HumanMessage("hi"),
        AIMessage("", tool_calls=[{"name": "look", "args": {"at": "x"}, "id": "c1", "type": "tool_call"}]),
        ToolMessage("seen", tool_call_id="c1"),
        HumanMessage(["a"]),
    )


def test_request_tells_what_was_asked_for_and_never_shows_the_key() -> None:
    tool = {"type": "function", "function": {"name": "look", "parameters": {}}}
    body = {"model": "m", "messages": [USER], "tools": [tool], "response_format": {"type": "json_schema"}}
    read = read_request(json.dumps(body).encode(), {"authorization": f"Bearer {KEY}"})
    assert isinstance(read, WireRequest)
    assert (read.model, read.stream, read.tools, read.tool_names) == ("m", False, [tool], ("look",))
    assert (read.response_format, read.api_key) == ({"type": "json_schema"}, KEY)
    assert KEY not in repr(read)
    assert (request().tools, request().response_format, request().api_key) == ((), None, None)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"{", "not JSON"),
        (b"[]", "name of a model"),
        (b'{"messages": []}', "name of a model"),
        (b'{"model": "m"}', "'messages' must be a list"),
        (b'{"model": "m", "messages": []}', "'messages' must be a list"),
        (b'{"model": "m", "messages": [{"content": "x"}]}', "'messages' must be a list"),
        (b'{"model": "m", "messages": [{"role": "nobody", "content": "x"}]}', "cannot be read"),
        (b'{"model": "m", "messages": [{"role": "tool", "content": "x"}]}', "cannot be read"),
    ],
)
def test_request_that_cannot_be_read_is_refused(data: bytes, message: str) -> None:
    refused = read_request(data, {})
    assert isinstance(refused, HttpError)
    assert refused.status == 400
    assert message in refused.message
    assert refused.body["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ([USER, CALLING], "answer the tool calls ['c1']"),
        ([USER, CALLING, USER, ANSWER], "answer the tool calls ['c1']"),
        ([USER, ANSWER], "follows no assistant message"),
        ([USER, CALLING, ANSWER, ANSWER], "follows no assistant message"),
    ],
)
def test_tool_calls_and_answers_that_do_not_pair_are_refused(messages: list[Any], message: str) -> None:
    refused = read_request(json.dumps({"model": "m", "messages": messages}).encode(), {})
    assert isinstance(refused, HttpError)
    assert message in refused.message


def test_text_is_a_whole_completion() -> None:
    assert encoder().completion(AIMessage("one two")) == {
        "id": "chatcmpl-2",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "any",
        "system_fingerprint": None,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "one two", "refusal": None},
                "logprobs": None,
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10},
    }


def test_tool_calls_are_written_with_arguments_as_text_and_an_id_each() -> None:
    message = AIMessage(
        "",
        tool_calls=[{"name": "look", "args": {"at": "x"}, "id": None}, {"name": "go", "args": {}, "id": "own"}],
        invalid_tool_calls=[InvalidToolCall(type="invalid_tool_call", name="bad", args="{", id=None, error=None)],
    )
    (choice,) = encoder().completion(message)["choices"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", None)
    assert choice["message"]["tool_calls"] == [
        {"id": "call_2_0", "type": "function", "function": {"name": "look", "arguments": '{"at": "x"}'}},
        {"id": "own", "type": "function", "function": {"name": "go", "arguments": "{}"}},
        {"id": "call_2_2", "type": "function", "function": {"name": "bad", "arguments": "{"}},
    ]


def test_message_may_tell_its_own_ending_usage_and_refusal() -> None:
    usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    message = AIMessage(
        "",
        additional_kwargs={"refusal": "no"},
        response_metadata={"finish_reason": "length"},
        usage_metadata=usage,
    )
    whole = encoder().completion(message)
    assert whole["usage"] == {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    (choice,) = whole["choices"]
    assert (choice["finish_reason"], choice["message"]["refusal"]) == ("length", "no")
    assert choice["message"]["content"] is None
    assert {"refusal": "no"} in [chunk["choices"][0]["delta"] for chunk in encoder().chunks(message)]
    assert "usage" not in encoder(tokens=None).completion(AIMessage("x"))


@pytest.mark.parametrize("text", ["", "one", " one  two\n\nthree ", "ü — ✓\n"])
def test_streamed_words_are_the_text(text: str) -> None:
    first, *rest = list(encoder(stream=True).chunks(AIMessage(text)))
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in rest) == text
    assert [chunk["choices"][0]["finish_reason"] for chunk in (first, *rest)] == [None] * len(rest) + ["stop"]
    assert {chunk["object"] for chunk in (first, *rest)} == {"chat.completion.chunk"}
    assert not any("usage" in chunk for chunk in (first, *rest))


def test_streamed_tool_calls_name_themselves_once_and_then_come_in_pieces() -> None:
    message = calls(("look", {"at": "a long way off, behind the hill"}), ("go", {}))
    chunks = list(encoder(stream=True).chunks(message))
    assert chunks[0]["choices"][0]["delta"]["content"] is None
    pieces = [piece for chunk in chunks for piece in chunk["choices"][0]["delta"].get("tool_calls", ())]
    for index, call in enumerate(message.tool_calls):
        first, *rest = [piece for piece in pieces if piece["index"] == index]
        function = {"name": call["name"], "arguments": ""}
        assert first == {"index": index, "id": call["id"], "type": "function", "function": function}
        assert json.loads("".join(piece["function"]["arguments"] for piece in rest)) == call["args"]
        assert all(set(piece) == {"index", "function"} for piece in rest)
    assert chunks[-1]["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "tool_calls"}


def test_usage_comes_last_in_a_chunk_of_its_own_if_asked_for() -> None:
    *said, last = list(encoder(stream=True, stream_options={"include_usage": True}).chunks(AIMessage("x")))
    assert all(chunk["usage"] is None for chunk in said)
    assert (last["choices"], last["usage"]["total_tokens"]) == ([], 10)


@pytest.mark.parametrize(("asked", "headers"), [(None, {}), (20, {"Retry-After": "20"})])
def test_rate_limit_is_a_429_with_the_time_to_wait(asked: int | None, headers: dict[str, str]) -> None:
    error = RateLimited(asked).as_error()
    assert (error.status, error.headers) == (429, headers)
    assert error.body["error"]["code"] == "rate_limit_exceeded"

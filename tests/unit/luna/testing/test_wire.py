"""The scripted server, seen by a plain HTTP client."""

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse, IncompleteRead, RemoteDisconnected
from typing import Any
from urllib.parse import urlsplit

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from luna.testing import CutStream, Hang, HttpError, Malformed, RateLimited, ScriptedServer
from luna.testing.fakes import calls
from luna.testing.wire_format import WireReply

CHAT = "/v1/chat/completions"
TEXT = CutStream().reply


def chat(text: str = "hi", **more: Any) -> str:
    return json.dumps({"model": "any", "messages": [{"role": "user", "content": text}], **more})


@contextmanager
def connected(server: ScriptedServer) -> Iterator[HTTPConnection]:
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=10)
    try:
        yield connection
    finally:
        connection.close()


def post(server: ScriptedServer, body: str | None = None, path: str = CHAT) -> tuple[HTTPResponse, bytes]:
    with connected(server) as connection:
        connection.request("POST", path, body or chat())
        response = connection.getresponse()
        return response, response.read()


def said(server: ScriptedServer, text: str = "hi") -> Any:
    response, data = post(server, chat(text))
    assert response.status == 200
    return json.loads(data)["choices"][0]["message"]["content"]


def own_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("scripted server")]


def test_replies_come_in_order_and_requests_are_kept() -> None:
    with ScriptedServer(["one", AIMessage("two")]) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert server.url.endswith("/v1")
        assert [said(server, "a"), said(server, "b")] == ["one", "two"]
        assert server.count == 2
    assert [request.messages[-1].text for request in server.requests] == ["a", "b"]
    assert own_threads() == []


def test_url_is_told_only_while_it_serves() -> None:
    server = ScriptedServer([])
    with pytest.raises(RuntimeError, match="not running"):
        _ = server.url


def test_function_answers_from_the_messages() -> None:
    with ScriptedServer(lambda messages: f"{len(messages)} {messages[-1].text}") as server:
        assert said(server, "a") == "1 a"


def test_connection_is_kept_for_further_requests() -> None:
    with ScriptedServer(lambda _: "x") as server, connected(server) as connection:
        for _ in range(2):
            for path, status in ((CHAT, 200), ("/v1/other", 404)):
                connection.request("POST", path, chat())
                response = connection.getresponse()
                assert (response.status, response.will_close) == (status, False)
                response.read()
            assert connection.sock is not None


def test_models_are_listed() -> None:
    with ScriptedServer([], models=("a", "b")) as server, connected(server) as connection:
        connection.request("GET", "/v1/models")
        listed = json.load(connection.getresponse())
    assert (listed["object"], [model["id"] for model in listed["data"]]) == ("list", ["a", "b"])


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [("GET", "/v1/nothing", 404, "unknown_url"), ("POST", "/other?x=1", 404, "unknown_url"), ("PUT", CHAT, 501, None)],
)
def test_other_addresses_are_errors_in_json(method: str, path: str, status: int, code: str | None) -> None:
    with ScriptedServer([]) as server, connected(server) as connection:
        connection.request(method, path, "" if method == "POST" else None)
        response = connection.getresponse()
        error = json.load(response)["error"]
    assert (response.status, response.getheader("Content-Type")) == (status, "application/json")
    assert (error["code"], set(error)) == (code, {"message", "type", "param", "code"})
    assert server.count == 0


def test_request_without_length_is_refused() -> None:
    with ScriptedServer([]) as server, connected(server) as connection:
        connection.request("POST", CHAT, iter([chat().encode()]))
        response = connection.getresponse()
        assert (response.status, json.load(response)["error"]["code"]) == (411, None)


def test_request_that_cannot_be_read_is_refused_and_not_counted() -> None:
    with ScriptedServer([]) as server:
        assert post(server, "{")[0].status == 400
        assert server.count == 0


def test_stream_is_events_with_an_end_mark() -> None:
    with ScriptedServer(["one two"]) as server:
        response, data = post(server, chat(stream=True))
    assert response.getheader("Content-Type") == "text/event-stream"
    *events, rest = data.decode().split("\n\n")
    assert rest == ""
    assert all(event.startswith("data: ") for event in events)
    assert events[-1] == "data: [DONE]"
    deltas = [json.loads(event.removeprefix("data: "))["choices"][0]["delta"] for event in events[:-1]]
    assert [delta.get("content") for delta in deltas] == ["", "one ", "two", None]
    assert server.requests[0].stream


@pytest.mark.parametrize("stream", [False, True])
def test_errors_have_status_headers_and_code(stream: bool) -> None:
    faults: list[WireReply] = [
        RateLimited(20),
        HttpError(503, "away", headers={"Retry-After": "3"}),
        HttpError(401, code="bad_key"),
    ]
    with ScriptedServer(faults) as server:
        found = [post(server, chat(stream=stream)) for _ in faults]
    assert [response.status for response, _ in found] == [429, 503, 401]
    assert [response.getheader("Retry-After") for response, _ in found] == ["20", "3", None]
    assert [json.loads(data)["error"]["code"] for _, data in found] == ["rate_limit_exceeded", None, "bad_key"]


@pytest.mark.parametrize("stream", [False, True])
def test_broken_json_has_status_200(stream: bool) -> None:
    with ScriptedServer([Malformed()]) as server:
        response, data = post(server, chat(stream=stream))
    assert response.status == 200
    with pytest.raises(json.JSONDecodeError):
        json.loads(data.decode().removeprefix("data: "))


@pytest.mark.parametrize(("reply", "after"), [(TEXT, 3), (calls(("look", {"at": "x" * 50})), 4)])
@pytest.mark.parametrize("stream", [False, True])
def test_cut_reply_ends_without_its_end(reply: Any, after: int, stream: bool) -> None:
    with ScriptedServer([CutStream(reply, after), reply]) as server:
        with pytest.raises(IncompleteRead) as cut:
            post(server, chat(stream=stream))
        whole = post(server, chat(stream=stream))[1].replace(b"chatcmpl-2", b"chatcmpl-1")
    assert whole.startswith(cut.value.partial)
    assert len(cut.value.partial) < len(whole)
    assert not stream or cut.value.partial.count(b"data: ") == after


def test_reply_that_ends_too_early_in_good_order_lacks_the_rest() -> None:
    with ScriptedServer([CutStream(how="ended")] * 2) as server:
        _, events = post(server, chat(stream=True))
        _, half = post(server)
    assert (events.count(b"data: "), b"DONE" in events, b'finish_reason": "' in events) == (3, False, False)
    with pytest.raises(json.JSONDecodeError):
        json.loads(half)


def test_error_in_the_middle_of_a_stream_is_its_last_event() -> None:
    with ScriptedServer([CutStream(how="error")] * 2) as server:
        _, events = post(server, chat(stream=True))
        response, _ = post(server)
    assert json.loads(events.decode().split("data: ")[-1])["error"]["type"] == "server_error"
    assert response.status == 500


@pytest.mark.parametrize("fault", [Hang(), CutStream(how="stalled")])
def test_server_closes_while_a_client_waits(fault: Any) -> None:
    asked = threading.Event()

    def script(_: Sequence[BaseMessage]) -> Any:
        asked.set()
        return fault

    with ThreadPoolExecutor() as pool, ScriptedServer(script) as server:
        waiting = pool.submit(post, server)
        assert asked.wait(10)
    assert isinstance(waiting.exception(10), RemoteDisconnected | IncompleteRead)
    assert own_threads() == []


@pytest.mark.parametrize("fault", [Hang(), "a reply that nobody waits for"])
def test_client_that_goes_away_is_no_failure(fault: Any) -> None:
    asked = threading.Event()
    replies = iter([fault, "next"])

    def script(_: Sequence[BaseMessage]) -> Any:
        asked.set()
        return next(replies)

    with ScriptedServer(script) as server:
        with connected(server) as connection:
            connection.request("POST", CHAT, chat())
            assert asked.wait(10)
        assert said(server) == "next"


def test_idle_connection_does_not_hold_up_the_end() -> None:
    with ScriptedServer(["x"]) as server, connected(server) as idle:
        idle.connect()
        said(server)
        server.__exit__(None, None, None)
        assert own_threads() == []
        assert idle.sock.recv(1) == b""


def test_script_that_blocks_does_not_hold_up_the_end() -> None:
    inside, gate = threading.Event(), threading.Event()

    def script(_: Sequence[BaseMessage]) -> str:
        inside.set()
        gate.wait()
        return "late"

    with ThreadPoolExecutor() as pool:
        with ScriptedServer(script) as server:
            waiting = pool.submit(post, server)
            assert inside.wait(10)
        left = [thread for thread in threading.enumerate() if thread.name in own_threads()]
        assert all(thread.daemon for thread in left)
        gate.set()
        assert isinstance(waiting.exception(10), OSError)
        for thread in left:
            thread.join(10)
    assert own_threads() == []


def test_list_that_has_run_out_is_told_to_the_client_and_raised_at_the_end() -> None:
    server = ScriptedServer(["only"])

    def ask_twice() -> None:
        with server:
            assert said(server) == "only"
            response, data = post(server)
            assert (response.status, response.getheader("x-should-retry")) == (500, "false")
            assert "no reply left" in json.loads(data)["error"]["message"]

    with pytest.raises(AssertionError, match="there was one more request"):
        ask_twice()
    assert server.count == 2


def test_whatever_a_script_raises_is_raised_at_the_end() -> None:
    def script(_: Sequence[BaseMessage]) -> str:
        pytest.fail("not as expected")

    with pytest.raises(pytest.fail.Exception, match="not as expected"), ScriptedServer(script) as server:
        assert post(server)[0].status == 500


def test_test_that_fails_already_gets_a_note() -> None:
    def fail() -> None:
        with ScriptedServer([]) as server:
            post(server)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        fail()
    assert "no reply left" in raised.value.__notes__[0]


@pytest.mark.parametrize("wrong", [None, ValueError("x"), 7])
def test_reply_that_is_none_is_a_failure(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"gave a {type(wrong).__name__}"), ScriptedServer([wrong]) as server:
        assert post(server)[0].status == 500


def test_reply_that_cannot_be_sent_is_raised_at_the_end() -> None:
    reply = calls(("look", {"at": {1}}))
    with (
        pytest.raises(TypeError, match="not JSON serializable"),
        ScriptedServer([reply]) as server,
        pytest.raises(RemoteDisconnected),
    ):
        post(server)


def test_script_may_keep_state_although_clients_come_at_once() -> None:
    seen: list[int] = []
    inside = threading.Lock()

    def script(_: Sequence[BaseMessage]) -> str:
        assert inside.acquire(blocking=False), "two requests are inside of the script"
        seen.append(len(seen))
        inside.release()
        return str(seen[-1])

    with ScriptedServer(script) as server, ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: said(server, str(n)), range(60)))
    assert sorted(map(int, answers)) == list(range(60))
    assert server.count == 60
    assert {request.messages[0].text for request in server.requests} == {str(n) for n in range(60)}

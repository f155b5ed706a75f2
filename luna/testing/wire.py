"""A scripted chat model over HTTP in the format of OpenAI's interface, with faults."""

import json
import socket
import socketserver
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread, current_thread
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage, BaseMessage

from luna.testing.wire_format import (
    CutStream,
    Encoder,
    Hang,
    HttpError,
    Malformed,
    RateLimited,
    WireReply,
    WireRequest,
    models_body,
    read_request,
)

_CHAT, _MODELS = "/v1/chat/completions", "/v1/models"
_JSON, _EVENTS = "application/json", "text/event-stream"
_BROKEN = b'{"id": "chatcmpl-'
_POLL_S = 0.02
_GRACE_S = 1.0
_CHUNK = 4096

Ask = Callable[[WireRequest], tuple[Encoder, WireReply]]


class WireServer(ThreadingHTTPServer):
    """Serves in threads of its own from `start` to `stop`.

    Args:
        ask: Records a request and gives the reply to it; must not raise.
        models: Names in the list of models.
        failures: Takes what the server's own code raised.
    """

    request_queue_size = 128  # a client's burst must not wait for a second try at connecting

    def __init__(self, ask: Ask, *, models: tuple[str, ...], failures: list[BaseException]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.ask = ask
        self.models = models
        self._failures = failures
        self._open: dict[Thread, socket.socket] = {}
        self._lock = Lock()
        self._thread = Thread(target=self.serve_forever, args=(_POLL_S,), daemon=True, name="scripted server")

    def server_bind(self) -> None:
        """Bind without asking the name service what this machine is called."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.socket.getsockname()[1]

    def start(self) -> None:
        """Serve in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Close all connections and end all threads; one that is still inside a script's function is left behind."""
        self.shutdown()
        self._thread.join()
        with self._lock:
            left = dict(self._open)
        for connection in left.values():
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + _GRACE_S
        for thread in left:
            thread.join(max(until - time.monotonic(), 0.0))
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in the base class
        """Serve a connection in a thread of its own."""
        target, args = self.process_request_thread, (request, client_address)
        thread = Thread(target=target, args=args, daemon=True, name="scripted server's connection")
        with self._lock:
            self._open[thread] = request
        thread.start()

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in the base class
        """Serve a connection to its end."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self._lock:
                del self._open[current_thread()]

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401, ARG002 - as in the base class
        """Keep what was raised, unless it only says that the client has gone away."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            self._failures.append(error)


class _Handler(BaseHTTPRequestHandler):
    server: WireServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        if urlsplit(self.path).path == _MODELS:
            self._send(200, [_json(models_body(self.server.models))])
        else:
            self._unknown()

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.close_connection = True  # nobody knows where the next request begins
            self._fail(HttpError(411, "The request needs a Content-Length."))
            self.connection.shutdown(socket.SHUT_WR)
            self._wait_for_the_end()  # closing on unread data would take the response from the client
            return
        data = self.rfile.read(int(length))
        if urlsplit(self.path).path != _CHAT:
            self._unknown()
            return
        request = read_request(data, {name.lower(): value for name, value in self.headers.items()})
        if isinstance(request, HttpError):
            self._fail(request)
        else:
            self._reply(*self.server.ask(request))

    def _reply(self, encoder: Encoder, reply: WireReply) -> None:
        is_stream = encoder.request.stream
        kind = _EVENTS if is_stream else _JSON
        match reply:
            case HttpError():
                self._fail(reply)
            case RateLimited():
                self._fail(reply.as_error())
            case Malformed():
                self._send(200, [_event(_BROKEN) if is_stream else _BROKEN], kind=kind)
            case Hang():
                self._wait_for_the_end()
            case CutStream(how="error") if not is_stream:
                self._fail(HttpError())
            case CutStream():
                pieces = _pieces(encoder, reply.reply)
                arrived = pieces[: reply.after] if is_stream else [pieces[0][: len(pieces[0]) // 2]]
                if reply.how == "error":
                    arrived.append(_event(_json(HttpError().body)))
                self._send(200, arrived, kind=kind, is_whole=reply.how in {"ended", "error"})
                if reply.how == "stalled":
                    self._wait_for_the_end()
            case _:
                self._send(200, _pieces(encoder, reply), kind=kind)

    def _unknown(self) -> None:
        self._fail(HttpError(404, f"Invalid URL ({self.command} {urlsplit(self.path).path})", "unknown_url"))

    def _fail(self, error: HttpError) -> None:
        self._send(error.status, [_json(error.body)], headers=error.headers)

    def _send(
        self,
        status: int,
        pieces: Iterable[bytes],
        *,
        kind: str = _JSON,
        headers: Mapping[str, str] | None = None,
        is_whole: bool = True,
    ) -> None:
        """Send a response piece by piece; one that is not whole lacks its end mark, so clients see that it was cut."""
        self.send_response(status)
        given = {"Content-Type": kind, "Transfer-Encoding": "chunked", **(headers or {})}
        if self.close_connection or not is_whole:
            self.close_connection = True
            given["Connection"] = "close"
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if is_whole:
            self.wfile.write(b"0\r\n\r\n")

    def _wait_for_the_end(self) -> None:
        self.close_connection = True
        while self.connection.recv(_CHUNK):
            pass

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Say in JSON what the base class could not make of a request."""
        self.close_connection = True
        self._fail(HttpError(int(code), explain or message or "The request cannot be read."))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        """Say nothing."""


def _pieces(encoder: Encoder, reply: str | AIMessage) -> list[bytes]:
    """A reply as the pieces that are sent: events, the end mark among them, or one body."""
    message = AIMessage(reply) if isinstance(reply, str) else reply
    if not encoder.request.stream:
        return [_json(encoder.completion(message))]
    return [*(_event(_json(chunk)) for chunk in encoder.chunks(message)), _event(b"[DONE]")]


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _event(data: bytes) -> bytes:
    return b"data: %s\n\n" % data


WireScript: TypeAlias = Callable[[Sequence[BaseMessage]], WireReply]


class ScriptedServer:
    """Answers chat completions with what its script says and keeps what it was asked.

    Serves from `with` to its end, which raises what went wrong in the script. Give its `url` as base URL; any name of a
    model and any key, or none, will do:

        with ScriptedServer(["Paris"]) as server:
            Sol(base_url=server.url, luna_model="openai:scripted").solve(task)

    Args:
        script: A function from the messages to a reply, or replies in order. A reply is a text, a message (its tool
            calls, usage, `finish_reason` in `response_metadata` and `refusal` in `additional_kwargs` are sent too), or
            one of the faults `HttpError`, `RateLimited`, `CutStream`, `Malformed`, `Hang`. A function is never called
            by two requests at once. It is called in a thread of the server's. A list that has run out, and whatever a
            function raises, is a status 500 for the client and is raised at the end of `with`.
        tokens: Input and output tokens that each reply reports unless it tells its own; None: none are reported.
        models: Names that the list of models shows.

    Source: S51, S52.
    """

    def __init__(
        self,
        script: WireScript | Iterable[WireReply],
        *,
        tokens: tuple[int, int] | None = (7, 3),
        models: Sequence[str] = ("scripted",),
    ) -> None:
        self._script: WireScript = script if callable(script) else _each(script)
        self._tokens = tokens
        self._models = tuple(models)
        self._requests: list[WireRequest] = []
        self._failures: list[BaseException] = []
        self._recording, self._asking = Lock(), Lock()
        self._server: WireServer | None = None

    @property
    def url(self) -> str:
        """The base URL for clients, ending in /v1.

        Raises:
            RuntimeError: Outside of `with`.
        """
        if self._server is None:
            raise RuntimeError("the scripted server is not running; use its url inside of `with`")
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def requests(self) -> tuple[WireRequest, ...]:
        """All requests for completions so far that were well formed, oldest first."""
        with self._recording:
            return tuple(self._requests)

    @property
    def count(self) -> int:
        """How many those are."""
        return len(self.requests)

    def __enter__(self) -> Self:
        self._server = WireServer(self._ask, models=self._models, failures=self._failures)
        self._server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.stop()
        if not self._failures:
            return
        first = self._failures[0]
        if error is None:
            raise first
        error.add_note(f"The script of the scripted server failed too: {_named(first)}")

    def _ask(self, request: WireRequest) -> tuple[Encoder, WireReply]:
        with self._recording:
            self._requests.append(request)
            number = len(self._requests)
        encoder = Encoder(number, request, self._tokens)
        try:
            return encoder, self._reply_to(request)
        except BaseException as error:  # noqa: BLE001 - a test's own code, which may fail with pytest's exceptions
            self._failures.append(error)
            # Otherwise OpenAI's client would ask again, and the test would see the same failure three times.
            headers = {"x-should-retry": "false"}
            return encoder, HttpError(message=f"The script failed: {_named(error)}", headers=headers)

    def _reply_to(self, request: WireRequest) -> WireReply:
        with self._asking:
            reply: object = self._script(request.messages)
        if not isinstance(reply, WireReply):
            raise TypeError(f"the script gave a {type(reply).__name__}, which is no reply")
        return reply


def _each(replies: Iterable[WireReply]) -> WireScript:
    rest = iter(replies)

    def script(_: Sequence[BaseMessage]) -> WireReply:
        try:
            return next(rest)
        except StopIteration:
            raise AssertionError("the script has no reply left, but there was one more request") from None

    return script


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"

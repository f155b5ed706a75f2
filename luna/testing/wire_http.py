"""The HTTP side of `luna.testing.wire`: sockets, threads, and breaking off where a script says so.

Listens on the loopback address only. Logs nothing: requests hold keys.
"""

import json
import socket
import socketserver
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread, current_thread
from typing import Any
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage

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

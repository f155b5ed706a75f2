"""A scripted chat model behind a real HTTP server, for tests through a provider's whole client stack.

Speaks OpenAI's chat completions on the loopback address. Needs the standard library and langchain-core alone.
"""

from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from types import TracebackType
from typing import Self, TypeAlias

from langchain_core.messages import BaseMessage

from luna.testing.wire_format import Encoder, HttpError, WireReply, WireRequest
from luna.testing.wire_http import WireServer

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

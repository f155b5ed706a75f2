"""What goes over the wire between a chat client and `luna.testing.wire`: OpenAI's chat completions, read and written.

Pure: no sockets, no clock. Reads requests strictly, as the real services do, so that a client's mistakes show in tests.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages

_CREATED_T = 1_700_000_000  # the same in each run
_BEARER = "bearer "
_WORD = re.compile(r"\S*\s+|\S+")
_ARGUMENT_CHARACTERS = 12
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error as OpenAI's servers give it.

    Attributes:
        status: HTTP status: 500, 502, 503 for an outage, 400, 401, 404 for a request that is refused.
        message: What the error says.
        code: Its word for programs, such as `context_length_exceeded`; None: none.
        headers: Further headers.
    """

    status: int = _SERVER_ERROR
    message: str = "The server had an error while processing your request."
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> dict[str, Any]:
        """The error as JSON."""
        kind = "server_error" if self.status >= _SERVER_ERROR else "invalid_request_error"
        return {"error": {"message": self.message, "type": kind, "param": None, "code": self.code}}


@dataclass(frozen=True, slots=True)
class RateLimited:
    """HTTP 429. `retry_after_s`: whole seconds in the header Retry-After; None: no such header."""

    retry_after_s: int | None = None

    def as_error(self) -> HttpError:
        """What is sent."""
        headers = {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}
        return HttpError(429, "Rate limit reached.", "rate_limit_exceeded", headers)


@dataclass(frozen=True, slots=True)
class CutStream:
    """A reply that breaks off.

    Attributes:
        reply: What would have been said.
        after: Events of the stream that arrive whole; the first only names the role, then comes a word in each. Without
            streaming, half of the body arrives.
        how: `cut`: the connection dies. `ended`: the response ends in good order, with the rest missing. `stalled`:
            nothing more comes. `error`: the server reports an error of its own instead of the rest.
    """

    reply: str | AIMessage = "This reply breaks off in the middle."
    after: int = 3
    how: Literal["cut", "ended", "stalled", "error"] = "cut"


@dataclass(frozen=True, slots=True)
class Malformed:
    """A response whose JSON is broken, with status 200."""


@dataclass(frozen=True, slots=True)
class Hang:
    """No response at all, until the client goes away or the server closes."""


Fault: TypeAlias = HttpError | RateLimited | CutStream | Malformed | Hang
WireReply: TypeAlias = str | AIMessage | Fault


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request for a chat completion.

    Attributes:
        messages: The conversation, as LangChain's messages.
        body: The whole request as it came: `model`, `tools`, `response_format`, `temperature` and so on.
        headers: With names in lower case. Never shown, as they hold the key.
    """

    messages: tuple[BaseMessage, ...]
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(repr=False)

    @property
    def model(self) -> str:
        """The model asked for."""
        return str(self.body["model"])

    @property
    def stream(self) -> bool:
        """Whether the reply is streamed."""
        return bool(self.body.get("stream"))

    @property
    def tools(self) -> Sequence[Mapping[str, Any]]:
        """The tools offered, in OpenAI's form."""
        return self.body.get("tools") or ()

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the tools offered."""
        return tuple(tool["function"]["name"] for tool in self.tools)

    @property
    def response_format(self) -> Mapping[str, Any] | None:
        """The form that the answer must have; None: any."""
        return self.body.get("response_format")

    @property
    def api_key(self) -> str | None:
        """The key that the client sent; None: none."""
        given = self.headers.get("authorization", "")
        return given[len(_BEARER) :] if given.lower().startswith(_BEARER) else None


def read_request(data: bytes, headers: Mapping[str, str]) -> WireRequest | HttpError:
    """Read a request for a chat completion; an `HttpError` where a real service would refuse it."""
    try:
        body = json.loads(data)
    except ValueError:
        return HttpError(400, "The body is not JSON.")
    if not isinstance(body, dict) or not isinstance(body.get("model"), str):
        return HttpError(400, "The body must be a JSON object with the name of a model.")
    given = body.get("messages")
    if not isinstance(given, list) or not given or not all(isinstance(one, dict) and "role" in one for one in given):
        return HttpError(400, "'messages' must be a list, not empty, of objects with a role.")
    try:
        # A turn that only calls tools may leave its content out.
        messages = tuple(convert_to_messages([{"content": None, **one} for one in given]))
    except (ValueError, TypeError, KeyError) as error:
        return HttpError(400, f"'messages' cannot be read: {error}")
    if wrong := _wrong_order(messages):
        return HttpError(400, wrong)
    return WireRequest(messages, body, headers)


def _wrong_order(messages: Sequence[BaseMessage]) -> str | None:
    """What is wrong with the tool messages: each call needs its answer right after it, and no answer may be alone."""
    waiting: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                return f"The tool message for {message.tool_call_id!r} follows no assistant message with that call."
            waiting.remove(message.tool_call_id)
        elif waiting:
            break
        elif isinstance(message, AIMessage):
            waiting = {call["id"] for call in message.tool_calls}
    return f"No tool messages answer the tool calls {sorted(map(str, waiting))}." if waiting else None


@dataclass(frozen=True, slots=True)
class Encoder:
    """Writes one reply in OpenAI's form.

    Attributes:
        number: Of the request, from 1; the ids are made of it.
        request: What is answered.
        tokens: Input and output tokens of a reply that does not tell its own; None: none are reported.
    """

    number: int
    request: WireRequest
    tokens: tuple[int, int] | None

    def completion(self, message: AIMessage) -> dict[str, Any]:
        """A reply in one piece."""
        calls, refusal = self._calls(message), message.additional_kwargs.get("refusal")
        content = message.text or (None if calls or refusal else "")
        said = {"role": "assistant", "content": content, "refusal": refusal} | ({"tool_calls": calls} if calls else {})
        choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": self._finish(message)}
        whole = {**self._head("chat.completion"), "choices": [choice]}
        usage = self._usage(message)
        return whole if usage is None else {**whole, "usage": usage}

    def chunks(self, message: AIMessage) -> Iterator[dict[str, Any]]:
        """The same in the pieces of a stream."""
        head = self._head("chat.completion.chunk")
        usage = self._usage(message) if (self.request.body.get("stream_options") or {}).get("include_usage") else None
        blank: dict[str, Any] = {} if usage is None else {"usage": None}
        for delta in self._deltas(message):
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
            yield {**head, "choices": [choice], **blank}
        last = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": self._finish(message)}
        yield {**head, "choices": [last], **blank}
        if usage is not None:
            yield {**head, "choices": [], "usage": usage}

    def _deltas(self, message: AIMessage) -> Iterator[dict[str, Any]]:
        calls = self._calls(message)
        yield {"role": "assistant", "content": None if calls and not message.text else "", "refusal": None}
        for word in _WORD.findall(message.text):
            yield {"content": word}
        if refusal := message.additional_kwargs.get("refusal"):
            yield {"refusal": refusal}
        for index, call in enumerate(calls):
            function = call["function"]
            text = function["arguments"]
            yield {"tool_calls": [{"index": index, **call, "function": {**function, "arguments": ""}}]}
            for start in range(0, len(text), _ARGUMENT_CHARACTERS):
                piece = text[start : start + _ARGUMENT_CHARACTERS]
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": f"chatcmpl-{self.number}",
            "object": kind,
            "created": _CREATED_T,
            "model": self.request.model,
            "system_fingerprint": None,
        }

    def _calls(self, message: AIMessage) -> list[dict[str, Any]]:
        """Tool calls, those with arguments that are no JSON at the end."""
        named = [(call["id"], call["name"], json.dumps(call["args"])) for call in message.tool_calls]
        named += [(call["id"], call["name"] or "", call["args"] or "") for call in message.invalid_tool_calls]
        return [
            {
                "id": own_id or f"call_{self.number}_{index}",
                "type": "function",
                "function": {"name": name, "arguments": arguments},
            }
            for index, (own_id, name, arguments) in enumerate(named)
        ]

    def _finish(self, message: AIMessage) -> str:
        told = message.response_metadata.get("finish_reason")
        return str(told) if told else "tool_calls" if self._calls(message) else "stop"

    def _usage(self, message: AIMessage) -> dict[str, int] | None:
        if own := message.usage_metadata:
            sent, made = own["input_tokens"], own["output_tokens"]
        elif self.tokens is not None:
            sent, made = self.tokens
        else:
            return None
        return {"prompt_tokens": sent, "completion_tokens": made, "total_tokens": sent + made}


def models_body(names: Sequence[str]) -> dict[str, Any]:
    """The list of models."""
    data = [{"id": name, "object": "model", "created": _CREATED_T, "owned_by": "luna"} for name in names]
    return {"object": "list", "data": data}

"""Calls of chat models: what is bound, what is read, what exceptions mean."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from luna.errors import Interruption, ModelError, ModelNotFoundError
from luna.models.answers import Message
from luna.models.calls import CallSettings, Made, NotMade, call_structured, call_text
from luna.models.chat import LocalChatModel
from luna.models.failures import Declined, meaning
from luna.protocol import FailedKind, Usage
from luna.schemas import SchemaUnusableError, closed, is_object
from luna.testing.fakes import ScriptedChatModel

SCHEMA = closed({"n": {"type": "integer"}})
ASKED = [Message("system", "Count."), Message("user", "a b c")]


async def structured(model: Any, **settings: Any) -> Made | NotMade:
    return await call_structured(model, ASKED, schema=SCHEMA, name="count", settings=CallSettings(**settings))


class ProviderError(Exception):
    """Shaped like the errors of the providers' clients."""

    def __init__(
        self, message: str, status: int | None = None, headers: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(message)
        self.status_code = status
        self.response = SimpleNamespace(status_code=status, headers=headers or {})
        for name, value in more.items():
            setattr(self, name, value)


# --- structured ------------------------------------------------------------------------------------------------------


async def test_structured_call_binds_the_schema_and_reads_the_answer() -> None:
    model = ScriptedChatModel(['{"n": 3}'])
    assert await structured(model) == Made({"n": 3}, Usage(calls=1, tokens=10))
    bound = model.bound[0]["response_format"]
    assert bound == {"type": "json_schema", "json_schema": {"name": "count", "schema": SCHEMA}}
    assert [message.text for message in model.prompts[0]] == ["Count.", "a b c"]


async def test_structured_call_puts_the_schema_into_the_instruction_where_it_cannot_be_bound() -> None:
    model = ScriptedChatModel(['{"n": 3}'], structured=False)
    assert isinstance(await structured(model), Made)
    assert model.bound == [{}]
    assert model.prompts[0][0].text.startswith("Count.\n\nAnswer with one JSON value")
    assert json.dumps(SCHEMA) in model.prompts[0][0].text


async def test_structured_call_without_system_message_gets_one_for_the_schema() -> None:
    model = ScriptedChatModel(['{"n": 3}'], structured=False)
    await call_structured(model, ASKED[1:], schema=SCHEMA, name="count")
    assert [message.type for message in model.prompts[0]] == ["system", "human"]


class NoProfile(ScriptedChatModel):
    """A model that says nothing about itself."""

    def _resolve_model_profile(self) -> None:
        return None


class OwnWay(NoProfile):
    """A model with a structured output of its own."""

    def with_structured_output(self, schema: Any, *, include_raw: bool = False, **kwargs: Any) -> Any:
        assert include_raw
        return self.bind(grammar=schema) | (lambda message: {"raw": message, "parsed": None, "parsing_error": None})


class TakesFormat(NoProfile):
    def bind_tools(self, tools: Any, *, tool_choice: Any = None, response_format: Any = None, **kwargs: Any) -> Any:
        raise NotImplementedError


class ByToolCalls(NoProfile):
    def with_structured_output(self, schema: Any, *, method: str = "function_calling", **kwargs: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("kind", "bound"), [(OwnWay, ["grammar"]), (TakesFormat, ["response_format"]), (ByToolCalls, []), (NoProfile, [])]
)
async def test_structured_call_finds_out_how_a_model_is_bound(kind: Any, bound: list[str]) -> None:
    model = kind(['{"n": 3}'])
    assert await structured(model) == Made({"n": 3}, Usage(calls=1, tokens=10))
    assert list(model.bound[0]) == bound


class LocalStub(LocalChatModel):
    """The local model without its engine."""

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        schema = kwargs["response_format"]["json_schema"]["schema"]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(json.dumps({"n": len(schema["required"])})))])


async def test_structured_call_binds_the_local_model() -> None:
    made = await structured(LocalStub(path=Path("none.gguf")))
    assert made == Made({"n": 1}, Usage(calls=1, reported=False))


async def test_structured_call_does_without_binding_where_the_server_rejects_it() -> None:
    model = ScriptedChatModel([ProviderError("'response_format' is not supported", 400), '{"n": 1}', '{"n": 2}'])
    assert isinstance(await structured(model), Made)
    assert [bool(each) for each in model.bound] == [True, False]


@pytest.mark.case("RETRY-01")
async def test_format_retry_shows_only_the_last_bad_answer_and_its_error() -> None:
    model = ScriptedChatModel(["no idea", '{"n": "three"}', '{"m": 3}'])
    made = await structured(model, retries=2)
    assert isinstance(made, NotMade)
    assert (made.kind, made.replies) == (FailedKind.FORMAT, ("no idea", '{"n": "three"}', '{"m": 3}'))
    assert made.usage == Usage(calls=3, tokens=30)
    assert model.count == 3
    last = [message.text for message in model.prompts[2]]
    assert last[2] == '{"n": "three"}'
    assert "no idea" not in "".join(last)


@pytest.mark.case("JSON-03")
@pytest.mark.parametrize("text", ['<think>{"n": 1}?</think>{"n": 3}', 'is it {"n": 1}?</think>\n{"n": 3}'])
async def test_reasoning_before_the_answer_is_dropped(text: str) -> None:
    made = await structured(ScriptedChatModel([text]))
    assert isinstance(made, Made)
    assert made.value == {"n": 3}


async def test_cut_reply_is_truncated_not_an_answer() -> None:
    cut = AIMessage('{"n": 3}', response_metadata={"finish_reason": "length"})
    made = await structured(ScriptedChatModel([cut]), retries=0)
    assert isinstance(made, NotMade)
    assert made.kind is FailedKind.TRUNCATED


async def test_cut_reply_inside_an_exception_is_truncated_with_its_usage() -> None:
    choice = SimpleNamespace(finish_reason="length", message=SimpleNamespace(content='{"n":'))
    error = ProviderError("length", completion=SimpleNamespace(choices=[choice], usage=SimpleNamespace(total_tokens=9)))
    made = await structured(ScriptedChatModel([error]), retries=0)
    assert made == NotMade(FailedKind.TRUNCATED, made.reason, ('{"n":',), Usage(calls=1, tokens=9))


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", additional_kwargs={"refusal": "I will not"}),
        AIMessage([{"type": "refusal", "refusal": "I will not"}]),
        AIMessage("", response_metadata={"finish_reason": "SAFETY"}),
    ],
)
async def test_refusal_is_a_value_and_is_not_asked_again(message: AIMessage) -> None:
    model = ScriptedChatModel([message])
    made = await structured(model)
    assert isinstance(made, NotMade)
    assert (made.kind, made.usage.calls, model.count) == (FailedKind.REFUSED, 1, 1)


async def test_usage_that_is_not_reported_is_said_to_be_so() -> None:
    made = await structured(ScriptedChatModel(['{"n": 3}'], tokens=None))
    assert made.usage == Usage(calls=1, tokens=0, reported=False)


@pytest.mark.case("CTX-01")
async def test_prompt_that_cannot_fit_is_refused_before_the_call_with_the_sizes() -> None:
    model = ScriptedChatModel([])
    made = await structured(model, limit_bytes=5)
    assert isinstance(made, NotMade)
    assert made.kind is FailedKind.CONTEXT_TOO_LARGE
    assert "11 bytes" in made.reason
    assert "5 bytes" in made.reason
    assert model.count == 0
    small = model.model_copy(update={"profile": {"max_input_tokens": 1}})
    by_profile = await structured(small)
    assert isinstance(by_profile, NotMade)
    assert "1 tokens" in by_profile.reason


async def test_schema_that_is_none_is_refused_before_the_call() -> None:
    model = ScriptedChatModel([])
    with pytest.raises(SchemaUnusableError):
        await call_structured(model, ASKED, schema={"type": "nonsense"}, name="x")


# --- text ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("  three ", "three"),
        ("<think>two?</think>three", "three"),
        (AIMessage("three", response_metadata={"stop_reason": "end_turn"}), "three"),
    ],
)
async def test_text_call_gives_the_text(reply: Any, expected: str) -> None:
    assert await call_text(ScriptedChatModel([reply]), ASKED) == Made(expected, Usage(calls=1, tokens=10))


@pytest.mark.case("STAT-01")
@pytest.mark.parametrize(
    ("metadata", "text", "kind"),
    [
        ({"finish_reason": "length"}, "thr", FailedKind.TRUNCATED),
        ({"finish_reason": None, "model_name": "x"}, "thr", FailedKind.TRUNCATED),
        ({"status": "incomplete"}, "thr", FailedKind.TRUNCATED),
        ({"finish_reason": "stop"}, " ", FailedKind.FORMAT),
        ({"finish_reason": "stop"}, "<think>never ends", FailedKind.FORMAT),
        ({"finish_reason": "content_filter"}, "thr", FailedKind.REFUSED),
    ],
)
async def test_text_call_that_is_not_whole_is_no_text(metadata: dict[str, Any], text: str, kind: FailedKind) -> None:
    made = await call_text(ScriptedChatModel([AIMessage(text, response_metadata=metadata)]), ASKED)
    assert isinstance(made, NotMade)
    assert made.kind is kind


async def test_text_call_respects_the_limit() -> None:
    made = await call_text(ScriptedChatModel([]), ASKED, settings=CallSettings(limit_bytes=1))
    assert isinstance(made, NotMade)


# --- exceptions ------------------------------------------------------------------------------------------------------


class APIConnectionError(Exception):
    pass


class ContextOverflowError(Exception):
    pass


@pytest.mark.req("S51")
@pytest.mark.case("RATE-01")
@pytest.mark.parametrize(
    ("error", "kind", "seconds"),
    [
        (ProviderError("slow down", 429, {"Retry-After": "20"}), "rate_limit", 20.0),
        (ProviderError("slow down", 429, {"retry-after-ms": "1500", "retry-after": "2"}), "rate_limit", 1.5),
        (ProviderError("slow down", 429), "rate_limit", None),
        (ProviderError("slow down", 429, {"retry-after": "soon"}), "rate_limit", None),
        (
            ProviderError(
                "x",
                429,
                {"retry-after": "Wed, 21 Oct 2026 07:28:30 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"},
            ),
            "rate_limit",
            30.0,
        ),
        (ProviderError("overloaded", 529), "outage", None),
        (ProviderError("internal", 500), "outage", None),
        (ProviderError("gateway", 504), "transport", None),
        (ProviderError("too slow", 408), "transport", None),
        (APIConnectionError("no route"), "transport", None),
        (TimeoutError(), "transport", None),
        (ConnectionResetError("reset"), "transport", None),
    ],
)
def test_what_may_pass_is_an_interruption(error: Exception, kind: str, seconds: float | None) -> None:
    found = meaning(error)
    assert isinstance(found, Interruption)
    assert (found.kind, found.retry_after_s) == (kind, seconds)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ProviderError("maximum context length is 8192 tokens", 400), FailedKind.CONTEXT_TOO_LARGE),
        (ProviderError("exceeds the context size", 500), FailedKind.CONTEXT_TOO_LARGE),
        (ProviderError("too big", 413), FailedKind.CONTEXT_TOO_LARGE),
        (ContextOverflowError("x"), FailedKind.CONTEXT_TOO_LARGE),
        (ProviderError("blocked by content policy", 400), FailedKind.REFUSED),
    ],
)
def test_what_is_declined_is_a_value(error: Exception, kind: FailedKind) -> None:
    found = meaning(error)
    assert isinstance(found, Declined)
    assert found.kind is kind


@pytest.mark.parametrize(
    ("error", "expected", "words"),
    [
        (ProviderError("Incorrect API key provided: sk-secret-123456789012", 401), ModelError, "API key"),
        (ProviderError("forbidden", 403), ModelError, "403"),
        (ProviderError("no such model", 404), ModelNotFoundError, "no such model"),
        (ProviderError("quota", 429, code="insufficient_quota"), ModelError, "no credit"),
        (ProviderError("bad temperature", 400), ModelError, "bad temperature"),
        (ValueError("odd"), ModelError, "ValueError"),
        (ModelNotFoundError("gone"), ModelNotFoundError, "gone"),
    ],
)
def test_what_must_be_changed_is_a_model_error(error: Exception, expected: type[Exception], words: str) -> None:
    found = meaning(error)
    assert type(found) is expected
    assert words in str(found)
    assert "sk-secret" not in str(found)


def test_cause_of_a_wrapped_exception_counts() -> None:
    outer = RuntimeError("call failed")
    outer.__cause__ = ProviderError("slow down", 429, {"Retry-After": "3"})
    found = meaning(outer)
    assert isinstance(found, Interruption)
    assert found.retry_after_s == 3


async def test_exceptions_of_a_call_are_translated_without_their_chain() -> None:
    with pytest.raises(Interruption) as raised:
        await structured(ScriptedChatModel([ProviderError("slow down", 429)]))
    assert raised.value.__suppress_context__
    made = await structured(ScriptedChatModel([ProviderError("prompt is too long", 400)]))
    assert isinstance(made, NotMade)
    assert made.kind is FailedKind.CONTEXT_TOO_LARGE


# --- schemas ---------------------------------------------------------------------------------------------------------


def test_closed_object_moves_definitions_to_its_root() -> None:
    inner = {"$schema": "x", "type": "array", "items": {"$ref": "#/$defs/p"}, "$defs": {"p": {"type": "string"}}}
    assert closed({"result": inner}) == {
        "type": "object",
        "$defs": {"p": {"type": "string"}},
        "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/p"}}},
        "required": ["result"],
        "additionalProperties": False,
    }
    assert is_object(closed({}))
    assert not is_object({"type": ["object", "null"]})


def test_scripted_model_that_is_asked_too_often_says_so() -> None:
    with pytest.raises(AssertionError, match="run out"):
        ScriptedChatModel([]).invoke("hello")

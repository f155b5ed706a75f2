"""Workers, gates and supervision through OpenAI's real client, against the scripted server."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.graph import StateGraph

from luna.clock import SystemClock
from luna.errors import Interruption, ModelError
from luna.gate import Gates, RetryPolicy
from luna.models import resolve_chat_model
from luna.models.calls import finish_reason
from luna.models.failures import meaning
from luna.protocol import Delivery, Failed, FailedKind, Stuck, StuckKind, Success, Usage
from luna.supervisor import AttemptContext, AttemptLimits, Finished, Lost, supervise
from luna.testing import CutStream, FakeClock, Hang, HttpError, Malformed, RateLimited, ScriptedServer
from luna.testing.fakes import calls
from luna.testing.wire_format import WireReply
from luna.workers.agent import AgentOptions, AgentWorker
from luna.workers.model import ModelOptions, ModelWorker
from luna.workers.shared import WorkerSettings
from tests.support.assignments import assignment

pytest.importorskip("langchain_openai", reason="needs the extra [openai]")

NAME = "openai:scripted"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}
ANSWER = '{"n": 3}'
REPORT = calls(("ReportSuccess", {"summary": "counted to the very end", "result": {"n": 3}}))
LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
IDLE_S = 0.05


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def client(server: ScriptedServer, **options: Any) -> Any:
    return resolve_chat_model(NAME, base_url=server.url, **options)


def worker(kind: str, server: ScriptedServer, **options: Any) -> AgentWorker | ModelWorker:
    """A worker whose client is set up with these options beside its own."""
    resolve = partial(resolve_chat_model, **options)
    if kind == "agent":
        return AgentWorker(AgentOptions(model=NAME, base_url=server.url), settings=WorkerSettings(), resolve=resolve)
    return ModelWorker(ModelOptions(model=NAME, base_url=server.url), resolve=resolve)


async def attempt(one: Any, workspace: Path, *, clock: Any = None, gates: Gates | None = None, **more: Any) -> Any:
    return await supervise(
        one,
        assignment(expected_output={"description": "a number", "json_schema": SCHEMA}),
        Delivery(key="run/0/attempt/1", workspace=workspace),
        clock=clock or FakeClock(auto=True, idle_s=IDLE_S),
        around=AttemptContext(gates=gates, provider=one.gate(None)),
        **more,
    )


def gates(clock: FakeClock, **policy: Any) -> Gates:
    return Gates(clock=clock, rng=random.Random(7), policy=RetryPolicy(**policy))


# --- the client alone ------------------------------------------------------------------------------------------------


async def test_text_comes_with_its_usage_and_needs_no_key() -> None:
    with ScriptedServer(["one two"]) as server:
        reply = await client(server).ainvoke("hi")
    assert (reply.text, finish_reason(reply), reply.usage_metadata["total_tokens"]) == ("one two", "stop", 10)
    (request,) = server.requests
    assert (request.model, request.stream, request.api_key) == ("scripted", False, "none")
    assert request.messages == (HumanMessage("hi"),)


async def test_streamed_text_comes_in_words() -> None:
    with ScriptedServer(["one two three"]) as server:
        chunks = [chunk async for chunk in client(server, stream_usage=True).astream("hi")]
    assert [chunk.text for chunk in chunks if chunk.text] == ["one ", "two ", "three"]
    whole = sum(chunks[1:], chunks[0])
    assert (finish_reason(whole), whole.usage_metadata["total_tokens"]) == ("stop", 10)
    assert server.requests[0].stream


async def test_tool_calls_and_their_answers_go_round() -> None:
    wanted = calls(("look", {"at": "a long way off"}), ("look", {}), text="I look.")
    with ScriptedServer([wanted, "seen"]) as server:
        model = client(server).bind(tools=[LOOK])
        reply = await model.ainvoke("hi")
        answers = [ToolMessage("hill", tool_call_id=call["id"]) for call in reply.tool_calls]
        await model.ainvoke([HumanMessage("hi"), reply, *answers])
    assert (reply.text, reply.tool_calls) == ("I look.", wanted.tool_calls)
    assert server.requests[0].tool_names == ("look",)
    _, asked, *answered = server.requests[1].messages
    assert isinstance(asked, AIMessage)
    assert asked.tool_calls == wanted.tool_calls
    assert answered == [ToolMessage("hill", tool_call_id=call["id"]) for call in wanted.tool_calls]


async def test_streamed_tool_calls_are_put_together() -> None:
    wanted = calls(("look", {"at": "a long way off"}), ("look", {}))
    with ScriptedServer([wanted]) as server:
        chunks = [chunk async for chunk in client(server, disable_streaming=False).bind(tools=[LOOK]).astream("hi")]
    assert sum(chunks[1:], chunks[0]).tool_calls == wanted.tool_calls
    assert server.requests[0].stream


FAULTS: list[tuple[WireReply, str, float | None]] = [
    (RateLimited(20), "rate_limit", 20),
    (RateLimited(), "rate_limit", None),
    (HttpError(500), "outage", None),
    (HttpError(503, headers={"Retry-After": "7"}), "outage", 7),
    (HttpError(504), "transport", None),
    (CutStream(), "transport", None),
    (CutStream(how="error"), "outage", None),
    (Malformed(), "transport", None),
]


@pytest.mark.req("S51")
@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(("fault", "kind", "retry_after_s"), FAULTS)
async def test_fault_that_passes_is_an_interruption_and_is_asked_once(
    fault: WireReply, kind: str, retry_after_s: float | None, streaming: bool
) -> None:
    with ScriptedServer([fault]) as server:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever the client raises
            await client(server, streaming=streaming).ainvoke("hi")
        assert server.count == 1
    found = meaning(raised.value)
    assert isinstance(found, Interruption)
    assert (found.kind, found.retry_after_s) == (kind, retry_after_s)


class StreamError(Exception):
    """As clients raise it for an error event in a stream: there is no status."""

    def __init__(self, body: object) -> None:
        super().__init__("an error in the stream")
        self.body = body


@pytest.mark.req("S51")
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"type": "error", "error": {"type": "overloaded_error"}}, "outage"),
        ({"type": "requests", "code": "rate_limit_exceeded"}, "rate_limit"),
        ({"type": "server_error", "code": None}, "outage"),
    ],
)
def test_error_event_of_a_stream_is_an_interruption(body: Any, kind: str) -> None:
    found = meaning(StreamError(body))
    assert isinstance(found, Interruption)
    assert found.kind == kind


@pytest.mark.parametrize("body", [None, "text", {"type": ["odd"]}, {"error": {"type": "invalid_request_error"}}])
def test_other_error_event_is_a_model_error(body: Any) -> None:
    assert isinstance(meaning(StreamError(body)), ModelError)


def test_each_event_loop_has_connections_of_its_own() -> None:
    with ScriptedServer(["one", "two", "three"]) as server:
        replies = [asyncio.run(client(server).ainvoke("hi")) for _ in range(3)]
    assert [reply.text for reply in replies] == ["one", "two", "three"]


# --- workers under supervision ---------------------------------------------------------------------------------------


async def test_model_worker_asks_for_its_schema(tmp_path: Path) -> None:
    with ScriptedServer([ANSWER]) as server:
        outcome = await attempt(worker("model", server), tmp_path)
    assert outcome.report == Success(summary=f"answered by {NAME}", result={"n": 3})
    assert outcome.usage == Usage(calls=1, tokens=10)
    form = server.requests[0].response_format
    assert form is not None
    assert form["json_schema"]["schema"]["properties"] == SCHEMA["properties"]


async def test_agent_works_with_its_tools(tmp_path: Path) -> None:
    writing = calls(("write_file", {"path": "n.txt", "content": "3"}), text="I write it.")
    with ScriptedServer([writing, REPORT]) as server:
        outcome = await attempt(worker("agent", server), tmp_path)
    assert outcome.report == Success(summary="counted to the very end", result={"n": 3})
    assert outcome.usage == Usage(calls=2, tokens=20)
    assert (tmp_path / "n.txt").read_text() == "3"
    first, second = server.requests
    assert {"write_file", "ReportSuccess", "ReportStuck"} <= set(first.tool_names)
    assert isinstance(second.messages[-1], ToolMessage)


class Sleeping(FakeClock):
    """Tells when somebody has begun to sleep."""

    def __init__(self) -> None:
        super().__init__(auto=True, idle_s=IDLE_S)
        self.begun = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.begun.set()
        await super().sleep(seconds)


@pytest.mark.parametrize("kind", ["model", "agent"])
@pytest.mark.req("S51")
@pytest.mark.case("RATE-01")
async def test_rate_limit_pauses_everybody_at_the_gate_and_is_no_stuck(kind: str, tmp_path: Path) -> None:
    clock = Sleeping()
    shared = gates(clock)
    asked_at: list[float] = []
    replies: list[WireReply] = [RateLimited(20), RateLimited()]

    def script(_: Sequence[BaseMessage]) -> WireReply:
        asked_at.append(clock.monotonic())
        return replies.pop(0) if replies else ANSWER if kind == "model" else REPORT

    with ScriptedServer(script) as server:
        first = asyncio.ensure_future(attempt(worker(kind, server), tmp_path, clock=clock, gates=shared))
        await clock.begun.wait()
        sibling = attempt(worker(kind, server), tmp_path, clock=clock, gates=shared)
        outcomes = await asyncio.gather(first, sibling)
        assert server.count == 4, "two refusals, and one good call for each"
    assert [type(outcome.report) for outcome in outcomes] == [Success, Success]
    assert asked_at[0] == 0
    assert all(at >= 20 for at in asked_at[1:])


@pytest.mark.parametrize("kind", ["model", "agent"])
@pytest.mark.parametrize(
    ("fault", "lost"),
    [
        (RateLimited(5), "rate_limit"),
        (HttpError(500), "outage"),
        (HttpError(503), "outage"),
        (CutStream(), "transport"),
    ],
)
@pytest.mark.req("S51", "S52")
@pytest.mark.case("RATE-01")
async def test_fault_that_lasts_is_lost_after_exactly_so_many_calls(
    kind: str, fault: WireReply, lost: str, tmp_path: Path
) -> None:
    clock = FakeClock(auto=True, idle_s=IDLE_S)
    with ScriptedServer(lambda _: fault) as server:
        outcome = await attempt(worker(kind, server), tmp_path, clock=clock, gates=gates(clock, max_tries=3))
        assert server.count == 3
    assert isinstance(outcome, Lost)
    assert (outcome.kind, outcome.resumable) == (lost, True)


@pytest.mark.parametrize("how", ["cut", "ended", "error"])
@pytest.mark.parametrize(("kind", "reply"), [("model", ANSWER), ("agent", REPORT)])
@pytest.mark.req("S51", "S52")
@pytest.mark.case("STAT-01")
async def test_cut_reply_is_asked_for_again(kind: str, reply: Any, how: Any, tmp_path: Path) -> None:
    clock = FakeClock(auto=True, idle_s=IDLE_S)
    with ScriptedServer([CutStream(reply, how=how), reply]) as server:
        outcome = await attempt(worker(kind, server), tmp_path, clock=clock, gates=gates(clock))
        assert server.count == 2
    assert isinstance(outcome, Finished)
    assert outcome.report.result == {"n": 3}  # type: ignore[union-attr]  # a success


@pytest.mark.req("S52")
@pytest.mark.case("STAT-01")
async def test_stream_that_ends_early_is_no_success_of_a_model_worker(tmp_path: Path) -> None:
    with ScriptedServer(lambda _: CutStream('{"n": 3', after=2, how="ended")) as server:
        outcome = await attempt(worker("model", server, streaming=True), tmp_path)
        assert server.requests[0].stream
    assert isinstance(outcome.report, Failed)


class Listened(TypedDict):
    outcome: Any


async def listened_to(run: Callable[[], Any]) -> Any:
    """What `run` gives inside a LangGraph program that listens to its models, which makes these stream."""

    async def node(state: Listened) -> Mapping[str, Any]:
        return {"outcome": await run()}

    graph = StateGraph(Listened).add_node("node", node).set_entry_point("node").set_finish_point("node").compile()
    updates: list[Any] = [
        item async for mode, item in graph.astream({"outcome": None}, stream_mode=["messages", "updates"])
    ]
    return updates[-1]["node"]["outcome"]


@pytest.mark.req("S52")
@pytest.mark.case("STAT-01")
@pytest.mark.parametrize("how", ["cut", "ended", "error"])
async def test_cut_report_is_no_success_where_an_outer_program_listens(how: Any, tmp_path: Path) -> None:
    with ScriptedServer([CutStream(REPORT, after=4, how=how)]) as server:
        one = worker("agent", server)
        outcome = await listened_to(lambda: attempt(one, tmp_path, clock=SystemClock()))
    assert isinstance(outcome, Lost)
    assert outcome.kind in {"transport", "outage"}


async def test_agent_reports_its_tokens_where_an_outer_program_listens(tmp_path: Path) -> None:
    with ScriptedServer([REPORT]) as server:
        one = worker("agent", server)
        outcome = await listened_to(lambda: attempt(one, tmp_path, clock=SystemClock()))
    assert outcome.usage == Usage(calls=1, tokens=10)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (AIMessage('{"n":', response_metadata={"finish_reason": "length"}), FailedKind.TRUNCATED),
        (AIMessage("", additional_kwargs={"refusal": "I will not"}), FailedKind.REFUSED),
        (AIMessage("", response_metadata={"finish_reason": "content_filter"}), FailedKind.REFUSED),
    ],
)
@pytest.mark.req("S52")
async def test_reply_that_is_not_whole_fails_a_model_worker(
    message: AIMessage, kind: FailedKind, tmp_path: Path
) -> None:
    with ScriptedServer(lambda _: message) as server:
        outcome = await attempt(worker("model", server), tmp_path)
    assert isinstance(outcome.report, Failed)
    assert outcome.report.kind is kind


async def test_server_that_hangs_runs_into_the_time_limit(tmp_path: Path) -> None:
    clock, asked, loop = FakeClock(), asyncio.Event(), asyncio.get_running_loop()

    def script(_: Sequence[BaseMessage]) -> WireReply:
        loop.call_soon_threadsafe(asked.set)
        return Hang()

    with ScriptedServer(script) as server:
        limits = AttemptLimits(timeout_s=60)
        waiting = asyncio.ensure_future(attempt(worker("agent", server), tmp_path, clock=clock, limits=limits))
        await asked.wait()
        await clock.advance(60)
        outcome = await waiting
        assert server.count == 1
    assert isinstance(outcome.report, Stuck)
    assert outcome.report.kind is StuckKind.TIMEOUT


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (HttpError(401, "Incorrect API key provided: sk-0123456789abcdef."), "refused the credentials"),
        (HttpError(404, "The model does not exist."), "no such model"),
    ],
)
async def test_error_of_the_set_up_is_not_tried_again(error: HttpError, says: str, tmp_path: Path) -> None:
    clock = FakeClock(auto=True, idle_s=IDLE_S)
    with ScriptedServer([error]) as server:
        outcome = await attempt(worker("agent", server), tmp_path, clock=clock, gates=gates(clock))
        assert server.count == 1
    assert isinstance(outcome, Lost)
    assert outcome.kind == "model"
    assert says in outcome.reason
    assert "0123456789abcdef" not in outcome.reason

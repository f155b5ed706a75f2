"""Answers of chat models: how a model is asked again."""

from collections.abc import Sequence

import pytest

from luna.models.answers import Answered, FormatFailure, Message, Reply, ask
from luna.protocol import Usage
from luna.schemas import SchemaUnusableError
from tests.support.answers import STATUS, SUCCESS

QUESTION = (Message("system", "Be brief."), Message("user", "Is it done?"))


class Model:
    """A chat model that gives prepared replies and keeps what it was sent."""

    def __init__(self, *replies: Reply | str) -> None:
        self.replies = [Reply(r, usage=Usage(calls=1, tokens=10)) if isinstance(r, str) else r for r in replies]
        self.sent: list[tuple[Message, ...]] = []

    async def __call__(self, messages: Sequence[Message]) -> Reply:
        self.sent.append(tuple(messages))
        return self.replies[len(self.sent) - 1]


async def test_ask_returns_the_first_usable_answer_and_the_cost_of_all_calls() -> None:
    model = Model("no", SUCCESS, "never asked")
    answer = await ask(model, messages=QUESTION, schema=STATUS, retries=2)
    assert answer == Answered({"status": "SUCCESS"}, Usage(calls=2, tokens=20))
    assert len(model.sent) == 2


@pytest.mark.case("RETRY-01")
async def test_ask_ends_after_its_retries_with_every_raw_reply() -> None:
    replies = ("first, no JSON", '{"status":"OK"}', '{"status":"SUCC')
    model = Model(*replies)
    failure = await ask(model, messages=QUESTION, schema=STATUS, retries=2)
    assert isinstance(failure, FormatFailure)
    assert len(model.sent) == 3
    assert failure.raw_replies == replies
    assert [error.kind for error in failure.errors] == ["no_json", "invalid", "truncated"]
    assert failure.usage == Usage(calls=3, tokens=30)


@pytest.mark.case("RETRY-01")
async def test_each_retry_shows_only_the_last_bad_answer_and_its_error() -> None:
    model = Model("first, no JSON", '{"status":"OK"}', SUCCESS)
    await ask(model, messages=QUESTION, schema=STATUS, retries=2)
    first, second, third = model.sent
    assert first == QUESTION
    assert second[:2] == third[:2] == QUESTION
    assert [m.role for m in second[2:]] == [m.role for m in third[2:]] == ["assistant", "user"]
    assert second[2].text == "first, no JSON"
    assert "no_json" in second[3].text
    assert third[2].text == '{"status":"OK"}'
    assert "'OK' is not one of" in third[3].text
    assert "first" not in "".join(m.text for m in third)


async def test_long_and_empty_bad_replies_are_shown_clipped_and_never_empty() -> None:
    model = Model("x" * 50_000, "", SUCCESS)
    await ask(model, messages=QUESTION, schema=STATUS, retries=2)
    assert len(model.sent[1][2].text.encode()) <= 4_000
    assert "bytes left out" in model.sent[1][2].text
    assert model.sent[2][2].text == "(empty reply)"


async def test_stored_replies_are_clipped() -> None:
    failure = await ask(Model("x" * 50_000), messages=QUESTION, schema=STATUS, retries=0)
    assert isinstance(failure, FormatFailure)
    assert len(failure.raw_replies[0].encode()) <= 16_000


async def test_ask_heeds_the_finish_reason_and_unreported_usage() -> None:
    model = Model(Reply(SUCCESS, finish_reason="length"), Reply(SUCCESS, finish_reason="stop"))
    answer = await ask(model, messages=QUESTION, schema=STATUS, retries=1)
    assert answer == Answered({"status": "SUCCESS"}, Usage(calls=2, reported=False))


async def test_ask_refuses_misuse_before_any_call() -> None:
    model = Model(SUCCESS)
    with pytest.raises(ValueError, match="retries is -1"):
        await ask(model, messages=QUESTION, schema=STATUS, retries=-1)
    with pytest.raises(SchemaUnusableError):
        await ask(model, messages=QUESTION, schema={"type": "thing"}, retries=1)
    assert model.sent == []


async def test_ask_lets_what_the_call_raises_pass() -> None:
    async def broken(messages: Sequence[Message]) -> Reply:
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        await ask(broken, messages=QUESTION, schema=None, retries=3)

"""What a coding agent may send that is no sound message of the protocol, too much of it, or for nobody."""

import asyncio
import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from luna.protocol import Delivery, Failed, FailedKind, Note, Said, Success
from tests.support.acp_runs import DONE, items_of, make, run, worker
from tests.support.assignments import assignment

PROMPT_ID = 2
PERMISSION = {"sessionId": "s1", "toolCall": {"toolCallId": "c1"}, "options": []}
DEAF = f"""
import json, os, sys
def answer(result):
    request = json.loads(sys.stdin.readline())
    print(json.dumps({{"jsonrpc": "2.0", "id": request["id"], "result": result}}), flush=True)
answer({{"protocolVersion": 1}})
answer({{"sessionId": "s1"}})
sys.stdin.readline()
os.close(0)
for number in range(100):
    call = {{"jsonrpc": "2.0", "id": number, "method": "session/request_permission", "params": {PERMISSION!r}}}
    print(json.dumps(call), flush=True)
"""


async def test_error_without_the_form_of_one_ends_the_turn(tmp_path: Path) -> None:
    step = {"raw": json.dumps({"jsonrpc": "2.0", "id": PROMPT_ID, "error": "out of order"})}
    ran = await run(tmp_path, [step, {"wait": "ever"}])
    assert ran.failed.kind == FailedKind.EXCEPTION
    assert 'answered with an error: "out of order"' in ran.failed.reason


async def test_answer_to_nothing_that_can_have_been_asked_is_noise(tmp_path: Path) -> None:
    step = {"raw": json.dumps({"jsonrpc": "2.0", "id": [PROMPT_ID], "result": {"stopReason": "end_turn"}})}
    ran = await run(tmp_path, [step, DONE])
    assert ran.success.result == 7
    assert [note.text.partition(":")[0] for note in ran.of(Note)[1:]] == ["no message of the protocol"]


async def test_noise_is_told_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "very-secret-value")
    ran = await run(tmp_path, [{"raw": "the key is very-secret-value"}, DONE])
    assert ran.of(Note)[1].text == "no message of the protocol: the key is [hidden]"


async def test_flood_of_lines_leaves_others_their_turn(tmp_path: Path) -> None:
    lines = 30_000
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    flooding = worker([{"raw": "\n" * lines}, DONE]).run(
        assignment(), Delivery(key="r/0/attempt/1", workspace=tmp_path)
    )
    await anext(flooding)
    counting = asyncio.create_task(count_turns())
    said = await anext(flooding)
    taken = turns
    counting.cancel()
    await flooding.aclose()
    assert isinstance(said, Said)
    assert taken > lines


async def test_answer_that_the_agent_does_not_read_is_dropped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    *events, report = await items_of(make([sys.executable, "-c", DEAF]), tmp_path)
    assert isinstance(report, Failed)
    assert report.reason.endswith("ended with exit code 0")
    assert sum(isinstance(event, Note) and event.text.startswith("denied") for event in events) == 100
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_nothing_is_read_where_nothing_is_granted(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_text("a")
    ran = await run(tmp_path, [{"read": {"path": str(work / "a")}}, DONE], options={"permissions": "reject"})
    assert "does not grant reading" in ran.told("read")[0]["data"]["details"]
    assert ran.told("initialize")[0]["fs"] == {"read_text_file": False, "write_text_file": False}


async def test_file_that_is_written_as_it_is_already_is_left_alone(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_text("same")
    (work / "b").write_text("old")
    before = {name: (work / name).stat().st_ino for name in "ab"}
    steps: list[dict[str, Any]] = [
        {"write": {"path": str(work / "a"), "content": "same"}},
        {"write": {"path": str(work / "b"), "content": "new"}},
    ]
    ran = await run(tmp_path, [*steps, DONE])
    assert isinstance(ran.report, Success)
    assert ran.told("write") == [{}, {}]
    assert (work / "a").stat().st_ino == before["a"]
    assert (work / "b").stat().st_ino != before["b"]
    assert (work / "b").read_text() == "new"

"""What a coding agent asks for: permissions, files, config options, modes; with a real agent process."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from luna.errors import WorkerConfigError
from luna.protocol import Action, FailedKind, Note
from tests.support.acp_runs import DONE, Step, run
from tests.support.processes import until

MODELS = {
    "id": "llm",
    "name": "Model",
    "category": "model",
    "type": "select",
    "currentValue": "small",
    "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
}
MODES = {
    "id": "mode",
    "name": "Mode",
    "type": "select",
    "currentValue": "build",
    "options": [
        {"group": "g", "name": "All", "options": [{"value": "build", "name": ""}, {"value": "plan", "name": ""}]}
    ],
}
BRAVE = {"id": "brave", "name": "Brave", "type": "boolean", "currentValue": False}
CONFIG = [MODELS, MODES, BRAVE]


def ask(kind: str, *paths: Path | str, kinds: list[str] | None = None) -> Step:
    locations = [{"path": str(path)} for path in paths]
    call = {"toolCallId": "c1", "kind": kind, "title": f"to {kind}", "status": "pending", "locations": locations}
    return {"ask": {"call": call, **({"kinds": kinds} if kinds is not None else {})}}


def picked(kind: str) -> dict[str, str]:
    return {"outcome": "selected", "option_id": f"id-{kind}"}


@pytest.mark.case("PAR-03")
async def test_permissions_are_granted_once_or_denied_and_nothing_else_stops(tmp_path: Path) -> None:
    work = tmp_path / "work"
    denied = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "rm", "kind": "execute", "status": "failed"}
    steps = [ask("edit", work / "a.txt"), ask("execute"), {"update": denied}, ask("edit", "/etc/passwd"), DONE]
    ran = await run(tmp_path, steps)
    assert ran.told("answer") == [picked("allow_once"), picked("reject_once"), picked("reject_once")]
    assert ran.success.result == 7
    [action] = ran.of(Action)
    assert (action.name, action.error) == ("execute", True)
    first, second = [note.text for note in ran.of(Note) if note.text.startswith("denied")]
    assert first == "denied: execute to execute: permissions: allow_edits does not grant actions of kind 'execute'"
    assert "outside" in second or "no path inside the workspace" in second


@pytest.mark.case("PAR-03")
async def test_agent_that_stops_at_a_denial_is_told_to_go_on_without(tmp_path: Path) -> None:
    ran = await run(tmp_path, [ask("execute")], [ask("execute"), {"say": "It is denied."}], [{"say": "Well."}], [DONE])
    assert ran.success.result == 7
    endings = [prompt.partition(".")[0] for prompt in ran.told("prompt")[1:]]
    assert endings[:2] == ["Something that you asked for was denied, and stays denied"] * 2
    assert endings[2].startswith("Your report cannot be read")


async def test_agent_that_does_nothing_but_be_denied_comes_to_an_end(tmp_path: Path) -> None:
    ran = await run(tmp_path, [ask("execute")])
    assert ran.failed.kind == FailedKind.NO_STATUS
    assert len(ran.told("prompt")) == 1 + 5 + 1


async def test_option_is_chosen_by_its_kind(tmp_path: Path) -> None:
    steps = [
        ask("execute", kinds=["allow_always"]),
        ask("execute", kinds=["reject_always", "allow_always", "allow_once"]),
        ask("execute", "/etc/passwd", kinds=["reject_always", "allow_always", "allow_once"]),
        ask("execute", "/etc/passwd", kinds=[]),
        DONE,
    ]
    ran = await run(tmp_path, steps, options={"permissions": "allow"})
    picks = [picked("allow_always"), picked("allow_once"), picked("reject_always"), {"outcome": "cancelled"}]
    assert ran.told("answer") == picks
    work = tmp_path / "work"
    ran = await run(tmp_path, [ask("read", work, kinds=["allow_always", "reject_once"]), DONE])
    assert ran.told("answer")[-1] == picked("reject_once")
    assert "no way to allow it once" in ran.of(Note)[-1].text


async def test_permission_after_the_cancel_is_answered_as_cancelled(tmp_path: Path) -> None:
    log = tmp_path / "log"
    steps: list[Step] = [{"wait": "cancel"}, ask("execute"), {"stop": "cancelled"}]
    task = asyncio.create_task(run(tmp_path, steps, options={"permissions": "allow"}))
    await until(lambda: log.exists() and "waiting" in log.read_text())
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert json.loads(log.read_text().splitlines()[-1]) == ["answer", {"outcome": "cancelled"}]


async def test_files_of_the_workspace_are_read_and_written(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "lines.txt").write_text("a\nb\nc\n")
    steps: list[Step] = [
        {"read": {"path": str(work / "lines.txt")}},
        {"read": {"path": str(work / "lines.txt"), "line": 2, "limit": 1}},
        {"read": {"path": "lines.txt", "line": 3}},
        {"write": {"path": str(work / "new" / "file.txt"), "content": "é"}},
    ]
    ran = await run(tmp_path, [*steps, DONE])
    assert ran.told("read") == [{"content": "a\nb\nc\n"}, {"content": "b\n"}, {"content": "c\n"}]
    assert ran.told("write") == [{}]
    assert (work / "new" / "file.txt").read_text() == "é"


@pytest.mark.req("S06")
async def test_other_files_are_not(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("secret")
    (work / "link").symlink_to(tmp_path / "secret")
    (work / "binary").write_bytes(b"\xff")
    with (work / "huge").open("wb") as huge:
        huge.truncate(10_000_001)
    reads = [tmp_path / "secret", "../secret", work / "link", work / "binary", work / ("x" * 300), work / "huge"]
    reads.append(work / "gone")
    writes = ["/tmp/no", work / "link", work / ".git" / "hooks" / "pre-commit", work / ".." / "x"]
    steps: list[Step] = [{"read": {"path": str(path)}} for path in reads]
    steps += [{"write": {"path": str(path), "content": "x"}} for path in writes]
    ran = await run(tmp_path, [*steps, {"terminal": "true"}, DONE])
    assert [answer["error"] for answer in ran.told("read")] == [
        *["Invalid params"] * 6,
        "Resource not found",
    ]
    assert all("denied" in answer["data"]["details"] for answer in ran.told("write"))
    assert len(ran.told("write")) == 4
    assert (tmp_path / "secret").read_text() == "secret"
    assert not (work / ".git").exists()
    assert "error" in ran.told("terminal")[0]


async def test_nothing_is_written_where_edits_are_not_granted(tmp_path: Path) -> None:
    step: Step = {"write": {"path": str(tmp_path / "work" / "a"), "content": "x"}}
    ran = await run(tmp_path, [step, DONE], options={"permissions": "allow_reads"})
    assert "does not grant writing" in ran.told("write")[0]["data"]["details"]
    assert ran.told("initialize")[0]["fs"].get("write_text_file", False) is False
    assert not (tmp_path / "work" / "a").exists()


async def test_config_is_set_as_the_agent_offers_it(tmp_path: Path) -> None:
    options = {"model": "large", "mode": "plan", "config": {"brave": True}}
    ran = await run(tmp_path, config=CONFIG, options=options)
    assert ran.told("config") == [["llm", "large"], ["mode", "plan"], ["brave", True]]
    assert ran.success.result == 7


async def test_mode_of_an_agent_without_config_options_is_set(tmp_path: Path) -> None:
    modes = {"currentModeId": "build", "availableModes": [{"id": "build", "name": ""}, {"id": "plan", "name": ""}]}
    ran = await run(tmp_path, modes=modes, options={"mode": "plan"})
    assert ran.told("mode") == ["plan"]
    with pytest.raises(WorkerConfigError, match="has no mode 'plam'; it has plan, build"):
        await run(tmp_path, modes=modes, options={"mode": "plam"})


@pytest.mark.parametrize(
    ("options", "settings", "message"),
    [
        ({"config": {"brav": True}}, {}, "has no config option 'brav'; it has brave, llm, mode"),
        ({"config": {"brave": "yes"}}, {}, "'brave' of .* is 'yes'; it takes true or false"),
        ({"model": "larg"}, {}, "'llm' of .* is 'larg'; it takes large, small"),
        ({"config": {"llm": True}}, {}, "is True; it takes small, large"),
        ({"model": "large"}, {"ignored_value": "large"}, "keeps its config option 'llm' at 'small' although it offers"),
        ({"model": "large"}, {"refused_value": "large"}, "refuses to set its config option 'llm' to 'large'"),
        ({"model": "large"}, {"config": [BRAVE]}, "offers no choice of models"),
        ({"mode": "plan"}, {"config": [BRAVE]}, "has no mode 'plan'; it offers no choice of modes"),
        ({"config": {"x": "y"}}, {"config": []}, "it has none at all"),
    ],
)
async def test_wrong_config_is_refused_with_what_there_is(
    tmp_path: Path, options: dict[str, Any], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(WorkerConfigError, match=message):
        await run(tmp_path, options=options, **{"config": CONFIG, **settings})
    assert not (tmp_path / "log").exists() or "prompt" not in (tmp_path / "log").read_text()

"""Whole runs whose planner and workers both talk to the scripted server through OpenAI's real client."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from luna.protocol import WorkerSpec
from luna.testing import CutStream, FakeClock, RateLimited, ScriptedServer
from luna.testing.fakes import calls
from luna.testing.wire_format import WireReply
from sol import Sol
from sol.journal import MemoryJournal
from sol.tree.effects import CHECKS_OF_INTEGRATION
from tests.support.runs import GOAL, states, task, types_of

pytest.importorskip("langchain_openai", reason="needs the extra [openai]")

NAME = "openai:scripted"
PARTS = ("find the red bricks", "find the blue bricks")


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE", "SOL_MODEL", "LUNA_MODEL", "SOL_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def success(result: str) -> AIMessage:
    return calls(("ReportSuccess", {"summary": "done", "result": result}))


class Both:
    """Plays Sol and Luna: the whole task is too much for one Luna, its parts are not.

    Args:
        faults: What happens instead of an answer when a question comes for the first time.

    Attributes:
        asked: How often each question came.
    """

    def __init__(self, faults: Mapping[str, WireReply] = MappingProxyType({})) -> None:
        self.asked: Counter[str] = Counter()
        self._faults = faults

    def __call__(self, messages: Sequence[BaseMessage]) -> WireReply:
        system, user = messages[0].text, messages[1].text
        question = self._question(system, user)
        self.asked[question] += 1
        if self.asked[question] == 1 and question in self._faults:
            return self._faults[question]
        return self._answer(question)

    def _question(self, system: str, user: str) -> str:
        if system.startswith("You are Luna."):
            return next((goal for goal in (*PARTS, GOAL) if f"Goal: {goal}" in user), "?")
        marks = {"split": "Split the task", "judge": "Answer each question", "integrate": "Put the parts together"}
        return next(name for name, mark in marks.items() if mark in system)

    def _answer(self, question: str) -> WireReply:
        if question == GOAL:
            return calls(("ReportStuck", {"blocker": "no lamp", "unknown": list(PARTS)}))
        if question in PARTS:
            return success(f"done: {question}")
        return json.dumps(
            {
                "split": {
                    "reason": "two colours",
                    "can_split": True,
                    "dimension": "unknown_a_unknown_b",
                    "sequential": False,
                    "children": [
                        {
                            "goal": goal,
                            "claim": "simpler",
                            "success_criteria": ["all are found"],
                            "expected_output": "bricks",
                            "whole": False,
                            "inputs": ["bricks"],
                        }
                        for goal in PARTS
                    ],
                },
                "judge": {"verdicts": [{"reason": "seen", "holds": True}]},
                "integrate": {
                    "result": "red and blue",
                    "summary": "put together",
                    "checks": {name: {"note": "", "ok": True} for name in CHECKS_OF_INTEGRATION},
                    "open": [],
                },
            }[question]
        )


def sol(server: ScriptedServer, workspace: Path, **options: Any) -> Sol:
    given: dict[str, Any] = {
        "base_url": server.url,
        "sol_model": NAME,
        "luna_model": NAME,
        "worker": "agent",
        "workspace": workspace,
        "store": MemoryJournal(),
        **options,
    }
    return Sol(**given)


@pytest.mark.req("S04", "S12", "S61")
async def test_stuck_task_is_split_and_integrated_over_the_wire(tmp_path: Path) -> None:
    both = Both()
    with ScriptedServer(both) as server:
        run = await sol(server, tmp_path).asolve(task())
    assert (run.status, run.result) == ("success", "red and blue")
    assert states(run) == {"": "success", "0": "success", "1": "success"}
    assert both.asked == {GOAL: 1, "split": 1, PARTS[0]: 1, PARTS[1]: 1, "judge": 3, "integrate": 1}
    assert run.state.spent.calls == server.count == 8
    forms = Counter(one.response_format["json_schema"]["name"] for one in server.requests if one.response_format)
    assert forms == {"split": 1, "judge": 3, "integrate": 1}
    lunas = [one for one in server.requests if not one.response_format]
    assert all("ReportStuck" in one.tool_names for one in lunas)
    told = ["\n".join(message.text for message in one.messages) for one in lunas]
    assert [text.count("Goal: ") for text in told] == [1, 1, 1]
    assert not any(all(part in text for part in PARTS) for text in told), "no Luna gets another one's part"


@pytest.mark.req("S51", "S52")
@pytest.mark.case("RATE-01")
@pytest.mark.slow
async def test_faults_on_the_way_change_neither_the_tree_nor_the_result(tmp_path: Path) -> None:
    cut = CutStream(success("cut off in the middle"), after=4)
    both = Both({GOAL: RateLimited(20), "split": RateLimited(), PARTS[0]: cut, "integrate": CutStream(how="error")})
    clock = FakeClock(auto=True, idle_s=0.1)
    with ScriptedServer(both) as server:
        run = await sol(server, tmp_path, clock=clock).asolve(task())
        assert server.count == 12, "eight good calls, and each fault once"
    assert (run.status, run.result) == ("success", "red and blue")
    assert both.asked == {GOAL: 2, "split": 2, PARTS[0]: 2, PARTS[1]: 1, "judge": 3, "integrate": 2}
    assert clock.monotonic() >= 20
    assert (await types_of(run)).count("created") == 3


def test_runs_one_after_the_other_with_a_specified_worker_share_a_server(tmp_path: Path) -> None:
    with ScriptedServer(lambda _: success("sorted")) as server:
        spec = WorkerSpec(kind="agent", options={"model": NAME, "base_url": server.url})
        runs = [Sol(worker=spec, workspace=tmp_path, store=MemoryJournal()).solve(task()) for _ in range(3)]
        assert server.count == 3
    assert [(run.status, run.result) for run in runs] == [("success", "sorted")] * 3

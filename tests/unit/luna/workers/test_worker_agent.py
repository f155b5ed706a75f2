"""The worker that is LangChain's agent loop."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

from luna.errors import Interruption, ModelError, WorkerConfigError
from luna.protocol import (
    Action,
    Delivery,
    Failed,
    FailedKind,
    Progress,
    Said,
    Spent,
    Stage,
    Stuck,
    StuckKind,
    Success,
    Usage,
)
from luna.testing.fakes import ScriptedChatModel, calls
from luna.workers.agent import AgentOptions, AgentWorker, create
from luna.workers.shared import WorkerSettings
from tests.support.agents import DONE, FENCE, actions, agent, assignment, work


async def test_agent_works_with_tools_and_ends_with_its_report(tmp_path: Path) -> None:
    model = ScriptedChatModel(
        [
            calls(("write_file", {"path": "a.txt", "content": "hello"}), text="I write it."),
            calls(("record_progress", {"stage": "verified", "evidence": "read it back"})),
            calls(DONE),
        ]
    )
    spent = Spent(usage=Usage(calls=1, tokens=10))
    assert await work(model, tmp_path) == [
        spent,
        Said(text="I write it."),
        Action(
            name="write_file",
            arguments={"path": "a.txt", "content": "hello"},
            observation="wrote 5 bytes",
            paths=("a.txt",),
        ),
        spent,
        Progress(stage=Stage.VERIFIED, evidence="read it back"),
        spent,
        Success(summary="done", result="fine"),
    ]
    assert (tmp_path / "a.txt").read_text() == "hello"
    assert model.count == 3


async def test_agent_is_told_the_whole_assignment_with_untrusted_text_fenced(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(DONE)])
    task = assignment(
        context="old notes",
        inputs={"name": "x"},
        constraints=["touch nothing else"],
        expected_output={"description": "a greeting", "files": ["a.txt"]},
    )
    await work(model, tmp_path, task, {"partial": {"first": 1}}, system="Be brief.")
    system, user = model.prompts[0]
    assert system.text.endswith("Be brief.")
    for text in (
        "Goal: Write hello into a.txt.",
        "- touch nothing else",
        "- a greeting\n- the file a.txt",
        "a.txt says hello",
        "- the directory cannot be written",
        f'[BEGIN DATA {FENCE} context from "the task"]\nold notes\n',
        '{"name": "x"}',
        '{"first": 1}',
    ):
        assert text in user.text


@pytest.mark.case("PAR-03")
async def test_path_outside_the_workspace_is_denied_as_an_observation(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(("write_file", {"path": "../a.txt", "content": "x"})), calls(DONE)])
    events = await work(model, tmp_path)
    (action,) = actions(events)
    assert action.observation.startswith("denied: ")
    assert action.error
    assert isinstance(events[-1], Success)


async def test_command_runs_in_the_workspace(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(("run_command", {"argv": ["ls"]}), ("list_files", {})), calls(DONE)])
    (tmp_path / "here").touch()
    events = await work(model, tmp_path)
    seen = {action.name: action.observation for action in actions(events)}
    assert seen == {"run_command": "exit code 0\nstdout:\nhere\n", "list_files": "here (0)"}


async def test_wrong_arguments_are_an_observation(tmp_path: Path) -> None:
    wrong = calls(("read_file", {"file": "a"}), ("record_progress", {"stage": "nearly"}))
    events = await work(ScriptedChatModel([wrong, calls(DONE)]), tmp_path)
    refused = actions(events)
    assert sorted(action.name for action in refused) == ["read_file", "record_progress"]
    assert all(action.error for action in refused)


async def test_only_allowed_tools_are_offered(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(("write_file", {"path": "a", "content": "b"})), calls(DONE)])
    events = await work(model, tmp_path, tools=["read_file"])
    offered = {tool["function"]["name"] for tool in model.bound[0]["tools"]}
    assert offered == {"record_progress", "read_file", "ReportSuccess", "ReportStuck", "ReportFailed"}
    assert [action.error for action in actions(events)] == [True]
    assert not (tmp_path / "a").exists()


@pytest.mark.case("STAT-01")
@pytest.mark.req("S52")
async def test_step_limit_is_stuck_with_the_last_text(tmp_path: Path) -> None:
    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        return calls(("list_files", {}), text=f"All done, more or less ({len(messages)}).")

    model = ScriptedChatModel(script)
    report = (await work(model, tmp_path, max_model_calls=3))[-1]
    assert isinstance(report, Stuck)
    assert (report.kind, report.summary) == (StuckKind.STEP_LIMIT, "All done, more or less (6).")
    assert "3 model calls and 3 tool calls" in report.blocker
    assert model.count == 3


async def test_too_many_tool_calls_in_few_turns_are_the_step_limit_too(tmp_path: Path) -> None:
    many = calls(*[("list_files", {})] * 9)
    report = (await work(ScriptedChatModel(lambda _: many), tmp_path, max_model_calls=2))[-1]
    assert isinstance(report, Stuck)
    assert report.kind is StuckKind.STEP_LIMIT


@pytest.mark.case("STAT-01")
@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (AIMessage("I have finished everything."), FailedKind.NO_STATUS),
        (AIMessage('{"status":"SUCC', response_metadata={"finish_reason": "length"}), FailedKind.TRUNCATED),
    ],
)
async def test_end_without_report_is_never_success(tmp_path: Path, last: AIMessage, kind: FailedKind) -> None:
    report = (await work(ScriptedChatModel([last]), tmp_path))[-1]
    assert isinstance(report, Failed)
    assert (report.kind, report.evidence) == (kind, (last.text,))


@pytest.mark.req("S55")
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            ("ReportStuck", {"blocker": "no key", "kind": "access_missing", "unknown": ["which key"]}),
            Stuck(kind=StuckKind.ACCESS_MISSING, blocker="no key", unknown=("which key",)),
        ),
        (("ReportFailed", {"reason": "no such bug", "evidence": ["e"]}), Failed(reason="no such bug", evidence=("e",))),
        (
            ("ReportSuccess", {"summary": "half \ud83d", "result": ["\ud83d"]}),
            Success(summary="half \ufffd", result=["\ufffd"]),
        ),
    ],
)
async def test_reports_are_read(tmp_path: Path, call: Any, expected: Any) -> None:
    assert (await work(ScriptedChatModel([calls(call)]), tmp_path))[-1] == expected


@pytest.mark.req("S05")
@pytest.mark.parametrize(
    "call",
    [
        ("ReportSuccess", {"summary": "s"}),
        ("ReportStuck", {"blocker": "b", "kind": "other"}),
        ("ReportFailed", {"reason": "r"}),
    ],
)
async def test_what_a_report_has_no_field_for_is_a_suggestion(tmp_path: Path, call: tuple[str, dict[str, Any]]) -> None:
    more = {"new_tasks": ["do the rest"], "success_criteria": [], "status": "SUCCESS"}
    model = ScriptedChatModel([calls((call[0], {**call[1], **more}))])
    report = (await work(model, tmp_path))[-1]
    assert f"Report{type(report).__name__}" == call[0]
    assert report.suggestions == more
    assert all("additionalProperties" not in tool["function"]["parameters"] for tool in model.bound[0]["tools"])


@pytest.mark.parametrize("definitions", [{}, {"$defs": {"n": {"type": "integer"}}}])
async def test_result_is_held_to_the_schema_before_it_is_taken(tmp_path: Path, definitions: dict[str, Any]) -> None:
    item = {"$ref": "#/$defs/n"} if definitions else {"type": "integer"}
    schema = {"type": "array", "items": item, **definitions}
    task = assignment(expected_output={"description": "numbers", "json_schema": schema})
    wrong = calls(("ReportSuccess", {"summary": "s", "result": ["x"]}))
    right = calls(("ReportSuccess", {"summary": "s", "result": [1]}))
    model = ScriptedChatModel([wrong, right])
    events = await work(model, tmp_path, task)
    assert events[-1].result == [1]
    assert "'x' is not of type 'integer'" in model.prompts[1][-1].text
    assert [action.error for action in actions(events)] == [True]


async def test_two_reports_at_once_are_asked_for_again(tmp_path: Path) -> None:
    both = calls(DONE, ("ReportFailed", {"reason": "no"}))
    model = ScriptedChatModel([both, calls(DONE)])
    assert isinstance((await work(model, tmp_path))[-1], Success)
    assert model.count == 2


class RateLimitError(Exception):
    status_code = 429


async def test_interruption_of_the_model_passes_through(tmp_path: Path) -> None:
    with pytest.raises(Interruption) as raised:
        await work(ScriptedChatModel([calls(("list_files", {})), RateLimitError("slow down")]), tmp_path)
    assert raised.value.kind == "rate_limit"


async def test_secret_in_an_answer_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("API_KEY=0123456789abcdef\n")
    model = ScriptedChatModel([calls(("read_file", {"path": ".env"})), calls(DONE)])
    events = await work(model, tmp_path)
    assert actions(events)[0].observation == "API_KEY=[hidden]\n"
    assert "0123456789abcdef" in model.prompts[1][-1].text, "it may be the work to change it"


class WithoutTools(ScriptedChatModel):
    def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("model", "says"),
    [(ScriptedChatModel([ValueError("odd")]), "odd"), (WithoutTools([]), "cannot call tools.*kind model")],
)
async def test_model_that_cannot_be_used_is_a_model_error(tmp_path: Path, model: ScriptedChatModel, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        await work(model, tmp_path)


async def test_prompt_that_grew_too_long_is_context_too_large(tmp_path: Path) -> None:
    report = (await work(ScriptedChatModel([ValueError("prompt is too long")]), tmp_path))[-1]
    assert isinstance(report, Failed)
    assert report.kind is FailedKind.CONTEXT_TOO_LARGE


async def test_agent_can_be_stopped_in_the_middle(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(("list_files", {})), calls(DONE)])
    events = agent(model).run(assignment(), Delivery(key="k", workspace=tmp_path, model="x"))
    async for _ in events:
        break
    await events.aclose()
    assert model.count == 1


def test_wrong_option_is_refused_when_the_worker_is_made() -> None:
    with pytest.raises(WorkerConfigError, match="tools"):
        create({"tools": ["rm"]}, settings=WorkerSettings())


async def test_missing_model_says_how_to_set_one(tmp_path: Path) -> None:
    worker = create({}, settings=WorkerSettings())
    with pytest.raises(WorkerConfigError, match="LUNA_MODEL"):
        async for _ in worker.run(assignment(), Delivery(key="k", workspace=tmp_path)):
            pass


async def test_model_is_made_once_for_all_attempts_and_anew_after_it_could_not_be_used(tmp_path: Path) -> None:
    made: list[str] = []
    model = ScriptedChatModel([calls(DONE), ValueError("no credit"), calls(DONE)])

    def resolve(name: str, **given: Any) -> ScriptedChatModel:
        made.append(name)
        return model

    worker = AgentWorker(AgentOptions(), settings=WorkerSettings(), resolve=resolve)
    task, handed = assignment(), Delivery(key="k", workspace=tmp_path, model="x")
    assert [type(event).__name__ async for event in worker.run(task, handed)][-1] == "Success"
    with pytest.raises(ModelError):
        assert [event async for event in worker.run(task, handed)] == []
    assert made == ["x"]
    assert [type(event).__name__ async for event in worker.run(task, handed)][-1] == "Success"
    assert made == ["x", "x"]

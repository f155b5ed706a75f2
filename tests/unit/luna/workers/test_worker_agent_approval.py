"""Calls that need a human's consent."""

import logging
from pathlib import Path
from typing import Any, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from luna.errors import WorkerConfigError
from luna.protocol import Action, Stuck, StuckKind, Success
from luna.testing.fakes import ScriptedChatModel, calls
from luna.workers._agent_middleware import question
from luna.workers.agent import create
from luna.workers.shared import WorkerSettings
from tests.support.agents import DONE, actions, agent, assignment, delivery, work

REMOVE = ("run_command", {"argv": ["rm", "a.txt"]})
ASK: dict[str, Any] = {"tools": ["run_command"]}
REJECT: dict[str, Any] = {"tools": ["run_command"], "how": "reject"}
MAY_REMOVE = 'May this run: run_command {"argv": ["rm", "a.txt"]}? Answer yes or no.'


def removing() -> ScriptedChatModel:
    return ScriptedChatModel([calls(REMOVE, text="I remove it."), calls(DONE)])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("x")
    return path


async def test_call_that_needs_consent_ends_the_attempt_with_the_question(tmp_path: Path, file: Path) -> None:
    model = removing()
    events = await work(model, tmp_path, approve=ASK)
    assert events[-1] == Stuck(
        kind=StuckKind.NEEDS_HUMAN,
        summary="A call needs a human's consent.",
        blocker="run_command must not be called without a human's consent",
        question=MAY_REMOVE,
    )
    assert (model.count, actions(events), file.exists()) == (1, [], True)


@pytest.mark.parametrize("answer", ["yes", " Y\n", "YES"])
async def test_yes_lets_exactly_that_call_through(tmp_path: Path, file: Path, answer: str) -> None:
    model = removing()
    events = await work(model, tmp_path, given={"answers": {MAY_REMOVE: answer}}, approve=ASK)
    assert events[-1] == Success(summary="done", result="fine")
    assert [(action.name, action.error) for action in actions(events)] == [("run_command", False)]
    assert [type(event).__name__ for event in events] == ["Spent", "Said", "Action", "Spent", "Success"]
    assert not file.exists()
    assert "May this run" in model.prompts[0][1].text, "the agent has to know what it may do now"


@pytest.mark.parametrize("answer", ["no", "yes, but not today", "y e s", "", "ja"])
async def test_any_other_answer_refuses_the_call_with_its_words(tmp_path: Path, file: Path, answer: str) -> None:
    events = await work(removing(), tmp_path, given={"answers": {MAY_REMOVE: answer}}, approve=ASK)
    (refused,) = actions(events)
    assert refused.error
    assert f"denied: {answer or 'no reason given'}" in refused.observation
    assert isinstance(events[-1], Success)
    assert file.exists()


@pytest.mark.parametrize("argv", [["rm", "b.txt"], ["rm", "a.txt "], ["rm", "-f", "a.txt"]])
async def test_consent_holds_for_no_other_call(tmp_path: Path, argv: list[str]) -> None:
    model = ScriptedChatModel([calls(("run_command", {"argv": argv}))])
    report = (await work(model, tmp_path, given={"answers": {MAY_REMOVE: "yes"}}, approve=ASK))[-1]
    assert isinstance(report, Stuck)
    assert report.question not in {None, MAY_REMOVE}


async def test_nothing_of_a_turn_is_done_before_all_its_calls_are_decided(tmp_path: Path, file: Path) -> None:
    write = ("write_file", {"path": "b.txt", "content": "x"})
    other = ("run_command", {"argv": ["ls"]})
    model = ScriptedChatModel([calls(write, REMOVE, other)])
    report = (await work(model, tmp_path, given={"answers": {MAY_REMOVE: "yes"}}, approve=ASK))[-1]
    assert isinstance(report, Stuck)
    assert report.question == 'May this run: run_command {"argv": ["ls"]}? Answer yes or no.'
    assert file.exists()
    assert not (tmp_path / "b.txt").exists()


@pytest.mark.case("PAR-03")
async def test_unwatched_run_refuses_the_call_and_the_agent_goes_on(
    tmp_path: Path, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write = ("write_file", {"path": "b.txt", "content": "x"})
    model = ScriptedChatModel([calls(REMOVE, write), calls(REMOVE), calls(DONE)])
    with caplog.at_level(logging.WARNING):
        events = await work(model, tmp_path, approve=REJECT)
    assert [(action.name, action.error) for action in actions(events)] == [
        ("run_command", True),
        ("write_file", False),
        ("run_command", True),
    ]
    assert "denied: run_command needs a human's consent" in actions(events)[0].observation
    assert "denied: " in model.prompts[1][-2].text + model.prompts[1][-1].text
    assert isinstance(events[-1], Success)
    assert file.exists()
    assert (tmp_path / "b.txt").exists()
    assert caplog.records == []


@pytest.mark.req("S52")
async def test_refused_calls_count_as_turns(tmp_path: Path) -> None:
    model = ScriptedChatModel(lambda _: calls(REMOVE))
    report = (await work(model, tmp_path, approve=REJECT, max_model_calls=4))[-1]
    assert isinstance(report, Stuck)
    assert report.kind is StuckKind.STEP_LIMIT
    assert model.count == 4


async def test_names_may_be_patterns(tmp_path: Path) -> None:
    model = ScriptedChatModel([calls(("edit_file", {"path": "a", "old": "x", "new": "y"}))])
    report = (await work(model, tmp_path, approve={"tools": ["*_file"]}))[-1]
    assert isinstance(report, Stuck)
    assert report.kind is StuckKind.NEEDS_HUMAN


@pytest.mark.parametrize("wrong", ["run_comand", "rm*"])
def test_name_of_no_tool_is_refused_since_it_would_let_calls_through(wrong: str) -> None:
    with pytest.raises(WorkerConfigError, match="run_command"):
        create({"approve": {"tools": ["write_file", wrong]}}, settings=WorkerSettings())


def test_tool_that_is_only_not_offered_may_be_named() -> None:
    create({"approve": ASK, "tools": ["read_file"]}, settings=WorkerSettings())


class State(TypedDict):
    goals: list[str]


@pytest.mark.parametrize("approve", [None, ASK, REJECT])
async def test_agent_inside_another_graph_leaves_its_checkpoints_alone(tmp_path: Path, approve: Any) -> None:
    """Neither does a question interrupt that graph."""
    reports: list[Any] = []

    async def node(state: State) -> State:
        model = ScriptedChatModel([calls(("list_files", {})), calls(REMOVE), calls(DONE)])
        options = {} if approve is None else {"approve": approve}
        run = agent(model, **options).run(assignment(), delivery(tmp_path))
        reports.extend([event async for event in run if not isinstance(event, Action)][-1:])
        return state

    saver = InMemorySaver()
    graph = StateGraph(State)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    outer = graph.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "outer"}}
    result = await outer.ainvoke({"goals": ["a"]}, config)
    assert result == {"goals": ["a"]}
    assert type(reports[0]) is (Stuck if approve is ASK else Success)
    found = [
        tuple(each.config["configurable"][key] for key in ("thread_id", "checkpoint_ns")) for each in saver.list(None)
    ]
    assert set(found) == {("outer", "")}
    assert len(found) == 3
    assert (await outer.aget_state(config)).next == ()


arguments = st.dictionaries(
    st.text(max_size=5), st.text(max_size=40) | st.integers() | st.lists(st.text(max_size=9)), max_size=4
)


@given(arguments, arguments)
def test_question_is_the_same_for_the_same_call_only(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (question("t", one) == question("t", other)) is (one == other)
    assert question("t", dict(reversed(one.items()))) == question("t", one)


@given(st.text())
def test_question_shows_arguments_in_printable_ascii_within_bounds(text: str) -> None:
    asked = question("run_command", {"argv": [text, "\x1b[2J\x7f\u202e"] * 20})
    assert asked.replace(" … ", "").isascii()
    assert asked.isprintable()
    assert len(asked) < 800


def test_questions_for_long_calls_differ_although_both_ends_are_equal() -> None:
    long = [question("write_file", {"content": "x" * 900 + middle + "x" * 900}) for middle in "ab"]
    assert long[0] != long[1]
    assert all("(1" in text and "SHA-256" in text for text in long)

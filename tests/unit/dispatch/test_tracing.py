"""Calls of models below an effect carry the run, the node and the effect, for any LangChain callback handler."""

from contextvars import copy_context
from pathlib import Path
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.config import var_child_runnable_config

from luna.protocol import Assignment, Stuck
from luna.testing import FakeClock, ScriptedChatModel
from luna.testing.fakes import calls
from luna.workers.agent import AgentOptions, AgentWorker
from luna.workers.model import ModelOptions, ModelWorker
from luna.workers.shared import WorkerSettings
from sol import Sol, Task
from sol.dispatch.tracing import listen, mark
from sol.journal import MemoryJournal
from sol.run import Run
from tests.support.core import assignment_of
from tests.support.planners import ScriptedPlanner, split_into

GOAL = "name the secret colours"
MARKS = ("sol_run", "sol_node", "sol_depth", "sol_kind", "sol_attempt", "sol_state")


class Heard(BaseCallbackHandler):
    """Remembers metadata and tags of each start of a model or a graph."""

    def __init__(self) -> None:
        self.models: list[tuple[dict[str, Any], list[str]]] = []
        self.graphs: list[tuple[str, dict[str, Any], list[str]]] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **more: Any) -> None:
        self.models.append((more["metadata"], more["tags"]))

    def on_chain_start(self, serialized: Any, inputs: Any, **more: Any) -> None:
        self.graphs.append((more.get("name"), more["metadata"], more["tags"]))

    @property
    def told(self) -> list[tuple[Any, ...]]:
        """Node, kind, attempt and state of each model call."""
        return [
            tuple(data[name] for name in ("sol_node", "sol_kind", "sol_attempt", "sol_state"))
            for data, _ in self.models
        ]


def task(goal: str = GOAL) -> Task:
    return Task.make(assignment_of(goal, expected_output="a text", constraints="none"))


async def heard_of(tmp_path: Path, worker: Any, **options: Any) -> tuple[Run, Heard]:
    """Solve inside a runnable of somebody who listens."""
    heard = Heard()
    settings: dict[str, Any] = {"planner": ScriptedPlanner(), **options}
    sol = Sol(worker=worker, workspace=tmp_path, store=MemoryJournal(), clock=FakeClock(auto=True), **settings)
    config: Any = {"callbacks": [heard], "metadata": {"mine": 1}, "tags": ["mine"]}
    run = await RunnableLambda(lambda _: None, lambda _: sol.asolve(task())).ainvoke(None, config)
    return run, heard


async def test_call_of_a_model_worker_is_marked(tmp_path: Path) -> None:
    model = ScriptedChatModel(["green"])
    run, heard = await heard_of(tmp_path, ModelWorker(ModelOptions(model="m"), resolve=lambda name, **_: model))
    assert (run.result, model.count) == ("green", 1)
    [(metadata, tags)] = heard.models
    assert {name: metadata[name] for name in MARKS} == {
        "sol_run": run.id,
        "sol_node": "",
        "sol_depth": 0,
        "sol_kind": "attempt",
        "sol_attempt": 1,
        "sol_state": "running",
    }
    assert {f"{name}:{metadata[name]}" for name in MARKS} | {"mine"} == {t for t in tags if not t.startswith("seq:")}
    assert metadata["mine"] == 1


async def test_every_turn_of_an_agent_is_marked(tmp_path: Path) -> None:
    model = ScriptedChatModel(
        [calls(("list_files", {})), calls(("ReportSuccess", {"summary": "s", "result": "green"}))]
    )
    worker = AgentWorker(AgentOptions(model="m"), settings=WorkerSettings(), resolve=lambda name, **_: model)
    run, heard = await heard_of(tmp_path, worker)
    assert (run.result, model.count) == ("green", 2)
    assert heard.told == [("", "attempt", 1, "running")] * 2


async def test_own_model_of_a_function_worker_is_marked(tmp_path: Path) -> None:
    model = ScriptedChatModel(lambda messages: "green")

    async def luna(inputs: dict[str, Any]) -> str:
        return (await model.ainvoke([HumanMessage("which?")])).text

    run, heard = await heard_of(tmp_path, luna)
    assert (run.result, heard.told) == ("green", [("", "attempt", 1, "running")])


async def test_model_called_in_a_thread_is_marked(tmp_path: Path) -> None:
    model = ScriptedChatModel(lambda messages: "green")

    def luna(inputs: dict[str, Any]) -> str:
        return model.invoke([HumanMessage("which?")]).text

    run, heard = await heard_of(tmp_path, luna)
    assert (run.result, heard.told) == ("green", [("", "attempt", 1, "running")])


async def test_nodes_and_planner_calls_are_told_apart(tmp_path: Path) -> None:
    model = ScriptedChatModel(lambda messages: "green")

    async def luna(inputs: dict[str, Any], assignment: Assignment) -> Any:
        if assignment.goal == GOAL:
            return Stuck(blocker="two colours")
        return (await model.ainvoke([HumanMessage("which?")])).text

    run, heard = await heard_of(tmp_path, luna, planner=ScriptedPlanner({GOAL: split_into("the first", "the second")}))
    assert run.solved
    assert sorted(heard.told) == [("0", "attempt", 1, "running"), ("1", "attempt", 1, "running")]
    assert {metadata["sol_depth"] for metadata, _ in heard.models} == {1}


async def test_call_of_sols_model_is_marked_with_its_kind(tmp_path: Path) -> None:
    verdict = '{"verdicts": [{"holds": true, "reason": "seen"}]}'
    model = ScriptedChatModel(lambda messages: verdict)
    run, heard = await heard_of(tmp_path, lambda inputs: "green", planner=None, sol_model=model)
    assert run.solved
    assert heard.told == [("", "judge", 1, "running")]


async def test_loop_carries_run_and_strategy_and_no_word_of_the_task(tmp_path: Path) -> None:
    model = ScriptedChatModel(lambda messages: "green")
    run, heard = await heard_of(tmp_path, ModelWorker(ModelOptions(model="m"), resolve=lambda name, **_: model))
    [(metadata, tags)] = [(metadata, tags) for name, metadata, tags in heard.graphs if name == "sol"]
    assert (metadata["sol_run"], metadata["sol_strategy"]) == (run.id, "binary")
    assert {f"sol_run:{run.id}", "sol_strategy:binary", "mine"} <= set(tags)
    told = [*heard.models, *((data, tags) for _, data, tags in heard.graphs)]
    assert not [text for data, tags in told for text in [*map(str, data.values()), *tags] if "secret" in text]


async def test_run_inside_a_run_shows_its_own_marks_only(tmp_path: Path) -> None:
    model = ScriptedChatModel(lambda messages: "green")
    inner: list[Run] = []

    async def luna(inputs: dict[str, Any]) -> str:
        below = Sol(
            worker=ModelWorker(ModelOptions(model="m"), resolve=lambda name, **_: model),
            planner=ScriptedPlanner(),
            workspace=tmp_path,
            store=MemoryJournal(),
        )
        inner.append(await below.asolve(task("another goal")))
        return str(inner[0].result)

    run, heard = await heard_of(tmp_path, luna)
    assert run.result == "green"
    [(metadata, tags)] = heard.models
    assert metadata["sol_run"] == inner[0].id
    assert [tag for tag in tags if tag.startswith("sol_run")] == [f"sol_run:{inner[0].id}"]


async def test_marks_end_with_the_effect(tmp_path: Path) -> None:
    await heard_of(tmp_path, lambda inputs: "green")
    assert var_child_runnable_config.get() is None


def test_handler_listens_once() -> None:
    first, second = Heard(), Heard()
    model = ScriptedChatModel(lambda messages: "green")

    def within(_: Any) -> None:
        listen(first)
        listen(second)
        listen(first)
        mark({"sol_node": "0"})
        model.invoke("?")

    RunnableLambda(within).invoke(None, {"callbacks": [first]})
    assert ([data["sol_node"] for data, _ in first.models], len(second.models)) == (["0"], 1)


def test_handler_is_added_where_nobody_listens() -> None:
    heard = Heard()
    model = ScriptedChatModel(lambda messages: "green")

    def program() -> None:
        listen(heard)
        listen(heard)
        model.invoke("?")

    copy_context().run(program)
    assert len(heard.models) == 1

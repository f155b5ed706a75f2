"""Journals that an earlier version wrote are read, shown and taken up again.

`tests/golden/make.py` made them. What they hold is put back as it was; from there on only public interfaces are used.
"""

import asyncio
import json
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sol import Sol
from sol.errors import ConflictError
from sol.run import Run
from sol.view import labels
from tests.golden.scenes import HERE, SCENES, Mender, dump_of, restore
from tests.support.cli import CommandLine
from tests.support.editing import git, read

# --- the public interface, in one place -------------------------------------------------------------------------------

WORKFLOWS_ARE_DRAWN = True
"""Whether Mermaid and Graphviz diagrams show runs of workflows as they are, and not as damaged."""


def sol_for(name: str, workspace: Path, **more: Any) -> Sol:
    return Sol(**SCENES[name].settings(workspace) | more)


def load(sol: Sol, run_id: str) -> Run:
    return asyncio.run(sol.load(run_id))


def ask(sol: Sol, run_id: str, kind: str, **payload: str) -> str:
    return asyncio.run(sol.request(run_id, kind, payload, by="a test"))


def resume(sol: Sol, run_id: str, *, max_steps: int | None = None) -> Run:
    async def go_on() -> Run:
        return await (await sol.start_again(run_id, max_steps=max_steps)).wait()

    return asyncio.run(go_on())


# --- what is expected -------------------------------------------------------------------------------------------------

EXPECTED: Mapping[str, list[dict[str, Any]]] = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))

MANY = 6
"""Of runs with more nodes not all histories are told, to save time."""


@pytest.fixture
def workspace(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a golden journal was put back, with the files that its runs need."""
    for variable in ("SOL_MODEL", "LUNA_MODEL", "SOL_STORE", "SOL_BASE_URL", "SOL_DEBUG"):
        monkeypatch.delenv(variable, raising=False)
    if SCENES[name].bundled and shutil.which("git") is None:
        pytest.skip("needs git, which is not installed")
    return restore(name, tmp_path / "workspace")


def rows(name: str, run: int = 1) -> list[tuple[str, str, float]]:
    """Type, node and time of each event in a dump, as one transaction after the other wrote them."""
    with sqlite3.connect(":memory:") as store:
        store.executescript(dump_of(name))
        words = "SELECT type, node, t FROM events WHERE id / ? = ? ORDER BY id"
        found = store.execute(words, (2**40, run)).fetchall()
    store.close()
    return found


def history(run: Run) -> list[tuple[str, str, float]]:
    return [(str(event.type), event.node, event.t) for event in run.history()]


def nodes_of(run: Run) -> dict[str, dict[str, Any]]:
    return {
        node.path: {
            "state": str(node.state),
            "kind": node.kind,
            "reason": node.reason,
            "result": node.result,
            "partial": dict(node.partial),
            "attempts": node.counts.get("attempt", 0),
        }
        for node in run.tree
    }


# --- read and show ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENES)
def test_golden_runs_are_read_as_they_were(name: str, workspace: Path) -> None:
    sol = sol_for(name, workspace)
    for number, was in enumerate(EXPECTED[name], start=1):
        run = load(sol, was["id"])
        assert (run.status, run.resumable, run.reason) == (was["status"], was["resumable"], was["reason"])
        assert (run.result, run.questions) == (was["result"], was["questions"])
        assert (run.spent.calls, run.spent.tokens) == (was["calls"], was["tokens"])
        assert len(run.tree) == len(was["nodes"])
        assert nodes_of(run) == was["nodes"]
        assert history(run) == rows(name, number)


@pytest.mark.parametrize("name", SCENES)
def test_golden_runs_are_shown_on_the_command_line(
    name: str, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("COLUMNS", "200")
    command = CommandLine(workspace, monkeypatch, capsys)
    listed = {line["id"]: line["status"] for line in command("runs", "--json").lines}
    for was in EXPECTED[name]:
        status = "killed" if was["status"] == "running" else was["status"]
        assert listed[was["id"]] == status
        shown = command("show", was["id"], "--all")
        assert (shown.code, shown.err) == (0, "")
        assert f"{was['id']} {status}" in shown.out
        assert f" {len(was['nodes'])} nodes" in shown.out or len(was["nodes"]) == 1
        assert all(path[-8:] in shown.out for path in was["nodes"]), "of a long path the end is shown"
        histories = list(was["nodes"])[:: 1 + len(was["nodes"]) // MANY]
        for path in histories:
            told = command("show", was["id"], "--node", path or ".")
            assert (told.code, told.err) == (0, "")
            noun = "step" if name.startswith("workflow") and was is EXPECTED[name][0] else "node"
            assert told.out.startswith(f"{noun} {labels.name_of(path)} of run {was['id']}: ")
            assert was["nodes"][path]["state"] in told.out.splitlines()[0]
        page = command("show", was["id"], "--html", "page.html")
        assert (page.code, page.out) == (0, "")
        data = re.findall(r'id="data">(.*?)</script>', (workspace / "page.html").read_text(encoding="utf-8"))
        assert len(json.loads(data[0])["rows"]) == len(was["nodes"])


@pytest.mark.parametrize("name", SCENES)
def test_golden_runs_are_drawn(name: str, workspace: Path) -> None:
    sol = sol_for(name, workspace)
    for number, was in enumerate(EXPECTED[name], start=1):
        tree = load(sol, was["id"]).tree
        graph = tree.to_networkx()
        assert set(graph) == set(was["nodes"])
        assert graph.number_of_edges() == len(was["nodes"]) - 1
        assert {path: data["state"] for path, data in graph.nodes.items()} == {
            path: node["state"] for path, node in was["nodes"].items()
        }
        started = Counter(node for type_, node, _ in rows(name, number) if type_ == "started")
        assert Counter(span.path for span in tree.timeline()) == started
        diagram, dot = tree.to_mermaid(), tree.to_dot()
        if was["kind"] == "tree" or WORKFLOWS_ARE_DRAWN:
            assert "damaged" not in diagram + dot
            assert diagram.count(":::") == dot.count("label=") == len(was["nodes"])
            assert diagram.count("-->") + diagram.count("-.->") == dot.count(" -> ") == len(was["nodes"]) - 1
        else:
            assert "damaged" in diagram
            assert "damaged" in dot


# --- take up again ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """How a golden run is taken up again, and what comes of it.

    Attributes:
        first: A request to post before: kind, node, and its text or note.
        more: Further settings of the `Sol`.
        max_steps: Most steps from now on.
        calls: Node, kind and number of each delivery to a Luna; nothing else is done again.
        spent: Calls of the whole run at its end.
        result: Of the run; for a workflow the answer of its last step.
    """

    first: tuple[str, str, str] | None = None
    more: dict[str, Any] = field(default_factory=dict)
    max_steps: int | None = None
    calls: list[str]
    spent: int
    result: Any


def hut(of: Mapping[str, str], *, answer: str = "") -> dict[str, Any]:
    """The result of a hut: what was done by part; the answer is that of the newest."""
    return {path: {"did": did, "answer": answer if path == "1" else ""} for path, did in of.items()}


PLANKS, SHINGLES = "cut the planks of the walls", "lay the shingles of the roof slowly"
ROOFED = hut({"0": PLANKS, "1": SHINGLES})
LAST = "last went well. [LAST:1]"
AGAIN: dict[str, Again] = {
    "tree-failed": Again(
        first=("retry", "1", "There is dry wood in the barn."),
        calls=["1/attempt/2"],
        spent=13,
        result=hut({"0": PLANKS, "1": "hang the door of the hut"}),
    ),
    "tree-waiting": Again(
        first=("answer", "1", "green"),
        calls=["1/attempt/2"],
        spent=9,
        result=hut({"0": PLANKS, "1": "paint the door of the hut"}, answer="green"),
    ),
    "tree-exhausted": Again(
        more={"budget": {"calls": 50}},
        calls=["00/attempt/2", "01/attempt/2", "10/attempt/2", "11/attempt/2"],  # the first were never begun
        spent=7,
        result=[7, 7, 7, 7],
    ),
    "tree-timed": Again(more={"budget": {"seconds": 600}}, calls=["1/attempt/2"], spent=9, result=ROOFED),
    "tree-interrupted": Again(calls=["1/attempt/2"], spent=9, result=ROOFED),
    "tree-killed": Again(calls=["1/attempt/1"], spent=8, result=ROOFED),
    "tree-late": Again(first=("retry", "1", "Take your time."), calls=["1/attempt/2"], spent=9, result=ROOFED),
    "isolated-killed": Again(calls=["/merge/2"], spent=9, result={"0": "door", "1": "lamp"}),
    "workflow-waiting": Again(
        first=("answer", "last#1", "green"), calls=["last#1/attempt/2"], spent=8, result="last went green. [LAST:1]"
    ),
    "workflow-limited": Again(
        max_steps=12,
        calls=["check#1/look#1/attempt/1", "check#1/measure#1/attempt/1", "last#1/attempt/1"],
        spent=7,
        result=LAST,
    ),
    "workflow-aborted": Again(
        first=("retry", "plan#1", "It is about a boat."),
        calls=[
            "check#1/look#1/attempt/1",
            "check#1/measure#1/attempt/1",
            "last#1/attempt/1",
            "plan#1/attempt/2",
            "reviews#1/facts/attempt/1",
            "reviews#1/slow/attempt/1",
            "reviews#1/style/attempt/1",
        ],
        spent=8,
        result=LAST,
    ),
    "workflow-killed": Again(
        calls=[
            "check#1/look#1/attempt/1",
            "check#1/measure#1/attempt/1",
            "last#1/attempt/1",
            "reviews#1/slow/attempt/1",
        ],
        spent=7,
        result=LAST,
    ),
    "workflow-solve-killed": Again(calls=["1/attempt/1", "last#1/attempt/1"], spent=11, result=LAST),
}


def noted(workspace: Path) -> list[str]:
    """Keys of all deliveries to Lunas since the journal was put back."""
    return (workspace / "calls.txt").read_text(encoding="utf-8").split()


def calls_of(keys: Iterable[str]) -> list[str]:
    """Keys without the run's id, in alphabetical order."""
    return sorted(key.partition("/")[2] for key in keys)


@pytest.mark.parametrize("name", AGAIN)
def test_golden_runs_go_on_where_they_were_and_do_nothing_twice(name: str, workspace: Path) -> None:
    again, was = AGAIN[name], EXPECTED[name][0]
    mender = Mender(clash=True)
    own = {"worker": mender} if SCENES[name].repository else {}
    if not own:
        (workspace / "go").touch()
    sol = sol_for(name, workspace, **own, **again.more)
    if again.first is not None:
        kind, node, text = again.first
        assert ask(sol, was["id"], kind, node=node, **{"note" if kind == "retry" else "text": text}) == "done"
    run = resume(sol, was["id"], max_steps=again.max_steps)
    assert (run.status, run.reason, run.result) == ("success", "", again.result)
    assert (calls_of(mender.calls) if own else calls_of(noted(workspace))) == again.calls
    assert run.spent.calls == again.spent

    read_again = load(sol_for(name, workspace), was["id"])
    assert nodes_of(read_again) == nodes_of(run)
    before = rows(name)
    assert history(read_again)[: len(before)] == before
    assert len(history(read_again)) > len(before)


@pytest.mark.parametrize("name", ["isolated-killed"])
def test_golden_merge_that_was_cut_off_brings_all_work_home(name: str, workspace: Path) -> None:
    sol = sol_for(name, workspace)
    assert resume(sol, EXPECTED[name][0]["id"]).solved
    files = read(workspace)
    files.pop("golden.yaml")
    assert files == {"door.txt": "mended\n", "lamp.txt": "mended\n", "log.txt": "monday\ndoor\nlamp\n"}
    assert git(workspace, "status", "--porcelain") == ""


@pytest.mark.parametrize("name", ["workflow-solve-killed"])
def test_golden_child_run_is_the_one_that_was_begun(name: str, workspace: Path) -> None:
    outer, child = EXPECTED[name]
    (workspace / "go").touch()
    sol = sol_for(name, workspace)
    run = resume(sol, outer["id"])
    assert run.tree["solve#1"].partial == {"run": child["id"]}
    found = load(sol, child["id"])
    assert (found.status, found.result) == ("success", run.tree["solve#1"].result)
    assert history(found)[: len(rows(name, 2))] == rows(name, 2)


@pytest.mark.parametrize("name", sorted(set(SCENES) - set(AGAIN) | {"tree-late", "tree-failed", "workflow-aborted"}))
def test_golden_runs_that_have_ended_are_not_taken_up(name: str, workspace: Path) -> None:
    sol = sol_for(name, workspace)
    for was in EXPECTED[name]:
        with pytest.raises(ConflictError, match="There is nothing to resume"):
            resume(sol, was["id"])

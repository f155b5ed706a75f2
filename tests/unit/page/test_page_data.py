"""What a page is made of: rows, bars, histories; all of it plain JSON of limited size."""

import json
from pathlib import Path
from typing import Any

import pytest

from sol.engine.reading import read_anyway
from sol.page import page_data
from sol.page.data import EVENTS, ITEMS, history, history_room
from sol.tree import effects as f
from sol.tree import events as e
from sol.tree.events import Event
from sol.tree.node import State, TaskNode, Tree
from sol.tree.values import CheckResult, CriterionData, ExpectedData, ProgressData, ReportData, WorkerData
from tests.support.countdown import Spawned
from tests.support.hostile import damaged, monster
from tests.support.pages import a_sol, about, builder, failing
from tests.support.runs import task
from tests.support.trees import a_node, chain, grown, run

PARENT, SUFFIX, STATE, KIND, TITLE, DETAIL, DOING, WORKER, ATTEMPTS, DIMENSION, SPLITS, CHECKS, SPENT = range(13)


async def data_of(tmp_path: Path, **scripts: Any) -> dict[str, Any]:
    sol = a_sol(tmp_path, builder(**scripts))
    done = await sol.asolve(task("build the wall"))
    async with sol.open_journal() as journal:
        events: list[Event] = []
        read = await read_anyway(journal, done.kind.reading, done.id, on_events=events.extend)
    return page_data(read.state, events, about(run_id=done.id, status=done.status))


def sections(told: dict[str, Any]) -> dict[str, list[list[str]]]:
    return dict(told["sections"])


async def test_rows_name_the_row_above_them_and_what_they_add_to_its_path(tmp_path: Path) -> None:
    data = await data_of(tmp_path)
    rows = data["rows"]
    assert [(row[PARENT], row[SUFFIX]) for row in rows] == [(-1, [""]), (0, "0"), (0, "1"), (1, "0"), (1, "1")]
    assert [row[TITLE] for row in rows][:2] == ["build the wall", "lay the bricks"]
    assert {row[STATE] for row in rows} == {"success"}
    assert rows[0][DIMENSION] == "data_logic"
    assert rows[3][SPENT][1] == 1200
    assert rows[3][ATTEMPTS] == 1


async def test_spans_say_who_was_at_work_when_and_what_the_run_had_to_wait_for(tmp_path: Path) -> None:
    data = await data_of(tmp_path)
    spans = data["spans"]
    assert spans[0][:4] == [0, "attempt", 1, 0.0]
    assert all(start <= end for _, _, _, start, end, _ in spans)
    assert any(critical for *_, critical in spans)
    assert sum(kind == "attempt" for _, kind, *_ in spans) == 5


async def test_history_tells_assignment_report_checks_and_the_rule_that_decided(tmp_path: Path) -> None:
    data = await data_of(tmp_path)
    told = sections(data["histories"][3])
    assert ["Goal", "the lower rows", ""] in told["Assignment"]
    assert ["Summary", "done", ""] in told["Last report"]
    assert told["Checks"] == [["holds", "done: the lower rows\nseen", "good"]]
    assert any("SUCCESS → validate" in text for _, text, _ in told["Decisions"])
    assert told["Result"] == [["", '{"goal": "the lower rows"}', "code"]]
    words = [line for _, _, lines, _ in data["histories"][3]["events"] for line in lines]
    assert any("attempt 1 reported SUCCESS" in line for line in words)
    assert any("trowel the lower rows" in line for line in words)


async def test_history_of_a_failure_tells_why(tmp_path: Path) -> None:
    data = await data_of(tmp_path, rows=failing("there are no bricks"))
    told = sections(data["histories"][3])
    assert told["Result"] == [["Reason", "there are no bricks", ""]]
    assert ["premise", "FAILED", "bad"] in told["Last report"]
    assert data["rows"][3][DETAIL] == "there are no bricks"


def test_node_at_work_says_what_it_does() -> None:
    tree = grown(3)
    run(tree, "0", "split")
    said = e.Progressed(kind="split", n=1, event=ProgressData("said", text="two halves"))
    rows = page_data(tree, [Event("0", said)], about())["rows"]
    assert rows[1][DOING] == "looking for a split"
    assert rows[2][DOING] == ""


def test_about_tells_limits_and_what_was_spent() -> None:
    tree = grown(3)
    strategy = {"name": "halve", "budget": {"calls": 7, "tokens": None}, "max_depth": 4}
    tree.started = e.RunStarted(strategy=strategy, worker=WorkerData("command"))
    tree.spent.calls = 3
    found = page_data(tree, [], about(status="killed", held_by=None))["about"]
    assert (found["status"], found["strategy"], found["budget"], found["maxDepth"]) == (
        "killed",
        "halve",
        {"calls": 7},
        4,
    )
    assert found["spent"]["calls"] == 3


def test_run_without_nodes_has_a_page() -> None:
    data = page_data(Tree(), [], about(status="pending"))
    assert (data["rows"], data["spans"], data["histories"]) == ([], [], [])


@pytest.mark.case("NB-02")
def test_hostile_large_and_deep_tree_stays_small() -> None:
    data = page_data(monster({"long": "x" * 10_000_000}), [], about())
    text = json.dumps(data)
    assert len(data["rows"]) == len(data["histories"]) > 23_000
    assert len(text) < 40_000_000
    assert "\\u001b" not in text


@pytest.mark.case("NB-02")
def test_damaged_tree_has_each_row_below_an_older_one() -> None:
    rows = page_data(damaged(), [], about())["rows"]
    assert rows[0][PARENT] == -1
    assert all(0 <= row[PARENT] < place for place, row in enumerate(rows) if place)


def test_deep_tree_costs_no_more_for_its_depth() -> None:
    rows = page_data(chain(3_000), [], about())["rows"]
    assert max(len(json.dumps(row)) for row in rows) < 400


# --- one history ----------------------------------------------------------------------------------------------------


def told_of(node: TaskNode, events: list[Event] | None = None, characters: int = 400) -> dict[str, Any]:
    return history(node, events or [], began=10.0, characters=characters)


def test_history_keeps_lines_and_cuts_what_is_too_long() -> None:
    told = sections(told_of(a_node(result="one\ntwo\x1b[31m" + "x" * 1000)))
    (_, text, _) = told["Result"][0]
    assert text.startswith("one\ntwoxxx")
    assert text.endswith("… (612 more characters)")


def test_history_counts_the_events_it_leaves_out() -> None:
    events = [Event("", e.Stopped(n), 10.0 + n) for n in range(EVENTS + 30)]
    told = told_of(a_node(), events)
    assert told["leftOut"] == 30
    assert [one[0] for one in told["events"]] == [*range(EVENTS // 2), *range(EVENTS // 2 + 30, EVENTS + 30)]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (Event("", e.Created(e.AssignmentChanges())), "created"),
        (Event("", e.Queued("split", 2)), "split 2 waits for its turn"),
        (Event("", e.Analysed("drift", "lost")), "stuck because of drift: lost"),
        (Event("", e.RunStatus("waiting")), "the run is waiting"),
        (Event("", e.Progressed("attempt", 1, event=ProgressData("note", text="alive"))), "alive"),
        (Event("", e.Progressed("attempt", 1, event=ProgressData("spent"))), "sign of life"),
        (Event("", e.Dropped(())), "dropped"),
        (Event("", Spawned("n1", 3)), "spawned: parent: n1, number: 3"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value.type),
)
def test_every_event_has_words(event: Event, words: str) -> None:
    assert told_of(a_node(), [event])["events"][0][2] == [words]


def test_history_has_a_section_for_whatever_there_is() -> None:
    node = a_node(
        state=State.WAITING,
        question="which\nbrick?",
        notes=("the lamp is out",),
        partial={"0": "half", "1": None},
        reassessment=f.ReassessAnswer("goal_impossible", "ask", "so"),
        integration=f.IntegrateAnswer(
            1,
            "put together",
            {"goal_met": f.IntegrationCheck(ok=False, note="no"), "nothing_open": f.IntegrationCheck(ok=None)},
            ("the roof",),
        ),
        checks=(
            CheckResult("a schema", "json_schema", ok=False, detail="too short"),
            CheckResult("x", "text", ok=None),
        ),
        decisions=(
            e.Decided("report", 1, condition="STUCK", next="split", read={"a": 1}, reason="so"),
            e.Decided("rules"),
        ),
        report=ReportData(
            "STUCK", kind="drift", blocker="lost", question="where?", unknown=("the way",), suggestions={"a": 1}
        ),
    )
    found = sections(told_of(node))
    assert found["Question"] == [["", "which\nbrick?", ""]]
    assert ["Note", "the lamp is out", ""] in found["Assignment"]
    assert found["Stored parts"] == [["0", "half", ""]]
    assert ["finding", "goal_impossible", ""] in found["Reassessment"]
    assert ["goal met: does not hold", "no", "bad"] in found["Integration"]
    assert ["Left open", "the roof", "open"] in found["Integration"]
    assert found["Checks"] == [["does not hold", "a schema\ntoo short", "bad"], ["not checked", "x", "open"]]
    assert found["Decisions"][0] == ["report, rule 2", 'STUCK → split\nso\nread {"a": 1}', ""]
    assert found["Decisions"][1] == ["rules", "no rule", ""]
    assert ["Unknown", "the way", ""] in found["Last report"]
    assert ["Suggestions", '{"a": 1}', "code"] in found["Last report"]


def test_assignment_shows_what_belongs_to_its_fields() -> None:
    node = a_node(
        expected_output=ExpectedData("Lines", files=("out.txt",)),
        success_criteria=(CriterionData(command=("true",)), *(CriterionData(text=str(n)) for n in range(ITEMS + 5))),
        inputs={"list": list(range(60))},
        worker=WorkerData("command", {"command": "x"}),
    )
    found = sections(told_of(node))
    rows = found["Assignment"]
    assert ["Expected output", 'Lines\n{"files": ["out.txt"]}', ""] in rows
    assert ["Success criteria", '{"command": ["true"]}', "code"] in rows
    assert ["", "… and 6 more", "open"] in rows
    assert next(text for label, text, _ in rows if label == "Input list").startswith("[\n  0,\n  1")
    assert ["Worker", '{"kind": "command", "options": {"command": "x"}}', "code"] in rows


def test_larger_trees_leave_less_room_for_each_text() -> None:
    assert (history_room(1), history_room(2_000), history_room(1_000_000)) == (20_000, 6_000, 400)

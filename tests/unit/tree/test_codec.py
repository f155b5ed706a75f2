"""Events as the journal holds them: what is written comes back, and so does what version 1 wrote.

`version1.json` holds runs as the version that stored every event as a record of its own made them: type, node, data.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from msgspec import inspect

from sol.core.decide import TreeReading
from sol.errors import StoreError
from sol.journal import Record
from sol.tree import effects as f
from sol.tree import events as e
from sol.tree.codec import COMMON, TASK_EVENTS, plain_event
from sol.tree.effects import Kind
from sol.tree.events import Event, EventType, Payload
from sol.tree.fold import fold
from sol.tree.values import AnswerValue, CriterionData, ReportData, SplitAnswer, Usage
from tests.support.core import Scenario, fact, reread, stored, stuck, success

CODEC = TreeReading.codec
RUNS: Final[list[list[tuple[str, str, dict[str, Any]]]]] = json.loads(
    (Path(__file__).parent / "version1.json").read_text(encoding="utf-8")
)
CLASSES = {one.TYPE: one for one in (*COMMON, *TASK_EVENTS)}
ANSWERS: Mapping[Kind, tuple[type[AnswerValue], ...]] = {
    Kind.ATOMIC: (f.AtomicAnswer,),
    Kind.JUDGE: (f.JudgeAnswer,),
    Kind.SPLIT: (SplitAnswer, f.CannotSplit),
    Kind.REVIEW: (f.Judged,),
    Kind.MERGE: (f.MergeAnswer, f.IntegrateAnswer),
    Kind.INTEGRATE: (f.IntegrateAnswer,),
    Kind.APPLY: (f.ApplyAnswer,),
    Kind.REASSESS: (f.ReassessAnswer,),
    Kind.RULE: (f.Judged,),
    Kind.FILE: (f.FileAnswer,),
}


def filled(kind: object) -> Any:
    """A value of a type, with something in every field."""
    info = inspect.type_info(kind) if not isinstance(kind, inspect.Type) else kind
    match info:
        case inspect.StructType(cls) if cls is CriterionData:
            return CriterionData(command=("sort", "-u"), exit_code=2, timeout_s=3.5, new=False)
        case inspect.StructType(cls, fields):
            return cls(**{one.name: filled(one.type) for one in fields})
        case inspect.UnionType(types):
            return filled(next(one for one in types if not isinstance(one, inspect.NoneType)))
        case inspect.VarTupleType(item):
            return (filled(item), filled(item))
        case inspect.TupleType(items):
            return tuple(filled(item) for item in items)
        case inspect.DictType(key, value):
            return {filled(key): filled(value)}
        case inspect.BoolType():
            return True
        case inspect.IntType():
            return 7
        case inspect.FloatType():
            return 2.5
        case inspect.AnyType():
            return {"é “\n": [1, None, 2.5, True, ["x"]]}
        case _:
            return "a “word”\n"


def record(type_: str, data: bytes, *, node: str = "0", then: bytes = b"") -> Record:
    return Record(41, 5.0, type_, node, data, then)


def there_and_back(*events: Event) -> list[Event]:
    return CODEC.unfold(Record(1, events[0].t, *CODEC.encode(events)))


# --- what is written comes back --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_event_comes_back_with_every_field(name: str) -> None:
    sent = Event("01", filled(CLASSES[name]), 3.25)
    assert there_and_back(sent) == [sent]
    assert type(there_and_back(sent)[0].data) is CLASSES[name]


@pytest.mark.parametrize(("kind", "answer"), [(kind, one) for kind, answers in ANSWERS.items() for one in answers])
def test_answer_comes_back_as_the_class_that_its_kind_has(kind: Kind, answer: type[AnswerValue]) -> None:
    value = filled(answer)
    sent = Event("", e.Answer(kind=str(kind), n=2, answer=value, usage=filled(Usage), seconds=1.5, snapshot="s"), 1.0)
    (found,) = there_and_back(sent)
    assert found == sent
    assert isinstance(found.data, e.Answer)
    assert type(found.data.answer) is answer


OUTCOMES = (e.Reported, e.Checked, e.Lost, e.Interrupted)


@pytest.mark.case("PAR-04")
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_late_outcome_of_each_kind_comes_back(outcome: type[e.Outcome]) -> None:
    sent = Event("0", e.Late(filled(outcome)), 1.0)
    assert there_and_back(sent) == [sent]
    assert plain_event(sent)["was"] == outcome.TYPE


@pytest.mark.case("PAR-04")
def test_late_answer_comes_back_as_the_class_that_its_kind_has() -> None:
    sent = Event("", e.Late(e.Answer(kind="land", n=1, answer=filled(f.ApplyAnswer))), 1.0)
    assert there_and_back(sent) == [sent]


def test_all_outcomes_are_covered() -> None:
    assert set(OUTCOMES) == {one for one in CLASSES.values() if issubclass(one, e.Outcome)}
    assert {*CLASSES, EventType.ANSWER, EventType.LATE} == set(EventType)


def test_results_that_are_alike_are_not_one_object() -> None:
    row = record("reported", b'{"kind":"attempt","n":1,"report":{"status":"SUCCESS","result":[1]}}')
    for _ in range(2):
        (event,) = CODEC.unfold(row)
        assert isinstance(event.data, e.Reported)
        assert event.data.report.result == [1]
        event.data.report.result.append(2)


def test_transition_comes_back_in_order_with_its_time() -> None:
    sent = [
        Event("", filled(e.Checked), 9.0),
        Event("0", filled(e.Created), 9.0),
        Event("", e.Late(filled(e.Lost)), 9.0),
        Event("", e.Answer(kind="split", n=1, answer=f.CannotSplit("one piece")), 9.0),
        Event("é", filled(e.Settled), 9.0),
    ]
    assert there_and_back(*sent) == sent
    alone = CODEC.encode(sent[:1])
    assert (alone.type, alone.node, alone.then) == ("checked", "", b"")


def test_fields_that_say_nothing_are_not_written() -> None:
    sent = Event("", e.Reported(kind="attempt", n=1, report=ReportData("SUCCESS", summary="done")))
    assert plain_event(sent) == {"kind": "attempt", "n": 1, "report": {"status": "SUCCESS", "summary": "done"}}
    assert plain_event(Event("", e.Started("attempt", 1))) == {"kind": "attempt", "n": 1}


# --- version 1 -------------------------------------------------------------------------------------------------------


def test_version_1_runs_have_every_type_and_every_outcome_that_came_late() -> None:
    rows = [row for run in RUNS for row in run]
    assert {type_ for type_, _, _ in rows} == {str(one) for one in EventType}
    assert {data["was"] for type_, _, data in rows if type_ == EventType.LATE} == {
        "reported",
        "checked",
        "answer",
        "lost",
        "interrupted",
    }
    answered = {data["kind"] for type_, _, data in rows if type_ == EventType.ANSWER}
    assert answered == {str(kind) for kind in ANSWERS} - {"file"}
    told = {data["event"]["type"] for type_, _, data in rows if type_ == EventType.PROGRESSED}
    assert told == {"action", "progress", "partial", "spent", "waiting", "said", "compacted"}


@pytest.mark.parametrize("run", RUNS)
def test_version_1_rows_are_read_and_nothing_that_they_say_is_lost(run: list[tuple[str, str, dict[str, Any]]]) -> None:
    for type_, node, data in run:
        read = fact(type_, node, data)
        assert read.type == type_
        assert there_and_back(read) == [read]
        assert says(plain_event(read)) == says(data), (type_, node)


def says(value: Any) -> Any:
    """A JSON value without fields that say nothing or what is meant anyway."""
    if isinstance(value, dict):
        kept = {name: says(one) for name, one in value.items()}
        return {n: one for n, one in kept.items() if one not in (None, "", [], {}, 0, False) and (n, one) not in MEANT}
    return [says(one) for one in value] if isinstance(value, list) else value


MEANT = [("reported", True)]


@pytest.mark.parametrize("run", RUNS)
def test_version_1_runs_fold_into_what_they_were(run: list[tuple[str, str, dict[str, Any]]]) -> None:
    tree = fold(fact(*row) for row in run)
    statuses = [data["status"] for type_, _, data in run if type_ == EventType.RUN_STATUS]
    settled = {node: data["state"] for type_, node, data in run if type_ in {EventType.SETTLED, EventType.REOPENED}}
    for path, state in settled.items():
        if run_again(run, path):
            assert str(tree.nodes[path].state) == state
    if run[-1][0] == EventType.RUN_STATUS:
        assert tree.status == statuses[-1]
    assert [node.parent for node in tree.nodes.values()] == [path[:-1] for path in tree.nodes]


def run_again(run: list[tuple[str, str, dict[str, Any]]], path: str) -> bool:
    """Whether the end of a node, or that it was opened again, is the last that is known of its state."""
    own = [type_ for type_, node, _ in run if node == path and type_ not in {EventType.RUN_STATUS, EventType.LATE}]
    return own[-1] in {EventType.SETTLED, EventType.REOPENED}


# --- what cannot be read ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "data"),
    [
        ("started", b'{"kind":"attempt"'),
        ("started", b'{"kind":"attempt"}'),
        ("started", b'{"kind":"attempt","n":"one"}'),
        ("started", b"[]"),
        ("started", b"\xff"),
        ("started", b""),
        ("answer", b'{"kind":"split","n":1,"answer":{"holds":true}}'),
        ("answer", b'{"kind":"juggle","n":1,"answer":{"holds":true}}'),
        ("answer", b'{"kind":"split","n":1,"answer":7}'),
        ("reported", b'{"kind":"attempt","n":1,"report":{"summary":"done"}}'),
        ("created", b'{"assignment":{"success_criteria":[{"smell":"good"}]}}'),
        ("late", b'{"was":"settled","state":"success"}'),
        ("late", b'{"kind":"attempt","n":1}'),
        ("late", b'{"was":"late"}'),
        ("melted", b"{}"),
    ],
)
def test_row_that_cannot_be_read_is_named(type_: str, data: bytes) -> None:
    with pytest.raises(StoreError, match=r"Event 41 of the journal .*newer sol-luna"):
        CODEC.unfold(record(type_, data))


@pytest.mark.parametrize("then", [b"[", b"{}", b'[["melted","0",{}]]', b'[["settled","0",{}]]', b'[["settled","0"]]'])
def test_row_whose_sequel_cannot_be_read_is_named(then: bytes) -> None:
    with pytest.raises(StoreError, match=r"Event 41 of the journal"):
        CODEC.unfold(record("budget_hit", b'{"what":"seconds","limit":5.0}', then=then))


def test_field_that_a_newer_version_added_is_passed_over() -> None:
    (event,) = CODEC.unfold(record("settled", b'{"state":"success","colour":"red"}'))
    assert event == Event("0", e.Settled("success"), 5.0)


# --- whole runs ------------------------------------------------------------------------------------------------------


def test_live_events_equal_what_is_read() -> None:
    run = Scenario()
    run.reports(stuck(unknown=["why", "when"], suggestions={"tasks": ["buy bricks"]}))
    run.splits("find red", {"goal": "find blue", "claim": "testable", "success_criteria": [{"ai": "is it blue?"}]})
    run.reports(success({"n": [1, 2.0, None]}, evidence=["seen"]), "0")
    assert reread(run.transitions) == run.events
    assert all(isinstance(one.data, Payload) for one in reread(run.transitions))
    assert [json.loads(one.then or b"[]") for one in stored(run.transitions)] == [
        [[one.type, one.node, plain_event(one)] for one in transition[1:]] for transition in run.transitions
    ]
    assert msgspec.json.decode(stored(run.transitions)[0].data) == plain_event(run.events[0])

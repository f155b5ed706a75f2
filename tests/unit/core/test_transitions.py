"""Transitions: a fact with all that follows from it is one record, and the events of all of them are one sequence."""

from sol.engine.step import take
from sol.tree.events import EventType
from tests.support.core import Scenario, fact, failed, parts, reread, stored, stuck, success


def test_records_hold_what_always_was_the_order_of_events() -> None:
    """The list is what the core made of these facts when each event was a record of its own."""
    run = Scenario(concurrency=1)
    run.reports(stuck("two causes"))
    run.splits("find red", "find blue", "find green")
    run.splits("find red", "find blue")
    run.reports(success(), "0")
    run.reports(stuck(""), "1")
    run.judges(True, path="0")
    run.lose("1")
    run.resume()
    run.reports(success(), "1")
    run.judges(True, path="1")
    run.answers(parts([1, 2]))
    run.judges(True)
    told = """
        :run_started :created :started
        :reported :stopped :analysed :decided :started
        :answer :refused :started
        :answer :split 0:created 1:created 1:queued 0:started
        0:reported 0:decided 0:checked 0:queued 1:started
        1:reported 1:stopped 1:queued 0:started
        0:answer 0:decided 0:settled 1:started
        1:lost 1:settled :settled :run_status
        :resumed :reopened 1:reopened 1:started
        1:reported 1:decided 1:checked 1:started
        1:answer 1:decided 1:settled :decided :started
        :answer :checked :started
        :answer :decided :settled :run_status
    """
    lines = [line.split() for line in told.strip().splitlines()]
    assert [[f"{one.node}:{one.type}" for one in transition] for transition in run.transitions] == lines
    assert reread(run.transitions) == run.events
    assert [(record.node, record.type) for record in stored(run.transitions)] == [
        (one[0].node, one[0].type) for one in run.transitions
    ]


def test_node_takes_two_or_three_records() -> None:
    run = Scenario(max_depth=3, concurrency=64)
    while run.doing:
        path, kind = run.doing[0].split(":")
        match kind:
            case "attempt":
                run.reports(stuck() if len(path) < 3 else success(), path)
            case "split":
                run.splits(f"find red in box 1{path}", f"find blue in box 2{path}", path=path)
            case "integrate":
                run.answers(parts(), path)
            case _:
                run.judges(True, path=path)
    assert (run.status, len(run.tree.nodes)) == ("success", 15)
    assert 2 <= len(run.transitions) / len(run.tree.nodes) <= 3
    assert 11 <= len(run.events) / len(run.tree.nodes) <= 13


def test_effect_that_starts_in_the_step_which_wants_it_was_never_queued() -> None:
    run = Scenario(concurrency=1)
    run.reports(stuck())
    assert EventType.QUEUED not in run.types()
    run.splits("find red", "find blue")
    assert run.types("0") == ["created", "started"]
    assert run.types("1") == ["created", "queued"]


def test_facts_of_one_step_have_a_transition_each_and_what_they_let_start_is_in_the_last() -> None:
    run = Scenario()
    run.reports(stuck())
    run.splits("find red", "find blue")
    outcomes = [run.outcome(EventType.REPORTED, path, report=failed()) for path in ("0", "1")]
    run.send(*outcomes)
    first, second = run.last.transitions
    assert [one.type for one in first] == ["reported", "stopped", "analysed", "decided", "settled"]
    assert [(one.node, one.type) for one in second[-2:]] == [("", "decided"), ("", "started")]
    assert {one.node for one in first} == {"0"}
    assert {one.t for one in (*first, *second)} == {run.now}


def test_step_without_a_fact_that_counts_has_nothing_to_record() -> None:
    run = Scenario()
    done = take(run.program, run.tree, [fact(EventType.ANSWERED, "", {"text": "yes"})], now=1.0)
    assert (done.transitions, done.events, done.commands) == ([], [], [])

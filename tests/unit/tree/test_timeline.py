import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sol.tree.events import Event, EventType, Progressed, Resumed
from sol.tree.node import Node
from sol.tree.timeline import Span, timeline
from sol.tree.values import ProgressData
from tests.support.core import fact, parts
from tests.support.trees import a_node

START, END = EventType.STARTED, EventType.REPORTED
NODES: Mapping[str, Node] = {path: a_node(path) for path in ("", "0", "1", "00", "01", "10")}
_ENDS: Mapping[EventType, dict[str, Any]] = {
    EventType.REPORTED: {"report": {"status": "SUCCESS"}},
    EventType.CHECKED: {"results": []},
    EventType.LOST: {"lost": "killed", "reason": "gone"},
    EventType.LATE: {"was": "lost", "lost": "killed", "reason": "gone"},
    EventType.INTERRUPTED: {"cause": "interrupt", "reason": "stopped"},
    EventType.ANSWER: {"answer": parts()},
}


def event(type_: EventType, path: str, t: float, kind: str = "attempt", n: int = 1) -> Event:
    kind = "integrate" if type_ == EventType.ANSWER else kind
    found = fact(type_, path, {"kind": kind, "n": n, **_ENDS.get(type_, {})})
    return Event(found.node, found.data, t)


def said(path: str, t: float) -> Event:
    return Event(path, Progressed(kind="attempt", n=1, event=ProgressData("spent")), t)


def critical(spans: list[Span]) -> list[str]:
    return [f"{span.path}:{span.kind}" for span in spans if span.critical]


def test_timeline_of_nothing_is_empty() -> None:
    assert timeline([], {}) == []
    assert timeline([Event("", Resumed(), 1.0)], NODES) == []


def test_timeline_has_a_span_from_each_start_to_its_outcome() -> None:
    spans = timeline(
        [
            event(START, "", 10.0),
            event(END, "", 12.5),
            event(START, "", 12.5, "check"),
            event(EventType.CHECKED, "", 13.0, "check"),
        ],
        NODES,
    )
    assert spans == [
        Span("", "attempt", 1, 10.0, 12.5, ended=True, critical=True),
        Span("", "check", 1, 12.5, 13.0, ended=True, critical=True),
    ]
    assert spans[0].seconds == 2.5


def test_timeline_lets_what_is_at_work_end_with_the_newest_event() -> None:
    spans = timeline([event(START, "", 1.0), said("", 4.0)], NODES)
    assert spans == [Span("", "attempt", 1, 1.0, 4.0, ended=False, critical=True)]


def test_critical_path_follows_what_started_the_last_one() -> None:
    spans = timeline(
        [
            event(START, "", 0.0),
            event(END, "", 1.0),
            event(START, "0", 1.0),
            event(START, "1", 1.0),
            event(END, "1", 2.0),
            event(END, "0", 5.0),
            event(START, "", 5.0, "integrate"),
            event(EventType.ANSWER, "", 6.0, "integrate"),
        ],
        NODES,
    )
    assert critical(spans) == [":attempt", "0:attempt", ":integrate"]


def test_critical_path_prefers_what_is_near_in_the_tree_among_outcomes_of_one_step() -> None:
    spans = timeline(
        [
            event(START, "00", 0.0),
            event(START, "10", 0.0),
            event(END, "00", 3.0),
            event(END, "10", 3.0),
            event(START, "00", 3.0, "check"),
            event(EventType.CHECKED, "00", 4.0, "check"),
        ],
        NODES,
    )
    assert critical(spans) == ["00:attempt", "00:check"]


def test_critical_path_bridges_a_pause_by_what_ended_last() -> None:
    spans = timeline(
        [
            event(START, "0", 0.0),
            event(START, "1", 0.0),
            event(END, "0", 1.0),
            event(EventType.INTERRUPTED, "1", 2.0),
            event(START, "1", 100.0, n=2),
            event(END, "1", 101.0, n=2),
        ],
        NODES,
    )
    assert [(span.path, span.n) for span in spans if span.critical] == [("1", 1), ("1", 2)]
    assert spans[1].ended


def test_timeline_takes_an_effect_that_was_started_again_for_one_more() -> None:
    spans = timeline([event(START, "", 1.0), event(START, "", 5.0), event(END, "", 6.0)], NODES)
    assert [(span.start, span.end, span.ended, span.critical) for span in spans] == [
        (1.0, 5.0, True, True),
        (5.0, 6.0, True, True),
    ]


def test_timeline_ignores_an_outcome_of_what_was_never_started() -> None:
    assert timeline([event(END, "", 1.0)], NODES) == []


@pytest.mark.parametrize("step", [0.0, 1.0], ids=["clock stands still", "clock runs"])
def test_timeline_of_many_effects_is_fast(step: float) -> None:
    events = []
    for number in range(20_000):
        events.append(event(START, "0" * (number % 50), number * step, n=number))
        events.append(event(END, "0" * (number % 50), (number + 1) * step, n=number))
    began = time.process_time()
    assert len(timeline(events, {one.node: a_node(one.node) for one in events})) == 20_000
    assert time.process_time() - began < 30  # of processor time; with the square of the effects it would be minutes


@given(
    st.lists(
        st.tuples(
            st.sampled_from([START, *_ENDS]), st.sampled_from(["", "0", "01"]), st.integers(0, 3), st.floats(0, 1e6)
        ),
        max_size=40,
    )
)
def test_timeline_never_fails_and_its_spans_never_run_backwards(items: list[tuple[EventType, str, int, float]]) -> None:
    spans = timeline([event(type_, path, t, n=n) for type_, path, n, t in items], NODES)
    assert len(spans) == sum(type_ == START for type_, *_ in items)
    assert all(span.seconds >= 0 for span in spans)
    assert any(span.critical for span in spans) == bool(spans)

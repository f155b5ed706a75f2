"""Pure repetition always fires, honest progress never does, whatever the legal settings."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luna.monitor import Alarm, Monitors, MonitorSettings
from luna.monitor.repetition import Cycles
from luna.protocol import Action, Note, Partial, Progress, ProgressEvent, Said, Stage, StuckKind, Waiting
from tests.support.assignments import assignment
from tests.support.monitoring import OFF

ASSIGNMENT = assignment()
NOISE = st.lists(st.just(Note(text="heartbeat")), max_size=2)


def monitors(**settings: Any) -> Monitors:
    return Monitors.from_settings(MonitorSettings(**settings), ASSIGNMENT)


def run(watch: Monitors, events: list[ProgressEvent]) -> tuple[int, Alarm | None]:
    for number, event in enumerate(events, 1):
        alarm = watch.see(event, float(number))
        if alarm is not None:
            return number, alarm
    return 0, None


@st.composite
def windows_and_limits(draw: st.DrawFn) -> tuple[int, int]:
    window = draw(st.integers(4, 40))
    return window, draw(st.integers(2, window))


def distinct(period: int) -> list[Action]:
    return [Action(name="do", arguments={"n": n}, observation=f"seen {n}") for n in range(period)]


@pytest.mark.req("S50")
@pytest.mark.case("LOOP-04", "LOOP-02")
@given(pair=windows_and_limits(), data=st.data())
def test_pure_repetition_of_any_period_fires(pair: tuple[int, int], data: st.DataObject) -> None:
    window, limit = pair
    period = data.draw(st.integers(1, window // 2), label="period")
    before = [Action(name="before", arguments={"n": n}) for n in range(data.draw(st.integers(0, 30), label="before"))]
    noise = data.draw(NOISE)
    loop: list[ProgressEvent] = []
    for action in distinct(period) * (2 + limit):
        loop += [action, *noise]
    number, alarm = run(monitors(**{**OFF, "window": window, "repeat_limit": limit}), [*before, *loop])
    assert alarm is not None
    assert (alarm.kind, f"cycle length: {period}" in alarm.evidence) == (StuckKind.REPETITION, True)
    expected = period + max(period, limit - 1)
    assert number == len(before) + (expected - 1) * (1 + len(noise)) + 1


@pytest.mark.req("S50")
@given(pair=windows_and_limits(), data=st.data())
def test_texts_and_errors_repeated_fire_at_any_legal_setting(pair: tuple[int, int], data: st.DataObject) -> None:
    window, limit = pair
    period = data.draw(st.integers(1, window // 2))
    texts: list[ProgressEvent] = []
    for n in range(period * (2 + limit)):
        texts += [Said(text=f"text {n % period}"), Action(name="tool", observation=f"{n}")]
    alarm = run(monitors(**{**OFF, "window": window, "text_limit": limit}), texts)[1]
    assert alarm is not None
    errors: list[ProgressEvent] = [Action(name=f"try {n}", observation="same", error=True) for n in range(limit)]
    assert run(monitors(**{**OFF, "window": window, "error_limit": limit}), errors)[0] == limit


@pytest.mark.req("S50")
@given(items=st.lists(st.integers(0, 3), max_size=60), limit=st.integers(2, 6), longest=st.integers(1, 12))
def test_cycles_agree_with_their_definition(items: list[int], limit: int, longest: int) -> None:
    cycles = Cycles(limit=limit, longest=longest)
    for count, item in enumerate(items, 1):
        seen = items[:count]

        def reached(period: int, seen: list[int] = seen) -> bool:
            needed = max(period, limit - 1)
            last = range(len(seen) - needed, len(seen))
            return len(seen) >= needed + period and all(seen[i] == seen[i - period] for i in last)

        expected = next((period for period in range(1, longest + 1) if reached(period)), None)
        assert cycles.add(bytes([item])) == expected


@st.composite
def honest_streams(draw: st.DrawFn) -> tuple[int, list[ProgressEvent]]:
    """Any actions, never `patience` of them without news."""
    patience = draw(st.integers(1, 8))
    events: list[ProgressEvent] = []
    for facts in range(draw(st.integers(1, 12))):
        for _ in range(draw(st.integers(0, patience - 1))):
            name = draw(st.sampled_from(["read", "edit", "run"]))
            events.append(
                Action(name=name, observation=draw(st.sampled_from(["ok", "no", ""])), error=draw(st.booleans()))
            )
            if draw(st.booleans()):
                events.append(Note(text="running"))
        events.append(
            draw(
                st.sampled_from(
                    [
                        Progress(stage=draw(st.sampled_from(list(Stage))), evidence=f"fact {facts}"),
                        Partial(key=f"part {facts}", value=facts),
                    ]
                )
            )
        )
    return patience, events


@pytest.mark.req("S49", "S50")
@given(stream=honest_streams())
def test_news_inside_every_patience_window_never_fires_the_ladder(stream: tuple[int, list[ProgressEvent]]) -> None:
    patience, events = stream
    assert run(monitors(**{**OFF, "patience": patience}), events) == (0, None)


@pytest.mark.req("S49")
@given(patience=st.integers(1, 8), gaps=st.lists(st.integers(0, 100), min_size=5, max_size=5))
def test_rise_inside_every_patience_window_never_fires_the_ladder(patience: int, gaps: list[int]) -> None:
    events: list[ProgressEvent] = []
    for stage, gap in zip(list(Stage)[1:], gaps, strict=True):
        events += [Action(name="work", observation="ok")] * (gap % patience)
        events.append(Progress(stage=stage))
    assert run(monitors(**{**OFF, "patience": patience}), events) == (0, None)


@pytest.mark.req("S50")
@given(patience=st.integers(1, 8), work=st.lists(st.text(max_size=5), min_size=40, max_size=60))
def test_work_without_news_always_fires_the_ladder(patience: int, work: list[str]) -> None:
    events: list[ProgressEvent] = [Progress(stage=Stage.HYPOTHESIS, evidence="h")]
    events += [Action(name="work", arguments={"n": n}, observation=text) for n, text in enumerate(work)]
    assert run(monitors(**{**OFF, "patience": patience}), events)[0] == patience + 1


@pytest.mark.req("S50")
@pytest.mark.case("FP-01")
@given(
    polls=st.integers(1, 60),
    interval=st.floats(0, 1000),
    slack=st.floats(0, 1000),
    answers=st.lists(st.sampled_from(["RUNNING", "QUEUED"]), min_size=60, max_size=60),
)
def test_declared_polling_in_time_never_fires(polls: int, interval: float, slack: float, answers: list[str]) -> None:
    watch = monitors()
    at = 0.0
    deadline = (interval + slack) * polls + 1
    assert watch.see(Waiting(what="job-7", deadline_s=deadline, interval_s=interval), at) is None
    for answer in answers[:polls]:
        assert watch.see(Action(name="status", arguments={"job": "job-7"}, observation=answer), at) is None
        at += interval + min(slack, 1)

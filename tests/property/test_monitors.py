"""Pure repetition always fires, honest progress never does, whatever the legal settings."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luna.monitor import Alarm, Monitors, MonitorSettings
from luna.monitor.repetition import Cycles
from luna.protocol import (
    Action,
    Compacted,
    Note,
    Partial,
    Progress,
    ProgressEvent,
    Said,
    Stage,
    StuckKind,
    Waiting,
)
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
@pytest.mark.case("LOOP-04", "LOOP-02")
@given(pair=windows_and_limits(), data=st.data())
def test_texts_of_any_period_fire_whatever_the_tools_return(pair: tuple[int, int], data: st.DataObject) -> None:
    window, limit = pair
    period = data.draw(st.integers(1, window // 2), label="period")
    texts: list[ProgressEvent] = []
    for n in range(period * (2 + limit)):
        texts += [Said(text=f"text {n % period}"), Action(name="tool", observation=f"{n}")]
    number, alarm = run(monitors(**{**OFF, "window": window, "text_limit": limit}), texts)
    assert alarm is not None
    assert (alarm.kind, f"cycle length: {period}" in alarm.evidence) == (StuckKind.TEXT_LOOP, True)
    assert number == 2 * (period + max(period, limit - 1)) - 1


@pytest.mark.req("S41")
@pytest.mark.case("LOOP-04", "LOOP-05")
@given(pair=windows_and_limits(), data=st.data())
def test_errors_that_take_turns_fire_whatever_is_tried(pair: tuple[int, int], data: st.DataObject) -> None:
    window, limit = pair
    period = data.draw(st.integers(1, window // 2), label="period")
    noise = data.draw(NOISE)
    errors: list[ProgressEvent] = []
    for n in range(period * limit):
        errors += [Action(name=f"try {n}", observation=f"error {n % period}", error=True), *noise]
    number, alarm = run(monitors(**{**OFF, "window": window, "error_limit": limit}), errors)
    assert alarm is not None
    assert (alarm.kind, number) == (StuckKind.SAME_ERROR, (limit - 1) * period * (1 + len(noise)) + 1)


@pytest.mark.req("S50")
@pytest.mark.case("LOOP-04")
@pytest.mark.parametrize("window", range(4, 17))
def test_every_small_window_limit_and_period_fires(window: int) -> None:
    for limit in range(2, window + 1):
        for period in range(1, window // 2 + 1):
            due = period + max(period, limit - 1)
            actions: list[ProgressEvent] = [*(distinct(period) * (due // period + 1))[:due]]
            texts: list[ProgressEvent] = [Said(text=f"text {n % period}") for n in range(due)]
            assert run(monitors(**{**OFF, "window": window, "repeat_limit": limit}), actions)[0] == due
            assert run(monitors(**{**OFF, "window": window, "text_limit": limit}), texts)[0] == due


@st.composite
def legal_settings(draw: st.DrawFn) -> MonitorSettings:
    """Settings that are accepted, with repeats looked for."""
    window = draw(st.integers(4, 40))
    limit = st.integers(2, window)
    maybe = st.none() | limit
    return MonitorSettings(
        window=window,
        repeat_limit=draw(limit),
        patience=draw(st.none() | st.integers(1, 40)),
        error_limit=draw(maybe),
        text_limit=draw(maybe),
        text_run=draw(st.none() | st.integers(64, 4000)),
        break_limit=draw(st.none() | st.integers(1, 8)),
        drift_limit=draw(st.none() | st.integers(2, 40)),
        thrash_limit=draw(st.none() | st.integers(2, 8)),
        max_steps=draw(st.none() | st.integers(40, 400)),
    )


@pytest.mark.req("S50")
@pytest.mark.case("LOOP-04")
@given(settings=legal_settings(), data=st.data())
def test_pure_repetition_fires_at_every_legal_configuration(settings: MonitorSettings, data: st.DataObject) -> None:
    period = data.draw(st.integers(1, settings.window // 2), label="period")
    loop = [a.model_copy(update={"error": data.draw(st.booleans(), label="error")}) for a in distinct(period)]
    due = period + max(period, (settings.repeat_limit or 0) - 1)
    events: list[ProgressEvent] = [*(loop * (due // period + 1))[:due]]
    number, alarm = run(Monitors.from_settings(settings, ASSIGNMENT), events)
    assert alarm is not None
    assert number <= due


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


@st.composite
def rising_streams(draw: st.DrawFn) -> tuple[int, list[ProgressEvent]]:
    """A window and a stream in which each window has a rise, up to the top of the ladder; the rest is anything."""
    window = draw(st.integers(2, 8))
    anything = st.one_of(
        st.builds(
            Action,
            name=st.sampled_from(["read_file", "edit_file", "run_tests"]),
            observation=st.sampled_from(["ok", "E1", "E2", "elephants trumpet loudly"]),
            error=st.booleans(),
            paths=st.sampled_from([(), ("a.py",)]),
        ),
        st.builds(Said, text=st.sampled_from(["Let me see.", "Now again."])),
        st.just(Compacted(before_tokens=900, after_tokens=300)),
        st.just(Progress(stage=Stage.UNKNOWN, evidence="nothing new")),
    )
    events: list[ProgressEvent] = []
    for stage in list(Stage)[1:]:
        events += draw(st.lists(anything, max_size=window - 1))
        events.append(Progress(stage=stage))
    return window, [*events, *draw(st.lists(anything, max_size=window - 1))]


@pytest.mark.req("S49", "S50")
@given(stream=rising_streams())
def test_rise_inside_every_window_never_fires_any_detector_of_progress(stream: tuple[int, list[ProgressEvent]]) -> None:
    """All that is excepted are scope and budget, which no progress excuses. There are five rises, so a stream ends."""
    window, events = stream
    limits = ("patience", "repeat_limit", "error_limit", "text_limit", "break_limit", "drift_limit", "thrash_limit")
    settings = {**dict.fromkeys(limits, window), "window": max(window, 4), "max_steps": None}
    assert run(monitors(**settings), events) == (0, None)


@pytest.mark.req("S49", "S50")
@given(data=st.data(), window=st.integers(2, 8))
def test_new_evidence_inside_every_window_excuses_texts_and_summaries(data: st.DataObject, window: int) -> None:
    events: list[ProgressEvent] = []
    for fact in range(data.draw(st.integers(1, 12))):
        for _ in range(data.draw(st.integers(0, window - 1))):
            events += [Said(text="Let me see."), Action(name="read", observation="ok")]
            events += [Compacted(before_tokens=900, after_tokens=300)] if data.draw(st.booleans()) else []
        events.append(Progress(stage=Stage.EVIDENCE, evidence=f"fact {fact}"))
    limits = {"patience": window, "text_limit": window, "thrash_limit": window, "window": max(window, 4)}
    assert run(monitors(**{**OFF, **limits}), events) == (0, None)


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
def test_declared_polling_never_fires_before_its_deadline(
    polls: int, interval: float, slack: float, answers: list[str]
) -> None:
    watch = monitors()
    at = 0.0
    deadline = (interval + slack) * polls + 1
    watch.see(Waiting(what="job-7", deadline_s=deadline / 2), at)
    watch.see(Waiting(what="job", deadline_s=1), at)
    assert watch.see(Waiting(what="job-71", deadline_s=deadline, interval_s=interval), at) is None
    for number, answer in enumerate(answers[:polls]):
        assert watch.see(Action(name="status", arguments={"job": "job-71"}, observation=answer), at) is None
        assert watch.see(Note(text="still waiting"), at) is None
        if number % 10 == 9:
            assert watch.see(Compacted(before_tokens=900, after_tokens=300), at) is None
        at += interval + min(slack, 1)


@pytest.mark.req("S50")
@pytest.mark.case("FP-01")
@given(interval=st.floats(1, 1000), polls=st.integers(0, 20), limit=st.integers(2, 8))
def test_polling_after_its_deadline_fires_at_the_limit(interval: float, polls: int, limit: int) -> None:
    watch = monitors(**{**OFF, "repeat_limit": limit, "max_steps": None})
    watch.see(Waiting(what="job-7", deadline_s=(polls + 0.5) * interval, interval_s=interval), 0.0)
    poll = Action(name="status", arguments={"job": "job-7"}, observation="RUNNING")
    alarms = [watch.see(poll, number * interval) is not None for number in range(polls + 1 + limit)]
    assert alarms == [False] * (polls + limit) + [True]

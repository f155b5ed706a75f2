"""Repeats, cycles, errors, checks, declared waits, budget."""

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import pytest
from pydantic import ValidationError

from luna.monitor import Alarm, Monitors, MonitorSettings
from luna.protocol import Action, Note, Progress, ProgressEvent, Spent, Stage, StuckKind, Usage, Waiting
from tests.support.assignments import assignment
from tests.support.monitoring import OFF


def only(**settings: Any) -> Monitors:
    """Monitors with everything off but what is given."""
    return Monitors.from_settings(MonitorSettings(**{**OFF, **settings}), assignment())


def defaults(**settings: Any) -> Monitors:
    return Monitors.from_settings(MonitorSettings(**settings), assignment())


def first_alarm(
    monitors: Monitors, events: Sequence[ProgressEvent], at: Callable[[int], float] = float
) -> tuple[int, Alarm] | None:
    """Number of the event (from 1) at which an alarm comes, and the alarm."""
    for number, event in enumerate(events, 1):
        alarm = monitors.see(event, at(number))
        if alarm is not None:
            return number, alarm
    return None


def act(name: str, observation: str = "ok", *, error: bool = False, **arguments: Any) -> Action:
    return Action(name=name, arguments=arguments, observation=observation, error=error)


LOOKUP = act("lookup", "3 hits: a,b,c", q="gallium boiling")


@pytest.mark.req("S50")
@pytest.mark.case("LOOP-01")
@pytest.mark.parametrize("make", [defaults, lambda: only(repeat_limit=4)])
def test_repetition_fires_exactly_at_the_fourth_equal_pair(make: Callable[[], Monitors]) -> None:
    number, alarm = first_alarm(make(), [LOOKUP] * 12) or (0, None)
    assert number == 4
    assert alarm is not None
    assert alarm.kind is StuckKind.REPETITION
    assert "lookup" in alarm.reason
    assert "4 times" in alarm.reason
    assert {"times: 4", "cycle length: 1", "last observation: 3 hits: a,b,c"} < set(alarm.evidence)


def test_repetition_starts_anew_when_the_result_differs() -> None:
    stream = [LOOKUP, LOOKUP, LOOKUP, act("lookup", "1 hit", q="gallium boiling"), LOOKUP, LOOKUP, LOOKUP]
    assert first_alarm(only(repeat_limit=4), stream) is None


def test_repetition_does_not_see_times_of_day_and_addresses_as_differences() -> None:
    stream = [act("status", f"12:00:0{n} object at 0x7f00aa{n}0 idle") for n in range(6)]
    assert (first_alarm(only(repeat_limit=4), stream) or (0,))[0] == 4


@pytest.mark.parametrize(
    "result", ["1 failed, 3 passed in 0.{n}3s", "ok (0.{n} s)", "Time: 1{n} ms", "Ran 5 tests in {n} seconds"]
)
def test_repetition_does_not_see_how_long_it_took_as_a_difference(result: str) -> None:
    stream = [act("build", result.format(n=n)) for n in range(6)]
    assert (first_alarm(only(repeat_limit=4), stream) or (0,))[0] == 4
    failing = [act(f"try {n}", result.format(n=n), error=True) for n in range(6)]
    assert (first_alarm(only(error_limit=4), failing) or (0,))[0] == 4
    measured = [act("build", f"{n}.3 s a loop") for n in range(6)]
    assert first_alarm(only(repeat_limit=4), measured) is None


def test_repetition_compares_long_results_whole() -> None:
    stream = [act("read", "x" * 10_000 + str(n)) for n in range(8)]
    assert first_alarm(only(repeat_limit=4), stream) is None


@pytest.mark.req("S50")
@pytest.mark.case("LOOP-02")
@pytest.mark.parametrize(
    ("period", "settings"),
    [(2, {}), (3, {}), (7, {"patience": None}), (7, {"patience": 20})],
    ids=["A", "B", "C", "C-patient"],
)
def test_cycle_is_found_by_its_third_round_with_its_length(period: int, settings: dict[str, Any]) -> None:
    stream = [act("open", file=f"f{n % period}") for n in range(5 * period)]
    number, alarm = first_alarm(defaults(**settings), stream) or (0, None)
    assert 0 < number <= 3 * period
    assert alarm is not None
    assert (alarm.kind, f"cycle length: {period}" in alarm.evidence) == (StuckKind.REPETITION, True)


@pytest.mark.case("LOOP-02")
def test_cycle_longer_than_the_window_is_caught_by_the_step_limit_which_says_so() -> None:
    stream = [act("open", f"text {n % 15}", file=f"f{n % 15}") for n in range(100)]
    number, alarm = first_alarm(only(repeat_limit=4, window=20, max_steps=50), stream) or (0, None)
    assert number == 50
    assert alarm is not None
    assert alarm.kind is StuckKind.STEP_LIMIT
    assert "different (action, result) pairs: 15" in alarm.evidence
    assert "cycles of up to 10 actions are looked for; a longer one ends here" in alarm.evidence


def test_honest_rereading_of_two_files_is_no_cycle() -> None:
    reads = [act("read", "aaa", file="a"), act("read", "bbb", file="b")]
    assert first_alarm(defaults(), [*reads, *reads, act("edit", "1 line changed", file="a")]) is None


def test_another_detectors_alarm_names_the_cycle_under_way() -> None:
    stream = [act("open", f"{n % 6}") for n in range(40)]
    number, alarm = first_alarm(only(repeat_limit=15, window=40, max_steps=15), stream) or (0, None)
    assert number == 15
    assert alarm is not None
    assert alarm.evidence[-1] == "cycle length: 6 (a cycle of actions was under way)"


@pytest.mark.req("S41")
@pytest.mark.case("LOOP-05")
def test_same_error_is_counted_across_starts_and_heartbeats() -> None:
    stream: list[ProgressEvent] = []
    for n in range(10):
        stream += [Note(text=f"start(t{n})"), Note(text="running")]
        stream += [act("start", "no such tool: frobnicate", error=True, task=f"t{n}"), Note(text="heartbeat")]
    number, alarm = first_alarm(only(error_limit=4), stream) or (0, None)
    assert number == 15
    assert alarm is not None
    assert (alarm.kind, "frobnicate" in alarm.reason) == (StuckKind.SAME_ERROR, True)
    assert (first_alarm(defaults(), stream) or (0,))[0] == 15


@pytest.mark.case("LOOP-05")
@pytest.mark.parametrize(("between", "fires"), [(act("ls", "ok"), True), (act("ls", "new thing {n}"), False)])
def test_same_error_forgets_only_at_a_new_result(between: Action, fires: bool) -> None:
    stream = []
    for n in range(8):
        stream.append(act("build", "E1", error=True))
        stream.append(between.model_copy(update={"observation": between.observation.format(n=n)}))
    stream[1:1] = [act("ls", "ok")]
    assert (first_alarm(only(error_limit=4), stream) is not None) is fires


def test_errors_that_take_turns_are_counted_apart_and_empty_ones_by_action() -> None:
    turns = [act("a", f"E{n % 2}", error=True) for n in range(8)]
    assert (first_alarm(only(error_limit=4), turns) or (0,))[0] == 7
    silent = [act(f"a{n}", "", error=True) for n in range(8)]
    assert first_alarm(only(error_limit=4), silent) is None
    alarm = first_alarm(only(error_limit=2), [act("a", " ", error=True)] * 2)
    assert alarm is not None
    assert "a failed without saying why" in alarm[1].reason


@pytest.mark.req("S46")
def test_fix_that_breaks_another_check_twice_is_reported() -> None:
    stream = []
    for _ in range(3):
        stream += [act("run_tests", "pass", of="a"), act("run_tests", "1 failed", error=True, of="b"), act("edit")]
        stream += [act("run_tests", "pass", of="b"), act("run_tests", "1 failed", error=True, of="a"), act("edit")]
    number, alarm = first_alarm(only(break_limit=2), stream) or (0, None)
    assert number == 8
    assert alarm is not None
    assert alarm.kind is StuckKind.FIX_BREAKS_ELSEWHERE
    assert len(alarm.evidence) == 2
    assert "of='b'" in alarm.evidence[1]


def test_breaking_a_check_and_repairing_it_is_no_alarm() -> None:
    test, other = act("run_tests", "pass", of="a"), act("run_tests", "pass", of="b")
    broken = act("run_tests", "1 failed", error=True, of="a")
    news = Progress(stage=Stage.SOLUTION, evidence="b is done")
    stream = [test, other, broken, test, broken, test, other, broken, news, test, other]
    assert first_alarm(only(break_limit=1), stream) is None


def test_what_was_broken_is_forgotten_when_all_of_it_holds_after_the_last_fix() -> None:
    def episode(*end: Action) -> list[ProgressEvent]:
        failing = act("check", "E", error=True, of="b")
        broken = act("check", "E", error=True, of="a")
        return [act("check", of="a"), failing, act("check", of="b"), broken, act("check", of="a"), *end]

    assert first_alarm(only(break_limit=2), [*episode(act("check", of="b")), *episode()]) is None
    number, _ = first_alarm(only(break_limit=2), [*episode(), *episode()]) or (0, None)
    assert number == 7  # the second fix broke b again, which nobody had looked at


def test_news_forgets_what_was_broken_on_the_way() -> None:
    def broken(n: int) -> list[ProgressEvent]:
        a, b = f"a{n}", f"b{n}"
        return [
            act("check", "pass", of=a),
            act("check", "E", error=True, of=b),
            act("check", "pass", of=b),
            act("check", "E", error=True, of=a),
        ]

    news = Progress(stage=Stage.EVIDENCE, evidence="the shared table is at fault")
    assert first_alarm(only(break_limit=2), [*broken(1), *broken(2)]) is not None
    assert first_alarm(only(break_limit=2), [*broken(1), news, *broken(2)]) is None


@pytest.mark.req("S47")
def test_errors_of_one_check_that_take_turns_are_several_causes() -> None:
    stream = [act("pytest", f"cause {n % 2}", error=True) for n in range(4)]
    number, alarm = first_alarm(only(break_limit=2), stream) or (0, None)
    assert number == 4
    assert alarm is not None
    assert (alarm.kind, alarm.evidence) == (StuckKind.SEVERAL_CAUSES, ("cause: cause 0", "cause: cause 1"))


def test_reading_a_test_file_is_no_check() -> None:
    stream = [act("read_file", f"E{n % 2}", error=True, path="tests/test_a.py") for n in range(8)]
    assert first_alarm(only(break_limit=1), stream) is None


@pytest.mark.req("S50")
@pytest.mark.case("FP-01")
def test_declared_polling_is_no_loop_until_its_deadline() -> None:
    waits = Waiting(what="job-7", deadline_s=1200)
    polls = [act("status", "RUNNING", job="job-7")] * 9 + [act("status", "DONE", job="job-7")]
    assert first_alarm(defaults(), [waits, *polls], at=lambda n: 120.0 * (n - 1)) is None


@pytest.mark.case("FP-01")
def test_undeclared_polling_within_a_second_is_a_loop() -> None:
    polls = [act("status", "RUNNING", job="job-7")] * 9 + [act("status", "DONE", job="job-7")]
    number, alarm = first_alarm(defaults(), polls, at=lambda n: 0.1 * n) or (0, None)
    assert number == 4
    assert alarm is not None
    assert alarm.kind is StuckKind.REPETITION


POLL = act("status", "RUNNING", job="job-7")


@pytest.mark.parametrize(
    ("events", "seconds", "expected"),
    [
        ([Waiting(what="job-7", deadline_s=100), *[POLL] * 40], 10, 15),  # four after the deadline at 10 + 100
        ([Waiting(what="job-7", deadline_s=1e9, interval_s=20), *[POLL] * 9], 10, 6),  # sooner than declared
        ([Waiting(what="job-7", deadline_s=100), POLL] * 40, 10, 18),  # declaring again moves nothing
        ([Waiting(what="the other", deadline_s=1e9), *[POLL] * 9], 10, None),  # the first action is the poll
        ([Waiting(what="x", deadline_s=1e9), act("x"), *[POLL] * 9], 10, 6),  # some other action is not
    ],
    ids=["deadline", "interval", "redeclared", "first-action", "other-action"],
)
def test_declared_wait_covers_its_polls_only(events: list[ProgressEvent], seconds: float, expected: int | None) -> None:
    found = first_alarm(only(repeat_limit=4), events, at=lambda n: seconds * n)
    assert (found[0] if found else None) == expected


def test_wait_may_be_declared_again_after_something_changed() -> None:
    first = [Waiting(what="job-7", deadline_s=50), POLL, act("status", "RESTARTED", job="job-7")]
    again = [Waiting(what="job-7", deadline_s=500), *[POLL] * 9]
    assert first_alarm(only(repeat_limit=4), [*first, *again], at=lambda n: 10.0 * n) is None


def test_wait_is_told_from_one_whose_name_begins_alike() -> None:
    stream: list[ProgressEvent] = [Waiting(what="job-1", deadline_s=5), act("status", "RUNNING", job="job-1")]
    stream += [Waiting(what="job-12", deadline_s=1e9), *[act("status", "RUNNING", job="job-12")] * 9]
    assert first_alarm(only(repeat_limit=4), stream, at=lambda n: 10.0 * n) is None
    nested = [Waiting(what="job-1-2", deadline_s=1e9), *[act("status", "RUNNING", job="job-1-2")] * 9]
    assert first_alarm(only(repeat_limit=4), [*stream[:2], *nested], at=lambda n: 10.0 * n) is None


def test_waits_are_forgotten_beyond_a_bound() -> None:
    many = [Waiting(what=f"job-{n}", deadline_s=1e9) for n in range(7, 60)]
    assert first_alarm(only(repeat_limit=4), [*many[-20:], act("job-59"), *[act("job-59")] * 9]) is None
    number, _ = first_alarm(only(repeat_limit=4), [*many, act("job-59"), *[POLL] * 9]) or (0, None)
    assert number == len(many) + 1 + 4


@pytest.mark.req("S13")
def test_budget_counts_steps_and_tokens_over_redeliveries() -> None:
    monitors = only(max_tokens=100)
    assert monitors.see(Spent(usage=Usage(tokens=60)), 0) is None
    again = monitors.fresh()
    assert again.see(Spent(usage=Usage(tokens=40)), 0) is None
    alarm = again.see(Spent(usage=Usage(tokens=1)), 0)
    assert alarm is not None
    assert (alarm.kind, alarm.reason) == (StuckKind.STEP_LIMIT, "101 tokens used, 100 allowed for an attempt")
    assert (first_alarm(only(max_steps=3), list(map(act, "abcdef"))) or (0,))[0] == 3


def test_fresh_monitors_have_seen_nothing() -> None:
    monitors = only(repeat_limit=4)
    assert first_alarm(monitors, [LOOKUP] * 3) is None
    assert first_alarm(monitors.fresh(), [LOOKUP] * 3) is None


def test_declared_polls_are_steps_of_the_budget() -> None:
    stream = [Waiting(what="job-7", deadline_s=1e9), *[POLL] * 9]
    assert (first_alarm(only(max_steps=5), stream) or (0,))[0] == 6


@pytest.mark.case("LOOP-04")
@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"window": 10, "repeat_limit": 11}, "window of 10"),
        ({"window": 10, "text_limit": 11}, "raise window to at least 11"),
        ({"window": 4, "error_limit": 5, "repeat_limit": 4, "text_limit": 4}, "error_limit 5"),
        ({"max_steps": 4}, "patience 5 can never be reached"),
        ({"max_steps": 9}, "drift_limit 10"),
        ({"max_steps": 11, "break_limit": 5}, "break_limit 5 can never be reached.*at least 12"),
        ({"max_steps": 11, "break_limit": None, "thrash_limit": 12}, "thrash_limit 12"),
        ({"thrash_limit": 1}, "thrash_limit"),
        ({"window": 3}, "greater than or equal to 4"),
        ({"patience": 0}, "patience"),
        ({"repeat_limit": 1}, "repeat_limit"),
        ({"no_such": 1}, "no_such"),
    ],
)
def test_setting_that_could_never_fire_is_refused_with_the_reason(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        MonitorSettings(**settings)


def test_everything_off_never_fires() -> None:
    stream = list(islice(([LOOKUP, act("x", "E", error=True)] * 200), 400))
    assert first_alarm(only(), stream) is None
    assert first_alarm(Monitors(lambda evidence, tokens: []), stream) is None

"""The ladder, texts, scope, drift."""

from collections.abc import Sequence
from typing import Any

import pytest

from luna.monitor import Alarm, Monitors, MonitorSettings
from luna.protocol import Action, Assignment, Partial, Progress, ProgressEvent, Said, Stage, StuckKind
from tests.support.assignments import assignment
from tests.support.monitoring import OFF


def invoices(**fields: Any) -> Assignment:
    given = {
        "goal": "repair the parser of the invoice importer",
        "inputs": {"ticket": "decimal commas are lost"},
        "expected_output": "a patch",
        "success_criteria": ["the tests pass"],
        "stop_conditions": ["the format is unknown"],
    }
    return assignment(**{**given, **fields})


def only(*constraints: str, **settings: Any) -> Monitors:
    return Monitors.from_settings(MonitorSettings(**{**OFF, **settings}), invoices(constraints=constraints or "none"))


def first_alarm(monitors: Monitors, events: Sequence[ProgressEvent]) -> tuple[int, Alarm]:
    """Number of the event (from 1) at which an alarm comes, and the alarm; 0 when none comes."""
    for number, event in enumerate(events, 1):
        alarm = monitors.see(event, float(number))
        if alarm is not None:
            return number, alarm
    return 0, Alarm(StuckKind.OTHER, "none")


def act(name: str, observation: str = "ok", *paths: str, error: bool = False, **arguments: Any) -> Action:
    return Action(name=name, arguments=arguments, observation=observation, error=error, paths=paths)


def step(stage: Stage, evidence: str = "") -> Progress:
    return Progress(stage=stage, evidence=evidence)


def looks(count: int) -> list[Action]:
    """Different actions with different results."""
    return [act("read", f"result {n}", page=n) for n in range(count)]


HYPOTHESIS = step(Stage.HYPOTHESIS, "the comma is lost in strip()")


@pytest.mark.req("S49", "S50")
@pytest.mark.parametrize("patience", [1, 5, 9])
def test_ladder_fires_after_patience_actions_however_much_work_they_were(patience: int) -> None:
    number, alarm = first_alarm(only(patience=patience), [HYPOTHESIS, *looks(30)])
    assert number == patience + 1
    assert alarm.kind is StuckKind.NO_PROGRESS
    assert alarm.reason == f"{patience} actions without a rise above hypothesis and without new evidence"
    assert alarm.evidence[0] == "highest stage: hypothesis"
    assert alarm.evidence[1] == "done since: read(page=0)"


@pytest.mark.req("S50")
def test_default_patience_is_five() -> None:
    assert first_alarm(Monitors.from_settings(MonitorSettings(), invoices()), [HYPOTHESIS, *looks(30)])[0] == 6


@pytest.mark.req("S49")
@pytest.mark.parametrize(
    "news",
    [
        step(Stage.EVIDENCE),
        step(Stage.UNKNOWN, "strip() is innocent: the log shows the comma after it"),
        Partial(key="half", value=[1]),
    ],
    ids=["rise", "new-evidence-on-the-way-down", "finished-part"],
)
def test_rise_new_evidence_or_a_finished_part_restarts_patience(news: ProgressEvent) -> None:
    assert first_alarm(only(patience=5), [HYPOTHESIS, *looks(4), news, *looks(4)])[0] == 0
    assert first_alarm(only(patience=5), [HYPOTHESIS, *looks(4), news, *looks(5)])[0] == 11


@pytest.mark.req("S49")
@pytest.mark.parametrize(
    "empty",
    [
        step(Stage.HYPOTHESIS),
        step(Stage.UNKNOWN),
        step(Stage.HYPOTHESIS, "  The comma is LOST in strip() "),
    ],
    ids=["same-stage", "fall", "same-evidence-in-other-words-spacing"],
)
def test_progress_event_without_news_does_not_restart_patience(empty: Progress) -> None:
    assert first_alarm(only(patience=5), [HYPOTHESIS, *looks(4), empty, *looks(1)])[0] == 7


@pytest.mark.req("S49")
def test_falling_and_rising_to_the_same_stage_is_no_rise() -> None:
    up_and_down = [step(Stage.HYPOTHESIS), *looks(2), step(Stage.UNKNOWN), *looks(2), step(Stage.HYPOTHESIS), *looks(1)]
    assert first_alarm(only(patience=5), up_and_down)[0] == 8


@pytest.mark.req("S40")
def test_same_hypothesis_again_has_its_own_kind() -> None:
    number, alarm = first_alarm(only(patience=3), [HYPOTHESIS] * 9)
    assert (number, alarm.kind) == (4, StuckKind.SAME_HYPOTHESIS)
    assert "the comma is lost" in alarm.reason


@pytest.mark.req("S42")
def test_progress_reported_without_news_has_its_own_kind() -> None:
    found = step(Stage.EVIDENCE, "line 3")
    number, alarm = first_alarm(only(patience=3), [found, act("a"), found, act("b"), found, act("c")])
    assert (number, alarm.kind) == (6, StuckKind.NO_NEW_EVIDENCE)


@pytest.mark.req("S49")
def test_worker_that_never_reports_progress_is_judged_by_new_results() -> None:
    assert first_alarm(only(patience=5), looks(50))[0] == 0
    assert first_alarm(only(patience=5), [*looks(3), *[act("read", "result 1", page=n) for n in range(9)]])[0] == 8
    failing = [act("try", f"error {n}", error=True) for n in range(9)]
    assert first_alarm(only(patience=5), failing)[0] == 5


def test_worker_that_never_reports_progress_may_change_many_files() -> None:
    edits = [act("edit", "ok", f"src/{n}.py", line=n) for n in range(20)]
    assert first_alarm(only(patience=5), edits)[0] == 0
    reads = [act("read_file", "ok", f"src/{n}.py", line=n) for n in range(20)]
    assert first_alarm(only(patience=5), reads)[0] == 6


def test_worker_that_never_reports_progress_may_run_many_checks_that_pass() -> None:
    tests = [act("run_command", "3 passed", command=f"pytest tests/test_{n}.py") for n in range(20)]
    assert first_alarm(only(patience=5), tests)[0] == 0
    assert first_alarm(only(patience=5), [*tests[:2], *[tests[0], tests[1]] * 5])[0] == 7
    others = [act("run_command", "3 rows", command=f"count {n}") for n in range(20)]
    assert first_alarm(only(patience=5), others)[0] == 6


def test_worker_that_never_reports_progress_may_run_commands_without_output() -> None:
    commands = [act("run_command", "", command=f"mkdir {n}") for n in range(20)]
    assert first_alarm(only(patience=5), commands)[0] == 0
    assert first_alarm(only(patience=5), [*commands[:2], *[commands[0], commands[1]] * 5])[0] == 7
    assert first_alarm(only(patience=5), [act("search_files", "", pattern=f"{n}") for n in range(20)])[0] == 5


def test_same_text_is_no_loop_while_files_are_changed() -> None:
    def turns(edits: list[Action]) -> list[ProgressEvent]:
        return [event for edit in edits for event in (Said(text="Now the next file."), edit)]

    edits = [act("edit", "edited", f"src/{n}.py") for n in range(20)]
    assert first_alarm(only(text_limit=3), turns(edits))[0] == 0
    assert first_alarm(only(text_limit=3), turns([edits[0]] * 20))[0] == 7


@pytest.mark.req("S50")
@pytest.mark.case("LOOP-04")
def test_text_said_every_turn_is_found_whatever_the_tools_return() -> None:
    stream: list[ProgressEvent] = []
    for n in range(40):
        stream += [Said(text="one more moment, nearly there"), *looks(80)[2 * n : 2 * n + 2]]
    number, alarm = first_alarm(only(text_limit=5, window=10), stream)
    assert number == 13  # the fifth turn
    assert (alarm.kind, "5 times" in alarm.reason) == (StuckKind.TEXT_LOOP, True)
    whole = Monitors.from_settings(MonitorSettings(text_limit=5, window=10), invoices())
    assert first_alarm(whole, stream)[1].kind is StuckKind.TEXT_LOOP


def test_texts_in_a_cycle_are_found() -> None:
    number, alarm = first_alarm(only(text_limit=4), [Said(text=f"Now step {n % 3}.") for n in range(20)])
    assert (number, alarm.kind, "a cycle of 3 texts" in alarm.reason) == (6, StuckKind.TEXT_LOOP, True)


def test_same_text_is_no_loop_while_the_work_goes_on() -> None:
    stream: list[ProgressEvent] = []
    for n in range(20):
        stream += [Said(text="Let me see."), Said(text="…"), step(Stage.EVIDENCE, f"fact {n}")]
    assert first_alarm(only(text_limit=3), stream)[0] == 0


@pytest.mark.case("LOOP-07")
@pytest.mark.parametrize("tail", ["", '{"status":"SUCCESS"}'])
def test_repetition_inside_one_text_is_found(tail: str) -> None:
    number, alarm = first_alarm(only(text_run=2000), [Said(text="Here it is: " + "lantern " * 50_000 + tail)])
    assert (number, alarm.kind) == (1, StuckKind.TEXT_LOOP)
    assert "'lantern'" in alarm.reason
    assert sum(map(len, alarm.evidence)) < 1000


def test_long_text_that_goes_on_is_no_loop() -> None:
    text = "".join(f"{n} lanterns on the wall\n" for n in range(20_000)) + "-" * 200
    assert first_alarm(only(text_run=2000), [Said(text=text), Said(text="lantern " * 100)])[0] == 0


@pytest.mark.req("S06")
@pytest.mark.parametrize(
    ("constraint", "action", "fires"),
    [
        ("none", act("write", "ok", "src/a.py"), False),
        ("none", act("write", "ok", "../other/a.py"), True),
        ("none", act("read", "ok", "src/../../secret"), True),
        ("none", act("read", "ok", "/etc/passwd"), True),
        ("none", act("read", "ok", "~/.ssh/id"), True),
        ("none", act("write", "permission denied", "/etc/passwd", error=True), False),
        ("Do not touch src/legacy/.", act("read", "ok", "src/legacy/a.py"), True),
        ("do not touch `src/legacy`", act("read", "ok", "./src/legacy/deep/a.py"), True),
        ("do not touch src/legacy", act("read", "ok", "src/legacy2.py"), False),
        ("Don’t change README.md or docs/*.md, please", act("edit", "ok", "docs/a.md"), True),
        ("Don't change README.md or docs/*.md, please", act("read_file", "ok", "docs/a.md"), False),
        ("never write to tests/", act("edit_file", "ok", "tests/test_a.py"), True),
        ("never write to tests/ except tests/new.py", act("edit_file", "ok", "tests/test_a.py"), True),
        ("work without reading secrets.env", act("read", "ok", "secrets.env"), True),
        ("only change files under src/parser", act("edit", "ok", "src/lexer.py"), True),
        ("only change files under src/parser", act("edit", "ok", "src/parser/a.py"), False),
        ("only change files under src/parser", act("grep", "ok", "src/lexer.py"), False),
        ("Only change files under src, lib and tests.", act("edit", "ok", "tools/a.py"), True),
        ("Only change files under src, lib and tests.", act("edit", "ok", "lib/a.py"), False),
        ("only change files under the rules of the house", act("edit", "ok", "tools/a.py"), False),
        ("do not change anything below vendor or docs/api", act("edit", "ok", "vendor/a.py"), True),
        ("touch only src/parser.py", act("grep", "ok", "src/lexer.py"), True),
        ("only use Python 3.11", act("edit", "ok", "src/lexer.py"), False),
        ("only change names and/or values, e.g. in headings", act("edit", "ok", "src/lexer.py"), False),
        ("do not invent numbers; keep src/a.py short", act("edit", "ok", "src/a.py"), False),
        ("do not change the interface. See src/a.py", act("edit", "ok", "src/a.py"), False),
    ],
)
def test_scope_is_what_the_constraints_and_the_workspace_allow(constraint: str, action: Action, fires: bool) -> None:
    number, alarm = first_alarm(only(constraint), [action])
    assert (number == 1) is fires
    if fires:
        assert alarm.kind is StuckKind.SCOPE
        assert action.paths[0] in alarm.reason


BILLING = act("edit", "ok", "src/billing/tax.py")


@pytest.mark.req("S06")
@pytest.mark.parametrize(
    ("constraint", "action", "fires"),
    [
        ("Do not work on billing.", BILLING, True),
        ("Do not work on billing.", act("edit", "ok", "app/BillingService.java"), True),
        ("please don’t work on the billing module", BILLING, True),
        ("fix the parser without working on payments or billing", BILLING, True),
        ("stay away from the billing code", BILLING, True),
        ("never work on `the tax rules`", act("write", "ok", "docs/the-tax-rules.md"), True),
        ("Do not work on billing.", act("read", "ok", "src/billing/tax.py"), False),
        ("Do not work on billing.", act("grep", "3 hits", pattern="billing"), False),
        ("Do not work on billing.", act("edit", "ok", "src/app.py", text="import billing"), False),
        ("Do not work on billing.", act("edit", "denied", "src/billing/tax.py", error=True), False),
        ("Do not work on bill.", BILLING, False),
        ("do not work on billing until the parser is done", BILLING, False),
        ("links do not work on billing pages", act("edit", "ok", "src/billing_pages.py"), False),
        ("do not work on main", act("edit", "ok", "src/main.py"), False),
        ("do not work on more than one module at a time", act("edit", "ok", "src/module.py"), False),
        ("nothing about prices", act("search_web", "10 hits", query="laptop prices 2024"), True),
        ("Do not research competitors.", act("open_page", "ok", url="https://a.example/our-competitors"), True),
        ("Do not research competitors.", act("search_web", "10 hits", query="sales figures"), False),
        ("do not write about prices", act("write", "ok", "a.md", text="cheap " * 50 + "prices"), False),
        ("do not write about prices", act("write", "ok", "prices.md", path="prices.md"), False),
        ("The ticket says nothing about prices", act("search_web", "10 hits", query="prices"), False),
    ],
)
def test_scope_excludes_topics_that_the_constraints_name(constraint: str, action: Action, fires: bool) -> None:
    number, alarm = first_alarm(only(constraint), [action])
    assert (number == 1) is fires
    if fires:
        assert alarm.kind is StuckKind.SCOPE
        assert repr(constraint) in alarm.reason


@pytest.mark.req("S48", "S06")
def test_drift_is_found_when_nothing_has_to_do_with_the_task() -> None:
    on_topic = act("read", "def parse_invoice(): decimal handling with strip and normalise", "importer/parser.py")
    follows = act("grep", "occurs twice: helper module", pattern="normalise handling")
    off = [act("browse", f"celebrity gossip holiday beaches number {'x' * n}", url=f"travel{n}") for n in range(20)]
    number, alarm = first_alarm(only(drift_limit=5), [on_topic, follows, *off])
    assert (number, alarm.kind) == (7, StuckKind.DRIFT)
    assert first_alarm(only(drift_limit=5), [*off[:4], on_topic, *off[:4], follows, *off[:4]])[0] == 0


def test_drift_is_seen_in_spite_of_words_that_any_text_has() -> None:
    page = "Which of these could also work there, while others still wait for another summer?"
    on_topic = [act("read", f"the importer drops a comma; {page}", f"importer/{n}.py") for n in range(5)]
    off = [
        act("open_page", f"{page} Beaches, hotels, cocktails {n}.", url=f"https://travel.example/beach{n}")
        for n in range(9)
    ]
    number, alarm = first_alarm(only(drift_limit=5), [*on_topic, *off])
    assert (number, alarm.kind) == (10, StuckKind.DRIFT)


def test_drift_is_silent_where_words_cannot_tell() -> None:
    few_words = [act("run", "42", n=n) for n in range(20)]
    assert first_alarm(only(drift_limit=5), few_words)[0] == 0
    settings = MonitorSettings(**{**OFF, "drift_limit": 5})
    foreign = invoices(
        goal="修复解析器",
        inputs="none",
        expected_output="补丁",
        success_criteria=["测试通过"],
        stop_conditions=["格式未知"],
    )
    off = [act("browse", "celebrity gossip holiday beaches") for _ in range(20)]
    assert first_alarm(Monitors.from_settings(settings, foreign), off)[0] == 0


def test_drift_topic_stops_growing() -> None:
    def word(n: int) -> str:
        return "".join(chr(97 + int(digit)) for digit in f"{n:06}")

    pages = [act("read", "invoice " + " ".join(word(100 * n + k) for k in range(100))) for n in range(60)]
    late = [act("read", " ".join(word(5900 + k) for k in range(50)))] * 5
    assert first_alarm(only(drift_limit=5), [*pages, *late])[0] == 65

from typing import Any

import pytest

from sol.tree.events import Event, Progressed, Started
from sol.tree.node import State, Tree
from sol.tree.values import ProgressData, read
from sol.view import labels
from tests.support.trees import a_node, grown, run


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"file": "a.txt"}, "x: a.txt"),
        ({"file": "a.txt", "unit": "lines", "start": 0, "stop": 250}, "x: lines 1–250 of a.txt"),
        ({"file": "a.txt", "unit": "records", "start": 7, "stop": 8}, "x: record 8 of a.txt"),
        ({"file": "a.txt", "unit": "bytes", "start": 4}, "x: bytes from 5 of a.txt"),
        ([{"file": "a.txt"}], "x: a.txt"),
        ([1, 2, 3], "x: 3 items"),
        (["only one"], "x: only one"),
        ("one line", "x: one line"),
        ("two\nlines", "x: 2 lines"),
        (17, "x: 17"),
    ],
)
def test_inputs_are_told_in_a_few_words(value: Any, words: str) -> None:
    assert labels.inputs_label("x", value) == words


def test_title_is_the_goal_of_the_root_and_of_what_has_another_goal() -> None:
    root = a_node()
    other = a_node("0", goal="Count\nthe records")
    assert labels.title_of(root, None) == "Convert each of the records"
    assert labels.title_of(other, root) == "Count the records"


def test_title_of_a_halved_task_is_what_its_inputs_have_become() -> None:
    tree = grown(3)
    assert labels.title_of(tree.nodes["1"], tree.root) == "records: lines 33–64"
    listed = a_node("0", inputs={"a": [{"file": "f", "start": 0, "stop": 2}]})
    above = a_node(inputs={"a": [{"file": "f"}]})
    assert labels.title_of(listed, above) == "a: lines 1–2"


def test_title_of_a_repeated_task_is_its_goal() -> None:
    assert labels.title_of(a_node("0"), a_node()) == "Convert each of the records"


def test_clean_leaves_nothing_that_steers_a_terminal() -> None:
    assert labels.clean("a\x1b[31m red\x07\n\tline \x1b]0;title\x07end") == "a red line end"
    assert len(labels.clean("x" * 100_000)) == labels.MAX_CHARACTERS


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0.0s"),
        (9.94, "9.9s"),
        (9.96, "10s"),
        (59.4, "59s"),
        (59.6, "1:00"),
        (3599.6, "1:00:00"),
        (90061, "25:01:01"),
    ],
)
def test_duration_fits_its_size(seconds: float, words: str) -> None:
    assert labels.duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(-1, "0 s"), (59, "59 s"), (60, "1 min"), (7200, "2 h"), (200_000, "2 d")]
)
def test_age_fits_its_size(seconds: float, words: str) -> None:
    assert labels.age(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0"), (999, "999"), (1_000, "1.0k"), (999_949, "999.9k"), (999_950, "1.0M")]
)
def test_amount_is_short(count: int, words: str) -> None:
    assert labels.amount(count) == words


def test_money_shows_small_sums() -> None:
    assert [labels.money(sum_) for sum_ in (0, 0.0012, 1.5)] == ["$0.00", "$0.0012", "$1.50"]


def test_number_has_its_noun_in_the_right_number() -> None:
    assert [labels.number(1, "call"), labels.number(2, "call"), labels.number(2, "process")] == [
        "1 call",
        "2 calls",
        "2 processes",
    ]


def test_counted_names_what_needs_attention_first_and_no_splits() -> None:
    counts = {State.SUCCESS: 1200, State.SPLIT: 9, State.FAILED: 1, State.WAITING: 2}
    assert labels.counted(counts) == "2 waiting, 1 failed, 1,200 success"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"type": "action", "name": "read", "arguments": {"path": "a.txt"}}, "read a.txt"),
        ({"type": "action", "name": "read", "arguments": {}, "error": True}, "read (failed)"),
        ({"type": "progress", "stage": "evidence", "evidence": "line 3"}, "evidence: line 3"),
        ({"type": "progress", "stage": "evidence", "evidence": ""}, "evidence"),
        ({"type": "partial", "key": "a"}, "has a"),
        ({"type": "waiting", "what": "the build"}, "waits for the build"),
        ({"type": "said", "text": "I\nthink"}, "I think"),
        ({"type": "spent"}, ""),
    ],
)
def test_activity_is_what_a_worker_said_last(said: dict[str, Any], words: str) -> None:
    data = Progressed(kind="attempt", n=1, event=read(ProgressData, said))
    assert labels.activity_of(Event("0", data)) == words


def test_activity_is_told_by_progress_only() -> None:
    assert labels.activity_of(Event("0", Started(kind="attempt", n=1))) == ""


def test_doing_prefers_what_the_worker_said() -> None:
    tree: Tree = grown(7)
    run(tree, "00")
    run(tree, "01", n=2)
    run(tree, "10", kind="check")
    run(tree, "11", kind="brew")
    assert labels.doing(tree, {"00": "read a.txt", "10": "old"}) == {
        "00": "read a.txt",
        "01": "at work, attempt 2",
        "10": "checking the result",
        "11": "brew",
    }


def test_detail_is_the_question_the_reason_or_that_nothing_was_checked() -> None:
    def detail(state: State, **fields: Any) -> str:
        return labels.detail_of(a_node(state=state, **fields))

    assert detail(State.WAITING, question="Which?\x07") == "Which?"
    assert detail(State.FAILED, reason="Broken.") == "Broken."
    assert detail(State.SUCCESS, kind="unchecked") == "unchecked"
    assert detail(State.SUCCESS) == ""


def test_detail_of_a_split_node_is_why_it_was_split() -> None:
    def detail(state: State, **fields: Any) -> str:
        return labels.detail_of(a_node(state=state, stuck="too many", **fields))

    assert detail(State.SPLIT, current_children=("0", "1")) == "split: too many"
    assert detail(State.SUCCESS, current_children=("0", "1")) == "split: too many"
    assert detail(State.SUCCESS) == ""
    assert detail(State.FAILED, current_children=("0", "1"), reason="part 0 failed") == "part 0 failed"


def test_root_has_a_name_that_can_be_typed() -> None:
    assert (labels.name_of(""), labels.path_of("."), labels.name_of("01"), labels.path_of("01")) == (
        ".",
        "",
        "01",
        "01",
    )

import re

import pytest

from sol.run import Run
from sol.task import TaskRuns
from sol.tree.node import State, Tree
from sol.tree.values import CheckResult, plain
from sol.view.markup import STYLE
from sol.view.notebook import OPENED, run_html
from sol.view.treeview import TreeView
from tests.support.core import Scenario, assignment_of, stuck, success
from tests.support.markup import Reader
from tests.support.trees import ASSIGNMENT, chain, grown, run


def words(html: str) -> str:
    page = Reader(html)
    assert not page.flaws
    return page.words


def test_html_of_nothing_says_so() -> None:
    assert "nothing yet" in words(TreeView(Tree())._repr_html_())


def test_html_shows_what_each_node_is_and_how_it_stands() -> None:
    tree = grown(3)
    tree.status = "failed"
    tree.root.state, tree.root.reason = State.FAILED, "the parts do not fit"
    tree.root.current_children, tree.root.dimension = ("0", "1"), "inputs"
    tree.nodes["0"].checks = tuple(CheckResult("c", "file", ok) for ok in (True, True, False, None))
    tree.nodes["0"].counts = {"attempt": 3}
    tree.nodes["0"].spent.tokens, tree.nodes["0"].spent.cost, tree.nodes["0"].spent.seconds = 1200, 0.25, 4.0
    tree.spent.tokens, tree.spent.cost, tree.spent.seconds, tree.spent.calls = 1200, 0.25, 4.0, 3
    text = words(run_html(tree, "r-1"))
    assert "r-1 ✗ failed 3 calls · 1.2k tokens · $0.2500 · 4.0s of work · 3 nodes: 1 failed, 2 success" in text
    assert "not solved: the parts do not fit" in text
    assert "✗ failed    . Convert each of the records — the parts do not fit by inputs" in text
    assert "✓ success   0 records: lines 1–32 3 attempts ✓2 ✗1 ?1 4.0s 1.2k $0.2500" in text
    assert "✓ success   1 records: lines 33–64" in text


def test_html_shows_the_result_unfolded_when_it_is_short() -> None:
    tree = grown(1)
    tree.status, tree.root.state, tree.root.result = "success", State.SUCCESS, [1, "two"]
    shown = Run("r-1", TaskRuns(), tree, TreeView)._repr_html_()  # type: ignore[arg-type]  # the journal is not read
    assert "<details open><summary>result</summary><pre>[1, &quot;two&quot;]</pre></details>" in shown
    tree.root.result = {"rows": [{"number": number} for number in range(100)]}
    long = Run("r-1", TaskRuns(), tree, TreeView)._repr_html_()  # type: ignore[arg-type]
    assert "<details><summary>result</summary>" in long
    assert "result" not in words(TreeView(tree)._repr_html_())


def test_html_shows_what_waits_and_what_is_at_work() -> None:
    tree = grown(3)
    tree.nodes["0"].state, tree.nodes["0"].question = State.WAITING, "Which lamp?"
    run(tree, "1")
    text = words(run_html(tree, "r-1", activity={"1": "read records.txt"}))
    assert "question of node 0: Which lamp?" in text
    assert "? waiting   0 records: lines 1–32 — Which lamp?" in text
    assert "◐ running   1 records: lines 33–64 — read records.txt" in text


def test_html_of_a_small_tree_is_unfolded_and_of_a_large_one_where_it_matters() -> None:
    small = run_html(grown(OPENED - 1), "")
    assert "<details>" not in small
    assert small.count("<details open>") == 29
    large = grown(127)
    assert run_html(large, "").count("<details open>") == len(["", "0", "1"])
    large.nodes["1100"].state = State.FAILED
    shown = run_html(large, "")
    assert shown.count("<details open>") == len(["", "0", "1", "11", "110"])
    assert shown.count("<details>") == 63 - 5


def test_html_counts_what_it_leaves_out() -> None:
    tree = grown(1023)
    text = words(run_html(tree, "r-1", room=7))
    assert text.count("… 254 more (128 success)") == 4
    assert len(re.findall(r"(success|split) ", text)) < 20


def test_html_of_a_deep_tree_is_not_nested_without_end() -> None:
    page = Reader(run_html(chain(200), "r-1"))
    assert not page.flaws
    assert page.deepest < 100


def test_html_brings_its_style_for_light_and_dark_and_nothing_from_elsewhere() -> None:
    html = run_html(grown(3), "r-1")
    assert html.startswith(STYLE)
    assert '[data-jp-theme-light="false"] .sol' in STYLE
    assert "vscode-dark" in STYLE
    for state in State:
        assert STYLE.count(f"--sol-{state}:") == 2
    assert not re.search(r"https?:|url\(|@import|<script", html)


def test_story_as_html_has_assignment_checks_events_and_parts() -> None:
    scenario = Scenario("halve", sol="rules", assignment=assignment_of(success_criteria=[{"command": ["true"]}]))
    scenario.reports(success(["<b>"]))
    scenario.checks(True, False, None)
    scenario.splits("the <i>red</i> ones", "the blue ones", how="inputs")
    view = TreeView(scenario.tree, lambda: scenario.events)
    page = Reader(view.node("")._repr_html_())
    assert not page.flaws
    assert not {"b>", "i"} & set(page.tags)
    for part in (
        "Goalsort the bricks by colour",
        "✓ holdscheck 0seen",
        "✗ does not holdcheck 1",
        "? not checkedcheck 2",
    ):
        assert part in page.words
    assert "rule 3 of validation, failed, led to split" in page.words
    assert "the <i>red</i> ones" in page.words


def test_story_as_html_shows_the_result_and_why_it_ended() -> None:
    scenario = Scenario("single", sol="rules")
    scenario.reports(stuck("no light"))
    page = Reader(TreeView(scenario.tree, lambda: scenario.events).node("")._repr_html_())
    assert "no light" in page.words
    scenario = Scenario("single", sol="rules", assignment=plain(ASSIGNMENT))
    scenario.reports(success("all sorted"))
    page = Reader(TreeView(scenario.tree, lambda: scenario.events).node("")._repr_html_())
    assert "resultall sorted" in page.words


def test_story_as_html_leaves_out_the_middle_of_a_long_one() -> None:
    scenario = Scenario(sol="model")
    for number in range(400):
        scenario.lose()
        if not scenario.doing:
            break
        assert number < 399
    events = scenario.events * 200
    words_of = Reader(TreeView(scenario.tree, lambda: events).node("")._repr_html_()).words
    assert "more lines" in words_of
    assert len(words_of) < 40_000


@pytest.mark.parametrize("path", ["", "."])
def test_views_without_a_journal_tell_what_the_tree_knows(path: str) -> None:
    view = TreeView(grown(3))
    assert view.timeline() == []
    assert "What happened" not in str(view.node(path))

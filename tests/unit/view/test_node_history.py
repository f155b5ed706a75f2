import pytest

from sol.errors import NotFoundError
from sol.tree.events import Event
from sol.tree.node import State
from sol.view.history import history_of
from sol.view.treeview import TreeView
from tests.support.core import Scenario, assignment_of, stuck, success
from tests.support.trees import grown


def told() -> tuple[Scenario, TreeView]:
    """A root that was refused by a check, split, and put together; stamped with one second a step."""
    run = Scenario("halve", sol="rules", assignment=assignment_of(success_criteria=[{"command": ["true"]}]))
    run.reports(success(["red"]))
    run.checks(False)
    run.splits("the red ones", "the blue ones", how="inputs")
    run.reports(stuck("no light"), "0")
    events = [Event(one.node, one.data, 100.0 + at) for at, one in enumerate(run.events)]
    return run, TreeView(run.tree, lambda: events, name="r-1")


def test_history_has_everything_that_happened_to_the_node_and_nothing_else() -> None:
    run, view = told()
    history = view.node("")
    assert (history.path, history.state, history.above) == ("", State.SPLIT, None)
    assert history.assignment is run.tree.root.assignment
    assert history.title == run.tree.root.assignment.goal
    assert {event.node for event in history.events} == {""}
    assert [report.status for report in history.reports] == ["SUCCESS"]
    assert [(check.ok, check.n) for check in history.checks] == [(False, 1)]
    assert [(one.section, one.next) for one in history.decisions] == [
        ("report", "validate"),
        ("validation", "split"),
    ]
    assert [child.path for child in history.children] == ["0", "1"]
    assert history.began == 100.0


def test_history_of_a_part_knows_what_it_is_part_of() -> None:
    run, view = told()
    history = view.node("0")
    assert history.above is run.tree.root
    assert [report.blocker for report in history.reports] == ["no light"]


def test_history_takes_a_dot_for_the_root() -> None:
    _, view = told()
    assert view.node(".").path == ""


def test_history_of_an_unknown_node_is_refused() -> None:
    _, view = told()
    with pytest.raises(NotFoundError, match="no node '7' in this run of 3 nodes"):
        view.node("7")


def test_history_without_events_tells_what_the_tree_knows() -> None:
    run, _ = told()
    history = history_of(run.tree, "", ())
    assert history.events == ()
    assert history.began == 0.0
    assert history.decisions == tuple(run.tree.root.decisions)
    assert history.reports[0].status == "SUCCESS"
    assert history_of(run.tree, "1", ()).reports == ()


def test_history_puts_the_judges_words_in_the_place_of_what_was_open() -> None:
    run = Scenario()
    run.reports(success())
    run.judges(True)
    history = history_of(run.tree, "", run.events)
    assert [(check.criterion, check.ok, check.detail) for check in history.checks] == [
        ("they are in order", True, "seen")
    ]
    run = Scenario()
    run.reports(success())
    assert [check.ok for check in history_of(run.tree, "", run.events).checks] == [None]


def test_history_reads_as_text() -> None:
    _, view = told()
    text = str(view.node(""))
    lines = text.splitlines()
    assert lines[0] == "node .: ◇ split"
    assert "Goal              sort the bricks by colour" in lines
    assert "    8.0s  rule 3 of validation, failed, led to split" in lines
    assert lines[-3:] == ["Parts", "◐ running   0 the red ones", "◐ running   1 the blue ones"]


def test_history_and_views_have_short_reprs() -> None:
    _, view = told()
    assert repr(view.node("")).startswith("<Story of .: split, ")
    assert repr(view) == "<TreeView r-1: 3 nodes, 1 split, 2 running>"
    assert repr(TreeView(grown(0))) == "<TreeView 1 node, 1 success>"
    assert repr(view["0"]) == "<TaskNode 0: running, 'the red ones'>"
    assert repr(view._tree) == "<Tree: running, 3 nodes>"

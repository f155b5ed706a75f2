import pytest

from sol.errors import NotFoundError
from sol.tree.events import Event
from sol.tree.node import State
from sol.view.history import story_of
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


def test_story_has_everything_that_happened_to_the_node_and_nothing_else() -> None:
    run, view = told()
    story = view.node("")
    assert (story.path, story.state, story.above) == ("", State.SPLIT, None)
    assert story.assignment is run.tree.root.assignment
    assert story.title == run.tree.root.assignment.goal
    assert {event.node for event in story.events} == {""}
    assert [report.status for report in story.reports] == ["SUCCESS"]
    assert [(check.ok, check.n) for check in story.checks] == [(False, 1)]
    assert [(one.section, one.next) for one in story.decisions] == [
        ("report", "validate"),
        ("validation", "split"),
    ]
    assert [child.path for child in story.children] == ["0", "1"]
    assert story.began == 100.0


def test_story_of_a_part_knows_what_it_is_part_of() -> None:
    run, view = told()
    story = view.node("0")
    assert story.above is run.tree.root
    assert [report.blocker for report in story.reports] == ["no light"]


def test_story_takes_a_dot_for_the_root() -> None:
    _, view = told()
    assert view.node(".").path == ""


def test_story_of_an_unknown_node_is_refused() -> None:
    _, view = told()
    with pytest.raises(NotFoundError, match="no node '7' in this run of 3 nodes"):
        view.node("7")


def test_story_without_events_tells_what_the_tree_knows() -> None:
    run, _ = told()
    story = story_of(run.tree, "", ())
    assert story.events == ()
    assert story.began == 0.0
    assert story.decisions == tuple(run.tree.root.decisions)
    assert story.reports[0].status == "SUCCESS"
    assert story_of(run.tree, "1", ()).reports == ()


def test_story_puts_the_judges_words_in_the_place_of_what_was_open() -> None:
    run = Scenario()
    run.reports(success())
    run.judges(True)
    story = story_of(run.tree, "", run.events)
    assert [(check.criterion, check.ok, check.detail) for check in story.checks] == [
        ("they are in order", True, "seen")
    ]
    run = Scenario()
    run.reports(success())
    assert [check.ok for check in story_of(run.tree, "", run.events).checks] == [None]


def test_story_reads_as_text() -> None:
    _, view = told()
    text = str(view.node(""))
    lines = text.splitlines()
    assert lines[0] == "node .: ◇ split"
    assert "Goal              sort the bricks by colour" in lines
    assert "    8.0s  rule 3 of validation, failed, led to split" in lines
    assert lines[-3:] == ["Parts", "◐ running   0 the red ones", "◐ running   1 the blue ones"]


def test_story_and_views_have_short_reprs() -> None:
    _, view = told()
    assert repr(view.node("")).startswith("<Story of .: split, ")
    assert repr(view) == "<TreeView r-1: 3 nodes, 1 split, 2 running>"
    assert repr(TreeView(grown(0))) == "<TreeView 1 node, 1 success>"
    assert repr(view["0"]) == "<TaskNode 0: running, 'the red ones'>"
    assert repr(view._tree) == "<Tree: running, 3 nodes>"

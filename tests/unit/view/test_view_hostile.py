"""Case NB-02: whatever a run holds, what is shown of it is small, made at once, and harmless."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from sol.run import Run
from sol.task import TaskRuns
from sol.tree.node import Tree
from sol.view.terminal import Page, tree_lines
from sol.view.treeview import TreeView
from tests.support.hostile import ATTACK, damaged, monster
from tests.support.markup import Reader

SECONDS, BYTES = 2.0, 1_000_000


@pytest.fixture(scope="module")
def tree() -> Tree:
    return monster("x" * 10_000_000)


@contextmanager
def soon() -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < SECONDS


def no_journal() -> Any:
    raise AssertionError("nothing is read from the journal to show a run")


def run_of(tree: Tree) -> Run:
    return Run("r-1", TaskRuns(), tree, no_journal)


@pytest.mark.case("NB-02")
@pytest.mark.parametrize(
    "show",
    [
        lambda tree: repr(TreeView(tree)) + repr(tree) + repr(tree.root) + repr(list(tree.nodes.values())[2999]),
        lambda tree: repr(run_of(tree)),
        lambda tree: TreeView(tree)._repr_html_(),
        lambda tree: run_of(tree)._repr_html_(),
        lambda tree: TreeView(tree).to_mermaid(),
        lambda tree: TreeView(tree).to_dot(),
        lambda tree: str(TreeView(tree).node("")) + str(TreeView(tree).node("0" * 2999)),
        lambda tree: TreeView(tree).node("")._repr_html_(),
        lambda tree: str(TreeView(tree).diff(TreeView(Tree()))),
    ],
    ids=["reprs", "run", "tree html", "run html", "mermaid", "dot", "story", "story html", "diff"],
)
def test_large_and_hostile_trees_are_shown_at_once_and_small(tree: Tree, show: Callable[[Tree], str]) -> None:
    with soon():
        text = show(tree)
    assert len(text.encode()) < BYTES
    assert "\x1b" not in text
    assert "\x07" not in text


@pytest.mark.case("NB-02")
def test_html_of_a_hostile_tree_is_whole_and_harmless(tree: Tree) -> None:
    for html in (run_of(tree)._repr_html_(), TreeView(tree).node("")._repr_html_()):
        html.encode()
        page = Reader(html)
        assert not page.flaws
        assert ATTACK in page.words
        assert not {"img", "script", "link", "iframe"} & set(page.tags)
        assert page.deepest < 150
        assert "http" not in html


@pytest.mark.case("NB-02")
@pytest.mark.parametrize(
    "result",
    [list(range(1_300_000)), {"rows": [{"a": "b" * 9} for _ in range(400_000)]}, "é" * 5_000_000],
    ids=["numbers", "rows", "text"],
)
def test_large_results_are_shown_in_part(result: Any) -> None:
    small = monster(result, levels=1, leaves=1)
    with soon():
        html = run_of(small)._repr_html_()
    assert len(html) < 50_000
    assert "the rest is in the result itself" in html
    assert not Reader(html).flaws


@pytest.mark.case("NB-02")
def test_deeply_nested_results_are_shown() -> None:
    nested: Any = 1
    for _ in range(100_000):
        nested = [nested]
    html = run_of(monster(nested, levels=1, leaves=1))._repr_html_()
    assert not Reader(html).flaws


@pytest.mark.case("NB-02")
def test_large_trees_make_tables_graphs_and_figures(tree: Tree) -> None:
    view = TreeView(tree)
    with soon():
        assert len(view.to_dataframe()) == len(tree.nodes)
    with soon():
        assert view.to_networkx().number_of_nodes() == len(tree.nodes)
    with soon():
        figure = view.plot()
    assert figure.get_size_inches()[1] < 60


@pytest.mark.case("NB-02")
def test_damaged_trees_are_shown_with_what_is_wrong() -> None:
    view = TreeView(damaged(), name="r-1")
    words = Reader(view._repr_html_()).words
    assert "node 777 hangs in the air: there is no node 77 above it" in words
    assert "node 8 hangs in a circle of nodes: there is no node 9 above it" in words
    assert "the node at 2 calls itself 1" in words
    assert "node 0 lists its part 00 twice" in words
    assert "node 0 has a part 0f that does not exist" in words
    assert "node . lists 00, which belongs elsewhere, among its parts" in words
    assert "node 0 lists ., which belongs elsewhere, among its parts" in words
    assert "node 1 is not among the parts of the node above it" in words
    for text in (
        view.to_mermaid(),
        view.to_dot(),
        "\n".join(map(str, tree_lines(damaged(), Page(width=120, now=0.0)))),
    ):
        assert "in the air" in text
        assert all(f" {name} Convert" in text for name in (".", "777", "8", "9"))
    assert [node.path for node in view] == ["", "0", "00", "1", "777", "8", "9"]
    assert len(view.faults) == 10
    assert view.plot() is not None
    assert "0" in str(view.node("0"))
    json.dumps(view.to_mermaid())


@pytest.mark.case("NB-02")
def test_damage_without_end_is_counted() -> None:
    tree = monster(None, levels=0, leaves=40)
    for node in tree.nodes.values():
        node.children += ("",)
    assert "and 21 more faults" in TreeView(tree)._repr_html_()

"""The tree as people and programs look at it."""

from sol.view.treeview import TreeView
from tests.support.core import Scenario, failed, stuck


def view() -> TreeView:
    run = Scenario()
    run.reports(stuck())
    run.splits("find red", "find blue")
    run.solves("0")
    return TreeView(run.tree)


def test_view_walks_parents_before_children() -> None:
    tree = view()
    assert [node.path for node in tree] == ["", "0", "1"]
    assert len(tree) == 3
    assert "0" in tree
    assert "2" not in tree
    assert tree["0"].title == "find red"
    assert tree.root.depth == 0
    assert [node.path for node in tree.leaves()] == ["0", "1"]
    assert tree.counts() == {"split": 1, "success": 1, "running": 1}
    assert tree.set_aside() == []


def test_view_as_graph_has_an_edge_from_each_parent() -> None:
    graph = view().to_networkx()
    assert sorted(graph.edges) == [("", "0"), ("", "1")]
    assert graph.nodes["0"]["state"] == "success"
    assert graph.nodes["0"]["attempts"] == 1


def test_empty_tree_can_be_looked_at() -> None:
    from sol.tree.node import Tree

    assert list(TreeView(Tree())) == []


def test_node_knows_its_parent() -> None:
    run = Scenario()
    run.reports(failed())
    assert (run[""].parent, run[""].depth) == ("", 0)

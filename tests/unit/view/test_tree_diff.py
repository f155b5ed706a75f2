from copy import deepcopy

from sol.tree.node import DIGITS, State, TaskNode, Tree
from sol.tree.values import WorkerData
from sol.view.diff import compare
from sol.view.treeview import TreeView
from tests.support.trees import a_node, grown


def goal(tree: Tree, path: str, text: str) -> TaskNode:
    """Add a node with a goal of its own."""
    node = a_node(path, goal=text, worker=WorkerData("function"), state=State.SUCCESS)
    tree.nodes[path] = node
    if path:
        tree.nodes[path[:-1]].children += (path,)
    return node


def small(*goals: str) -> Tree:
    tree = Tree(status="success")
    goal(tree, "", "all of it")
    for number, text in enumerate(goals):
        goal(tree, str(number), text)
    return tree


def test_diff_of_a_run_with_itself_is_none() -> None:
    diff = TreeView(grown(15)).diff(TreeView(grown(15)))
    assert diff.same
    assert len(diff.pairs) == 15
    assert str(diff) == "The same: 15 nodes. There: +0.0s.\n"


def test_diff_tells_what_only_one_of_them_has() -> None:
    diff = compare(small("find", "mend"), small("find", "mend", "polish"))
    assert [node.path for node in diff.only_there] == ["2"]
    assert diff.only_here == ()
    back = compare(small("find", "mend", "polish"), small("find", "mend"))
    assert [node.path for node in back.only_here] == ["2"]
    assert back.only_there == ()
    assert not back.same


def test_diff_pairs_what_stands_elsewhere_by_goal_and_inputs() -> None:
    diff = compare(small("find", "mend"), small("mend", "find"))
    assert [(pair.here.path, pair.there.path) for pair in diff.pairs] == [("", ""), ("0", "1"), ("1", "0")]
    assert diff.pairs[1].changes == {"path": ("0", "1")}


def test_diff_pairs_other_tasks_at_the_same_place() -> None:
    diff = compare(small("find"), small("guess"))
    assert [pair.changes for pair in diff.changed] == [{"goal": ("find", "guess")}]


def test_diff_does_not_give_one_node_to_two() -> None:
    diff = compare(small("same", "same"), small("same"))
    assert [(pair.here.path, pair.there.path) for pair in diff.pairs] == [("", ""), ("0", "0")]
    assert [node.path for node in diff.only_here] == ["1"]


def test_diff_tells_state_result_split_worker_and_attempts() -> None:
    here, there = small("find"), small("find")
    node = there.nodes["0"]
    node.state, node.reason, node.result = State.FAILED, "no lamp", [1]
    node.current_children, node.how, node.dimension = ("00", "01"), "inputs", "lines"
    node.worker, node.counts = WorkerData("agent"), {"attempt": 2}
    [pair] = compare(here, there).changed
    assert dict(pair.changes) == {
        "state": ("success", "failed"),
        "reason": ("", "no lamp"),
        "result": (None, [1]),
        "split": (None, ("inputs", "lines", 2)),
        "worker": (WorkerData("function"), WorkerData("agent")),
        "attempts": (0, 2),
    }
    text = str(compare(here, there))
    assert "  0  state  success → failed\n" in text
    assert "    split  nothing → 2 by inputs along lines\n" in text
    assert "    worker  function → agent\n" in text


def test_diff_tells_what_more_was_used() -> None:
    here, there = small("find"), small("find")
    for account in (there.spent, there.nodes["0"].spent):
        account.calls, account.tokens, account.cost, account.seconds = 3, 40, 0.5, 61.0
    diff = compare(here, there)
    assert diff.same
    assert (diff.delta.calls, diff.delta.tokens, diff.delta.cost, diff.delta.seconds) == (3, 40, 0.5, 61.0)
    assert diff.pairs[1].delta == diff.delta
    assert str(diff) == "The same: 2 nodes. There: +1:01, +3 calls, +40 tokens, +$0.5000.\n"
    assert "-$0.5000" in str(compare(there, here))


def test_diff_lists_no_more_than_people_read_and_escapes_it() -> None:
    here = small(*(f"<b>task</b> {number}" for number in range(35)))
    there = deepcopy(here)
    for node in there.nodes.values():
        node.state = State.FAILED
    for number in range(60):
        path = f"0{DIGITS[number % 36]}{number // 36}"
        there.nodes[path] = a_node(path, goal=f"<i>{number}")
    diff = compare(here, there)
    html = diff._repr_html_()
    assert "<b>task" not in html
    assert "<i>" not in html
    assert "20 more" in html
    assert "20 more" in str(diff)
    assert repr(diff) == "<TreeDiff: 36 in both, 36 of them changed, 0 only here, 60 only there>"

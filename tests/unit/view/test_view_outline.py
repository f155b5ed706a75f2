import random
import time

from hypothesis import given
from hypothesis import strategies as st

from sol.tree.node import State
from sol.view.outline import outline
from tests.support.trees import chain, grown, run


def test_outline_of_a_small_tree_has_a_line_for_each_node_in_tree_order() -> None:
    lines = outline(grown(7), room=7)
    assert [line.node.path for line in lines] == ["", "0", "00", "01", "1", "10", "11"]
    assert not any(line.hidden for line in lines)
    assert [line.levels for line in lines[:3]] == [(), (True,), (True, True)]


def test_outline_without_limit_shows_everything() -> None:
    assert len(outline(grown(511), room=None)) == 511


def test_outline_of_nothing_is_empty() -> None:
    tree = grown(1)
    tree.nodes.clear()
    assert outline(tree, room=5) == []


def test_outline_shows_what_needs_attention_with_all_above_it() -> None:
    tree = grown(255)
    run(tree, "1010101")
    tree.nodes["0000000"].state = State.WAITING
    tree.nodes["1111111"].state = State.FAILED
    shown = {line.node.path for line in outline(tree, room=20)}
    for path in ("1010101", "0000000"):
        assert {path[:end] for path in (path,) for end in range(8)} <= shown
    assert len(shown) == 20


def test_outline_sums_up_what_it_leaves_out() -> None:
    tree = grown(15)
    for node in tree.nodes.values():
        node.spent.tokens, node.spent.cost, node.spent.seconds = 1, 0.5, 2.0
    lines = {line.node.path: line for line in outline(tree, room=3)}
    assert set(lines) == {"", "0", "1"}
    assert (lines["0"].tokens, lines["0"].cost, lines["0"].seconds) == (7, 3.5, 14.0)
    assert lines[""].tokens == 15
    assert lines["1"].hidden == {State.SPLIT: 2, State.SUCCESS: 4}
    assert not lines[""].hidden


def test_outline_shows_a_node_alone_where_its_ancestors_do_not_fit() -> None:
    lines = outline(chain(40), room=5)
    assert len(lines) == 5
    deep = next(line for line in lines if len(line.node.path) == 39)
    assert deep.above is not None
    assert deep.node.parent != deep.above.path


def test_outline_of_many_failures_keeps_room_for_the_shape() -> None:
    tree = grown(511)
    for node in tree.nodes.values():
        if not node.children:
            node.state = State.SKIPPED
    states = [line.node.state for line in outline(tree, room=30)]
    assert states.count(State.SKIPPED) >= 5
    assert len([line for line in outline(tree, room=30) if len(line.node.path) == 1]) == 2


def test_outline_of_20_000_nodes_is_quick_and_bounded() -> None:
    tree = grown(20_001)
    rng = random.Random(3)
    for path in rng.sample([node.path for node in tree.nodes.values() if not node.children], 60):
        run(tree, path)
    began = time.perf_counter()
    lines = outline(tree, room=40)
    assert time.perf_counter() - began < 0.5
    assert len(lines) == 40


def test_outline_of_a_very_deep_tree_does_not_recurse() -> None:
    lines = outline(chain(3_000), room=None)
    assert len(lines) == 3_000
    assert max(len(line.levels) for line in lines) == 64
    assert lines[-1].depth == 2_999


@given(
    nodes=st.integers(1, 80),
    room=st.integers(1, 50),
    states=st.lists(st.sampled_from(list(State)), min_size=80, max_size=80),
)
def test_outline_is_bounded_and_accounts_for_every_node(nodes: int, room: int, states: list[State]) -> None:
    tree = grown(nodes)
    for node, state in zip(tree.nodes.values(), states, strict=False):
        node.state = state
    lines = outline(tree, room=room)
    assert lines[0].node.path == ""
    assert len(lines) == len({line.node.path for line in lines}) <= max(room, 1)
    assert room < len(tree.nodes) or len(lines) == len(tree.nodes)
    assert len(lines) + sum(line.hidden.total() for line in lines) == len(tree.nodes)

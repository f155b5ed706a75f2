import re

from hypothesis import given
from hypothesis import strategies as st

from sol.tree.node import State, Tree
from sol.view.diagrams import cut, dot, mermaid, short_path
from sol.view.treeview import TreeView
from tests.support.trees import a_node, chain, grown

MERMAID_LINE = re.compile(
    r'flowchart TD|  n\d+(\["[^"`]*"\]:::\w+|\("[^"`]*"\))|  n\d+ (-->|-\.->) n\d+'
    r"|  classDef \w+ fill:#\w+,stroke:#\w+,color:#\w+"
)
DOT_LINE = re.compile(
    r'digraph run \{|  (node|edge) \[.*\];|  n\d+ \[label="([^"\\]|\\.)*", (fillcolor|style)=.*\];'
    r"|  n\d+ -> n\d+( \[style=dashed\])?;|\}"
)


def one(goal: str) -> Tree:
    tree = Tree(status="running")
    tree.nodes[""] = a_node(goal=goal, state=State.RUNNING)
    return tree


def test_mermaid_draws_nodes_edges_and_states() -> None:
    tree = grown(3)
    tree.root.current_children, tree.root.dimension = ("0", "1"), "inputs"
    tree.nodes["1"].state, tree.nodes["1"].reason = State.FAILED, "no light"
    assert TreeView(tree).to_mermaid() == (
        "flowchart TD\n"
        '  n0["◇ . Convert each of the records<br/>split: inputs"]:::split\n'
        '  n1["✓ 0 records: lines 1–32"]:::success\n'
        "  n0 --> n1\n"
        '  n2["✗ 1 records: lines 33–64<br/>no light"]:::failed\n'
        "  n0 --> n2\n"
        "  classDef failed fill:#ffebee,stroke:#d32f2f,color:#222222\n"
        "  classDef split fill:#e8eaf6,stroke:#5c6bc0,color:#222222\n"
        "  classDef success fill:#e8f5e9,stroke:#388e3c,color:#222222\n"
    )


def test_dot_draws_nodes_edges_and_states() -> None:
    text = TreeView(grown(3)).to_dot()
    assert '  n0 [label="◇ . Convert each of the records", fillcolor="#e8eaf6", color="#5c6bc0"];\n' in text
    assert "  n0 -> n2;\n" in text


def test_diagrams_count_what_they_leave_out() -> None:
    text = mermaid(grown(63), room=3)
    assert '("… 30 more (16 success)")' in text
    assert "-.-> n2" in text
    assert 'label="… 30 more (16 success)", style="dashed,rounded"' in dot(grown(63), room=3)


def test_diagrams_dash_edges_over_levels_left_out() -> None:
    assert re.search(r"n\d -\.-> n\d", mermaid(chain(40), room=3))
    assert "[style=dashed]" in dot(chain(40), room=3)


def test_diagrams_of_nothing_say_so() -> None:
    assert mermaid(Tree(), room=5) == 'flowchart TD\n  n0("nothing yet")\n'
    assert "nothing yet" in dot(Tree(), room=5)


def test_long_texts_and_paths_are_cut() -> None:
    assert cut("a" * 10, 10) == "a" * 10
    assert cut("a" * 11, 10) == "a" * 9 + "…"
    assert short_path("0" * 12) == "0" * 12
    assert short_path("0" * 13) == "…" + "0" * 11
    assert short_path("") == "."


@given(st.text() | st.sampled_from(['"];x', "a`b", "#quot;", "<script>", "\\", '\\"', "end", "\x1b[31m", "--> n1"]))
def test_diagrams_keep_any_goal_inside_its_label(goal: str) -> None:
    for line in mermaid(one(goal), room=5).splitlines():
        assert MERMAID_LINE.fullmatch(line), line
        assert "<" not in line.replace("<br/>", "")
    for line in dot(one(goal), room=5).splitlines():
        assert DOT_LINE.fullmatch(line), line

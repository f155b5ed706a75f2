import io
import warnings
from typing import Any

import pytest

from sol.tree.node import State, Tree
from sol.tree.timeline import Span
from sol.view.figure import SUMMARY, plot
from sol.view.treeview import TreeView
from tests.support.core import Scenario, success
from tests.support.trees import a_node, chain, grown

KINDS = ("attempt", "check", "split", "integrate", "some_new_kind")


def spans_of(tree: Tree) -> list[Span]:
    return [
        Span(path, kind, 1, 100.0 + at + 10 * number, 100.5 + at + 10 * number, critical=at % 3 == 0)
        for at, path in enumerate(tree.nodes)
        for number, kind in enumerate(KINDS)
    ]


def texts(figure: Any) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def drawn(figure: Any) -> bytes:
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(out, format="png", dpi=40)
    return out.getvalue()


@pytest.mark.parametrize("nodes", [1, 3, 41, 199])
def test_figure_has_a_line_for_each_node_and_bars_beside_it(nodes: int) -> None:
    tree = grown(nodes)
    figure = plot(tree, spans_of(tree), room=200, title="r-1")
    words = texts(figure)
    assert sum("records" in word for word in words) == nodes
    assert len(figure.axes) == 2
    legend = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert legend == ["attempt", "check", "split", "integrate", "other", "critical path"]
    assert drawn(figure).startswith(b"\x89PNG")
    width, height = figure.get_size_inches()
    assert width == pytest.approx(10.0)
    assert height / nodes >= 0.17


def test_figure_sums_up_what_is_too_large() -> None:
    tree = grown(1023)
    figure = plot(tree, spans_of(tree), room=200, title="r-1")
    words = texts(figure)
    assert sum("records" in word for word in words) == SUMMARY
    assert any("more" in word for word in words)
    assert drawn(figure)


def test_figure_without_events_shows_the_tree_alone() -> None:
    figure = TreeView(grown(7)).plot()
    assert len(figure.axes) == 1
    assert drawn(figure)


def test_figure_shows_why_beside_what() -> None:
    tree = grown(3)
    tree.nodes["0"].state, tree.nodes["0"].reason = State.FAILED, "there is no light in the cellar"
    words = texts(TreeView(tree).plot())
    assert "— there is no light in the cellar" in words
    assert "✗" in words


def test_figure_draws_any_text_without_warning_and_as_it_is() -> None:
    tree = grown(3)
    tree.nodes["0"] = a_node("0", goal="$x_1$ \\frac 漢字 🙂 <b>", inputs={})
    tree.nodes["1"] = a_node("1", goal="", inputs={})
    figure = TreeView(tree, name="r-1").plot()
    assert "0  $x_1$ \\frac □□ □ <b>" in texts(figure)
    assert drawn(figure)


def test_figure_of_nothing_and_of_a_deep_tree_can_be_drawn() -> None:
    assert drawn(plot(Tree(), [], room=200, title=""))
    deep = chain(300)
    assert drawn(plot(deep, spans_of(deep), room=20, title="r-1"))


def test_figure_shows_itself_in_notebooks() -> None:
    scenario = Scenario("single")
    scenario.reports(success())
    scenario.judges(True)
    figure = TreeView(scenario.tree, lambda: scenario.events, name="r-1").plot()
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert len(figure.axes) == 2

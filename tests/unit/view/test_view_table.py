import pickle
from types import ModuleType

import pytest

from sol import errors
from sol.errors import MissingPackageError, required
from sol.tree.node import State, Tree
from sol.tree.values import CheckResult
from sol.view.treeview import TreeView
from tests.support.trees import grown


def test_dataframe_has_a_row_for_each_node() -> None:
    tree = grown(7)
    node = tree.nodes["01"]
    node.state, node.kind, node.reason, node.dimension = State.FAILED, "verification", "no light", "lines"
    node.counts = {"attempt": 2, "check": 2}
    node.checks = tuple(CheckResult("c", "file", ok) for ok in (True, False, None, None))
    node.spent.seconds, node.spent.calls, node.spent.tokens, node.spent.cost = 1.5, 2, 300, 0.25
    frame = TreeView(tree).to_dataframe()
    assert list(frame.index) == ["", "0", "00", "01", "1", "10", "11"]
    assert frame.loc["01"].to_dict() == {
        "depth": 2,
        "goal": "Convert each of the records",
        "state": "failed",
        "kind": "verification",
        "reason": "no light",
        "worker": "command",
        "dimension": "lines",
        "children": 0,
        "attempts": 2,
        "seconds": 1.5,
        "calls": 2,
        "tokens": 300,
        "cost": 0.25,
        "passed": 1,
        "failed": 1,
        "unchecked": 2,
    }
    assert frame["children"].sum() == 6


def test_dataframe_of_nothing_is_empty() -> None:
    assert TreeView(Tree()).to_dataframe().empty


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> ModuleType:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

    monkeypatch.setattr(errors, "import_module", missing)
    with pytest.raises(MissingPackageError, match=r"to_dataframe needs pandas.*sol-luna\[notebook\]") as caught:
        TreeView(grown(3)).to_dataframe()
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(MissingPackageError, match="plot needs matplotlib"):
        TreeView(grown(3)).plot()


def test_fault_inside_an_optional_package_is_not_taken_for_its_absence(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_name: str) -> ModuleType:
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    monkeypatch.setattr(errors, "import_module", broken)
    with pytest.raises(ModuleNotFoundError, match="numpy"):
        required("pandas", what="to_dataframe")

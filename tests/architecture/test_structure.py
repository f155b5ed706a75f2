"""Caps and rules about the source that no linter has: sizes, public names, what imports what."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*ROOT.glob("sol/**/*.py"), *ROOT.glob("luna/**/*.py")])
ALL = sorted([*SOURCES, *ROOT.glob("tests/**/*.py"), *ROOT.glob("benchmarks/**/*.py"), *ROOT.glob("examples/**/*.py")])
MODULE_LINES = 600
BODY_LINES = 50
PARAMETERS = 7
ASSERTING = {ROOT / "luna" / "testing" / "contract.py"}
"""A test suite for others to run on their own workers: there `assert` is the point."""
COMMANDS = ROOT / "sol" / "cli"
"""A function there that is a command has one parameter for each of its options; nobody calls it but typer."""
VAGUE_NAMES = re.compile(r"(Manager|Helper|Utils?)$")


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", ALL, ids=_name)
def test_module_is_at_most_400_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MODULE_LINES


def _is_command(path: Path, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    if path.parent != COMMANDS:
        return False
    decorators = [ast.unparse(one) for one in function.decorator_list]
    added = f")({path.stem}.{function.name})"  # app.command("name")(module.function)
    return any(one.startswith(("app.command(", "app.callback(")) for one in decorators) or any(
        line.startswith("app.command(") and line.endswith(added)
        for line in (COMMANDS / "app.py").read_text().splitlines()
    )


@pytest.mark.parametrize("path", ALL, ids=_name)
def test_functions_are_short_and_take_few_parameters(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = (node.end_lineno or 0) - node.body[0].lineno + 1
        assert length <= BODY_LINES, f"{node.name} in line {node.lineno} has {length} lines"
        names = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        own = [argument for argument in names if argument.arg not in {"self", "cls"}]
        if path in SOURCES and not _is_command(path, node):
            assert len(own) <= PARAMETERS, f"{node.name} in line {node.lineno} has {len(own)} parameters"


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_module_says_what_it_is_for(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring, "a module starts with what it is for"


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_class_names_say_something(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ClassDef):
            assert not VAGUE_NAMES.search(node.name), node.name


@pytest.mark.parametrize("path", [path for path in SOURCES if path not in ASSERTING], ids=_name)
def test_no_input_is_checked_by_assert(path: Path) -> None:
    found = [node.lineno for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Assert)]
    assert not found


def test_the_loop_is_short() -> None:
    assert len((ROOT / "sol" / "engine" / "loop.py").read_text().splitlines()) < 150


def test_strategies_hold_no_code() -> None:
    assert not list((ROOT / "strategies").rglob("*.py"))


def test_public_names_are_there() -> None:
    import sol

    for name in sol.__all__:
        assert getattr(sol, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Moon'"):
        _ = sol.Moon  # type: ignore[attr-defined]

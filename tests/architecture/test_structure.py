"""Caps and rules about the source that no linter has: sizes, names, what the public face offers."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("sol", "luna", "tests", "benchmarks", "examples")
FILES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
MODULE_LINES = 600
BODY_LINES = 50
VAGUE_NAMES = re.compile(r"(Manager|Helper|Utils?)$")


def faults(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.body[0].lineno + 1
            if length > BODY_LINES:
                yield f"{node.lineno}: the body of {node.name} has {length} lines, more than {BODY_LINES}"
        if isinstance(node, ast.ClassDef) and VAGUE_NAMES.search(node.name):
            yield f"{node.lineno}: {node.name} does not say what it is"


def test_modules_and_functions_are_short_and_classes_say_what_they_are() -> None:
    found = []
    for file in FILES:
        text = file.read_text()
        name, lines = file.relative_to(ROOT), len(text.splitlines())
        found += [f"{name}: {lines} lines, more than {MODULE_LINES}"] if lines > MODULE_LINES else []
        found += [f"{name}:{fault}" for fault in faults(ast.parse(text))]
    assert not found, "\n".join(found)


def test_strategies_hold_no_code() -> None:
    assert not list((ROOT / "strategies").rglob("*.py"))


def test_public_names_are_there() -> None:
    import sol

    for name in sol.__all__:
        assert getattr(sol, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Moon'"):
        _ = sol.Moon  # type: ignore[attr-defined]

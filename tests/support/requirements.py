"""Writes docs/requirements.md: each id of a requirement or reported fault with the tests that carry it.

python tests/support/requirements.py
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "requirements.md"
MARKS = {"pytest.mark.req", "pytest.mark.case"}
HEAD = """\
# Requirements and the tests that prove them

`Source: S16` in a docstring names a requirement, `case RES-03` a fault that users of such tools have reported; here is
which tests prove it. S: the strategy of recursive splitting. R: rules and aggregation. W: workflow definitions. The
tests' names say what is required.

Made by `python tests/support/requirements.py` from the marks `@pytest.mark.req` and `@pytest.mark.case`.
"""


def ids_in(node: ast.AST) -> Iterator[str]:
    """Ids that the marks within an expression carry."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and ast.unparse(part.func) in MARKS:
            yield from (str(one.value) for one in part.args if isinstance(one, ast.Constant))


def marked(file: Path) -> Iterator[tuple[str, str]]:
    """Ids and names of the tests of a file that carry them: on themselves, their class, or their parameters."""
    tree = ast.parse(file.read_text())
    values = {ast.unparse(node.targets[0]): [*ids_in(node)] for node in tree.body if isinstance(node, ast.Assign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                named = [part.id for part in ast.walk(decorator) if isinstance(part, ast.Name)]
                for one in [*ids_in(decorator), *(one for name in named for one in values.get(name, ()))]:
                    yield one, node.name


def page() -> str:
    """The text of the page."""
    found: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in sorted((ROOT / "tests").rglob("*.py")):
        for requirement, test in marked(file):
            tests = found[requirement][str(file.relative_to(ROOT / "tests"))]
            if test not in tests:
                tests.append(test)
    lines = [HEAD]
    for requirement in sorted(
        found, key=lambda one: ("-" in one, re.sub(r"\W?\d+", "", one), int(re.sub(r"\D", "", one)))
    ):
        lines.append(f"## {requirement}\n")
        for file_name, tests in found[requirement].items():
            lines.append(f"- {file_name}: {', '.join(test.removeprefix('test_').replace('_', ' ') for test in tests)}")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())

"""The linters, the type checker and the import contracts, so that one command runs them all."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {
    "ruff check": ["-m", "ruff", "check", "."],
    "ruff format": ["-m", "ruff", "format", "--check", "."],
    "mypy": ["-m", "mypy"],
    "import-linter": ["-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", COMMANDS)
def test_tool_finds_nothing(name: str) -> None:
    done = subprocess.run([sys.executable, *COMMANDS[name]], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-2000:]}"

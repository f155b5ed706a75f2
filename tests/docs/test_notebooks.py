"""The notebooks run from top to bottom, and what is kept of their outputs can be read without running them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MACHINE = re.compile(r"(?<![\w.])/(?:tmp|home|root|work|usr|var|private|Users|opt|mnt)/")


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == "code"]


def test_there_are_notebooks() -> None:
    assert {"01_solve", "02_inspect"} <= {path.stem for path in NOTEBOOKS}


@pytest.mark.slow
def test_notebooks_run(tmp_path: Path) -> None:
    for path in NOTEBOOKS:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    # Out of the project's directory, so that neither its settings nor a directory that happens to be there help them.
    command = [sys.executable, "-m", "pytest", "--nbmake", "--nbmake-timeout=100", "-q", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(tmp_path / "ipython")}
    environment |= {"MPLCONFIGDIR": str(tmp_path / "matplotlib")}
    for name in ("SOL_MODEL", "LUNA_MODEL", "SOL_STORE", "SOL_BASE_URL", "PYTEST_ADDOPTS"):
        environment.pop(name, None)
    done = subprocess.run(
        [*command, *(path.name for path in NOTEBOOKS)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(NOTEBOOKS)} passed" in done.stdout


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_keeps_its_outputs(path: Path) -> None:
    assert [cell["execution_count"] for cell in cells(path)] == list(range(1, len(cells(path)) + 1))
    outputs = [output for cell in cells(path) for output in cell["outputs"]]
    assert len(outputs) >= 5
    assert not [output for output in outputs if output["output_type"] == "error"]
    assert not [output for output in outputs if output.get("name") == "stderr"], "no warnings are kept"
    assert path.stat().st_size < 400_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_names_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not MACHINE.search(text)
    assert not re.search(r"ipykernel_\d", text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_shows_runs_as_html(path: Path) -> None:
    data = [output.get("data", {}) for cell in cells(path) for output in cell["outputs"]]
    assert any('class="sol"' in "".join(one.get("text/html", "")) for one in data)

"""What the wheel holds, and that it works without the source beside it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return next(target.glob("*.whl"))


def test_wheel_holds_both_packages_and_the_strategies(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"sol/__init__.py", "luna/__init__.py", "sol/py.typed", "luna/py.typed"} <= names
    shipped = {path.relative_to(ROOT / "strategies").as_posix() for path in (ROOT / "strategies").rglob("*.yaml")}
    assert {f"sol/_strategies/{name}" for name in shipped} <= names
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/", "examples/"))]


def test_wheel_works_without_the_source(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path)
    program = (
        "import sol; from sol.strategy.catalog import shipped_directory, load_strategy; "
        "print(sol.__file__, shipped_directory(), load_strategy('binary').name)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    where, strategies, name = done.stdout.split()
    assert Path(where).is_relative_to(tmp_path)
    assert Path(strategies) == tmp_path / "sol" / "_strategies"
    assert name == "binary"

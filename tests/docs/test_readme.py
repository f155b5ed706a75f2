"""The README is true: its commands are those that CI runs, its example works, its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def block(marker: str) -> str:
    found = re.search(rf"<!-- {marker} -->\n```sh\n(.*?)\n```", README, re.DOTALL)
    assert found, f"the README has no block {marker!r}"
    return found[1]


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert block("tests") in (ROOT / ".ci" / "run").read_text().splitlines()


def test_main_job_names_a_task_file_that_loads() -> None:
    from sol import load_task

    name = re.search(r"sol solve (\S+)", block("main job"))
    assert name
    loaded = load_task(ROOT / name[1])
    assert len(loaded.task.inputs["sentences"]) >= 16  # type: ignore[arg-type]
    assert loaded.task.strategy == "halve"


def test_python_example_solves_its_task(tmp_path: Path) -> None:
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert example
    done = subprocess.run([sys.executable, "-c", example[1]], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "success [3, 7, 11, 15]\n", done.stderr


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target

"""The example of docs/workflows.md is sound, and runs as the page says."""

import re
from pathlib import Path

import pytest

from sol.workflow import check, parse_definition
from sol.workflow.compose import NAMES
from sol.workflow.fields import StepFields

PAGE = Path(__file__).resolve().parents[3] / "docs" / "workflows.md"


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_example_has_no_findings(tmp_path: Path) -> None:
    assert check(parse_definition(block("yaml"), source="note.yaml", directory=tmp_path)) == []


def test_example_runs_from_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "note.yaml").write_text(block("yaml"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    program = compile(block("python"), "workflows.md", "exec")
    exec(program, {})
    assert capsys.readouterr().out == 'all("approved")\n'


def test_page_names_every_field_and_placeholder() -> None:
    text = PAGE.read_text(encoding="utf-8")
    unnamed = {"description", "kind", "required_permission_mode"}
    assert [name for name in StepFields.model_fields if f"`{name}`" not in text and name not in unnamed] == []
    assert [name for name in NAMES if f"`{{{name}}}`" not in text] == []

from pathlib import Path

import pytest

from tests.support.cli import CommandLine


@pytest.fixture
def sol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line, in a directory of its own and without settings from outside."""
    monkeypatch.chdir(tmp_path)
    for name in ("SOL_MODEL", "LUNA_MODEL", "SOL_STORE", "SOL_BASE_URL", "SOL_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    return CommandLine(tmp_path, monkeypatch, capsys)

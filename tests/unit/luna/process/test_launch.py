from pathlib import Path

import pytest

from luna.errors import WorkerConfigError
from luna.process.child import child_environment, explain, marked, split_command
from luna.process.table import TOKEN_VARIABLE


def test_split_command_keeps_quoted_words_and_expands_nothing() -> None:
    assert split_command("pytest -q 'a b' $HOME *.py;ls") == ["pytest", "-q", "a b", "$HOME", "*.py;ls"]


@pytest.mark.parametrize("text", ["", "   ", "echo 'open"])
def test_split_command_refuses(text: str) -> None:
    with pytest.raises(WorkerConfigError, match="Command"):
        split_command(text)


def test_child_environment_hands_no_secret_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    monkeypatch.setenv("LC_TIME", "C")
    environment = child_environment({"EXTRA": "1", "PATH": "/given"})
    assert environment["EXTRA"] == "1"
    assert environment["PATH"] == "/given"
    assert environment["LC_TIME"] == "C"
    assert "OPENAI_API_KEY" not in environment
    assert "PYTHONPATH" not in environment


def test_mark_keeps_the_mark_of_the_command_we_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    assert marked({}, "inner") == {TOKEN_VARIABLE: "inner"}
    monkeypatch.setenv(TOKEN_VARIABLE, "outer")
    assert marked({"A": "b"}, "inner") == {"A": "b", TOKEN_VARIABLE: "outer:inner"}


def test_explanation_of_another_fault_names_it() -> None:
    text = explain(OSError(12, "Cannot allocate memory"), "make", Path())
    assert "'make' was not started" in text
    assert "Cannot allocate memory" in text

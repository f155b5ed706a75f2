import importlib.util
import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from luna.models import FetchProgress
from sol.cli import models
from tests.support.cli import CommandLine


class Terminal(io.StringIO):
    """Somebody at a terminal who types this."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def no_weights(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line on a machine without any weights."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(sol.directory / "cache"))
    monkeypatch.delenv("SOL_WEIGHTS", raising=False)
    return sol


def fetches(fetched: list[str], path: Path) -> Callable[..., Path]:
    def fetch(name: str, *, progress: Callable[[FetchProgress], None] | None = None) -> Path:
        fetched.append(name)
        if progress is not None:
            progress(FetchProgress(name, "a wheel", 10, 20))
        return path

    return fetch


def test_models_list_says_what_is_here(no_weights: CommandLine) -> None:
    ended = no_weights("models", "list")
    assert ended.code == 0
    header, default, *_ = ended.out.splitlines()
    assert header.split()[:4] == ["NAME", "SIZE", "HERE", "LICENCE"]
    assert default.split()[:6] == ["qwen2.5-coder-0.5b", "(default)", "491", "MB", "no", "Apache-2.0"]


def test_models_list_says_what_is_damaged(no_weights: CommandLine) -> None:
    cache = no_weights.directory / "cache" / "sol-luna" / "weights"
    cache.mkdir(parents=True)
    (cache / "SmolLM2-135M-Instruct.Q4_1.gguf").write_text("GGUF but not this")
    smoll = no_weights("models", "list").out.splitlines()[-1]
    assert smoll.split()[:4] == ["smollm2-135m", "98", "MB", "damaged"]
    ended = no_weights("models", "path", "smollm2")
    assert ended.code == 1
    assert "does not have the publisher's SHA-256" in ended.err


def test_models_path_says_how_to_fetch_what_is_missing(no_weights: CommandLine) -> None:
    ended = no_weights("models", "path")
    assert ended.code == 3
    assert ended.err == (
        "error: The weights of 'qwen2.5-coder-0.5b' are not here. Fetch them: sol models fetch qwen2.5-coder-0.5b\n"
    )


def test_models_path_names_the_file(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("luna.models.find_weights", lambda name: Path("/there") / name)
    assert sol("models", "path", "smollm2").out == "/there/smollm2-135m\n"


def test_models_fetch_prints_where_the_weights_are(no_weights: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []
    monkeypatch.setattr("luna.models.fetch_weights", fetches(fetched, Path("/there/w.gguf")))
    ended = no_weights("models", "fetch", "smollm2")
    assert (ended.code, ended.out) == (0, "/there/w.gguf\n")
    assert ended.err == "Fetching smollm2-135m (98 MB)\n"
    assert no_weights("models", "fetch", "-q").err == ""
    assert fetched == ["smollm2-135m", "qwen2.5-coder-0.5b"]


def test_fetch_shows_how_far_it_is_at_a_terminal(
    no_weights: CommandLine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("luna.models.fetch_weights", fetches([], Path("/there/w.gguf")))
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert models.fetch_shown("smollm2") == Path("/there/w.gguf")
    assert "smollm2-135m" in capsys.readouterr().err


def test_missing_weights_are_an_error_that_says_the_command(no_weights: CommandLine) -> None:
    ended = no_weights("solve", "Name the largest planet")
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert "sol models fetch qwen2.5-coder-0.5b" in ended.err
    assert not Path(".sol").exists()


@pytest.mark.parametrize(("typed", "fetched"), [("n\n", []), ("\n", ["qwen2.5-coder-0.5b"])])
def test_missing_weights_are_offered_at_a_terminal(
    no_weights: CommandLine, monkeypatch: pytest.MonkeyPatch, typed: str, fetched: list[str]
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("luna.models.fetch_weights", fetches(asked, Path("/there")))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert models.offer_weights(["local", "local:default", "openai:x", "local:a.gguf", "local:nope"]) is bool(fetched)
    assert asked == fetched
    assert "The weights of qwen2.5-coder-0.5b (491 MB) are not on this machine. Fetch them now? [Y/n]" in str(
        sys.stderr.getvalue()  # type: ignore[attr-defined] # a Terminal
    )


def test_weights_are_offered_only_where_they_are_all_that_is_missing(
    no_weights: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert not models.offer_weights(["local"])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr("luna.models.find_weights", lambda name: Path("/there"))
    assert not models.offer_weights(["local"])


def test_work_goes_on_once_the_weights_are_there(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    sol("solve", sol.task(strategy="single", numbers="[-1]"))
    offered: list[list[str]] = []

    def offer(names: list[str]) -> bool:
        offered.append(names)
        return True

    monkeypatch.setattr(models, "offer_weights", offer)
    ended = sol("solve", "Name the largest planet", "--model", "local:nope")
    assert (ended.code, offered) == (2, [["local:nope", "local:nope"]])
    assert "No local model is named 'nope'" in ended.err

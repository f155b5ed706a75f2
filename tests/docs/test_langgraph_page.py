"""Every example of docs/langgraph.md runs, one after the other, and prints what the page says."""

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace

PAGE = Path(__file__).resolve().parents[2] / "docs" / "langgraph.md"
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What the page makes the global provider, for this test only."""
    given: list[Any] = []
    monkeypatch.setattr(trace, "set_tracer_provider", given.append)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: given[0] if given else trace.NoOpTracerProvider())
    return given


def test_examples_print_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provider: list[Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("SOL_MODEL", "LUNA_MODEL", "SOL_STORE", "SOL_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    names: dict[str, Any] = {"__name__": "page"}
    for number, (program, expected) in enumerate(BLOCKS):
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(program, f"langgraph.md block {number}", "exec", dont_inherit=True), names)
        assert printed.getvalue() == expected, program
    assert len(provider) == 1
    made = names["my_graph"]({})
    assert {"begin", "work", "question"} <= set(made.get_graph().nodes)


@pytest.mark.parametrize(
    "name", ["sol_run", "sol_node", "sol_depth", "sol_kind", "sol_attempt", "sol_state", "sol_strategy"]
)
def test_page_names_what_calls_carry(name: str) -> None:
    assert f"`{name}`" in PAGE.read_text(encoding="utf-8")

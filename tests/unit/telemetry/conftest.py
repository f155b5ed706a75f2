"""A tracer provider for one test, and a `Sol` in an own workspace."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace

from luna.testing import FakeClock
from sol import Sol
from sol.journal import MemoryJournal
from tests.support.planners import ScriptedPlanner
from tests.support.spans import TWO, Spans


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Spans:
    """The global provider of this test."""
    spans = Spans()
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: spans.provider)
    return spans


@pytest.fixture
def sol(tmp_path: Path) -> Callable[..., Sol]:
    journal = MemoryJournal()

    def make(worker: Any, planner: ScriptedPlanner | None = None, **options: Any) -> Sol:
        settings: dict[str, Any] = {"workspace": tmp_path, "store": journal, "clock": FakeClock(auto=True), **options}
        return Sol(worker=worker, planner=planner or ScriptedPlanner(TWO), **settings)

    return make

"""`sol`: makes a `Sol` for tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from luna.testing import FakeClock
from sol import Sol
from sol.journal import MemoryJournal
from tests.support.planners import ScriptedPlanner


@pytest.fixture
def sol(tmp_path: Path) -> Callable[..., Sol]:
    """Makes a `Sol` in an own workspace with a journal in memory and a clock that moves by itself."""
    journal = MemoryJournal()

    def make(worker: Any, planner: ScriptedPlanner | None = None, **options: Any) -> Sol:
        settings: dict[str, Any] = {
            "worker": worker,
            "planner": planner or ScriptedPlanner(),
            "workspace": tmp_path,
            "store": journal,
            "clock": FakeClock(auto=True),
            **options,
        }
        return Sol(**settings)

    return make

"""The benchmark of the stuck detectors runs, and docs/stuck.md tells of all that it measures."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[4]
BY_WORDS = "drift"
"""Told by words only; the page tells how often that fails."""


@pytest.fixture(scope="module")
def figures() -> Any:
    command = [sys.executable, str(ROOT / "benchmarks" / "stuck.py"), "--each", "4", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=100).stdout)


@pytest.mark.req("S50")
def test_every_kind_of_loop_is_noticed_in_time(figures: Any) -> None:
    assert [row["kind"] for row in figures["loops"] if row["recall"] < 1 and row["kind"] != BY_WORDS] == []


@pytest.mark.req("S50")
@pytest.mark.case("LOOP-02")
def test_what_no_detector_recognises_ends_by_patience_or_the_step_limit(figures: Any) -> None:
    assert [row["kind"] for row in figures["beyond the detectors"] if row["recall"] < 1] == []


@pytest.mark.req("S49", "S50")
@pytest.mark.case("FP-01")
def test_honest_work_raises_no_alarm(figures: Any) -> None:
    assert [(row["kind"], row["detectors"]) for row in figures["honest work"] if row["false alarms"]] == []


def test_page_lists_all_that_is_measured(figures: Any) -> None:
    page = (ROOT / "docs" / "stuck.md").read_text(encoding="utf-8")
    rows = [row["kind"] for name in ("loops", "beyond the detectors", "honest work") for row in figures[name]]
    assert [kind for kind in rows if f"| {kind} |" not in page] == []

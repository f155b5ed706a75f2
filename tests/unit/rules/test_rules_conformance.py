"""The reference engine's 151 facts and what ours does about each."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from tests.unit.rules.conformance_engine import AGGREGATES, ORDER, TAGS
from tests.unit.rules.conformance_parse import PARSE
from tests.unit.rules.conformance_row import Row
from tests.unit.rules.conformance_workflow import LOOPS, PARALLEL_ROWS, RUNNER, RUNS

ROWS: tuple[Row, ...] = (*PARSE, *TAGS, *AGGREGATES, *ORDER, *LOOPS, *RUNS, *PARALLEL_ROWS, *RUNNER)
FACTS = Path(__file__).resolve().parents[3].parent / "shared" / "conformance" / "rules.tsv"


@pytest.mark.parametrize("row", [pytest.param(row, id=row.id, marks=pytest.mark.req(row.req)) for row in ROWS])
def test_conformance_row_holds(row: Row) -> None:
    row.check()


def test_conformance_table_has_one_row_for_each_fact() -> None:
    if not FACTS.exists():
        pytest.skip("the list of facts (../shared/conformance/rules.tsv) is not here")
    with FACTS.open(encoding="utf-8", newline="") as file:
        facts = [line["id"] for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    assert sorted(row.id for row in ROWS) == sorted(facts)


def test_conformance_table_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counter(row.stance for row in ROWS)
    with capsys.disabled():
        print(f"\nrule conformance: {', '.join(f'{count} {stance}' for stance, count in counts.items())}")
    assert len({row.id for row in ROWS}) == len(ROWS) == 151
    assert all(row.ours and row.req.startswith("R") for row in ROWS)

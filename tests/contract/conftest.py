"""A journal of each kind, for the tests of what every journal does."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sol.journal import Journal, MemoryJournal, SqlJournal, default_url
from tests.support.journal import Living


@pytest.fixture
def living() -> Living:
    return Living()


@pytest.fixture(params=["memory", "sql"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path, living: Living) -> AsyncIterator[Journal]:
    opened: Journal
    if request.param == "memory":
        opened = MemoryJournal(is_alive=living)
    else:
        opened = SqlJournal(default_url(tmp_path), synchronous="NORMAL", is_alive=living)
    async with opened:
        yield opened

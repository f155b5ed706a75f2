"""Our journals keep to the contract that is shipped for those of others."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from sol.journal import Journal, MemoryJournal, SqlJournal, default_url
from sol.testing.journal_contract import JournalContract, Living


class TestMemoryJournal(JournalContract):
    def opened(self, tmp_path: Path, living: Living) -> AbstractAsyncContextManager[Journal]:
        return MemoryJournal(is_alive=living)


class TestSqlJournal(JournalContract):
    def opened(self, tmp_path: Path, living: Living) -> AbstractAsyncContextManager[Journal]:
        return SqlJournal(default_url(tmp_path), synchronous="NORMAL", is_alive=living)

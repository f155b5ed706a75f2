"""The journal: the single source of truth about runs. Knows nothing of what events mean."""

from sol.journal.database import default_url
from sol.journal.encoding import MAX_RECORD_BYTES
from sol.journal.in_memory import MemoryJournal
from sol.journal.owner import HEARTBEAT_LIMIT_S, Holding, Liveness, Owner, owner_is_alive, this_process
from sol.journal.protocol import (
    LATEST,
    Journal,
    Lease,
    NewRecord,
    Record,
    RecordError,
    Request,
    RunInfo,
    StoredRun,
    new_run_id,
)
from sol.journal.sql import SqlJournal

__all__ = [
    "HEARTBEAT_LIMIT_S",
    "LATEST",
    "MAX_RECORD_BYTES",
    "Holding",
    "Journal",
    "Lease",
    "Liveness",
    "MemoryJournal",
    "NewRecord",
    "Owner",
    "Record",
    "RecordError",
    "Request",
    "RunInfo",
    "SqlJournal",
    "StoredRun",
    "default_url",
    "new_run_id",
    "owner_is_alive",
    "this_process",
]

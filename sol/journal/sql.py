"""The journal in a database: checks what it is given and does the rest in the one thread that holds the database open.

The statements are in `store`; the contract is in `protocol`.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import URL

from sol.errors import StoreError
from sol.journal import encoding, protocol
from sol.journal.database import Synchronous, explained, store_url
from sol.journal.owner import Liveness, Owner, owner_is_alive
from sol.journal.protocol import Journal, Lease, NewRecord, Record, Request, RunInfo, StoredRun
from sol.journal.store import Store

T = TypeVar("T")


class SqlJournal(Journal):
    """A journal in the database that `url` names.

    Args:
        url: For example `sqlite:////home/me/runs.db`; `default_url` gives a workspace's own.
        synchronous: FULL keeps what was committed through a power failure, NORMAL only through a kill.
        busy_timeout_s: How long to wait for another process's write, in seconds.
        is_alive: Tells whether the holder of a run lives; called from the journal's thread.

    Raises:
        UsageError: If the URL cannot be used.
    """

    def __init__(
        self,
        url: str | URL,
        *,
        synchronous: Synchronous = "FULL",
        busy_timeout_s: float = 30.0,
        is_alive: Liveness = owner_is_alive,
    ) -> None:
        self._url = store_url(url)
        self._synchronous: Synchronous = synchronous
        self._busy_timeout_s = busy_timeout_s
        self._is_alive = is_alive
        self._thread: _StoreThread | None = None

    async def open(self) -> None:
        """See `Journal.open`. A journal that cannot be written can be opened and read."""
        if self._thread is None:
            self._thread = _StoreThread(self._url, self._make_store)
        thread = self._thread
        try:
            await thread.open()
        except Exception:
            if self._thread is thread:
                self._thread = None
            await thread.close()
            raise

    async def close(self) -> None:
        """See `Journal.close`. Waits for a write that is under way."""
        thread, self._thread = self._thread, None
        if thread is not None:
            await thread.close()

    def _make_store(self) -> Store:
        return Store(
            self._url,
            synchronous=self._synchronous,
            busy_timeout_s=self._busy_timeout_s,
            is_alive=self._is_alive,
        )

    async def _call(self, work: Callable[[Store], T]) -> T:
        if self._thread is None:
            raise _not_open(self._url)
        return await self._thread.call(work)

    async def create(self, run: RunInfo, owner: Owner) -> Lease:
        """See `Journal.create`."""
        row = {
            "id": protocol.check_run_id(run.id),
            "created_t": encoding.check_time(run.created_t, what=f"run {run.id!r}"),
            "title": encoding.check_text(run.title, what="the run's title"),
            "meta": encoding.encode(run.meta, what="the run's meta"),
        }
        await self._call(lambda store: store.create(row, owner))
        return Lease(run.id, 1, owner)

    async def claim(self, run_id: str, owner: Owner, *, now: float, force: bool = False) -> Lease:
        """See `Journal.claim`."""
        now = encoding.check_time(now, what="the claim")
        epoch = await self._call(lambda store: store.claim(run_id, owner, now, force=force))
        return Lease(run_id, epoch, owner)

    async def release(self, lease: Lease) -> None:
        """See `Journal.release`."""
        await self._call(lambda store: store.release(lease))

    async def heartbeat(self, lease: Lease, now: float) -> None:
        """See `Journal.heartbeat`."""
        now = encoding.check_time(now, what="the heartbeat")
        await self._call(lambda store: store.heartbeat(lease, now))

    async def append(
        self,
        lease: Lease,
        records: Sequence[NewRecord],
        *,
        status: str | None = None,
        summary: dict[str, Any] | None = None,
    ) -> int:
        """See `Journal.append`."""
        encoding.check_records(records)
        new_status = None if status is None else encoding.check_text(status, what="the run's status")
        new_summary = None if summary is None else encoding.encode(summary, what="the run's summary")
        return await self._call(lambda store: store.append(lease, records, new_status, new_summary))

    async def read(self, run_id: str, *, after: int = 0, limit: int | None = None) -> tuple[Record, ...]:
        """See `Journal.read`."""
        return await self._call(lambda store: store.read(run_id, after, limit))

    async def info(self, run_id: str) -> StoredRun:
        """See `Journal.info`."""
        return await self._call(lambda store: store.find(run_id))

    async def list(self, *, limit: int, before: str | None = None, status: str | None = None) -> tuple[StoredRun, ...]:
        """See `Journal.list`."""
        return await self._call(lambda store: store.list(limit, before, status))

    async def resolve(self, prefix: str) -> str:
        """See `Journal.resolve`."""
        return await self._call(lambda store: store.resolve(prefix))

    async def post(self, run_id: str, kind: str, payload: dict[str, Any], *, t: float, by: str) -> int:
        """See `Journal.post`."""
        row = {
            "kind": encoding.check_text(kind, what="the request's kind"),
            "payload": encoding.encode(payload, what=f"payload of the request {kind!r}"),
            "t": encoding.check_time(t, what="the request"),
            "by": encoding.check_text(by, what="the request's sender"),
        }
        return await self._call(lambda store: store.post(run_id, row))

    async def take(self, lease: Lease) -> tuple[Request, ...]:
        """See `Journal.take`. While nothing waits this only reads."""
        return await self._call(lambda store: store.take(lease))


class _StoreThread:
    """The thread in which a store is opened, used and closed; does one thing after the other, in the order asked."""

    def __init__(self, url: URL, make_store: Callable[[], Store]) -> None:
        self._url = url
        self._make_store = make_store
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sol-journal")
        self._store: Store | None = None  # belongs to the thread

    async def open(self) -> None:
        await self._run(self._open)

    async def call(self, work: Callable[[Store], T]) -> T:
        return await self._run(lambda: self._use(work))

    async def close(self) -> None:
        """Close the store after all that was asked before, and end the thread."""
        try:
            await self._run(self._close)
        finally:
            self._executor.shutdown()  # nothing is left to wait for

    async def _run(self, work: Callable[[], T]) -> T:
        """Have something done to its end. A cancellation goes on only then, some milliseconds later.

        A statement cannot be called back from the thread, and whoever cancelled wants to know when the write is over.
        """
        future = asyncio.get_running_loop().run_in_executor(self._executor, work)
        cancelled: asyncio.CancelledError | None = None
        while not future.done():
            try:
                await asyncio.wait((future,))
            except asyncio.CancelledError as error:
                cancelled = error
        if cancelled is not None:
            future.exception()  # seen: the cancellation goes first
            raise cancelled
        return future.result()

    def _open(self) -> None:
        if self._store is None:
            self._store = self._make_store()

    def _use(self, work: Callable[[Store], T]) -> T:
        if self._store is None:
            raise _not_open(self._url)
        with explained(self._url):
            return work(self._store)

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            with explained(self._url):
                store.close()


def _not_open(url: URL) -> StoreError:
    return StoreError(f"Journal {url} is not open. Open it first, or use it in `async with`.")

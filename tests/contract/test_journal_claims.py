"""Who may write to a run, whatever journal it is in."""

import asyncio
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sol.errors import ConflictError
from sol.journal import Journal, Lease, MemoryJournal, Owner, RecordError, SqlJournal, default_url
from tests.support.journal import ANN, BEN, Living, a_run, some


async def test_claim_of_a_held_run_names_the_holder(journal: Journal) -> None:
    await journal.create(a_run(t=1_700_000_000.0), ANN)
    with pytest.raises(ConflictError) as caught:
        await journal.claim("run-9", BEN, now=1_700_000_001.0)
    assert "process 101 on host 'h1' since 2023-11-14 22:13:20 UTC" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    assert (await journal.info("run-9")).epoch == 1


async def test_claim_by_the_holder_itself_is_refused(journal: Journal) -> None:
    await journal.create(a_run(), ANN)
    with pytest.raises(ConflictError):
        await journal.claim("run-9", ANN, now=101.0)


@pytest.mark.parametrize("how", ["dead", "force", "released"])
async def test_claim_displaces_whoever_does_not_hold_it_alive(journal: Journal, living: Living, how: str) -> None:
    old = await journal.create(a_run(), ANN)
    if how == "dead":
        living.dead.add(ANN)
    if how == "released":
        await journal.release(old)
    new = await journal.claim("run-9", BEN, now=300.0, force=how == "force")
    run = await journal.info("run-9")
    assert new == Lease("run-9", 2, BEN)
    assert run.holding is not None
    assert (run.epoch, run.holding.owner, run.holding.claimed_t, run.holding.beat_t) == (2, BEN, 300.0, 300.0)


async def test_liveness_is_asked_with_the_last_heartbeat(tmp_path: Path) -> None:
    asked: list[tuple[Owner, float, float]] = []

    def dead(owner: Owner, beat_t: float, now: float) -> bool:
        asked.append((owner, beat_t, now))
        return False

    async with SqlJournal(default_url(tmp_path), is_alive=dead) as sql:
        for journal in (MemoryJournal(is_alive=dead), sql):
            await journal.heartbeat(await journal.create(a_run(), ANN), 150.0)
            await journal.claim("run-9", BEN, now=170.0)
    assert asked == [(ANN, 150.0, 170.0)] * 2


async def test_many_claims_at_one_moment_give_one_lease(journal: Journal) -> None:
    await journal.release(await journal.create(a_run(), ANN))
    owners = [replace(ANN, token=f"t{n}") for n in range(12)]
    got = await asyncio.gather(*(journal.claim("run-9", o, now=5.0) for o in owners), return_exceptions=True)
    leases = [one for one in got if isinstance(one, Lease)]
    assert len(leases) == 1
    assert sum(isinstance(one, ConflictError) for one in got) == 11
    assert (await journal.info("run-9")).epoch == leases[0].epoch == 2


async def test_displaced_owner_can_do_nothing_any_more(journal: Journal) -> None:
    old = await journal.create(a_run(), ANN)
    await journal.append(old, some(2))
    new = await journal.claim("run-9", BEN, now=300.0, force=True)
    await journal.post("run-9", "cancel", {}, t=1.0, by="me")
    for call in (journal.append(old, some(1), status="done"), journal.heartbeat(old, 1.0), journal.take(old)):
        with pytest.raises(ConflictError, match=r"epoch 1, now 2\): process 202 on host 'h2'.*Nothing was written"):
            await call
    await journal.release(old)
    run = await journal.info("run-9")
    assert (run.seq, run.status) == (2, "pending")
    assert run.holding is not None
    assert run.holding.beat_t == 300.0
    assert len(await journal.take(new)) == 1


async def test_released_lease_is_void(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    await journal.release(lease)
    await journal.release(lease)
    assert (await journal.info("run-9")).holding is None
    with pytest.raises(ConflictError, match="nobody holds it"):
        await journal.append(lease, some(1))
    again = await journal.claim("run-9", ANN, now=5.0)
    assert await journal.append(again, some(1)) == 1


async def test_lease_of_another_owner_with_the_same_epoch_is_refused(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    with pytest.raises(ConflictError):
        await journal.append(replace(lease, owner=BEN), some(1))
    assert await journal.read("run-9") == ()


@pytest.mark.parametrize("now", [math.nan, math.inf, "soon"])
async def test_claim_and_heartbeat_refuse_a_time_that_is_none(journal: Journal, now: Any) -> None:
    lease = await journal.create(a_run(), ANN)
    with pytest.raises(RecordError, match="seconds since the epoch"):
        await journal.heartbeat(lease, now)
    with pytest.raises(RecordError, match="seconds since the epoch"):
        await journal.claim("run-9", BEN, now=now, force=True)

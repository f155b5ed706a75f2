"""What every journal does with requests to a run."""

import asyncio
import math
from typing import Any

import pytest

from sol.journal import Journal, RecordError
from tests.support.journal import ANN, BEN, a_run, some


async def test_requests_are_taken_once_in_order(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    assert await journal.take(lease) == ()
    ids = [await journal.post("run-9", "answer", {"n": n}, t=float(n), by="me") for n in range(3)]
    taken = await journal.take(lease)
    assert [(r.id, r.kind, r.payload, r.t, r.by) for r in taken] == [
        (ids[n], "answer", {"n": n}, float(n), "me") for n in range(3)
    ]
    assert ids == sorted(set(ids))
    assert await journal.take(lease) == ()


async def test_concurrent_takes_give_each_request_once(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    posted = [await journal.post("run-9", "cancel", {}, t=1.0, by="me") for _ in range(5)]
    taken = await asyncio.gather(*(journal.take(lease) for _ in range(6)))
    assert sorted(request.id for some in taken for request in some) == posted


async def test_requests_wait_for_the_next_owner_and_do_not_cross_runs(journal: Journal) -> None:
    await journal.release(await journal.create(a_run("a"), ANN))
    other = await journal.create(a_run("b"), ANN)
    await journal.post("a", "cancel", {}, t=1.0, by="me")
    assert await journal.take(other) == ()
    assert [r.kind for r in await journal.take(await journal.claim("a", BEN, now=5.0))] == ["cancel"]


async def test_post_leaves_the_run_as_it_is(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    before = await journal.info("run-9")
    await journal.post("run-9", "annotate", {"tag": "x"}, t=999.0, by="me")
    assert await journal.info("run-9") == before
    assert await journal.append(lease, some(1)) == 1


@pytest.mark.parametrize("fault", [{"kind": "\ud800"}, {"by": "\ud800"}, {"t": math.nan}])
async def test_post_refuses_what_cannot_be_stored(journal: Journal, fault: dict[str, Any]) -> None:
    lease = await journal.create(a_run(), ANN)
    with pytest.raises(RecordError):
        await journal.post("run-9", fault.get("kind", "cancel"), {}, t=fault.get("t", 1.0), by=fault.get("by", "me"))
    assert await journal.take(lease) == ()

"""What every journal does with events."""

import asyncio
import math
from typing import Any

import pytest

from sol.journal import MAX_RECORD_BYTES, Journal, NewRecord, Record, RecordError
from tests.support.journal import ANN, a_run, numbers, some


async def test_append_numbers_events_without_gaps(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    assert await journal.append(lease, some(3)) == 3
    assert await journal.append(lease, []) == 3
    assert await journal.append(lease, some(2, start=4)) == 5
    assert numbers(await journal.read("run-9")) == [(n, n) for n in range(1, 6)]
    assert (await journal.read("run-9"))[1] == Record(2, 202.0, "ticked", "00", {"n": 2})


async def test_events_of_runs_are_apart(journal: Journal) -> None:
    leases = [await journal.create(a_run(name), ANN) for name in ("a", "b")]
    for n in (1, 2):
        assert [await journal.append(lease, some(1, start=n)) for lease in leases] == [n, n]
    assert numbers(await journal.read("a")) == numbers(await journal.read("b")) == [(1, 1), (2, 2)]


async def test_read_gives_pages(journal: Journal) -> None:
    await journal.append(await journal.create(a_run(), ANN), some(5))
    assert [r.seq for r in await journal.read("run-9", after=2)] == [3, 4, 5]
    assert [r.seq for r in await journal.read("run-9", after=1, limit=2)] == [2, 3]
    assert await journal.read("run-9", after=5) == ()


async def test_append_sets_status_and_summary_and_keeps_them(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    await journal.append(lease, some(1), status="running", summary={"nodes": 1})
    await journal.append(lease, some(1))
    run = await journal.info("run-9")
    assert (run.status, run.summary, run.seq, run.updated_t) == ("running", {"nodes": 1}, 2, 201.0)
    await journal.append(lease, [], summary={})
    run = await journal.info("run-9")
    assert (run.status, run.summary, run.updated_t) == ("running", {}, 201.0)


async def test_concurrent_appends_of_one_owner_stay_whole(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    batches = [[NewRecord(1.0, "ticked", "", {"batch": b}) for _ in range(b)] for b in range(1, 9)]
    last = await asyncio.gather(*(journal.append(lease, batch) for batch in batches))
    records = await journal.read("run-9")
    assert [r.seq for r in records] == list(range(1, 37))
    assert max(last) == 36
    for end, batch in zip(last, batches, strict=True):
        assert {r.data["batch"] for r in records[end - len(batch) : end]} == {len(batch)}


async def test_data_reads_back_as_written_and_apart_from_the_callers(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    data = {"t": 'ä€😀\x00\n"', "n": -(2**70), "f": 0.1, "e": [], "o": {"": None, "b": [True, {}, [1.5]]}}
    record = NewRecord(0.25, "täg", "01", data)
    await journal.append(lease, [record], summary=data)
    data["n"] = 0
    read = (await journal.read("run-9"))[0]
    assert read.data == {**data, "n": -(2**70)}
    assert (read.t, read.type, read.node) == (0.25, "täg", "01")
    read.data.clear()
    assert (await journal.read("run-9"))[0].data["f"] == 0.1


def deep(levels: int) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for _ in range(levels - 1):
        data = {"x": data}
    return data


def looped() -> dict[str, Any]:
    data: dict[str, Any] = {}
    data["again"] = [data]
    return data


UNSTORABLE = [
    ({"a": [{"b": math.nan}]}, r"\['a'\]\[0\]\['b'\] is nan"),
    ({"a": -math.inf}, "is -inf"),
    ({"a": b"x"}, r"\['a'\] is b'x' \(bytes\), which is not JSON"),
    ({"a": {1, 2}}, "not JSON"),
    ({"a": object()}, "not JSON"),
    ({"a": {1: "x"}}, r"\['a'\] has the key 1 \(int\)"),
    ({None: 1}, "it has the key None"),
    ({"a": "x\ud800y"}, r"lone surrogate near .*\\ud800"),
    ({"\udfff": 1}, "lone surrogate"),
    ({"a": 10**5000}, "digits"),
    (deep(201), "more than 200 levels"),
    (looped(), "more than 200 levels"),
    ([1], r"must be a dict, not \[1\] \(list\)"),
    ({"a": "x" * MAX_RECORD_BYTES}, r"has 16,777,224 bytes and the limit is 16,777,216"),
]


@pytest.mark.parametrize(("data", "fault"), UNSTORABLE, ids=[fault[:20] for _, fault in UNSTORABLE])
async def test_data_that_cannot_be_stored_is_refused_before_anything_is_written(
    journal: Journal, data: Any, fault: str
) -> None:
    lease = await journal.create(a_run(), ANN)
    bad = NewRecord(1.0, "ended", "01", data)
    with pytest.raises(RecordError, match=fault) as caught:
        await journal.append(lease, [*some(1), bad], status="done")
    assert "data of event 2 ('ended' of node '01')" in str(caught.value)
    with pytest.raises(RecordError, match=fault):
        await journal.append(lease, some(1), summary=data)
    with pytest.raises(RecordError, match=fault):
        await journal.post("run-9", "answer", data, t=1.0, by="me")
    run = await journal.info("run-9")
    assert (run.seq, run.status, run.summary) == (0, "pending", None)
    assert await journal.take(lease) == ()


@pytest.mark.parametrize(
    "bad",
    [
        NewRecord(math.nan, "a", "", {}),
        NewRecord(10**400, "a", "", {}),
        NewRecord("1", "a", "", {}),  # type: ignore[arg-type]  # the wrong type is the point
        NewRecord(1.0, "\ud800", "", {}),
        NewRecord(1.0, "a", None, {}),  # type: ignore[arg-type]  # the wrong type is the point
    ],
)
async def test_record_with_a_bad_field_is_refused(journal: Journal, bad: NewRecord) -> None:
    lease = await journal.create(a_run(), ANN)
    with pytest.raises(RecordError, match="event 1"):
        await journal.append(lease, [bad])
    assert (await journal.info("run-9")).seq == 0


async def test_largest_and_deepest_data_is_stored(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    largest = {"a": "x" * (MAX_RECORD_BYTES - 8)}
    await journal.append(lease, [NewRecord(1.0, "a", "", largest), NewRecord(1.0, "a", "", deep(200))])
    assert [r.data for r in await journal.read("run-9")] == [largest, deep(200)]

"""What every journal does with transitions."""

import asyncio
import math
from typing import Any, cast

import pytest

from sol.journal import MAX_RECORD_BYTES, Journal, NewRecord, Record, RecordError
from tests.support.journal import ANN, a_run, data_of, numbers, some, ticked


async def test_append_numbers_transitions_without_gaps(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    assert await journal.append(lease, some(3)) == 3
    assert await journal.append(lease, []) == 3
    assert await journal.append(lease, some(2, start=4)) == 5
    assert numbers(await journal.read("run-9")) == [(n, n) for n in range(1, 6)]
    assert (await journal.read("run-9"))[1] == Record(2, 202.0, "ticked", "00", b'{"n": 2}', b"")


async def test_transitions_of_runs_are_apart(journal: Journal) -> None:
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
    batches = [[ticked(batch=b) for _ in range(b)] for b in range(1, 9)]
    last = await asyncio.gather(*(journal.append(lease, batch) for batch in batches))
    records = await journal.read("run-9")
    assert [r.seq for r in records] == list(range(1, 37))
    assert max(last) == 36
    for end, batch in zip(last, batches, strict=True):
        assert {data_of(r)["batch"] for r in records[end - len(batch) : end]} == {len(batch)}


async def test_transition_reads_back_byte_by_byte(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    written = [
        NewRecord(
            0.25,
            "täg",
            "01",
            '{ "t":"ä€😀\\u0000" }'.encode(),
            '[["split","01",{"ü":[1.50]}], ["over","",{}]]'.encode(),
        ),
        NewRecord(0.5, "", "", b"{}"),
        NewRecord(0.75, "a", "", b"not looked into", b"[]"),
    ]
    await journal.append(lease, written)
    read = await journal.read("run-9")
    assert [NewRecord(r.t, r.type, r.node, r.data, r.then) for r in read] == written
    assert all(type(r.data) is type(r.then) is bytes for r in read)


async def test_summary_and_payload_read_back_as_written_and_apart_from_the_callers(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    data = {"t": 'ä€😀\x00\n"', "n": -(2**70), "f": 0.1, "e": [], "o": {"": None, "b": [True, {}, [1.5]]}}
    await journal.append(lease, [], summary=data)
    await journal.post("run-9", "answer", data, t=1.0, by="me")
    data["n"] = 0
    summary = cast("dict[str, Any]", (await journal.info("run-9")).summary)
    [request] = await journal.take(lease)
    assert summary == request.payload == {**data, "n": -(2**70)}
    summary.clear()
    assert cast("dict[str, Any]", (await journal.info("run-9")).summary)["f"] == 0.1


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
async def test_summary_or_payload_that_cannot_be_stored_is_refused_before_anything_is_written(
    journal: Journal, data: Any, fault: str
) -> None:
    lease = await journal.create(a_run(), ANN)
    with pytest.raises(RecordError, match=fault):
        await journal.append(lease, some(1), status="done", summary=data)
    with pytest.raises(RecordError, match=fault):
        await journal.post("run-9", "answer", data, t=1.0, by="me")
    run = await journal.info("run-9")
    assert (run.seq, run.status, run.summary) == (0, "pending", None)
    assert await journal.take(lease) == ()


LARGEST = b"x" * MAX_RECORD_BYTES

BAD = [
    (NewRecord(math.nan, "a", "", b"{}"), "seconds since the epoch"),
    (NewRecord(10**400, "a", "", b"{}"), "seconds since the epoch"),
    (NewRecord("1", "a", "", b"{}"), "seconds since the epoch"),  # type: ignore[arg-type]  # the wrong type is the point
    (NewRecord(1.0, "\ud800", "", b"{}"), "the type of transition 2: it holds a lone surrogate"),
    (NewRecord(1.0, "a", None, b"{}"), "the node of transition 2: it must be text"),  # type: ignore[arg-type]  # as above
    (NewRecord(1.0, "a", "0", {}), r"data of transition 2 \('a' of node '0'\): it must be bytes, not \{\}"),  # type: ignore[arg-type]  # as above
    (NewRecord(1.0, "a", "0", b"{}", "[]"), r"then of transition 2 .*: it must be bytes"),  # type: ignore[arg-type]  # as above
    (NewRecord(1.0, "a", "0", b'{"a":"\xff"}'), "data of transition 2 .*: it is not UTF-8"),
    (NewRecord(1.0, "a", "0", b"{}", b"\xed\xa0\x80"), "then of transition 2 .*: it is not UTF-8"),
    (NewRecord(1.0, "a", "0", LARGEST, b"1"), r"transition 2 .*: it has 16,777,217 bytes and the limit is 16,777,216"),
]


@pytest.mark.parametrize(("bad", "fault"), BAD, ids=range(len(BAD)))
async def test_transition_that_cannot_be_stored_is_refused_before_anything_is_written(
    journal: Journal, bad: NewRecord, fault: str
) -> None:
    lease = await journal.create(a_run(), ANN)
    with pytest.raises(RecordError, match=fault) as caught:
        await journal.append(lease, [*some(1), bad], status="done")
    assert "transition 2" in str(caught.value)
    run = await journal.info("run-9")
    assert (run.seq, run.status) == (0, "pending")


async def test_largest_and_deepest_data_is_stored(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    await journal.append(lease, [NewRecord(1.0, "a", "", LARGEST[2:], b"[]")], summary=deep(200))
    [read] = await journal.read("run-9")
    assert (read.data, read.then) == (LARGEST[2:], b"[]")
    assert (await journal.info("run-9")).summary == deep(200)

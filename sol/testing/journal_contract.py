"""The journal's contract as a pytest suite: subclass `JournalContract`, and your journal is tested against it.

Needs pytest and pytest-asyncio.
"""

# ruff: noqa: ANN401, D102, D103, S101, S106, S301 - these are tests: they assert, and their names say what

import asyncio
import json
import math
import pickle
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio

from sol.errors import ConflictError, NotFoundError, UsageError
from sol.journal import MAX_RECORD_BYTES, Journal, Lease, NewRecord, Owner, Record, RecordError, RunInfo

ANN = Owner(host="h1", pid=101, started=1.0, token="ann")
BEN = Owner(host="h2", pid=202, started=2.0, token="ben")


class Living:
    """Says who is alive: everybody but those in `dead`.

    Attributes:
        asked: What it was asked: owner, last sign of life, and now.
    """

    def __init__(self) -> None:
        self.dead: set[Owner] = set()
        self.asked: list[tuple[Owner, float, float]] = []

    def __call__(self, owner: Owner, beat_t: float, now: float) -> bool:
        """Whether a process that holds a run is alive."""
        self.asked.append((owner, beat_t, now))
        return owner not in self.dead


def a_run(run_id: str = "run-9", *, t: float = 100.0, **fields: Any) -> RunInfo:
    return RunInfo(id=run_id, created_t=t, title="A title", meta={"strategy": "default"} | fields)


def ticked(t: float = 1.0, node: str = "", **data: Any) -> NewRecord:
    return NewRecord(t, "ticked", node, json.dumps(data).encode())


def some(count: int, *, start: int = 1) -> list[NewRecord]:
    return [ticked(200.0 + n, f"0{n % 2}", n=n) for n in range(start, start + count)]


def data_of(record: Record) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(record.data)
    return data


def numbers(records: tuple[Record, ...]) -> list[tuple[int, int]]:
    return [(record.seq, data_of(record)["n"]) for record in records]


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


class JournalContract:
    """What every journal must keep to. Override `opened`; pytest collects the rest.

    Example:
        class TestMyJournal(JournalContract):
            def opened(self, tmp_path, living): return MyJournal(tmp_path / "runs", is_alive=living)
    """

    def opened(self, tmp_path: Path, living: Living) -> AbstractAsyncContextManager[Journal]:
        """A new, empty journal, open while the context lasts; `living` is to be asked whether owners are alive."""
        raise NotImplementedError

    @pytest.fixture
    def living(self) -> Living:
        return Living()

    @pytest_asyncio.fixture
    async def journal(self, tmp_path: Path, living: Living) -> AsyncIterator[Journal]:
        async with self.opened(tmp_path, living) as journal:
            yield journal

    # --- runs ---

    async def test_created_run_is_pending_held_and_empty(self, journal: Journal) -> None:
        lease = await journal.create(a_run(), ANN)
        run = await journal.info("run-9")
        assert lease == Lease("run-9", 1, ANN)
        assert (run.id, run.created_t, run.title, run.meta) == ("run-9", 100.0, "A title", {"strategy": "default"})
        assert (run.status, run.summary, run.seq, run.updated_t, run.epoch) == ("pending", None, 0, 100.0, 1)
        assert run.holding is not None
        assert (run.holding.owner, run.holding.claimed_t, run.holding.beat_t) == (ANN, 100.0, 100.0)
        assert await journal.read("run-9") == ()

    async def test_create_refuses_an_id_that_is_taken(self, journal: Journal) -> None:
        await journal.create(a_run(), ANN)
        with pytest.raises(ConflictError, match="a run 'run-9' already"):
            await journal.create(a_run(), BEN)
        assert (await journal.info("run-9")).holding.owner == ANN  # type: ignore[union-attr]  # it is held

    @pytest.mark.parametrize("run_id", ["", "latest", "-x", "A", "a b", "a/b", "a" * 65, "ü", "a\n"])
    async def test_create_refuses_ids_that_are_hard_to_type(self, journal: Journal, run_id: str) -> None:
        with pytest.raises(UsageError, match="cannot be a run id"):
            await journal.create(a_run(run_id), ANN)
        assert await journal.list(limit=10) == ()

    @pytest.mark.parametrize(
        "fault", [{"title": "\ud800"}, {"meta": {"x": math.nan}}, {"created_t": math.inf}, {"title": None}]
    )
    async def test_create_refuses_what_cannot_be_stored(self, journal: Journal, fault: dict[str, Any]) -> None:
        with pytest.raises(RecordError):
            await journal.create(replace(a_run(), **fault), ANN)
        assert await journal.list(limit=10) == ()

    async def test_list_gives_the_newest_first_in_pages(self, journal: Journal) -> None:
        for name in ("c", "a", "b"):
            await journal.create(a_run(name), ANN)
        assert [run.id for run in await journal.list(limit=2)] == ["b", "a"]
        assert [run.id for run in await journal.list(limit=2, before="a")] == ["c"]
        assert await journal.list(limit=2, before="c") == ()
        with pytest.raises(NotFoundError):
            await journal.list(limit=2, before="d")

    async def test_list_selects_by_status(self, journal: Journal) -> None:
        for name in ("a", "b", "c"):
            await journal.append(
                await journal.create(a_run(name), ANN), [], status="done" if name != "b" else "running"
            )
        assert [run.id for run in await journal.list(limit=9, status="done")] == ["c", "a"]
        assert [run.id for run in await journal.list(limit=1, status="done", before="c")] == ["a"]
        assert await journal.list(limit=9, status="lost") == ()

    @pytest.mark.parametrize(
        ("prefix", "run_id"),
        [("ab", "ab"), ("abc", "abcd"), ("x", "x_1"), ("x_", "x_1"), ("latest", "b2"), ("b2", "b2")],
    )
    async def test_resolve_finds_a_run_by_any_unique_beginning(
        self, journal: Journal, prefix: str, run_id: str
    ) -> None:
        for name in ("ab", "abcd", "x_1", "b2"):
            await journal.create(a_run(name), ANN)
        assert await journal.resolve(prefix) == run_id

    async def test_resolve_lists_the_runs_an_ambiguous_beginning_may_mean(self, journal: Journal) -> None:
        for n in range(12):
            await journal.create(a_run(f"r{n:02}"), ANN)
        with pytest.raises(UsageError, match=r"'r' .*: r11, r10, .*, r02, \.\.\.\. Type more"):
            await journal.resolve("r")
        with pytest.raises(UsageError, match=r": r11, r10\. Type more"):
            await journal.resolve("r1")

    @pytest.mark.parametrize("prefix", ["%", "_", "r_", "ru%", "R", "latest"])
    async def test_resolve_takes_no_pattern(self, journal: Journal, prefix: str) -> None:
        if prefix != "latest":  # with a run, this finds it
            await journal.create(a_run("run"), ANN)
        with pytest.raises(NotFoundError, match="There is no run"):
            await journal.resolve(prefix)

    async def test_resolve_refuses_an_empty_beginning(self, journal: Journal) -> None:
        await journal.create(a_run(), ANN)
        with pytest.raises(UsageError, match="empty"):
            await journal.resolve("")

    async def test_unknown_run_error_names_close_ids(self, journal: Journal) -> None:
        with pytest.raises(NotFoundError, match="holds no runs"):
            await journal.info("kxbt4")
        for name in ("kxbt5", "mmm22"):
            await journal.create(a_run(name), ANN)
        with pytest.raises(NotFoundError, match=r"no run 'kxbt4'\. Did you mean kxbt5\?"):
            await journal.info("kxbt4")
        with pytest.raises(NotFoundError, match=r"The newest are mmm22, kxbt5\."):
            await journal.info("zzz")

    async def test_every_method_reports_an_unknown_run(self, journal: Journal) -> None:
        ghost = Lease("ghost", 1, ANN)
        for call in (
            journal.claim("ghost", ANN, now=1.0),
            journal.heartbeat(ghost, 1.0),
            journal.append(ghost, some(1)),
            journal.read("ghost"),
            journal.resolve("ghost"),
            journal.post("ghost", "cancel", {}, t=1.0, by="me"),
            journal.take(ghost),
        ):
            with pytest.raises(NotFoundError, match="There is no run 'ghost'"):
                await call
        await journal.release(ghost)

    # --- claims ---

    async def test_claim_of_a_held_run_names_the_holder(self, journal: Journal) -> None:
        await journal.create(a_run(t=1_700_000_000.0), ANN)
        with pytest.raises(ConflictError) as caught:
            await journal.claim("run-9", BEN, now=1_700_000_001.0)
        assert "process 101 on host 'h1' since 2023-11-14 22:13:20 UTC" in str(caught.value)
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
        assert (await journal.info("run-9")).epoch == 1

    async def test_claim_by_the_holder_itself_is_refused(self, journal: Journal) -> None:
        await journal.create(a_run(), ANN)
        with pytest.raises(ConflictError):
            await journal.claim("run-9", ANN, now=101.0)

    @pytest.mark.parametrize("how", ["dead", "force", "released"])
    async def test_claim_displaces_whoever_does_not_hold_it_alive(
        self, journal: Journal, living: Living, how: str
    ) -> None:
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

    async def test_liveness_is_asked_with_the_last_heartbeat(self, journal: Journal, living: Living) -> None:
        await journal.heartbeat(await journal.create(a_run(), ANN), 150.0)
        living.dead.add(ANN)
        await journal.claim("run-9", BEN, now=170.0)
        assert living.asked == [(ANN, 150.0, 170.0)]

    async def test_many_claims_at_one_moment_give_one_lease(self, journal: Journal) -> None:
        await journal.release(await journal.create(a_run(), ANN))
        owners = [replace(ANN, token=f"t{n}") for n in range(12)]
        got = await asyncio.gather(*(journal.claim("run-9", o, now=5.0) for o in owners), return_exceptions=True)
        leases = [one for one in got if isinstance(one, Lease)]
        assert len(leases) == 1
        assert sum(isinstance(one, ConflictError) for one in got) == 11
        assert (await journal.info("run-9")).epoch == leases[0].epoch == 2

    async def test_displaced_owner_can_do_nothing_any_more(self, journal: Journal) -> None:
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

    async def test_released_lease_is_void(self, journal: Journal) -> None:
        lease = await journal.create(a_run(), ANN)
        await journal.release(lease)
        await journal.release(lease)
        assert (await journal.info("run-9")).holding is None
        with pytest.raises(ConflictError, match="nobody holds it"):
            await journal.append(lease, some(1))
        again = await journal.claim("run-9", ANN, now=5.0)
        assert await journal.append(again, some(1)) == 1

    async def test_lease_of_another_owner_with_the_same_epoch_is_refused(self, journal: Journal) -> None:
        lease = await journal.create(a_run(), ANN)
        with pytest.raises(ConflictError):
            await journal.append(replace(lease, owner=BEN), some(1))
        assert await journal.read("run-9") == ()

    @pytest.mark.parametrize("now", [math.nan, math.inf, "soon"])
    async def test_claim_and_heartbeat_refuse_a_time_that_is_none(self, journal: Journal, now: Any) -> None:
        lease = await journal.create(a_run(), ANN)
        with pytest.raises(RecordError, match="seconds since the epoch"):
            await journal.heartbeat(lease, now)
        with pytest.raises(RecordError, match="seconds since the epoch"):
            await journal.claim("run-9", BEN, now=now, force=True)

    # --- transitions ---

    async def test_append_numbers_transitions_without_gaps(self, journal: Journal) -> None:
        lease = await journal.create(a_run(), ANN)
        assert await journal.append(lease, some(3)) == 3
        assert await journal.append(lease, []) == 3
        assert await journal.append(lease, some(2, start=4)) == 5
        assert numbers(await journal.read("run-9")) == [(n, n) for n in range(1, 6)]
        assert (await journal.read("run-9"))[1] == Record(2, 202.0, "ticked", "00", b'{"n": 2}', b"")

    async def test_transitions_of_runs_are_apart(self, journal: Journal) -> None:
        leases = [await journal.create(a_run(name), ANN) for name in ("a", "b")]
        for n in (1, 2):
            assert [await journal.append(lease, some(1, start=n)) for lease in leases] == [n, n]
        assert numbers(await journal.read("a")) == numbers(await journal.read("b")) == [(1, 1), (2, 2)]

    async def test_read_gives_pages(self, journal: Journal) -> None:
        await journal.append(await journal.create(a_run(), ANN), some(5))
        assert [r.seq for r in await journal.read("run-9", after=2)] == [3, 4, 5]
        assert [r.seq for r in await journal.read("run-9", after=1, limit=2)] == [2, 3]
        assert await journal.read("run-9", after=5) == ()

    async def test_append_sets_status_and_summary_and_keeps_them(self, journal: Journal) -> None:
        lease = await journal.create(a_run(), ANN)
        await journal.append(lease, some(1), status="running", summary={"nodes": 1})
        await journal.append(lease, some(1))
        run = await journal.info("run-9")
        assert (run.status, run.summary, run.seq, run.updated_t) == ("running", {"nodes": 1}, 2, 201.0)
        await journal.append(lease, [], summary={})
        run = await journal.info("run-9")
        assert (run.status, run.summary, run.updated_t) == ("running", {}, 201.0)

    async def test_concurrent_appends_of_one_owner_stay_whole(self, journal: Journal) -> None:
        lease = await journal.create(a_run(), ANN)
        batches = [[ticked(batch=b) for _ in range(b)] for b in range(1, 9)]
        last = await asyncio.gather(*(journal.append(lease, batch) for batch in batches))
        records = await journal.read("run-9")
        assert [r.seq for r in records] == list(range(1, 37))
        assert max(last) == 36
        for end, batch in zip(last, batches, strict=True):
            assert {data_of(r)["batch"] for r in records[end - len(batch) : end]} == {len(batch)}

    async def test_transition_reads_back_byte_by_byte(self, journal: Journal) -> None:
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

    async def test_summary_and_payload_read_back_as_written_and_apart_from_the_callers(self, journal: Journal) -> None:
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

    @pytest.mark.parametrize(("data", "fault"), UNSTORABLE, ids=[fault[:20] for _, fault in UNSTORABLE])
    async def test_summary_or_payload_that_cannot_be_stored_is_refused_before_anything_is_written(
        self, journal: Journal, data: Any, fault: str
    ) -> None:
        lease = await journal.create(a_run(), ANN)
        with pytest.raises(RecordError, match=fault):
            await journal.append(lease, some(1), status="done", summary=data)
        with pytest.raises(RecordError, match=fault):
            await journal.post("run-9", "answer", data, t=1.0, by="me")
        run = await journal.info("run-9")
        assert (run.seq, run.status, run.summary) == (0, "pending", None)
        assert await journal.take(lease) == ()

    @pytest.mark.parametrize(("bad", "fault"), BAD, ids=range(len(BAD)))
    async def test_transition_that_cannot_be_stored_is_refused_before_anything_is_written(
        self, journal: Journal, bad: NewRecord, fault: str
    ) -> None:
        lease = await journal.create(a_run(), ANN)
        with pytest.raises(RecordError, match=fault) as caught:
            await journal.append(lease, [*some(1), bad], status="done")
        assert "transition 2" in str(caught.value)
        run = await journal.info("run-9")
        assert (run.seq, run.status) == (0, "pending")

    async def test_largest_and_deepest_data_is_stored(self, journal: Journal) -> None:
        lease = await journal.create(a_run(), ANN)
        await journal.append(lease, [NewRecord(1.0, "a", "", LARGEST[2:], b"[]")], summary=deep(200))
        [read] = await journal.read("run-9")
        assert (read.data, read.then) == (LARGEST[2:], b"[]")
        assert (await journal.info("run-9")).summary == deep(200)

    # --- requests ---

    async def test_requests_are_taken_once_in_order(self, journal: Journal) -> None:
        lease = await journal.create(a_run(), ANN)
        assert await journal.take(lease) == ()
        ids = [await journal.post("run-9", "answer", {"n": n}, t=float(n), by="me") for n in range(3)]
        taken = await journal.take(lease)
        assert [(r.id, r.kind, r.payload, r.t, r.by) for r in taken] == [
            (ids[n], "answer", {"n": n}, float(n), "me") for n in range(3)
        ]
        assert ids == sorted(set(ids))
        assert await journal.take(lease) == ()

    async def test_concurrent_takes_give_each_request_once(self, journal: Journal) -> None:
        lease = await journal.create(a_run(), ANN)
        posted = [await journal.post("run-9", "cancel", {}, t=1.0, by="me") for _ in range(5)]
        taken = await asyncio.gather(*(journal.take(lease) for _ in range(6)))
        assert sorted(request.id for some in taken for request in some) == posted

    async def test_requests_wait_for_the_next_owner_and_do_not_cross_runs(self, journal: Journal) -> None:
        await journal.release(await journal.create(a_run("a"), ANN))
        other = await journal.create(a_run("b"), ANN)
        await journal.post("a", "cancel", {}, t=1.0, by="me")
        assert await journal.take(other) == ()
        assert [r.kind for r in await journal.take(await journal.claim("a", BEN, now=5.0))] == ["cancel"]

    async def test_post_leaves_the_run_as_it_is(self, journal: Journal) -> None:
        lease = await journal.create(a_run(), ANN)
        before = await journal.info("run-9")
        await journal.post("run-9", "annotate", {"tag": "x"}, t=999.0, by="me")
        assert await journal.info("run-9") == before
        assert await journal.append(lease, some(1)) == 1

    @pytest.mark.parametrize("fault", [{"kind": "\ud800"}, {"by": "\ud800"}, {"t": math.nan}])
    async def test_post_refuses_what_cannot_be_stored(self, journal: Journal, fault: dict[str, Any]) -> None:
        lease = await journal.create(a_run(), ANN)
        with pytest.raises(RecordError):
            await journal.post(
                "run-9", fault.get("kind", "cancel"), {}, t=fault.get("t", 1.0), by=fault.get("by", "me")
            )
        assert await journal.take(lease) == ()

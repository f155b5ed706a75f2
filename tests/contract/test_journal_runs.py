"""What every journal does with runs and their ids."""

import math
from dataclasses import replace
from typing import Any

import pytest

from sol.errors import ConflictError, NotFoundError, UsageError
from sol.journal import Journal, Lease, RecordError
from tests.support.journal import ANN, BEN, a_run, some

# Runs


async def test_created_run_is_pending_held_and_empty(journal: Journal) -> None:
    lease = await journal.create(a_run(), ANN)
    run = await journal.info("run-9")
    assert lease == Lease("run-9", 1, ANN)
    assert (run.id, run.created_t, run.title, run.meta) == ("run-9", 100.0, "A title", {"strategy": "default"})
    assert (run.status, run.summary, run.seq, run.updated_t, run.epoch) == ("pending", None, 0, 100.0, 1)
    assert run.holding is not None
    assert (run.holding.owner, run.holding.claimed_t, run.holding.beat_t) == (ANN, 100.0, 100.0)
    assert await journal.read("run-9") == ()


async def test_create_refuses_an_id_that_is_taken(journal: Journal) -> None:
    await journal.create(a_run(), ANN)
    with pytest.raises(ConflictError, match="a run 'run-9' already"):
        await journal.create(a_run(), BEN)
    assert (await journal.info("run-9")).holding.owner == ANN  # type: ignore[union-attr]  # it is held


@pytest.mark.parametrize("run_id", ["", "latest", "-x", "A", "a b", "a/b", "a" * 65, "ü", "a\n"])
async def test_create_refuses_ids_that_are_hard_to_type(journal: Journal, run_id: str) -> None:
    with pytest.raises(UsageError, match="cannot be a run id"):
        await journal.create(a_run(run_id), ANN)
    assert await journal.list(limit=10) == ()


@pytest.mark.parametrize(
    "fault", [{"title": "\ud800"}, {"meta": {"x": math.nan}}, {"created_t": math.inf}, {"title": None}]
)
async def test_create_refuses_what_cannot_be_stored(journal: Journal, fault: dict[str, Any]) -> None:
    with pytest.raises(RecordError):
        await journal.create(replace(a_run(), **fault), ANN)
    assert await journal.list(limit=10) == ()


async def test_list_gives_the_newest_first_in_pages(journal: Journal) -> None:
    for name in ("c", "a", "b"):
        await journal.create(a_run(name), ANN)
    assert [run.id for run in await journal.list(limit=2)] == ["b", "a"]
    assert [run.id for run in await journal.list(limit=2, before="a")] == ["c"]
    assert await journal.list(limit=2, before="c") == ()
    with pytest.raises(NotFoundError):
        await journal.list(limit=2, before="d")


async def test_list_selects_by_status(journal: Journal) -> None:
    for name in ("a", "b", "c"):
        await journal.append(await journal.create(a_run(name), ANN), [], status="done" if name != "b" else "running")
    assert [run.id for run in await journal.list(limit=9, status="done")] == ["c", "a"]
    assert [run.id for run in await journal.list(limit=1, status="done", before="c")] == ["a"]
    assert await journal.list(limit=9, status="lost") == ()


# Abbreviated ids


@pytest.mark.parametrize(
    ("prefix", "run_id"), [("ab", "ab"), ("abc", "abcd"), ("x", "x_1"), ("x_", "x_1"), ("latest", "b2"), ("b2", "b2")]
)
async def test_resolve_finds_a_run_by_any_unique_beginning(journal: Journal, prefix: str, run_id: str) -> None:
    for name in ("ab", "abcd", "x_1", "b2"):
        await journal.create(a_run(name), ANN)
    assert await journal.resolve(prefix) == run_id


async def test_resolve_lists_the_runs_an_ambiguous_beginning_may_mean(journal: Journal) -> None:
    for n in range(12):
        await journal.create(a_run(f"r{n:02}"), ANN)
    with pytest.raises(UsageError, match=r"'r' .*: r11, r10, .*, r02, \.\.\.\. Type more"):
        await journal.resolve("r")
    with pytest.raises(UsageError, match=r": r11, r10\. Type more"):
        await journal.resolve("r1")


@pytest.mark.parametrize("prefix", ["%", "_", "r_", "ru%", "R", "latest"])
async def test_resolve_takes_no_pattern(journal: Journal, prefix: str) -> None:
    if prefix != "latest":  # with a run, this finds it
        await journal.create(a_run("run"), ANN)
    with pytest.raises(NotFoundError, match="There is no run"):
        await journal.resolve(prefix)


async def test_resolve_refuses_an_empty_beginning(journal: Journal) -> None:
    await journal.create(a_run(), ANN)
    with pytest.raises(UsageError, match="empty"):
        await journal.resolve("")


async def test_unknown_run_error_names_close_ids(journal: Journal) -> None:
    with pytest.raises(NotFoundError, match="holds no runs"):
        await journal.info("kxbt4")
    for name in ("kxbt5", "mmm22"):
        await journal.create(a_run(name), ANN)
    with pytest.raises(NotFoundError, match=r"no run 'kxbt4'\. Did you mean kxbt5\?"):
        await journal.info("kxbt4")
    with pytest.raises(NotFoundError, match=r"The newest are mmm22, kxbt5\."):
        await journal.info("zzz")


async def test_every_method_reports_an_unknown_run(journal: Journal) -> None:
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

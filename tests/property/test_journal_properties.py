"""Whatever several owners do in whatever order, only the current one writes, and nothing is lost or doubled."""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st

from sol.errors import ConflictError
from sol.journal import Journal, Lease, MemoryJournal, Owner, RunInfo, SqlJournal, default_url
from sol.testing.journal_contract import data_of, ticked

OWNERS = [Owner(host=f"h{n}", pid=n, started=1.0, token=f"t{n}") for n in range(3)]
RUNS = ["a", "b"]

Step: TypeAlias = tuple[str, int, int, int]
"""What is done, by which owner, to which run; and a number: how many, which lease, whether by force."""

steps = st.lists(
    st.tuples(
        st.sampled_from(["claim", "append", "append", "release", "die", "post", "take", "beat"]),
        st.integers(0, len(OWNERS) - 1),
        st.integers(0, len(RUNS) - 1),
        st.integers(0, 4),
    ),
    max_size=30,
)


@dataclass
class Model:
    """What the journal should hold for one run."""

    epoch: int = 1
    holder: Owner | None = OWNERS[0]
    written: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)

    def current(self, lease: Lease) -> bool:
        return (self.epoch, self.holder) == (lease.epoch, lease.owner)


class Play:
    """Takes steps on a journal and on the model, and compares."""

    def __init__(self, journal: Journal, dead: set[Owner]) -> None:
        self.journal, self.dead = journal, dead
        self.models = [Model() for _ in RUNS]
        self.leases: list[list[Lease]] = [[] for _ in RUNS]
        self.count = 0

    async def start(self) -> None:
        for run, leases in zip(RUNS, self.leases, strict=True):
            leases.append(await self.journal.create(RunInfo(id=run, created_t=1.0, title="", meta={}), OWNERS[0]))

    async def step(self, what: str, who: int, run: int, number: int) -> None:
        model, owner = self.models[run], OWNERS[who]
        lease = self.leases[run][number % len(self.leases[run])]  # often an old one, or another owner's
        current = model.current(lease)
        self.count += 1
        try:
            match what:
                case "die":
                    self.dead.add(owner)
                case "post":
                    await self.journal.post(RUNS[run], "answer", {"n": self.count}, t=1.0, by="me")
                    model.waiting.append(self.count)
                case "claim":
                    current = model.holder is None or model.holder in self.dead or number == 0
                    self.leases[run].append(await self.journal.claim(RUNS[run], owner, now=2.0, force=number == 0))
                    model.epoch, model.holder = model.epoch + 1, owner
                case "release":
                    await self.journal.release(lease)
                    model.holder = None if current else model.holder
                    current = True  # no complaint either way
                case "append":
                    records = [ticked(n=self.count) for _ in range(number)]
                    last = await self.journal.append(lease, records)
                    model.written += [self.count] * number
                    assert last == len(model.written)
                case "take":
                    model.taken += [request.payload["n"] for request in await self.journal.take(lease)]
                    assert model.taken[-len(model.waiting) :] == model.waiting or not model.waiting
                    model.waiting = []
                case "beat":
                    await self.journal.heartbeat(lease, 3.0)
        except ConflictError:
            assert not current
        else:
            assert current or what in {"die", "post"}

    async def check(self) -> None:
        for run, model in zip(RUNS, self.models, strict=True):
            records = await self.journal.read(run)
            assert [(r.seq, data_of(r)["n"]) for r in records] == list(enumerate(model.written, start=1))
            info = await self.journal.info(run)
            assert (info.epoch, info.seq) == (model.epoch, len(model.written))
            assert (info.holding and info.holding.owner) == model.holder
            assert len(set(model.taken)) == len(model.taken)


async def play(make: Callable[[set[Owner]], Journal], chosen: list[Step]) -> None:
    dead: set[Owner] = set()
    async with make(dead) as journal:
        game = Play(journal, dead)
        await game.start()
        for step in chosen:
            await game.step(*step)
        await game.check()


@given(steps)
@settings(deadline=None)
def test_memory_journal_lets_only_the_current_owner_write(chosen: list[Step]) -> None:
    asyncio.run(play(lambda dead: MemoryJournal(is_alive=lambda owner, beat_t, now: owner not in dead), chosen))


@given(steps)
@settings(deadline=None, max_examples=25)
def test_sql_journal_lets_only_the_current_owner_write(chosen: list[Step]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        url = default_url(Path(directory))
        asyncio.run(
            play(
                lambda dead: SqlJournal(
                    url, synchronous="NORMAL", is_alive=lambda owner, beat_t, now: owner not in dead
                ),
                chosen,
            )
        )

"""Runs as they grow: folds what the journal has new, and tells what of a page has changed. Writes nothing."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from luna.clock import Clock
from sol.engine.reading import PAGE
from sol.journal import Journal, Record, StoredRun
from sol.page.data import EVENTS, About, Rows, about_data, history, history_room, note_activity
from sol.page.render import about_run
from sol.run import kind_of
from sol.tree.events import Event
from sol.tree.node import AnyState
from sol.tree.soundness import Salvage
from sol.tree.timeline import Span, Timeline


@dataclass(slots=True)
class _Node:
    """What is remembered of a node: the transition that changed its row last, and those that its own events are in.

    Attributes:
        changed: Number of the transition.
        rows: Number of each transition with events of it, and how many.
    """

    changed: int = 0
    rows: list[tuple[int, int]] = field(default_factory=list)


class Followed:
    """One run, whatever its kind, as far as its journal has been read.

    Attributes:
        run_id: Its id.
        seq: Number of the newest transition that was read.
        generation: How often its tree was begun anew; places of rows are good within one only.
    """

    def __init__(self, stored: StoredRun, clock: Clock) -> None:
        self.run_id = stored.id
        self.seq = 0
        self.generation = 0
        self._clock = clock
        self._stored = stored
        self._reading = kind_of(stored).reading
        self._read: Salvage[AnyState] = Salvage(self._reading)
        self._lock = asyncio.Lock()
        self._began = stored.created_t
        self._begin()

    def _begin(self) -> None:
        self._rows = Rows(self.tree)
        self._nodes: dict[str, _Node] = {}
        self._activity: dict[str, str] = {}
        self._timeline = Timeline()
        self._spans: list[Span] = []
        self._changed_spans: list[int] = []
        self._spanned = 0

    async def catch_up(self, journal: Journal) -> None:
        """Read what is new."""
        async with self._lock:
            # First this: a status is never older than the events that are shown with it, only newer.
            while records := await journal.read(self.run_id, after=self.seq, limit=PAGE):
                for record in records:
                    self._take(record)
            self._stored = await journal.info(self.run_id)

    def _take(self, record: Record) -> None:
        if self.seq == 0:
            self._began = record.t
        self.seq = record.seq
        for event in self._read.unfold(record):
            self._take_event(event)

    def _take_event(self, event: Event) -> None:
        before = len(self.tree.nodes)
        self._read.fold(event)
        if len(self.tree.nodes) < before:  # the program walks through everything anew
            self.generation += 1
            self._begin()
            before = 0
        for path in islice(self.tree.nodes, before, None):
            self._nodes.setdefault(path, _Node()).changed = self.seq
        note_activity(self._activity, event)
        node = self._nodes.setdefault(event.node, _Node())
        node.changed = self.seq
        if node.rows and node.rows[-1][0] == self.seq:
            node.rows[-1] = (self.seq, node.rows[-1][1] + 1)
        else:
            node.rows.append((self.seq, 1))
        self._timeline.take(event)

    def _update_spans(self) -> None:
        """Work the time line out anew, and note which bars are not as they were."""
        if self._spanned == self.seq:
            return
        self._spanned = self.seq
        found = self._timeline.spans(self.tree.nodes)
        for n, span in enumerate(found):
            if n >= len(self._spans):
                self._changed_spans.append(self.seq)
            elif span.ended != self._spans[n].ended:
                self._changed_spans[n] = self.seq
        self._spans = found

    @property
    def tree(self) -> AnyState:
        """The run's state as far as it was read; one object for as long as this one lives."""
        return self._read.state

    @property
    def activity(self) -> dict[str, str]:
        """What each running node does now, by path."""
        return self._activity

    @property
    def stored(self) -> StoredRun:
        """The run's entry in the journal, read together with its newest events."""
        return self._stored

    @property
    def about(self) -> About:
        """What is known of the run beside its state."""
        return about_run(self._stored, now=self._clock.now(), unread=self._read.faults)

    def overview(self) -> dict[str, Any]:
        """All that a page begins with."""
        self._update_spans()
        return {
            **self.mark(),
            "about": about_data(self.tree, self.about, began=self._began),
            "rows": self._rows.of(self.tree.nodes, self._activity),
            "spans": [self._rows.span(span, self._began) for span in self._spans],
        }

    def mark(self) -> dict[str, int]:
        """How far this is, for asking what has changed since."""
        return {"seq": self.seq, "generation": self.generation}

    def changes(self, after: int) -> dict[str, Any]:
        """What is not as it was after this transition: whole rows and bars, each with its place in front."""
        self._update_spans()
        paths = [path for path, node in self._nodes.items() if node.changed > after and path in self.tree.nodes]
        rows = self._rows.of(paths, self._activity)
        spans = [n for n, changed in enumerate(self._changed_spans) if changed > after]
        return {
            "about": about_data(self.tree, self.about, began=self._began),
            # In the order of creation: a row comes after the one above it.
            "rows": sorted([self._rows.place(path), *row] for path, row in zip(paths, rows, strict=True)),
            "spans": [[n, *self._rows.span(self._spans[n], self._began)] for n in spans],
            "critical": [n for n, span in enumerate(self._spans) if span.critical],
        }

    async def history(self, journal: Journal, path: str) -> dict[str, Any] | None:
        """A node's history; None when there is no such node."""
        await self.catch_up(journal)
        node = self.tree.nodes.get(path)
        if node is None:
            return None
        rows = self._nodes[path].rows if path in self._nodes else []
        kept, left_out = _both_ends(rows)
        events: list[Event] = []
        for record in await _records(journal, self.run_id, kept):
            events += [event for event in self._reading.codec.unfold(record) if event.node == path]
        told = history(node, events, began=self._began, characters=history_room(1))
        return {**told, "leftOut": told["leftOut"] + left_out}


def _both_ends(rows: Sequence[tuple[int, int]]) -> tuple[list[int], int]:
    """Numbers of the transitions that hold the first and the last events of a history; how many are in others."""
    kept: list[int] = []
    for ordered in (rows, rows[::-1]):
        room = EVENTS // 2
        for seq, n in ordered:
            if room <= 0:
                break
            kept.append(seq)
            room -= n
    wanted = set(kept)
    return sorted(wanted), sum(n for seq, n in rows if seq not in wanted)


async def _records(journal: Journal, run_id: str, numbers: Sequence[int]) -> list[Record]:
    """The transitions of these numbers, those that stand together read together."""
    found: list[Record] = []
    first = 0
    for n in range(1, len(numbers) + 1):
        if n == len(numbers) or numbers[n] != numbers[n - 1] + 1:
            found += await journal.read(run_id, after=numbers[first] - 1, limit=n - first)
            first = n
    return found

"""Runs as they grow: folds what the journal has new, and tells what of a page has changed. Writes nothing."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from luna.clock import Clock
from sol.inspect.page.data import About, Rows, about_data, note_activity, story_room
from sol.inspect.page.story import EVENTS, story
from sol.inspect.page.write import about_run
from sol.inspect.timeline import Span, timeline
from sol.journal import Journal, Record, StoredRun
from sol.tree import fold
from sol.tree.events import Event, EventType
from sol.tree.node import Tree
from sol.workflow.machine import state as machine
from sol.workflow.machine.runner import KIND

PAGE = 2000
"""Records that are read at a time, so that other requests are answered in between."""

_EFFECTS = frozenset(
    {
        EventType.STARTED,
        EventType.REPORTED,
        EventType.CHECKED,
        EventType.ANSWER,
        EventType.LOST,
        EventType.LATE,
        EventType.INTERRUPTED,
    }
)


@dataclass(slots=True)
class _Node:
    """What is remembered of a node: the number of the event that changed its row last, and those of its own events."""

    changed: int = 0
    events: list[int] = field(default_factory=list)


class Followed:
    """One run, as far as its events have been read.

    Attributes:
        run_id: Its id.
        seq: Number of the newest event that was read.
        generation: How often its tree was begun anew; places of rows are good within one only.
    """

    def __init__(self, stored: StoredRun, clock: Clock) -> None:
        self.run_id = stored.id
        self.seq = 0
        self.generation = 0
        self._clock = clock
        self._stored = stored
        is_workflow = stored.meta.get("kind") == KIND
        self._tree: Tree = machine.Machine() if is_workflow else Tree()
        self._apply: Callable[[Any, Event], None] = machine.apply if is_workflow else fold.apply
        self._lock = asyncio.Lock()
        self._began = stored.created_t
        self._begin()

    def _begin(self) -> None:
        self._rows = Rows(self._tree)
        self._nodes: dict[str, _Node] = {}
        self._activity: dict[str, str] = {}
        self._effects: list[Event] = []
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
        event = Event(EventType(record.type), record.node, record.data, record.t)
        if self.seq == 0:
            self._began = record.t
        self.seq = record.seq
        before = len(self._tree.nodes)
        self._apply(self._tree, event)
        if event.type == EventType.RESUMED and len(self._tree.nodes) < before:
            self.generation += 1
            self._begin()
        note_activity(self._activity, event)
        node = self._nodes.setdefault(event.node, _Node())
        node.changed = record.seq
        node.events.append(record.seq)
        if event.type in _EFFECTS:
            slim = {"kind": event.data["kind"], "n": event.data["n"]}
            self._effects.append(Event(event.type, event.node, slim, event.t))

    def _update_spans(self) -> None:
        """Work the time line out anew, and note which bars are not as they were."""
        if self._spanned == self.seq:
            return
        self._spanned = self.seq
        found = timeline(self._effects)
        for n, span in enumerate(found):
            if n >= len(self._spans):
                self._changed_spans.append(self.seq)
            elif span.ended != self._spans[n].ended:
                self._changed_spans[n] = self.seq
        self._spans = found

    @property
    def tree(self) -> Tree:
        """The run's tree as far as it was read; one object for as long as this one lives."""
        return self._tree

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
        """What is known of the run beside its tree."""
        return about_run(self._stored, now=self._clock.now())

    def overview(self) -> dict[str, Any]:
        """All that a page begins with."""
        self._update_spans()
        return {
            **self.mark(),
            "about": about_data(self._tree, self.about, began=self._began),
            "rows": self._rows.of(self._tree.nodes, self._activity),
            "spans": [self._rows.span(span, self._began) for span in self._spans],
        }

    def mark(self) -> dict[str, int]:
        """How far this is, for asking what has changed since."""
        return {"seq": self.seq, "generation": self.generation}

    def changes(self, after: int) -> dict[str, Any]:
        """What is not as it was after the event of this number: whole rows and bars, each with its place in front."""
        self._update_spans()
        paths = [path for path, node in self._nodes.items() if node.changed > after and path in self._tree.nodes]
        rows = self._rows.of(paths, self._activity)
        spans = [n for n, changed in enumerate(self._changed_spans) if changed > after]
        return {
            "about": about_data(self._tree, self.about, began=self._began),
            # In the order of creation: a row comes after the one above it.
            "rows": sorted([self._rows.place(path), *row] for path, row in zip(paths, rows, strict=True)),
            "spans": [[n, *self._rows.span(self._spans[n], self._began)] for n in spans],
            "critical": [n for n, span in enumerate(self._spans) if span.critical],
        }

    async def story(self, journal: Journal, path: str) -> dict[str, Any] | None:
        """A node's story; None when there is no such node."""
        await self.catch_up(journal)
        node = self._tree.nodes.get(path)
        if node is None:
            return None
        own = self._nodes[path].events if path in self._nodes else []
        left_out = max(len(own) - EVENTS, 0)
        wanted = [*own[: EVENTS // 2], *own[-EVENTS // 2 :]] if left_out else own
        events = [
            Event(EventType(one.type), one.node, one.data, one.t) for one in await _read(journal, self.run_id, wanted)
        ]
        told = story(node, events, began=self._began, characters=story_room(1))
        return {**told, "leftOut": left_out}


async def _read(journal: Journal, run_id: str, numbers: Sequence[int]) -> list[Record]:
    """The records of these numbers, those that stand together read together."""
    found: list[Record] = []
    first = 0
    for n in range(1, len(numbers) + 1):
        if n == len(numbers) or numbers[n] != numbers[n - 1] + 1:
            found += await journal.read(run_id, after=numbers[first] - 1, limit=n - first)
            first = n
    return found

"""A worker that does what a test says, and remembers what it was asked.

It does nothing by itself: no I/O, no processes, no time but the clock's.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from luna.clock import Clock
from luna.errors import WorkerConfigError
from luna.protocol import Assignment, Delivery, ProgressEvent, Report, Success


@dataclass(frozen=True, slots=True)
class Pause:
    """A step of a script: sleep for so many seconds of the worker's clock."""

    seconds: float


Item: TypeAlias = ProgressEvent | Report | BaseException | asyncio.Event | Pause
Script: TypeAlias = Item | Sequence[Item]


class ScriptedWorker:
    """Yields the events and reports of a script, raises its exceptions, waits for its `asyncio.Event`s and pauses.

    With events in the scripts a test decides in which order workers go on and finish.

    Args:
        script: A function of the assignment, or a table from goal to script (or to such a function). A script is one
            item or several.
        clock: For pauses; None: scripts have none.

    Attributes:
        calls: How often each goal was begun.
        deliveries: What was handed over, in order.
        running: How many are at work now.
        most_running: How many were at work at the same time at most.
        finished: Goals in the order their scripts came to an end.
        stopped: Goals in the order they were cancelled or closed before their end.

    Example:
        >>> worker = ScriptedWorker({"add": [Success(summary="done", result=3)]})
        >>> worker.calls["add"]
        0
    """

    def __init__(
        self,
        script: Callable[[Assignment], Script] | Mapping[str, Script | Callable[[Assignment], Script]],
        *,
        clock: Clock | None = None,
    ) -> None:
        self._script = script
        self._clock = clock
        self.calls: Counter[str] = Counter()
        self.deliveries: list[tuple[Assignment, Delivery]] = []
        self.running = 0
        self.most_running = 0
        self.finished: list[str] = []
        self.stopped: list[str] = []

    @classmethod
    def succeeding(cls) -> "ScriptedWorker":
        """A worker that reports success at once, with the goal as its result."""
        return cls(lambda assignment: Success(summary="done", result=assignment.goal))

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        """Act out the script of the assignment.

        Raises:
            LookupError: If there is no script for the goal.
        """
        goal = assignment.goal
        self.calls[goal] += 1
        self.deliveries.append((assignment, delivery))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        ended = False
        try:
            for item in self._items(assignment):
                match item:
                    case BaseException():
                        ended = True
                        raise item
                    case asyncio.Event():
                        await item.wait()
                    case Pause():
                        await self._sleep(item)
                    case _:
                        yield item
            ended = True
        finally:
            self.running -= 1
            (self.finished if ended else self.stopped).append(goal)

    def _items(self, assignment: Assignment) -> Sequence[Item]:
        script = self._script
        if isinstance(script, Mapping):
            if assignment.goal not in script:
                raise LookupError(f"no script for goal {assignment.goal!r}; there are {sorted(script)}")
            chosen = script[assignment.goal]
        else:
            chosen = script
        items = chosen(assignment) if callable(chosen) else chosen
        return items if isinstance(items, Sequence) else [items]

    async def _sleep(self, pause: Pause) -> None:
        if self._clock is None:
            raise WorkerConfigError(f"{pause!r} in a script needs a clock; give ScriptedWorker(…, clock=…)")
        await self._clock.sleep(pause.seconds)

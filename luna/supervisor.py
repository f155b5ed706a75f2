"""Runs one attempt of one worker: whatever happens to it becomes exactly one report, or a lost outcome.

The only place where that is decided. It never makes a success out of something it does not understand.
"""

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from luna.attempt import Attempt, AttemptContext, AttemptLimits
from luna.clock import Clock
from luna.errors import Interruption, ModelError, WorkerConfigError
from luna.monitor import Monitors
from luna.protocol import Assignment, Delivery, Report, Usage, Worker
from luna.text import redact

__all__ = ["AttemptContext", "AttemptLimits", "Finished", "Lost", "Outcome", "lost_kind", "supervise"]


@dataclass(frozen=True, slots=True)
class Finished:
    """An attempt that came to its report.

    Attributes:
        report: The only one; also when the worker gave none or several.
        usage: All that was reported as spent; one call per delivery, marked unreported, where nothing was.
        seconds: From start to end, waiting included.
        stopped: Whether the worker was stopped before it reported (alarm, time-out, limit).
        events: Progress events of all deliveries.
    """

    report: Report
    usage: Usage
    seconds: float
    stopped: bool
    events: int


@dataclass(frozen=True, slots=True)
class Lost:
    """An attempt that says nothing about its task: interrupted too often, or made with what cannot work. Source: S51.

    Attributes:
        kind: `rate_limit`, `outage` or `transport`; `model` or `worker` when the model (none set, weights missing, key
            refused) or the worker's settings cannot be used.
        reason: What was said last, without secrets.
        usage: As of `Finished`.
        seconds: From start to end, waiting included.
        resumable: Whether the same attempt may be delivered again later.
    """

    kind: str
    reason: str
    usage: Usage
    seconds: float
    resumable: bool = True


Outcome: TypeAlias = Finished | Lost
_NO_LIMITS = AttemptLimits()
_ALONE = AttemptContext()


async def supervise(
    worker: Worker,
    assignment: Assignment,
    delivery: Delivery,
    *,
    clock: Clock,
    monitors: Monitors | None = None,
    limits: AttemptLimits = _NO_LIMITS,
    around: AttemptContext = _ALONE,
) -> Outcome:
    """Let a worker make one attempt and watch over it.

    An exception is FAILED `exception` (or the declared degraded success), an end without report FAILED `no_status`, a
    report that is no JSON FAILED `format`, one over its size FAILED `output_limit`; a time-out is STUCK `timeout`, an
    alarm STUCK with the alarm's kind. The first report counts; whatever comes after it is noted in its evidence. By the
    time a STUCK of ours is returned the worker has been stopped, or is named `still running` in the evidence because it
    heeded neither its closing nor a cancellation.

    A `ModelError` or a `WorkerConfigError` is about what the worker was given to work with, not about the task, so the
    attempt is lost; it can be made again when that is put right.

    After an `Interruption` the same delivery is made again when the gate opens, with the parts stored so far handed
    back and monitors that start anew.

    Args:
        worker: Whose `run` is called, once per delivery.
        assignment: The one task.
        delivery: Handed to the worker.
        clock: For time-outs and monitors.
        monitors: Of this attempt alone; None: nobody watches.
        limits: Times and sizes.
        around: Gates, slot, and who is told.

    Raises:
        asyncio.CancelledError: The caller was cancelled; the worker has been stopped before.

    Source: S04, S10, S51, S52, S55.
    """
    started = clock.monotonic()
    attempt = _Attempt(worker, assignment, delivery, clock, monitors, limits, around)
    try:
        if around.gates is None:
            last = await attempt.deliver()
        else:
            last = await around.gates.run(around.provider, attempt.deliver)
    except Interruption as lost:
        return Lost(lost.kind, redact(str(lost)), attempt.usage, clock.monotonic() - started)
    if last.unusable is not None:
        reason = redact(str(last.unusable))
        return Lost(lost_kind(last.unusable), reason, attempt.usage, clock.monotonic() - started)
    return Finished(last.report(), attempt.usage, clock.monotonic() - started, last.stopped, attempt.events)


def lost_kind(error: ModelError | WorkerConfigError) -> str:
    """What an attempt is lost by, in one word: `model` or `worker`."""
    return "worker" if isinstance(error, WorkerConfigError) else "model"


@dataclass(slots=True)
class _Attempt:
    worker: Worker
    assignment: Assignment
    delivery: Delivery
    clock: Clock
    monitors: Monitors | None
    limits: AttemptLimits
    around: AttemptContext
    usage: Usage = field(default_factory=Usage)
    events: int = 0

    async def deliver(self) -> Attempt:
        """Make one delivery.

        Raises:
            Interruption: The worker was interrupted; the next delivery gets the parts stored so far.
        """
        if self.around.slot is None:
            return await self._deliver()
        async with self.around.slot():
            return await self._deliver()

    async def _deliver(self) -> Attempt:
        one = Attempt(
            lambda: self.worker.run(self.assignment, self.delivery),
            clock=self.clock,
            monitors=self.monitors,
            limits=self.limits,
            around=self.around,
        )
        try:
            await one.run()
        finally:
            unknown = Usage() if one.unusable is not None else Usage(calls=1, reported=False)
            self.usage = self.usage.plus(one.usage or unknown)
            self.events += one.events
        if one.broken is not None:
            raise one.broken
        if one.interrupted is not None:
            self.delivery = replace(self.delivery, partial={**self.delivery.partial, **one.parts})
            self.monitors = self.monitors.fresh() if self.monitors else None
            raise one.interrupted
        return one

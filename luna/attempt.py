"""One delivery of an assignment to a worker: what it yields, read item by item, up to exactly one report."""

import asyncio
import inspect
import math
import traceback
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, JsonValue

from luna.clock import Clock, Timer
from luna.errors import Interruption, ModelError, WorkerConfigError
from luna.gate import Gates
from luna.monitor import Alarm, Monitors
from luna.monitor.base import describe, shorten
from luna.monitor.repetition import runs_away
from luna.protocol import (
    EVENT_TYPES,
    REPORT_TYPES,
    Action,
    Failed,
    FailedKind,
    Note,
    Partial,
    Progress,
    ProgressEvent,
    Report,
    Said,
    Spent,
    Stuck,
    StuckKind,
    Success,
    Usage,
    Waiting,
)
from luna.strictjson import as_json, require_json
from luna.text import redact, whole_characters

_UNFIT = (ValueError, TypeError, RecursionError)
_KEPT_CHARS = 1000
_RUN = 2000
_BYTES_A_CHARACTER = 4

M = TypeVar("M", bound=BaseModel)


def fit_report(report: Success | Stuck | Failed, limit_bytes: int) -> Success | Stuck | Failed:
    """The report itself if it can be kept, otherwise a FAILED that says why it cannot.

    Args:
        report: What the worker handed over; it may have been built without validation.
        limit_bytes: Size allowed as JSON in UTF-8.

    Returns:
        The report as it reads back, or FAILED `format` (not JSON, see `require_json`) or `output_limit` with head and
        tail.

    Source: S52, LOOP-07.
    """
    try:
        _require_whole(report)
        if isinstance(report, Success):
            report = _with(report, "result", as_json(report.result, what="its result"))
        if report.suggestions:
            report = _with(report, "suggestions", as_json(report.suggestions, what="its suggestions"))
        text = report.model_dump_json(warnings="error")
    except _UNFIT as error:
        status = getattr(report, "status", type(report).__name__)
        return Failed(kind=FailedKind.FORMAT, reason=f"the {status} report is no JSON: {error}")
    return _over(text, limit_bytes) or report


def fit_event(event: ProgressEvent, limit_bytes: int) -> ProgressEvent | Failed:
    """The event as it reads back, or a FAILED that says why it cannot be kept."""
    try:
        _require_whole(event)
        match event:
            case Note():  # never kept
                return _over(event.text, limit_bytes) or event
            case Said():
                require_json(event.text, what="its text")
                return _over(event.text, limit_bytes) or event
            case Waiting():
                require_json([event.deadline_s, event.interval_s], what="its times")
            case Spent(usage=usage):
                require_json([usage.calls, usage.tokens, usage.cost], what="its amounts")
            case Action():
                event = _with(event, "arguments", as_json(event.arguments, what="its arguments"))
            case Partial():
                event = _with(event, "value", as_json(event.value, what="its value"))
            case _:
                pass
        text = event.model_dump_json(warnings="error")
    except _UNFIT as error:
        kind = getattr(event, "type", type(event).__name__)
        what = f"the part {event.key!r}" if isinstance(event, Partial) else f"an event of type {kind!r}"
        return Failed(kind=FailedKind.FORMAT, reason=f"{what} is no JSON: {error}")
    return _over(text, limit_bytes) or event


def _require_whole(given: BaseModel) -> None:
    """Refuse what was built without validation and lacks fields.

    Raises:
        ValueError: If it does; names them.
    """
    if len(given.__dict__) < len(type(given).model_fields):
        lacking = [name for name in type(given).model_fields if name not in given.__dict__]
        raise ValueError(f"it lacks {', '.join(lacking)}")


def _with(given: M, name: str, value: object) -> M:
    return given if value is getattr(given, name) else given.model_copy(update={name: value})


def _over(text: str, limit_bytes: int) -> Failed | None:
    if len(text) * _BYTES_A_CHARACTER <= limit_bytes:
        return None
    size = len(text.encode("utf-8", "surrogatepass"))
    if size <= limit_bytes:
        return None
    unit = runs_away(text, _RUN)
    what = "reply over limit" if unit is None else f"reply over limit, repeated text {unit[:80]!r}"
    return Failed(
        kind=FailedKind.OUTPUT_LIMIT,
        reason=f"{what}: {size} bytes, {limit_bytes} allowed",
        evidence=(f"begins: {text[:_KEPT_CHARS]}", f"ends: {text[-_KEPT_CHARS:]}"),
    )


OnEvent: TypeAlias = Callable[[ProgressEvent], Awaitable[None] | None]

_BREATH = 64  # events after which other tasks get their turn, should the worker never wait for anything
_LATE_ITEMS = 100
_MESSAGE = 2000
_KEPT = 20
_left_behind: set["asyncio.Task[None]"] = set()  # or the interpreter would drop their tasks in the middle


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptLimits:
    """What one attempt may take. The times are those of one delivery; waiting at a provider's gate does not count.

    Attributes:
        timeout_s: Seconds from start to report; None: no limit.
        inactivity_s: Seconds without any event; a declared wait (`Waiting`) counts as activity until its deadline;
            None: no limit.
        grace_s: Seconds a worker has to end by itself after its report or after an alarm, and again after it was
            cancelled; then it is left behind.
        max_events: Events of one delivery; None: no limit.
        report_bytes: Size of the report as JSON, and of any text or part reported on the way; at least 1,024.

    Raises:
        ValueError: If a limit leaves nothing to be done.
    """

    timeout_s: float | None = None
    inactivity_s: float | None = None
    grace_s: float = 5.0
    max_events: int | None = None
    report_bytes: int = 1_000_000

    def __post_init__(self) -> None:
        for name, limit in (("timeout_s", self.timeout_s), ("inactivity_s", self.inactivity_s)):
            if limit is not None and not limit > 0:
                raise ValueError(f"{name} is a number above 0 or None, not {limit!r}")
        if not self.grace_s >= 0:
            raise ValueError(f"grace_s is a number from 0, not {self.grace_s!r}")
        if self.max_events is not None and not self.max_events >= 1:
            raise ValueError(f"max_events is a number from 1 or None, not {self.max_events!r}")
        if not self.report_bytes >= 1024:
            raise ValueError(f"report_bytes is a number from 1024, not {self.report_bytes!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptContext:
    """What an attempt shares with others, and who is told about it.

    Attributes:
        gates: The providers' gates; None: an interrupted attempt is lost at once.
        provider: Whose gate the worker needs; "": none.
        slot: Makes the context in which each delivery runs (a concurrency limit). It is left while the attempt waits at
            a closed gate, so that others can go on.
        on_event: Told each progress event before it is acted on; awaited if it returns something to await. What it
            raises stops the worker and is raised by `supervise`.
        on_error: Result to hand up, marked degraded, when the worker raises; None: it is FAILED.
    """

    gates: Gates | None = None
    provider: str = ""
    slot: Callable[[], AbstractAsyncContextManager[Any]] | None = None
    on_event: OnEvent | None = None
    on_error: JsonValue = None


class Attempt:
    """One delivery. After `run`, `report()` is the report, unless `broken`, `interrupted` or `unusable` is set.

    Attributes:
        usage: Sum of what was reported as spent; None when nothing was.
        events: Progress events before the end.
        parts: Parts stored on the way.
        stopped: Whether it was stopped before it reported.
        interrupted: The worker was interrupted and may be tried again.
        unusable: The worker or its model cannot be used as they are set up, whatever the task is.
        broken: What the caller's `on_event` raised.
    """

    def __init__(
        self,
        start: Callable[[], AsyncIterator[ProgressEvent | Report]],
        *,
        clock: Clock,
        monitors: Monitors | None,
        limits: AttemptLimits,
        around: AttemptContext,
    ) -> None:
        self._start = start
        self._clock = clock
        self._monitors = monitors
        self._limits = limits
        self._around = around
        self._ending: Report | None = None
        self._is_cancelled = False
        self._late: list[str] = []
        self._notes: list[str] = []
        self._is_over = False
        self._over: asyncio.Future[None] | None = None
        self._timer: Timer | None = None
        self._begun = self._last_at = clock.monotonic()
        self._waiting_until = self._begun
        self._attempted: deque[str] = deque(maxlen=_KEPT)
        self._known: deque[str] = deque(maxlen=_KEPT)
        self._said = ""
        self.usage: Usage | None = None
        self.events = 0
        self.parts: dict[str, JsonValue] = {}
        self.stopped = False
        self.interrupted: Interruption | None = None
        self.unusable: ModelError | WorkerConfigError | None = None
        self.broken: Exception | None = None

    def report(self) -> Report:
        """The one report, with what else happened noted in its evidence."""
        ending = self._ending or Failed(
            kind=FailedKind.NO_STATUS, reason=f"the worker ended without a report, after {self.events} events"
        )
        notes = list(self._notes)
        if self._late:
            notes.append(f"disregarded, came after the end: {', '.join(self._late[:_KEPT])} ({len(self._late)} in all)")
        return ending.model_copy(update={"evidence": (*ending.evidence, *notes)}) if notes else ending

    async def run(self) -> None:
        """Run the worker to its report, or stop it; then it has ended, or been left behind."""
        loop = asyncio.get_running_loop()
        pump = loop.create_task(self._pump())
        try:
            # A worker that need not wait for anything has ended after this; then nothing more is made or waited for.
            await asyncio.sleep(0)
            if not self._is_over:
                self._watch(pump)
                self._over = loop.create_future()
                await self._over
            if not pump.done():
                await self._wind_down(pump)
        except asyncio.CancelledError:
            if not pump.done():
                self._cancel(pump)
                await self._leave_after_grace(pump)
            raise
        finally:
            if self._timer is not None:
                self._timer.cancel()

    # --- the worker's side: everything here runs in the worker's task ---

    async def _pump(self) -> None:
        stream: AsyncIterator[ProgressEvent | Report] | None = None
        try:
            stream = _opened(self._start())
            async for item in stream:
                if not await self._take(item):
                    break
        except Interruption as error:
            if self._ending is None:
                self.interrupted = error
        except (ModelError, WorkerConfigError) as error:
            if self._ending is None:
                self.unusable = error
            else:
                self._broke(error)
        except asyncio.CancelledError as error:
            if not self._is_cancelled:  # nobody cancelled it: something inside did, and it let that pass
                self._broke(error)
        except (Exception, SystemExit, GeneratorExit) as error:  # noqa: BLE001 - whatever a worker raises is its report
            self._broke(error)
        finally:
            self._set_over()
            await self._close(stream)

    async def _close(self, stream: object) -> None:
        close = getattr(stream, "aclose", None)
        if close is None:
            return
        try:
            await close()
        except (Exception, SystemExit) as error:  # noqa: BLE001 - its report is made already; this is only noted
            self._notes.append(f"while it was closed the worker raised {_named(error)}")

    async def _take(self, item: object) -> bool:
        """Take the next item of the stream; False when no more are wanted."""
        if self._ending is not None:
            return self._take_late(item)
        if isinstance(item, REPORT_TYPES):
            self._end(fit_report(item, self._limits.report_bytes))
            return True
        if not isinstance(item, EVENT_TYPES):
            reason = f"the worker yielded a {type(item).__name__}, neither a progress event nor a report"
            return self._stop(Failed(kind=FailedKind.FORMAT, reason=reason))
        fit = fit_event(item, self._limits.report_bytes)
        if isinstance(fit, Failed):
            return self._stop(fit)
        item = fit
        stuck = self._note(item)
        if self._around.on_event is not None:
            try:
                pending = self._around.on_event(item)
                if pending is not None:
                    await pending
            except Exception as error:  # noqa: BLE001 - the caller's own fault, raised in the caller's task
                self.broken = error
                return False
        if stuck is not None:
            return self._stop(stuck)
        if self.events % _BREATH == 0:
            await asyncio.sleep(0)
        return True

    def _take_late(self, item: object) -> bool:
        if isinstance(item, Spent) and not isinstance(fit_event(item, self._limits.report_bytes), Failed):
            self._spend(item)
        self._late.append(type(item).__name__)
        return not self.stopped and len(self._late) < _LATE_ITEMS

    def _note(self, event: ProgressEvent) -> Stuck | None:
        """Count an event and show it to the monitors; the report if it is the last one allowed."""
        self.events += 1
        at = self._last_at = self._clock.monotonic()
        match event:
            case Action():
                self._attempted.append(describe(event))
            case Progress():
                if event.evidence and event.evidence not in self._known:
                    self._known.append(shorten(event.evidence))
            case Said():
                self._said = event.text[-_MESSAGE:]
            case Partial():
                self.parts[event.key] = event.value
            case Spent():
                self._spend(event)
            case Waiting():
                self._waiting_until = at + event.deadline_s
        alarm = self._monitors.see(event, at) if self._monitors is not None else None
        if alarm is None and self._limits.max_events is not None and self.events >= self._limits.max_events:
            alarm = Alarm(StuckKind.STEP_LIMIT, f"{self.events} events without a report, the limit of a delivery")
        return self._stuck(alarm) if alarm is not None else None

    def _spend(self, event: Spent) -> None:
        self.usage = event.usage if self.usage is None else self.usage.plus(event.usage)

    def _broke(self, error: BaseException) -> None:
        what = _named(error)
        if self._ending is not None:
            self._notes.append(f"after its end the worker raised {what}")
            return
        where = traceback.extract_tb(error.__traceback__)[-1:]
        evidence = tuple(f"raised in {frame.name} ({PurePath(frame.filename).name}:{frame.lineno})" for frame in where)
        if self._around.on_error is None:
            self._end(Failed(kind=FailedKind.EXCEPTION, reason=what, evidence=evidence))
            return
        degraded = Success(
            summary="degraded: the worker broke, this is its declared fallback",
            result=self._around.on_error,
            evidence=evidence,
            remaining_risks=(f"degraded: the worker raised {what}",),
        )
        self._end(fit_report(degraded, self._limits.report_bytes))

    # --- endings ---

    def _end(self, report: Report) -> None:
        self._ending = report
        self._set_over()

    def _set_over(self) -> None:
        self._is_over = True
        if self._over is not None and not self._over.done():
            self._over.set_result(None)

    def _stop(self, report: Report) -> bool:
        self.stopped = True
        self._end(report)
        return False

    def _stuck(self, alarm: Alarm) -> Stuck:
        return Stuck(
            kind=alarm.kind,
            summary=self._said,
            blocker=alarm.reason,
            known=tuple(self._known),
            attempted=tuple(dict.fromkeys(self._attempted)),
            evidence=alarm.evidence,
        )

    def _watch(self, pump: "asyncio.Task[None]") -> None:
        """Stop the worker when its time is up. Looks again only when the last known deadline has come."""
        timeout_s, inactivity_s = self._limits.timeout_s, self._limits.inactivity_s
        if self._ending is not None or pump.done() or (timeout_s is None and inactivity_s is None):
            return
        now = self._clock.monotonic()
        total = self._begun + timeout_s if timeout_s is not None else math.inf
        quiet = max(self._last_at + inactivity_s, self._waiting_until) if inactivity_s is not None else math.inf
        due = min(total, quiet)
        if due > now:
            self._timer = self._clock.call_later(due - now, partial(self._watch, pump))
            return
        if due == total:
            reason = f"no report within {timeout_s:g} s"
        else:
            reason = f"no sign of life for {now - self._last_at:g} s"
        last = self._attempted[-1] if self._attempted else "nothing reported"
        self._stop(self._stuck(Alarm(StuckKind.TIMEOUT, reason, (f"last action: {last}", f"events: {self.events}"))))
        self._cancel(pump)

    def _cancel(self, pump: "asyncio.Task[None]") -> None:
        self._is_cancelled = True
        pump.cancel()

    async def _wind_down(self, pump: "asyncio.Task[None]") -> None:
        """Let the worker end by itself, then cancel it, then leave it behind."""
        if not self._is_cancelled:
            if await self._ends(pump):
                return
            self._cancel(pump)
        await self._leave_after_grace(pump)

    async def _leave_after_grace(self, pump: "asyncio.Task[None]") -> None:
        if not await self._ends(pump):
            self._notes.append(f"still running {self._limits.grace_s:g} s after it was cancelled")
            _left_behind.add(pump)
            pump.add_done_callback(_left_behind.discard)

    async def _ends(self, pump: "asyncio.Task[None]") -> bool:
        """Whether the worker's task ends within the grace time."""
        woken = asyncio.get_running_loop().create_future()

        def wake(_pump: object = None) -> None:
            if not woken.done():
                woken.set_result(None)

        pump.add_done_callback(wake)
        timer = self._clock.call_later(self._limits.grace_s, wake)
        try:
            await woken
        finally:
            timer.cancel()
            pump.remove_done_callback(wake)
        return pump.done()


def _opened(stream: object) -> Any:  # noqa: ANN401 - checked by iterating
    if inspect.iscoroutine(stream):
        stream.close()
        raise TypeError("the worker's run() must be an async generator: yield the report, do not return it")
    return stream


def _named(error: BaseException) -> str:
    """Type and message of an exception, without secrets, at most 2,000 characters."""
    try:
        message = whole_characters(str(error))
    except Exception:  # noqa: BLE001 - an exception that cannot say what it is
        message = "(its message cannot be read)"
    name = type(error).__name__
    return redact(f"{name}: {message[: 2 * _MESSAGE]}")[:_MESSAGE] if message.strip() else name

"""Who carries out which request: one function for each class of request, given what the effect has to work with.

Knows nothing of how effects are scheduled, so that the same functions can run elsewhere. What goes wrong inside a
worker is an outcome; only what breaks Sol itself is raised.
"""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeAlias, cast
from uuid import UUID

import msgspec
from msgspec import structs
from pydantic import JsonValue

from luna.inputs import inside
from luna.monitor import Monitors
from luna.protocol import (
    Action,
    Delivery,
    Failed,
    Note,
    Partial,
    ProgressEvent,
    Report,
    Said,
    Spent,
    Stuck,
    Success,
    Usage,
)
from luna.strictjson import as_json
from luna.supervisor import AttemptContext, Finished, supervise
from luna.supervisor import Lost as LostAttempt
from luna.text import clip, whole_characters
from luna.verify import verify
from sol.dispatch.context import RunContext
from sol.dispatch.isolation import Isolated, assignment_of, read_integration
from sol.errors import PlannerError, UsageError
from sol.tree import effects as f
from sol.tree import events as e
from sol.tree.effects import Answered, Request
from sol.tree.events import Command, Outcome
from sol.tree.values import AnswerValue, CheckResult, ProgressData, ReportData, SplitAnswer

TEXT_BYTES = 2_000
"""Most bytes of an observation or a said text that the journal keeps."""

CHILD = "run"
"""Name of the stored part that says which run solves a task."""


@dataclass(slots=True, kw_only=True)
class Working:
    """What one effect has to work with, and how it makes its outcome.

    Attributes:
        level: Levels of the depth limit that are used at its node.
        tell: Told what happens on the way.
        booked: Usage that was told on the way.
        begun: It has got beyond waiting for its turn, so that it costs something even if it is stopped.
    """

    context: RunContext
    isolation: Isolated | None
    command: Command
    level: int
    tell: Callable[[e.Progressed], None]
    booked: Usage = field(default_factory=Usage)
    begun: bool = False

    @property
    def key(self) -> str:
        """`run/node/kind/number`: the same whenever the same effect is made again."""
        command = self.command
        return f"{self.context.run}/{command.node}/{command.kind}/{command.n}"

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Its turn among all runs."""
        async with self.context.limiter or nullcontext():
            self.begun = True
            yield

    def progress(self, event: ProgressEvent) -> None:
        """Tell what a worker does on the way."""
        usage: Usage | None = None
        match event:
            case Note():
                return
            case Spent():
                usage = event.usage
                self.booked = self.booked.plus(usage)
            case Said(text=text):
                event = Said(text=clip(text, limit_bytes=TEXT_BYTES).text)
            case Action(observation=observation):
                event = event.model_copy(update={"observation": clip(observation, limit_bytes=TEXT_BYTES).text})
            case _:
                pass
        command = self.command
        self.tell(e.Progressed(command.kind, command.n, ProgressData(**event.__dict__), usage))

    def book(self, usage: Usage) -> None:
        """Book usage of a run that was started from inside."""
        self.progress(Spent(usage=usage))

    def rest(self, usage: Usage) -> Usage:
        """What the outcome adds to what was told on the way; the declared maximum where usage is unknown."""
        per_call = self.context.strategy.budget.per_call
        tokens, cost, calls = usage.tokens, usage.cost, max(usage.calls, 1)
        if not usage.reported:
            tokens, cost = max(tokens, per_call.tokens or 0), max(cost, per_call.cost or 0.0)
        told = self.booked
        return Usage(
            calls=calls - min(told.calls, calls),
            tokens=max(tokens - told.tokens, 0),
            cost=max(cost - told.cost, 0.0),
            reported=usage.reported or not (per_call.tokens or per_call.cost),
        )

    def answer(self, value: AnswerValue, *, usage: Usage | None = None) -> e.Answer:
        """The outcome that answers."""
        return e.Answer(kind=self.command.kind, n=self.command.n, answer=value, usage=usage)

    def lost(self, kind: str, reason: str, *, usage: Usage | None = None, seconds: float = 0.0) -> e.Lost:
        """The outcome that says nothing about the task."""
        command = self.command
        said = whole_characters(reason)  # it may be whatever an exception says
        return e.Lost(kind=command.kind, n=command.n, lost=kind, reason=said, usage=usage, seconds=seconds)

    def reported(self, report: ReportData, *, usage: Usage | None = None, seconds: float = 0.0) -> e.Reported:
        """The outcome of an attempt."""
        return e.Reported(kind=self.command.kind, n=self.command.n, report=report, usage=usage, seconds=seconds)

    def checked(self, results: tuple[CheckResult, ...]) -> e.Checked:
        """The outcome of a check."""
        return e.Checked(kind=self.command.kind, n=self.command.n, results=results)


Handler: TypeAlias = Callable[[Any, Working], Awaitable[Outcome]]
"""Carries out requests of one class; the first argument is one of these."""


async def attempt(request: f.AttemptRequest, on: Working) -> Outcome:
    """Let a Luna try, in a workspace of its own where Lunas are kept apart."""
    return await _attempt(request, on)


async def _attempt(request: f.AttemptRequest, on: Working) -> e.Reported | e.Lost:
    if on.isolation is None or request.checkout is None:
        return await work(on, request, on.context.workspace)
    return await on.isolation.attempt(request, request.checkout, partial(work, on))


def _isolated(on: Working) -> Isolated:
    if on.isolation is None:
        raise RuntimeError("work can be merged and applied only where Lunas are kept apart")
    return on.isolation


async def work(on: Working, request: f.AttemptRequest, workspace: Path) -> e.Reported | e.Lost:
    """Let a Luna work in a directory."""
    context = on.context
    made = context.workers.of(request.worker)
    assignment = context.assignments.of(request.assignment)
    if context.inherit is not None:
        context.inherit(on.level, on.book)
    delivery = Delivery(
        key=on.key,
        workspace=workspace,
        # As with inputs: what is handed over is the worker's, and the run's own state must not change with it.
        partial=msgspec.json.decode(msgspec.json.encode(request.partial)) if request.partial else {},
        answers=dict(request.answers),
        delimiter=context.token,
        model=context.workers.model,
    )
    ended = await supervise(
        made.worker,
        assignment,
        delivery,
        monitors=Monitors.from_settings(context.strategy.monitor_settings, assignment),
        limits=context.attempt_limits,
        clock=context.clock,
        around=AttemptContext(
            gates=context.gates,
            provider=made.gate,
            slot=on.slot,
            on_event=on.progress,
            on_error=made.spec.on_error,
        ),
    )
    return _outcome(ended, on)


def _outcome(ended: Finished | LostAttempt, on: Working) -> e.Reported | e.Lost:
    usage, seconds = on.rest(ended.usage), round(ended.seconds, 6)
    if isinstance(ended, LostAttempt):
        return on.lost(ended.kind, ended.reason, usage=usage, seconds=seconds)
    return on.reported(report_data(ended.report), usage=usage, seconds=seconds)


def report_data(report: Report) -> ReportData:
    """A report as it is stored."""
    match report:
        case Success():
            return ReportData(
                report.status,
                summary=report.summary,
                result=report.result,
                evidence=report.evidence,
                remaining_risks=report.remaining_risks,
                suggestions=report.suggestions,
            )
        case Stuck():
            return ReportData(
                report.status,
                kind=str(report.kind),
                summary=report.summary,
                blocker=report.blocker,
                known=report.known,
                unknown=report.unknown,
                attempted=report.attempted,
                suggested_split=report.suggested_split,
                question=report.question,
                evidence=report.evidence,
                suggestions=report.suggestions,
            )
        case Failed():
            return ReportData(
                report.status,
                kind=str(report.kind),
                reason=report.reason,
                evidence=report.evidence,
                suggestions=report.suggestions,
            )


async def check(request: f.CheckRequest, on: Working) -> Outcome:
    """Run the executable criteria on a result."""
    assignment = on.context.assignments.of(request.assignment)
    workspace = on.context.workspace
    if on.isolation is not None and request.checkout is not None:
        workspace = await on.isolation.at(request.checkout)
    results = await verify(
        assignment.checks,
        assignment=assignment,
        result=cast("JsonValue", request.result),
        workspace=workspace,
        started_t=request.started_t,
        confinement=on.context.workers.of(request.worker).confinement,
    )
    return on.checked(results)


async def plan(request: f.PlannerRequest, on: Working) -> Outcome:
    """Let Sol think."""
    context = on.context

    async def call() -> Answered:
        async with on.slot():
            return await context.planner.answer(request)

    provider = context.sol_provider
    answered: Answered = await context.gates.run(provider, call) if provider else await call()
    try:
        answer = kept(answered.answer, ANSWERS.get(type(request), ()))
    except (ValueError, TypeError, RecursionError) as error:
        raise PlannerError(f"Sol's planner gave what cannot be kept: {error}", usage=answered.usage) from error
    return on.answer(answer, usage=answered.usage)


ANSWERS: Mapping[type[Request], tuple[type[AnswerValue], ...]] = {
    f.AtomicRequest: (f.AtomicAnswer,),
    f.JudgeRequest: (f.JudgeAnswer,),
    f.SplitRequest: (SplitAnswer, f.CannotSplit),
    f.ReviewRequest: (f.Judged,),
    f.IntegrateRequest: (f.IntegrateAnswer,),
    f.ReassessRequest: (f.ReassessAnswer,),
    f.RuleRequest: (f.Judged,),
}
"""What a planner may answer to each request; the journal reads no other."""


def kept(answer: AnswerValue, allowed: tuple[type[AnswerValue], ...]) -> AnswerValue:
    """An answer exactly as it reads back from the journal.

    Args:
        answer: As the planner gave it; slots classes check nothing when they are made.
        allowed: Its classes; empty: any.

    Raises:
        ValueError: If it is of another class, or a field of it is of another type or no JSON.
        TypeError: If it holds objects.
    """
    kind = type(answer)
    if allowed and kind not in allowed:
        raise TypeError(f"the answer is a {kind.__name__}, not a {' or a '.join(one.__name__ for one in allowed)}")
    fields: dict[str, object] = msgspec.to_builtins(answer, builtin_types=_NO_JSON)
    plain = {name: as_json(value, what=f"the answer[{name!r}]") for name, value in fields.items()}
    return msgspec.convert(plain, kind)


_NO_JSON = (bytes, bytearray, datetime, date, time, timedelta, Decimal, UUID)
"""What msgspec would turn into text, so that it reads back as something else."""


async def integrate(request: f.IntegrateRequest, on: Working) -> Outcome:
    """Put parts together: a Luna does, or Sol itself."""
    if request.worker is None:
        return await plan(request, on)
    given = f.AttemptRequest(assignment_of(request), request.worker, checkout=request.checkout)
    ended = await _attempt(given, on)
    if isinstance(ended, e.Lost):
        return ended
    return e.Answer(
        kind=ended.kind,
        n=ended.n,
        usage=ended.usage,
        seconds=ended.seconds,
        answer=read_integration(ended.report, request),
        snapshot=ended.snapshot,
    )


async def merge(request: f.MergeRequest, on: Working) -> Outcome:
    """Bring the work of accepted parts together."""
    merged = await _isolated(on).merge(request, partial(work, on))
    if isinstance(merged, e.Lost):
        return merged
    answer = on.answer(merged.answer)
    return answer if merged.by is None else structs.replace(answer, usage=merged.by.usage, seconds=merged.by.seconds)


async def apply(request: f.ApplyRequest, on: Working) -> Outcome:
    """Bring accepted work into the workspace itself."""
    return on.answer(await _isolated(on).apply(request))


async def solve(request: f.SolveRequest, on: Working) -> Outcome:
    """Solve a task by a run of its own, found again by the key of this effect."""
    context = on.context
    if context.solve is None:
        raise UsageError("Runs inside this one cannot be started from here.")
    if context.inherit is not None:
        context.inherit(on.level, on.book)
    report = await context.solve(request, on.command.key, lambda run: on.progress(Partial(key=CHILD, value=run)))
    return on.reported(report)


async def keep_files(request: f.FileRequest, on: Working) -> Outcome:
    """Write texts as files."""
    return on.answer(f.FileAnswer(await asyncio.to_thread(write_files, on.context.workspace, request)))


def write_files(workspace: Path, request: f.FileRequest) -> dict[str, str]:
    """Write files and return the SHA-256 of each as it is then.

    A file that differs from how it was left was written by the worker and stays as it is. Doing this twice changes
    nothing.

    Raises:
        luna.inputs.InputError: If the directory leads out of the workspace.
        OSError: If a file cannot be written.
    """
    left: dict[str, str] = {}
    for name, text in request.texts.items():
        target = inside(workspace, f"{request.directory}/{name}")
        now = sha256(target.read_bytes()).hexdigest() if target.is_file() else None
        if now is None or now == request.known.get(name):
            data = text.encode("utf-8", "replace")
            _replace(target, data)
            now = sha256(data).hexdigest()
        left[name] = now
    return left


def _replace(target: Path, data: bytes) -> None:
    """Write a file as a whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    draft.write_bytes(data)
    draft.replace(target)


HANDLERS: Mapping[type[Request], Handler] = {
    f.AttemptRequest: attempt,
    f.CheckRequest: check,
    f.AtomicRequest: plan,
    f.JudgeRequest: plan,
    f.SplitRequest: plan,
    f.ReviewRequest: plan,
    f.ReassessRequest: plan,
    f.RuleRequest: plan,
    f.IntegrateRequest: integrate,
    f.MergeRequest: merge,
    f.ApplyRequest: apply,
    f.SolveRequest: solve,
    f.FileRequest: keep_files,
}
"""Who carries out the requests that all programs may make."""

"""Attempts that are kept apart: where each works, how work is merged, what a Luna that merges is asked."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast, get_args
from weakref import WeakValueDictionary

from msgspec import structs

from luna.process.group import ProcessRegistry
from luna.text import clip, strip_controls
from luna.workspaces import Conflict, ConflictFile, Isolation, IsolationMode, Merge, Side, WorkspaceError, Workspaces
from sol.errors import UsageError
from sol.tree.effects import (
    CHECKS_OF_INTEGRATION,
    ApplyAnswer,
    ApplyRequest,
    AttemptRequest,
    Checkout,
    IntegrateAnswer,
    IntegrateRequest,
    IntegrationCheck,
    MergeAnswer,
    MergeRequest,
)
from sol.tree.events import Lost, Reported, RunStarted
from sol.tree.values import AssignmentData, ConflictData, CriterionData, ExpectedData, ReportData

_WHOLE = "Each file in conflict is whole again, without conflict markers, or is gone on purpose."
TEXTS_BYTES = 196_608
"""Most bytes of texts that a Luna gets which settles a conflict; the largest file that is told fits, with all sides."""


def assignment_of(request: IntegrateRequest) -> AssignmentData:
    """The assignment, with all seven fields, of putting the parts of a task together."""
    task = request.assignment
    parts = [
        {"goal": part.goal, "state": part.state, "result": part.result, "summary": part.summary}
        for part in request.parts
    ]
    return AssignmentData(
        goal=f"Put the results of the parts together so that they meet this goal: {task.goal}",
        context=task.context,
        inputs={**task.inputs, "parts": parts},
        constraints=(*task.constraints, "Do none of the parts again; work from their results."),
        expected_output=task.expected_output,
        success_criteria=task.success_criteria,
        stop_conditions=(
            "Two parts contradict each other.",
            "Something that the goal needs is in none of the parts.",
        ),
    )


def read_integration(report: ReportData, request: IntegrateRequest) -> IntegrateAnswer:
    """What the report of an integrating Luna says about the five checks; those it says nothing about stay unjudged.

    Source: S60, S62.
    """
    checks = _unjudged()
    unfinished = [part for part in request.parts if part.state not in {"success", "skipped"}]
    if unfinished:
        note = "; ".join(f"part {p.path} is {p.state}" for p in unfinished)
        checks["nothing_open"] = IntegrationCheck(ok=False, note=note)
    if report.status == "SUCCESS":
        return IntegrateAnswer(report.result, report.summary, checks)
    problem = report.blocker or report.reason or "the integrating Luna named no reason"
    checks["goal_met"] = IntegrationCheck(ok=False, note=problem)
    return IntegrateAnswer(None, report.summary, checks, (problem,))


def _unjudged() -> dict[str, IntegrationCheck]:
    return {name: IntegrationCheck(ok=None) for name in CHECKS_OF_INTEGRATION}


def conflict_assignment(request: MergeRequest, conflict: Conflict, *, context_bytes: int) -> AssignmentData:
    """The assignment, with all seven fields, of settling a conflict between the work of parts.

    Names of files come from workers, so they stand among the inputs only.
    """
    task = request.assignment
    label = conflict.side.label
    texts, left_out = _texts(conflict.files)
    lines = [
        f"Both belong to this task: {task.goal}",
        f"Merged so far are the parts before it (ours); part {label} (theirs) differs where it is marked.",
        *([f"Sides left out here, see the files: {left_out} of {len(texts)}."] if left_out else []),
        *(f"Part {part.path}: {part.goal} {part.summary}".strip() for part in request.parts),
    ]
    return AssignmentData(
        goal=f"Settle the conflict between the work of part {label} and that of the parts before it",
        context=clip("\n".join(lines), limit_bytes=context_bytes).text,
        inputs={"conflicts": texts},
        constraints=(*task.constraints, "Keep what both sides were made for; leave out neither side's work."),
        expected_output=ExpectedData("For each file, in one sentence, how its sides were brought together"),
        success_criteria=(
            CriterionData(text=_WHOLE),
            CriterionData(text="The work of both sides is in effect."),
        ),
        stop_conditions=("The sides contradict each other: what one was made for undoes the other.",),
    )


def _texts(files: Sequence[ConflictFile]) -> tuple[list[dict[str, str | None]], int]:
    """Path and sides of each file, as long as there is room for the sides; and of how many files there was none."""
    room_bytes, left_out = TEXTS_BYTES, 0
    told: list[dict[str, str | None]] = []
    for file in files:
        sides = {"before": file.base, "ours": file.ours, "theirs": file.theirs}
        size_bytes = sum(len(text.encode()) for text in sides.values() if text is not None)
        if size_bytes > room_bytes:
            left_out += 1
            sides = dict.fromkeys(sides)
        else:
            room_bytes -= size_bytes
        told.append({"path": file.path, **sides})
    return told, left_out


def conflict_left(report: ReportData, conflict: Conflict, marked: Sequence[str]) -> IntegrateAnswer:
    """The failed integration that follows when the conflict could not be settled. Source: S60, S62."""
    files = ", ".join(marked or (file.path for file in conflict.files))
    why = "conflict markers are left" if marked else report.blocker or report.reason or "not settled"
    note = f"the work of part {conflict.side.label} does not fit that of the parts before it in {files}: {why}"
    checks = _unjudged() | {"no_contradiction": IntegrationCheck(ok=False, note=note)}
    return IntegrateAnswer(None, report.summary, checks, (note,))


T = TypeVar("T")
Work: TypeAlias = Callable[[AttemptRequest, Path], Awaitable[Reported | Lost]]
"""Lets a Luna work at a path; gives the outcome."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of a merge, and the report of the Luna that was to settle a conflict; None: there was none."""

    answer: MergeAnswer | IntegrateAnswer
    by: Reported | None = None


_SUBJECT = 72
_log = logging.getLogger(__name__)


async def open_isolation(
    kind: IsolationMode, workspace: Path, *, run: str, home: Path, processes: ProcessRegistry | None
) -> tuple[Workspaces, dict[str, str]]:
    """Keep the Lunas of a new run apart.

    Args:
        kind: How: not `in_place`.
        workspace: Where the task is.
        run: Id of the run; there is none of this id yet.
        home: Directory that may hold their checkouts.
        processes: Where child processes are recorded.

    Returns:
        What gives each a checkout of its own, and the fields of `RunStarted` that a resume must know.

    Raises:
        UsageError: If the workspace cannot be isolated so. Nothing was started.
    """
    if kind not in get_args(IsolationMode):
        raise UsageError(f"Isolation is {kind!r}; it must be one of {', '.join(get_args(IsolationMode))}.")
    try:
        workspaces = _open(cast("Isolation", kind), workspace, run=run, home=home, processes=processes)
        base = await workspaces.begin()
    except WorkspaceError as error:
        raise UsageError(str(error)) from error
    return workspaces, {"isolation": kind, "base": base, "checkouts": str(home)}


def isolation_again(started: RunStarted, *, run: str, processes: ProcessRegistry | None) -> Workspaces | None:
    """What gives each Luna of a run that was started before a checkout of its own; None: all work in the workspace."""
    match started.isolation:
        case "copy" | "worktree" as kind:
            checkouts = Path(started.checkouts)
            return _open(kind, Path(started.workspace), run=run, home=checkouts, processes=processes)
        case _:
            return None


def _open(kind: Isolation, workspace: Path, *, run: str, home: Path, processes: ProcessRegistry | None) -> Workspaces:
    from luna.workspaces.opening import open_workspaces  # noqa: PLC0415 - most runs need none of it

    return open_workspaces(kind, workspace, run=run, home=home, registry=processes)


class Isolated:
    """The checkouts of one run.

    Args:
        run: Its id.
        workspaces: Keeps Lunas apart.
        context_bytes: Most bytes of context that an assignment carries.
    """

    def __init__(self, run: str, workspaces: Workspaces, *, context_bytes: int) -> None:
        self._run = run
        self._workspaces = workspaces
        self._context_bytes = context_bytes
        self._dropping: set[asyncio.Task[None]] = set()
        self._in_use: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def at(self, checkout: Checkout) -> Path:
        """The directory of a checkout, made when it is not there.

        Raises:
            WorkspaceError: If it cannot be made.
        """
        sides = [Side(label, snapshot) for label, snapshot in checkout.sides]
        return await self._workspaces.checkout(checkout.name, base=checkout.base, also=sides)

    async def attempt(self, request: AttemptRequest, checkout: Checkout, work: Work) -> Reported | Lost:
        """Let a Luna work at its checkout, and take what it did there into a snapshot.

        An attempt without success needs its checkout no more: what it did stays as a snapshot.
        """
        name = checkout.name
        async with self._use(name):
            ended = await work(request, await self.at(checkout))
            if isinstance(ended, Reported):
                message = self._message(request.assignment.goal, name)
                kept = await _to_its_end(self._workspaces.keep(name, message=message))
                ended = structs.replace(ended, snapshot=kept)
        if isinstance(ended, Reported) and ended.report.status != "SUCCESS":
            self.release([name])
        return ended

    async def merge(self, request: MergeRequest, work: Work) -> Merged | Lost:
        """Merge the work of accepted parts, up to a conflict; one that came up before is settled by a new Luna.

        Source: S61, S62.
        """
        async with self._use(request.checkout.name):
            return await self._merge(request, work)

    async def _merge(self, request: MergeRequest, work: Work) -> Merged | Lost:
        checkout, workspaces = request.checkout, self._workspaces
        message = self._message(request.assignment.goal, checkout.name)
        sides = [Side(label, snapshot) for label, snapshot in checkout.sides]
        found = await workspaces.merge(checkout.name, base=checkout.base, sides=sides, message=message)
        if request.worker is None or found.conflict is None:
            return Merged(_merged(found))
        path = await workspaces.checkout(checkout.name, base=checkout.base)
        assignment = conflict_assignment(request, found.conflict, context_bytes=self._context_bytes)
        ended = await work(AttemptRequest(assignment, request.worker), path)
        if isinstance(ended, Lost):
            return ended
        if ended.report.status != "SUCCESS":
            return Merged(conflict_left(ended.report, found.conflict, ()), ended)
        settling = _settled(workspaces, checkout, found, found.conflict, report=ended.report, message=message)
        return Merged(await _to_its_end(settling), ended)

    async def apply(self, request: ApplyRequest) -> ApplyAnswer:
        """Bring the accepted work into the workspace itself, or say where it is."""
        applied = await _to_its_end(self._workspaces.apply(request.snapshot, base=request.base))
        return ApplyAnswer(applied.applied, applied.where, applied.note, tuple(applied.changed))

    def release(self, names: Iterable[str]) -> None:
        """Remove checkouts that nothing needs any more, in the background, each once nobody works there."""
        for name in names:
            task = asyncio.create_task(self._drop(name))
            self._dropping.add(task)
            task.add_done_callback(self._dropping.discard)

    async def _drop(self, name: str) -> None:
        try:
            async with self._use(name):
                await self._workspaces.drop(name)
        except (OSError, WorkspaceError) as error:
            _log.warning("Checkout %s of run %s could not be removed: %s", name, self._run, error)

    async def close(self, *, result: str | None, ended: bool) -> None:
        """Wait for what is being removed; when the run has ended, remove or keep the rest.

        What cannot be removed now is listed with all that is kept; it takes nothing from the run.
        """
        if self._dropping:
            await asyncio.wait(self._dropping)
        if ended:
            try:
                await self._workspaces.finish(result=result)
            except (OSError, WorkspaceError) as error:
                _log.warning("Not all checkouts of run %s could be removed: %s", self._run, error)

    def _use(self, name: str) -> asyncio.Lock:
        """Held while somebody works at a checkout."""
        return self._in_use.setdefault(name, asyncio.Lock())

    def _message(self, goal: str, name: str) -> str:
        subject = " ".join(strip_controls(goal).split())
        subject = subject if len(subject) <= _SUBJECT else f"{subject[: _SUBJECT - 1]}…"
        return f"{subject or name}\n\nRun {self._run}, {name}."


async def _to_its_end(action: Coroutine[Any, Any, T]) -> T:
    """Wait until something is done, also if this task is cancelled meanwhile: half of it helps nobody."""
    task = asyncio.ensure_future(action)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
    return task.result()


async def _settled(
    workspaces: Workspaces, checkout: Checkout, found: Merge, conflict: Conflict, *, report: ReportData, message: str
) -> MergeAnswer | IntegrateAnswer:
    """Conclude a merge whose conflict a Luna says is settled, and merge what comes after it."""
    settled = await workspaces.resolve(checkout.name, message=message)
    if not isinstance(settled, str):
        return conflict_left(report, conflict, settled)
    merged = (*found.merged, conflict.side.label)
    rest = [Side(label, snapshot) for label, snapshot in checkout.sides if label not in merged]
    if not rest:
        return _merged(Merge(settled, merged))
    more = await workspaces.merge(checkout.name, base=settled, sides=rest, message=message)
    return _merged(Merge(more.snapshot, (*merged, *more.merged), more.conflict))


def _merged(found: Merge) -> MergeAnswer:
    conflict = found.conflict
    told = None if conflict is None else ConflictData(conflict.side.label, tuple(file.path for file in conflict.files))
    return MergeAnswer(found.snapshot, tuple(found.merged), told)

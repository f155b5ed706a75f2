"""Where the effects of a run work: in the workspace itself, or each in a place of its own, merged on integration.

What a merge means for the task is the core's business; this only carries it out.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

from luna.text import strip_controls
from luna.workspaces import Conflict, Merge, Side, WorkspaceError, Workspaces
from sol.core.requests import AttemptRequest, LandRequest, MergeRequest, Place
from sol.dispatch.integration import conflict_assignment, conflict_left
from sol.tree.events import EventType

Work: TypeAlias = Callable[[AttemptRequest, Path], Awaitable[tuple[EventType, dict[str, Any]]]]
"""Lets a Luna work at a path; gives the outcome."""

_SUBJECT = 72
_log = logging.getLogger(__name__)


class Grounds:
    """The places of one run.

    Args:
        run: Its id.
        workspace: Where its task is.
        spaces: Keeps Lunas apart; None: all work in the workspace itself.
        context_bytes: Most bytes of context that an assignment carries.
    """

    def __init__(self, run: str, workspace: Path, spaces: Workspaces | None, *, context_bytes: int) -> None:
        self._run = run
        self._workspace = workspace
        self._spaces = spaces
        self._context_bytes = context_bytes
        self._dropping: set[asyncio.Task[None]] = set()

    async def at(self, place: Place | None) -> Path:
        """The directory of a place, made when it is not there.

        Raises:
            WorkspaceError: If it cannot be made.
        """
        if place is None or self._spaces is None:
            return self._workspace
        sides = [Side(label, snapshot) for label, snapshot in place.sides]
        return await self._spaces.place(place.name, base=place.base, also=sides)

    async def attempt(self, request: AttemptRequest, work: Work) -> tuple[EventType, dict[str, Any]]:
        """Let a Luna work at its place, and take what it did there into a snapshot.

        An attempt without success needs its place no more: what it did stays as a snapshot.
        """
        type_, data = await work(request, await self.at(request.place))
        if request.place is None or self._spaces is None or type_ != EventType.REPORTED:
            return type_, data
        name = request.place.name
        data["snapshot"] = await self._spaces.keep(name, message=self._message(request.assignment["goal"], name))
        if data["report"]["status"] != "SUCCESS":
            await self._spaces.drop(name)
        return type_, data

    async def merge(self, request: MergeRequest, work: Work) -> tuple[EventType, dict[str, Any]]:
        """Merge the work of accepted parts, up to a conflict; one that came up before is settled by a new Luna.

        Source: S61, S62.
        """
        spaces, place = self._spaces, request.place
        if spaces is None:
            raise RuntimeError("parts can be merged only where Lunas are kept apart")
        message = self._message(request.assignment["goal"], place.name)
        sides = [Side(label, snapshot) for label, snapshot in place.sides]
        found = await spaces.merge(place.name, base=place.base, sides=sides, message=message)
        if request.worker is None or found.conflict is None:
            return EventType.ANSWER, {"answer": _merged(found)}
        side = found.conflict.side
        path = await spaces.place(place.name, base=place.base)
        assignment = conflict_assignment(request, found.conflict, context_bytes=self._context_bytes)
        type_, data = await work(AttemptRequest(assignment, request.worker), path)
        if type_ == EventType.LOST:
            return type_, data
        report = data.pop("report")
        settled = await spaces.resolve(place.name, message=message) if report["status"] == "SUCCESS" else ()
        if not isinstance(settled, str):
            return EventType.ANSWER, {"answer": conflict_left(report, found.conflict, settled), **data}
        merged = (*found.merged, side.label)
        rest = [one for one in sides if one.label not in merged]
        found = Merge(settled, merged)
        if rest:
            more = await spaces.merge(place.name, base=settled, sides=rest, message=message)
            found = Merge(more.snapshot, (*merged, *more.merged), more.conflict)
        return EventType.ANSWER, {"answer": _merged(found), **data}

    async def land(self, request: LandRequest) -> dict[str, Any]:
        """Bring the accepted work into the workspace itself, or say where it is."""
        if self._spaces is None:
            raise RuntimeError("work can be landed only where Lunas are kept apart")
        landed = await self._spaces.land(request.snapshot, base=request.base)
        return {
            "landed": landed.landed,
            "where": landed.where,
            "note": landed.note,
            "changed": list(landed.changed),
        }

    def release(self, names: Iterable[str]) -> None:
        """Remove places that nothing needs any more, in the background."""
        if self._spaces is None:
            return
        for name in names:
            task = asyncio.create_task(self._drop(self._spaces, name))
            self._dropping.add(task)
            task.add_done_callback(self._dropping.discard)

    async def _drop(self, spaces: Workspaces, name: str) -> None:
        try:
            await spaces.drop(name)
        except WorkspaceError as error:
            _log.warning("Place %s of run %s could not be removed: %s", name, self._run, error)

    async def close(self, *, result: str | None, ended: bool) -> None:
        """Wait for what is being removed; when the run has ended, remove or keep the rest.

        What cannot be removed now is listed with all that is kept; it takes nothing from the run.
        """
        if self._spaces is None:
            return
        if self._dropping:
            await asyncio.wait(self._dropping)
        if ended:
            try:
                await self._spaces.finish(result=result)
            except WorkspaceError as error:
                _log.warning("Not all places of run %s could be removed: %s", self._run, error)

    def _message(self, goal: str, name: str) -> str:
        subject = " ".join(strip_controls(goal).split())
        subject = subject if len(subject) <= _SUBJECT else f"{subject[: _SUBJECT - 1]}…"
        return f"{subject or name}\n\nRun {self._run}, {name}."


def _merged(found: Merge) -> dict[str, Any]:
    return {"snapshot": found.snapshot, "merged": list(found.merged), "conflict": _told(found.conflict)}


def _told(conflict: Conflict | None) -> dict[str, Any] | None:
    if conflict is None:
        return None
    return {"part": conflict.side.label, "files": [file.path for file in conflict.files]}

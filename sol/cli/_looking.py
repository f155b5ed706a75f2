"""What commands do that look at runs: list, show, follow, answer, clean up."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from luna.workspaces import Retained
from sol.cli import _output
from sol.cli._output import (
    Shown,
    check_output,
    has_store,
    holder,
    holder_of,
    node_of,
    require_store,
    somebody,
    where,
    write_results,
)
from sol.engine.reading import read_anyway
from sol.errors import ConflictError, NotFoundError
from sol.journal import Journal, StoredRun
from sol.run import Run, kind_of
from sol.solver import Sol
from sol.tree.node import Node, Spending
from sol.view import labels
from sol.view.history import assignment_lines, happened
from sol.view.terminal import (
    STYLES,
    Page,
    fault_line,
    headline,
    page_of,
    tree_lines,
)

if TYPE_CHECKING:
    from sol.ui.follow import Followed

POLL_S = 0.5
"""Seconds between looks into the journal."""

_TOP = 1
"""Deepest level of nodes that get a line of their own where nothing can be drawn."""


def follow(sol: Sol, run_id: str, shown: Shown) -> str:
    """Show a run until no process works on it any more; return its whole id. Ctrl-C ends the looking, not the run.

    Raises:
        NotFoundError: If there is no such run.
    """
    require_store(sol, run_id)
    return asyncio.run(_follow(sol, run_id, shown.console(stderr=False)))


async def _follow(sol: Sol, run_id: str, console: Console) -> str:
    from sol.ui.follow import Followed  # noqa: PLC0415 - loads the page
    from sol.view.live import LiveTree  # noqa: PLC0415 - only here

    async with sol.open_journal() as journal, AsyncExitStack() as stack:
        followed = Followed(await journal.info(await journal.resolve(run_id)), sol.clock)
        await followed.catch_up(journal)
        live = LiveTree(followed.tree, followed.run_id, console, sol.clock, elapsed=lambda: _elapsed(followed))
        draws = console.is_terminal and not console.is_dumb_terminal
        if draws:
            await stack.enter_async_context(live.shown())
        told = {node.path for node in followed.tree.nodes.values() if node.ended}
        if not draws and holder(followed.stored, sol.clock.now()) is not None:
            page = page_of(console, sol.clock.now())
            first = headline(followed.tree, page, run_id=followed.run_id, elapsed_s=_elapsed(followed))
            console.print(first, soft_wrap=True)
        while holder(followed.stored, sol.clock.now()) is not None:
            await _wait(followed, journal, sol)
            live.activity = followed.activity
            if not draws:
                _tell(followed, console, told)
        return followed.run_id


async def _wait(followed: "Followed", journal: Journal, sol: Sol) -> None:
    await sol.clock.sleep(POLL_S)
    await followed.catch_up(journal)


def _elapsed(followed: "Followed") -> float:
    return float((followed.stored.summary or {}).get("elapsed_s", 0.0))


def _tell(followed: "Followed", console: Console, told: set[str]) -> None:
    """Print a line for each node near the root that has ended since the last look."""
    nodes = followed.tree.nodes
    ended = [node for node in nodes.values() if node.ended and node.path not in told]
    told.update(node.path for node in ended)
    for node in sorted(ended, key=lambda node: (-node.depth, node.path)):
        if node.depth <= _TOP:
            line = labels.settled_line(node, followed.tree.above(node))
            console.print(line, markup=False, highlight=False, soft_wrap=True)


def browse(sol: Sol, run_id: str | None, *, port: int, again: str) -> None:
    """Serve until Ctrl-C, which is how it is meant to end."""
    try:
        asyncio.run(_serve(sol, run_id, port=port, again=again))
    except KeyboardInterrupt:
        typer.echo("", err=True)


async def _serve(sol: Sol, run_id: str | None, *, port: int, again: str) -> None:
    path = "/"
    if run_id is not None:
        require_store(sol, run_id)
        async with sol.open_journal() as journal:
            path = f"/run/{await journal.resolve(run_id)}"
    from sol.ui.server import Service, serve  # noqa: PLC0415 - loads the server, which only `sol ui` needs

    service = Service(sol=sol, by=somebody(), where=where(sol), again=again, exists=lambda: has_store(sol))

    def tell(address: str) -> None:
        typer.echo(f"Open {address}")
        typer.echo("Whoever has this address can see the runs and cancel them. Ctrl-C ends it.", err=True)

    await serve(service, port=port, path=path, tell=tell)


_PAGE = 200


def list_retained(sol: Sol, *, as_json: bool) -> None:
    """Print what runs have kept, by run."""
    found = asyncio.run(_all_retained(sol)) if has_store(sol) else []
    if as_json:
        for status, one in found:
            data = {"run": one.run, "status": status, "place": one.name, "where": one.where, "snapshot": one.snapshot}
            typer.echo(_output.as_json(data))
    elif not found:
        typer.echo(f"No run in {where(sol)} has kept anything.", err=True)
    else:
        rows = [(one.run, status, one.name, one.snapshot[:12] or "-", one.where) for status, one in found]
        for line in _output.table(("RUN", "STATUS", "PLACE", "SNAPSHOT", "WHERE"), rows):
            typer.echo(line)


def clean(sol: Sol, run: str) -> None:
    """Remove what a run has kept, and say what that was.

    Raises:
        NotFoundError: If there is no such run.
        ConflictError: If a live process works on it.
        WorkspaceError: If git refuses.
    """
    require_store(sol, run)
    removed = asyncio.run(_clean(sol, run))
    for one in removed:
        typer.echo(f"removed {one.name}: {one.where}")
    if not removed:
        typer.echo("There was nothing to remove.", err=True)


async def _clean(sol: Sol, run: str) -> tuple[Retained, ...]:
    from luna.workspaces.opening import list_retained, remove_retained  # noqa: PLC0415 - loads what uses git

    async with sol.open_journal() as journal:
        try:
            found = await journal.resolve(run)
        except NotFoundError:
            own = sol.home / ".sol"
            if run in {one.run for one in await list_retained(sol.home, own)}:  # killed before it was recorded
                return await remove_retained(sol.home, own, run)
            raise
        started = await _started(journal, found)
    at_work = await holder_of(sol, found)
    if at_work is not None:
        raise ConflictError(f"Run {found} is at work: {at_work}. Stop it first.")
    if not started.checkouts:
        return ()
    return await remove_retained(Path(started.workspace), Path(started.checkouts), found)


async def _all_retained(sol: Sol) -> list[tuple[str, Retained]]:
    """What is kept in all workspaces that runs of this store have isolated, with the status of each run."""
    from luna.workspaces.opening import list_retained  # noqa: PLC0415 - loads what uses git

    statuses: dict[str, str] = {}
    source_of: dict[str, tuple[Path, Path]] = {}
    own = (sol.home, sol.home / ".sol")
    async with sol.open_journal() as journal:
        async for run_id, status in _runs(journal):
            started = await _started(journal, run_id)
            if started.checkouts:
                statuses[run_id] = status
                source_of[run_id] = (Path(started.workspace), Path(started.checkouts))
    found: dict[Retained, str] = {}  # several workspaces may have their places below the same directory
    for source in sorted({own, *source_of.values()}):
        for one in await list_retained(*source):
            if source_of.get(one.run, source) == source:
                found[one] = statuses.get(one.run, "unknown")
    return [(found[one], one) for one in sorted(found, key=lambda one: (one.run, one.name))]


async def _runs(journal: Journal) -> AsyncIterator[tuple[str, str]]:
    """All runs of the store with their status."""
    before: str | None = None
    while page := await journal.list(limit=_PAGE, before=before):
        for run in page:
            yield run.id, run.status
        before = page[-1].id


class _Started(msgspec.Struct):
    """Where a run of any kind works, and where its checkouts are; "": it has none."""

    workspace: str = ""
    checkouts: str = msgspec.field(default="", name="places")


async def _started(journal: Journal, run_id: str) -> _Started:
    """What the first event of a run says about it."""
    first = await journal.read(run_id, limit=1)
    return msgspec.json.decode(first[0].data, type=_Started) if first else _Started()


LINES = 60
"""Most lines of a tree, unless all are asked for."""

_FIELD = 18
_BUSY = frozenset({"pending", "running"})


# --- the list --------------------------------------------------------------------------------------------------------


def runs(sol: Sol, *, limit: int, status: str | None, as_json: bool) -> None:
    """Print the newest runs."""
    found = asyncio.run(_newest(sol, limit, status)) if has_store(sol) else ()
    now = sol.clock.now()
    if as_json:
        for run in found:
            typer.echo(_output.as_json(_as_data(run, now)))
        return
    if not found:
        typer.echo(f"There are no runs in {where(sol)}.", err=True)
        return
    rows = [_row(run, now) for run in found]
    width = Console().width if sys.stdout.isatty() else None
    for line in _output.table(("ID", "STATUS", "NODES", "AGE", "SPENT", "TITLE"), rows, width=width):
        typer.echo(line)


async def _newest(sol: Sol, limit: int, status: str | None) -> tuple[StoredRun, ...]:
    async with sol.open_journal() as journal:
        return await journal.list(limit=limit, status=status)


def _status(run: StoredRun, now: float) -> str:
    """The run's status; `killed` where it says that work goes on and nobody does any."""
    return "killed" if run.status in _BUSY and holder(run, now) is None else run.status


def _spending(run: StoredRun) -> Spending:
    summary = run.summary or {}
    return Spending(calls=summary.get("calls", 0), tokens=summary.get("tokens", 0), cost=summary.get("cost", 0.0))


def _row(run: StoredRun, now: float) -> tuple[str, ...]:
    nodes = str((run.summary or {}).get("nodes", ""))
    spent = ", ".join(labels.spent_words(_spending(run)))
    return (run.id, _status(run, now), nodes, labels.age(now - run.created_t), spent, labels.clean(run.title))


def _as_data(run: StoredRun, now: float) -> dict[str, object]:
    return {
        "id": run.id,
        "status": _status(run, now),
        "title": run.title,
        "created": run.created_t,
        "updated": run.updated_t,
        "events": run.seq,
        "held_by": holder(run, now),
        **(run.summary or {}),
    }


# --- one run ---------------------------------------------------------------------------------------------------------


def show(sol: Sol, run_id: str, name: str | None, shown: Shown, *, everything: bool) -> None:
    """Print a run's tree or a node's history; write its result where that is wanted."""
    check_output(shown.output)
    console = shown.console(stderr=False)
    run, stored, unread = asyncio.run(_load(sol, run_id))
    if shown.output is not None:
        if not run.solved:
            raise ConflictError(f"Run {run.id} has no result; it is {_status(stored, sol.clock.now())}.")
        for path in write_results(run, shown.output, only=True):
            typer.echo(f"written: {path}", err=True)
        return
    page = page_of(console, sol.clock.now())
    if name is not None:
        asyncio.run(_history_of_node(run, node_of(run, name), page, console))
        return
    elapsed = (stored.summary or {}).get("elapsed_s")
    _print(console, headline(run.state, page, run_id=run.id, elapsed_s=elapsed, status=_status(stored, page.now)))
    for line in tree_lines(run.state, page, room=None if everything else LINES):
        _print(console, line)
    if not run.state.nodes and _status(stored, page.now) == "killed":
        console.print(_output.UNRECORDED.format(run.id), markup=False, highlight=False, soft_wrap=True)
    for fault in unread:
        _print(console, fault_line(fault, page))
    for line in _output.notes(run, again=shown.again, at_work=holder(stored, page.now)):
        _print(console, line)


def page(sol: Sol, run_id: str, file: Path) -> None:
    """Write a run's page to a file."""
    typer.echo(f"written: {asyncio.run(_write_page(sol, run_id, file))}", err=True)


async def _write_page(sol: Sol, run_id: str, file: Path) -> Path:
    from sol.page import write_page  # noqa: PLC0415 - only here

    run, _, _ = await _load(sol, run_id)
    return await write_page(run, file, clock=sol.clock)


async def _load(sol: Sol, run_id: str) -> tuple[Run, StoredRun, list[str]]:
    """A run as far as its journal can be read, what is stored of it, and what could not be read."""
    require_store(sol, run_id)
    async with sol.open_journal() as journal:
        stored = await journal.info(await journal.resolve(run_id))
        kind = kind_of(stored)
        read = await read_anyway(journal, kind.reading, stored.id)
    return Run(stored.id, kind, read.state, sol.open_journal), stored, read.faults


def _print(console: Console, line: Text) -> None:
    line.rstrip()
    console.print(line, soft_wrap=True)


async def _history_of_node(run: Run, node: Node, page: Page, console: Console) -> None:
    state = Text.assemble(
        (f"{run.kind.noun} {labels.name_of(node.path)} of run {run.id}: ", "bold"),
        (f"{labels.SYMBOLS[node.state][page.ascii_only]} {node.state}", STYLES[node.state]),
        f" ({node.kind})" if node.kind else "",
    )
    _print(console, state)
    detail = labels.detail_of(node)
    if detail and detail != node.kind:
        _print(console, Text(detail))
    before = ""
    for field, value in assignment_lines(node):
        _print(console, Text.assemble((f"{'' if field == before else field:<{_FIELD}}", "dim"), value))
        before = field
    spent = [labels.duration(node.spent.seconds), *labels.spent_words(node.spent)]
    _print(console, Text.assemble((f"{'Used':<{_FIELD}}", "dim"), ", ".join(spent)))
    _print(console, Text("\nWhat happened", "bold"))
    events = [event async for event in run.events()]
    for at, words in happened(node, events):
        _print(console, Text.assemble((f"{labels.duration(max(at, 0.0)):>8}  ", "dim"), words))
    if node.children:
        _print(console, Text("\nParts", "bold"))
        for child in (run.state.nodes[path] for path in node.children if path in run.state.nodes):
            mark = f"{labels.SYMBOLS[child.state][page.ascii_only]} {child.state:<9} "
            words = " — ".join(part for part in (labels.title_of(child, node), labels.detail_of(child)) if part)
            _print(
                console, Text.assemble((mark, STYLES[child.state]), (f"{labels.name_of(child.path)} ", "dim"), words)
            )


# --- cancel ----------------------------------------------------------------------------------------------------------


def cancel(sol: Sol, run_id: str, name: str, reason: str) -> None:
    """Cancel a run or a node of it, or ask the process that works on it to do so."""
    typer.echo(asyncio.run(_cancel(sol, run_id, name, reason)), err=True)


async def _cancel(sol: Sol, run_id: str, name: str, reason: str) -> str:
    run, stored, _ = await _load(sol, run_id)
    node = node_of(run, name)
    what = f"run {run.id}" if not node.path else f"{run.kind.noun} {name} of run {run.id}"
    worker = holder(stored, sol.clock.now())
    outcome = await sol.request(run.id, "cancel", {"node": node.path, "reason": reason}, by=somebody())
    return f"cancelled {what}" if outcome == "done" else f"asked {worker or 'its process'} to cancel {what}"

"""Look at runs from the command line: the list, a run's tree, a node's story; and ask for a cancellation."""

import asyncio
import sys
from pathlib import Path

import typer
from rich.console import Console
from rich.text import Text

from sol.cli import output
from sol.cli.output import Shown
from sol.cli.places import has_store, holder, require_store, where
from sol.cli.results import check_output, write_results
from sol.cli.work import node_of, somebody
from sol.errors import ConflictError
from sol.inspect import labels
from sol.inspect.page import write_page
from sol.inspect.reading import read_anyway
from sol.inspect.story import assignment_lines, happened
from sol.inspect.terminal import STYLES, Page, fault_line, headline, page_of, spent_words, tree_lines
from sol.journal import StoredRun
from sol.kinds import kind_of
from sol.run import Run
from sol.solver import Sol
from sol.tree.node import Node, Spending

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
            typer.echo(output.as_json(_as_data(run, now)))
        return
    if not found:
        typer.echo(f"There are no runs in {where(sol)}.", err=True)
        return
    rows = [_row(run, now) for run in found]
    width = Console().width if sys.stdout.isatty() else None
    for line in output.table(("ID", "STATUS", "NODES", "AGE", "SPENT", "TITLE"), rows, width=width):
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
    spent = ", ".join(spent_words(_spending(run)))
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
    """Print a run's tree or a node's story; write its result where that is wanted."""
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
        asyncio.run(_story(run, node_of(run, name), page, console))
        return
    elapsed = (stored.summary or {}).get("elapsed_s")
    _print(console, headline(run.state, page, run_id=run.id, elapsed_s=elapsed, status=_status(stored, page.now)))
    for line in tree_lines(run.state, page, room=None if everything else LINES):
        _print(console, line)
    for fault in unread:
        _print(console, fault_line(fault, page))
    for line in output.notes(run, again=shown.again, at_work=holder(stored, page.now)):
        _print(console, line)


def page(sol: Sol, run_id: str, file: Path) -> None:
    """Write a run's page to a file."""
    typer.echo(f"written: {asyncio.run(_write_page(sol, run_id, file))}", err=True)


async def _write_page(sol: Sol, run_id: str, file: Path) -> Path:
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


async def _story(run: Run, node: Node, page: Page, console: Console) -> None:
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
    spent = [labels.duration(node.spent.seconds), *spent_words(node.spent)]
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

"""What commands print, and where results are written."""

import getpass
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from luna.inputs import inside
from luna.text import strip_controls
from sol.errors import NotFoundError, SolError, UsageError
from sol.journal import StoredRun, default_url, owner_is_alive
from sol.journal.database import store_url
from sol.run import Run
from sol.solver import Sol
from sol.tree.codec import plain_event
from sol.tree.events import Event, TaskStarted
from sol.tree.node import Node, State, TaskNode
from sol.tree.values import plain
from sol.view import labels

STDOUT = "-"


def check_output(output: str | None) -> None:
    """Find out before any work whether the result can be written there.

    Raises:
        UsageError: If not.
    """
    if output is None or output == STDOUT:
        return
    path = Path(output)
    if path.is_dir():
        raise UsageError(f"--output {output!r} is a directory. Give the name of a file.")
    if not path.parent.is_dir():
        raise UsageError(
            f"--output {output!r}: there is no directory {str(path.parent)!r}. Make it, or give another file."
        )
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"--output {output!r} cannot be written. Change its permissions, or give another file.")


def check_result_file(name: str | None, workspace: Path) -> None:
    """Find out before any work whether a task's result file is inside the workspace.

    Raises:
        InputError: If not.
    """
    if name is not None:
        inside(workspace, name)


def write_results(run: Run, output: str | None, *, only: bool = False) -> list[str]:
    """Write the result of a solved run wherever it is wanted; the files that were written.

    Args:
        run: The run.
        output: The file that the command line names, `-` for standard output; None: none.
        only: Leave the task's own result file alone.

    Raises:
        SolError: If a file cannot be written. The result stays in the journal.
    """
    if not run.solved:
        return []
    written: list[str] = []
    if output == STDOUT:
        sys.stdout.write(as_json(run.result, indent=2) + "\n")
        sys.stdout.flush()
    elif output is not None:
        written += _write_both(run, Path(output))
    started = run.state.started
    if isinstance(started, TaskStarted) and started.result_file and not only:
        path = inside(Path(started.workspace), started.result_file)
        if output in {None, STDOUT} or path != Path(str(output)).resolve():
            written += _write_both(run, path)
    return written


def _write_both(run: Run, path: Path) -> list[str]:
    """The result, and beside it what was set aside; an older list is removed where nothing was."""
    beside = path.with_suffix(".set-aside.json")
    left = set_aside(run)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, run.result)
        if left:
            write_json(beside, left)
            return [str(path), str(beside)]
        beside.unlink(missing_ok=True)
    except OSError as error:
        raise SolError(
            f"The result cannot be written to {str(path)!r}: {error.strerror}. It is kept: sol show {run.id} -o FILE"
        ) from error
    return [str(path)]


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 - JSON
    """Write a value as JSON; whoever reads the file meanwhile sees the old content or the new one, whole.

    Raises:
        OSError: If it cannot be written; the old content stays.
    """
    data = (as_json(value, indent=2) + "\n").encode("utf-8", "backslashreplace")
    path = path.resolve()
    if path.exists() and not path.is_file():  # a device or a pipe must not be replaced by a file
        path.write_bytes(data)
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


_SQLITE = "sqlite"


def where(sol: Sol) -> str:
    """Where a Sol keeps its runs: a path as short as it can be, or the address of the store."""
    file = _file(sol)
    if file is None:
        from sqlalchemy import make_url  # noqa: PLC0415 - takes long to load

        return make_url(str(sol.store)).render_as_string(hide_password=True) if isinstance(sol.store, str) else "memory"
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def has_store(sol: Sol) -> bool:
    """Whether there is anything to look into. Looking must not make a store where none is."""
    file = _file(sol)
    return file is None or file.is_file()


def require_store(sol: Sol, run_id: str) -> None:
    """Do nothing if there is a store to look into.

    Raises:
        NotFoundError: Otherwise.
    """
    if not has_store(sol):
        raise NotFoundError(f"There is no run {run_id!r}: {where(sol)} does not exist. Give --workspace or --store.")


def _file(sol: Sol) -> Path | None:
    """The file that the runs are in; None when they are in no SQLite file.

    Raises:
        UsageError: If the store's URL cannot be used.
    """
    if sol.store is not None and not isinstance(sol.store, str):
        return None
    url = default_url(sol.home) if sol.store is None else store_url(sol.store)
    plain = url.drivername.startswith(_SQLITE) and url.database and not url.database.startswith("file:")
    return Path(str(url.database)).absolute() if plain else None


def holder(stored: StoredRun, now: float) -> str | None:
    """Which live process holds a run, in words; None when none does."""
    holding = stored.holding
    if holding is None or not owner_is_alive(holding.owner, holding.beat_t, now):
        return None
    return str(holding)


async def holder_of(sol: Sol, run_id: str) -> str | None:
    """Like `holder`, looked up.

    Raises:
        NotFoundError: If there is no such run.
    """
    async with sol.open_journal() as journal:
        return holder(await journal.info(run_id), sol.clock.now())


RESULT_LINES = 20
RESULT_CHARACTERS = 4_000
"""Most of a result that a terminal gets; a file or a pipe gets the whole."""

LISTED = 5
"""Most nodes that a summary names one by one."""

_ENDED_BADLY = frozenset({State.FAILED, State.EXHAUSTED, State.CANCELLED, State.BLOCKED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """How a command tells what happens.

    Attributes:
        output: File for the result as JSON, `-` for standard output; None: none.
        as_json: Events as JSON lines on standard output.
        quiet: Nothing but the result and errors.
        no_color: No colours.
        again: Options that proposed commands need to find the same runs.
    """

    output: str | None = None
    as_json: bool = False
    quiet: bool = False
    no_color: bool = False
    again: str = ""

    def console(self, *, stderr: bool = True) -> Console:
        """A console that interprets no markup."""
        return Console(stderr=stderr, no_color=self.no_color or None, markup=False, highlight=False, emoji=False)

    def say(self, *lines: str | Text) -> None:
        """Print lines on standard error unless nothing is to be said. A terminal that has gone away is no error."""
        console = self.console()
        with suppress(OSError):
            for line in () if self.quiet or self.as_json else lines:
                console.print(line, soft_wrap=True)


def as_json(value: Any, *, indent: int | None = None) -> str:  # noqa: ANN401 - JSON
    """JSON text, not escaped more than needed."""
    return json.dumps(value, ensure_ascii=False, indent=indent)


def event_line(run_id: str, event: Event) -> str:
    """An event as one line of JSON."""
    return as_json({"type": event.type, "run": run_id, "node": event.node, "t": event.t, "data": plain_event(event)})


def summary_line(run: Run, code: int) -> str:
    """The run as one line of JSON, the last one of the event lines."""
    spent = run.spent
    return as_json(
        {
            "type": "summary",
            "run": run.id,
            "status": run.status,
            "solved": run.solved,
            "exit_code": code,
            "result": run.result,
            "reason": run.reason,
            "nodes": len(run.tree),
            "states": run.tree.counts(),
            "set_aside": set_aside(run),
            "landed": None if run.state.applied is None else plain(run.state.applied),
            "unchecked": [node.path for node in _unchecked(run)],
            "questions": run.questions,
            "spent": {
                "calls": spent.calls,
                "tokens": spent.tokens,
                "cost": spent.cost,
                "seconds": spent.seconds,
                "unreported": spent.unreported,
            },
        }
    )


def set_aside(run: Run) -> list[dict[str, Any]]:
    """What was set aside, as it is written beside the result."""
    return [
        {
            "path": node.path,
            "inputs": node.assignment.inputs if isinstance(node, TaskNode) else None,
            "reason": node.reason,
        }
        for node in run.tree.set_aside()
    ]


def print_result(run: Run) -> None:
    """The result on standard output: text as it is, all else as JSON; a terminal gets no more than fits."""
    result = run.result
    text = result if isinstance(result, str) else as_json(result, indent=2)
    if sys.stdout.isatty():
        text = strip_controls(text)
        lines = text[:RESULT_CHARACTERS].splitlines()[:RESULT_LINES]
        short = "\n".join(lines)
        text = (
            short
            if len(short) >= len(text.rstrip("\n"))
            else f"{short}\n… (sol show {run.id} -o FILE writes all of it)"
        )
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
    sys.stdout.flush()


def notes(
    run: Run, *, again: str, written: Sequence[str] = (), where: str = "", at_work: str | None = None
) -> Iterator[Text]:
    """What there is to say about a run that has come to a halt, and what can be done next.

    Args:
        run: The run.
        again: Options that the proposed commands need.
        written: Files that were written.
        where: Where the run is kept; "" to leave that out.
        at_work: Who works on it at present; None: nobody.
    """
    for path in written:
        yield Text(f"written: {path}")
    applied = run.state.applied
    if applied is not None:
        yield Text(labels.clean(applied.note), "" if applied.applied else "yellow")
    if at_work is None and run.state.is_isolated and _left_something(run):
        yield Text(f"any changes that are in no result are kept; see: sol workspaces list{again}", "dim")
    if run.reason:
        yield Text(f"not solved: {labels.clean(run.reason)}", "bold")
    yield from _about(run, run.tree.set_aside(), "set aside", "yellow")
    unchecked = _unchecked(run)
    if unchecked:
        names = ", ".join(labels.name_of(node.path) for node in unchecked[:LISTED])
        more = f" and {len(unchecked) - LISTED} more" if len(unchecked) > LISTED else ""
        yield Text(f"accepted without any check: {names}{more}", "yellow")
    for path, question in list(run.questions.items())[:LISTED]:
        yield Text(f"question of {run.kind.noun} {labels.name_of(path)}: {labels.clean(question)}", "bold magenta")
    if at_work is not None:
        yield Text(f"at work: {at_work}")
    if at_work is None or run.questions:
        yield from _next(run, again)
    if where:
        yield Text(f"run {run.id} is kept in {where}; look at it with: sol show {run.id}{again}", "dim")


def _about(run: Run, nodes: list[Node], what: str, style: str) -> Iterator[Text]:
    if not nodes:
        return
    yield Text(f"{labels.number(len(nodes), 'part')} {what}:", style)
    for node in nodes[:LISTED]:
        title = labels.title_of(node, run.state.above(node))
        yield Text(f"  {labels.name_of(node.path)} {title}: {labels.detail_of(node)}")
    if len(nodes) > LISTED:
        yield Text(f"  and {len(nodes) - LISTED:,} more")


def _next(run: Run, again: str) -> Iterator[Text]:
    """The command that takes the run further, if there is one."""
    if run.solved or "" not in run.state.nodes:
        return
    if run.questions:
        node = f" --node {next(iter(run.questions))}" if len(run.questions) > 1 else ""
        yield Text(f'answer it with: sol answer {run.id} "…"{node}{again}')
    elif run.resumable and run.state.root.kind == "step_limit":
        yield Text(f"go on with: sol workflow resume {run.id} --max-steps N{again}")
    elif run.resumable:
        budget = " --budget LIMITS" if run.status == State.EXHAUSTED else ""
        yield Text(f"go on with: sol resume {run.id}{budget}{again}")
    else:
        leaf = next((node for node in run.tree.leaves() if node.state in _ENDED_BADLY), run.tree.root)
        name = labels.name_of(leaf.path)
        yield Text(f"see why: sol show {run.id} --node {name}{again}")
        yield Text(f'try it again with: sol retry {run.id} {name} --note "…"{again}')


def _left_something(run: Run) -> bool:
    """Whether Lunas may have changed something that is in no result."""
    in_result = {node.path for node in run.tree if node.state == State.SUCCESS and not labels.is_split(node)}
    return not run.solved or any(node.counts.get("attempt", 0) > (node.path in in_result) for node in run.tree)


def _unchecked(run: Run) -> list[Node]:
    return [node for node in run.tree if node.state == State.SUCCESS and node.kind == "unchecked"]


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], *, width: int | None = None) -> Iterator[str]:
    """Lines of a table; the last column is as wide as it needs, or is cut at `width`."""
    every = [headers, *rows]
    widths = [max(Text(row[column]).cell_len for row in every) for column in range(len(headers) - 1)]
    for row in every:
        line = Text()
        for cell, wide in zip(row, widths, strict=False):
            line.append(cell + " " * (wide - Text(cell).cell_len + 2))
        line.append(row[-1])
        if width is not None:
            line.truncate(width, overflow="ellipsis")
        yield line.plain.rstrip()


UNRECORDED = "Run {} was killed before its task was recorded; start it anew."
"""Of a run that has an id and nothing else."""


def node_of(run: Run, name: str) -> Node:
    """The node that a person names by its path.

    Raises:
        NotFoundError: If the run has none.
    """
    path = labels.path_of(name)
    if not run.state.nodes:
        raise NotFoundError(UNRECORDED.format(run.id))
    if path not in run.tree:
        raise NotFoundError(
            f"Run {run.id} has no {run.kind.noun} {name!r}. `sol show {run.id} --all` lists all {run.kind.noun}s."
        )
    return run.tree[path]


def somebody() -> str:
    """Who asks, for the record."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a process of a user without a name
        return "the command line"

"""What a command prints about runs: events as JSON lines, the result, a summary with what to do next, tables."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.text import Text

from luna.text import strip_controls
from sol.inspect import labels
from sol.run import Run
from sol.tree.codec import plain_event
from sol.tree.events import Event
from sol.tree.node import Node, State, TaskNode
from sol.tree.values import plain

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
            "landed": None if run.state.landed is None else plain(run.state.landed),
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
    landed = run.state.landed
    if landed is not None:
        yield Text(labels.clean(landed.note), "" if landed.landed else "yellow")
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
        yield Text(f"question of node {labels.name_of(path)}: {labels.clean(question)}", "bold magenta")
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

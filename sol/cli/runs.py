"""`sol runs`, `show` and `cancel`: look at runs and stop them. Only their options are here."""

from pathlib import Path
from typing import Annotated

import typer

from sol.cli.options import NoColor, NodePath, Output, RunArgument, RunOrLatest, Store, Workspace, same_place


def runs(
    *,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Most runs, the newest first.")] = 20,
    status: Annotated[str | None, typer.Option("--status", metavar="WORD", help="Only runs of this status.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    workspace: Workspace = None,
    store: Store = None,
) -> None:
    """List runs, the newest first."""
    from sol.cli.looking import runs as do_runs  # noqa: PLC0415 - loads the journal
    from sol.solver import Sol  # noqa: PLC0415

    sol = Sol(workspace=workspace, store=store)
    do_runs(sol, limit=limit, status=status, as_json=as_json)


def show(  # noqa: PLR0913 - each is an option of the command line
    *,
    run: RunOrLatest = "latest",
    node: Annotated[
        str | None, typer.Option("--node", metavar="PATH", help="Tell this node's story; . is the root.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="A line for every node, however many there are.")] = False,
    output: Output = None,
    following: Annotated[
        bool,
        typer.Option("--follow", "-f", help="Watch a run that is at work until it stops; Ctrl-C ends the watching."),
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="Write all of it as a page for a browser."),
    ] = None,
    workspace: Workspace = None,
    store: Store = None,
    no_color: NoColor = False,
) -> None:
    """Show a run's tree, or the story of a node.

    A story has the assignment, attempts, reports and checks, and the rules that decided.
    """
    from sol.cli.looking import page as do_page  # noqa: PLC0415 - loads the journal
    from sol.cli.looking import show as do_show  # noqa: PLC0415
    from sol.cli.output import Shown  # noqa: PLC0415
    from sol.solver import Sol  # noqa: PLC0415

    sol = Sol(workspace=workspace, store=store)
    if html is not None:
        do_page(sol, run, html)
        return
    shown = Shown(output=output, no_color=no_color, again=same_place(store, workspace))
    if following:
        from sol.cli.following import follow  # noqa: PLC0415 - loads the journal

        run = follow(sol, run, shown)
    do_show(sol, run, node, shown, everything=everything)


def cancel(
    *,
    run: RunArgument,
    node: NodePath = ".",
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept with the run.")] = "",
    workspace: Workspace = None,
    store: Store = None,
) -> None:
    """Cancel a run, or a node and all below it.

    It cannot be resumed afterwards. What was stored is kept.
    """
    from sol.cli.looking import cancel as do_cancel  # noqa: PLC0415 - loads the journal
    from sol.solver import Sol  # noqa: PLC0415

    do_cancel(Sol(workspace=workspace, store=store), run, node, reason)

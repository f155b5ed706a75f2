"""Commands about runs that there are: `runs`, `show`, `cancel`, `ui`, `workspaces`. Their options only."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from sol.cli._common import NoColor, NodePath, Output, RunArgument, RunOrLatest, StoreOptions, takes_options
from sol.errors import UsageError


@takes_options
def runs(
    *,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Most runs, the newest first.")] = 20,
    status: Annotated[str | None, typer.Option("--status", metavar="WORD", help="Only runs of this status.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    store: StoreOptions,
) -> None:
    """List runs, the newest first."""
    from sol.cli._looking import runs as do_runs  # noqa: PLC0415 - loads the journal

    do_runs(store.sol(), limit=limit, status=status, as_json=as_json)


@takes_options
def show(  # noqa: PLR0913 - each is an option of the command line
    *,
    run: RunOrLatest = "latest",
    node: Annotated[
        str | None, typer.Option("--node", metavar="PATH", help="Tell what happened to this node; . is the root.")
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
    store: StoreOptions,
    no_color: NoColor = False,
) -> None:
    """Show a run's tree, or the history of a node.

    A history has the assignment, attempts, reports and checks, and the rules that decided.
    """
    from sol.cli._looking import page as do_page  # noqa: PLC0415 - loads the journal
    from sol.cli._looking import show as do_show  # noqa: PLC0415
    from sol.cli._output import Shown  # noqa: PLC0415

    sol = store.sol()
    if html is not None:
        do_page(sol, run, html)
        return
    shown = Shown(output=output, no_color=no_color, again=store.again)
    if following:
        from sol.cli._looking import follow  # noqa: PLC0415 - loads the journal

        run = follow(sol, run, shown)
    do_show(sol, run, node, shown, everything=everything)


@takes_options
def cancel(
    *,
    run: RunArgument,
    node: NodePath = ".",
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept with the run.")] = "",
    store: StoreOptions,
) -> None:
    """Cancel a run, or a node and all below it.

    It cannot be resumed afterwards. What was stored is kept.
    """
    from sol.cli._looking import cancel as do_cancel  # noqa: PLC0415 - loads the journal

    do_cancel(store.sol(), run, node, reason)


_NEEDED = ("starlette", "uvicorn")


@takes_options
def ui(
    *,
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Open this run; otherwise the list of runs.")
    ] = None,
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port; 0: any free one.")] = 0,
    store: StoreOptions,
) -> None:
    """Look at runs in a browser, live.

    Follows runs, answers their questions and cancels nodes. Serves this machine only, and prints the address with its
    token. Ctrl-C ends it.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        them = "it" if len(missing) == 1 else "them"
        raise UsageError(f"sol ui needs {' and '.join(missing)}. Install {them} with: pip install 'sol-luna[ui]'")
    from sol.cli._looking import browse  # noqa: PLC0415 - loads the server

    browse(store.sol(), run, port=port, again=store.again)


app = typer.Typer(
    name="workspaces", help="List and remove work that runs have kept beside their results.", no_args_is_help=True
)


@app.command("list")
@takes_options
def list_(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    store: StoreOptions,
) -> None:
    """List what is kept, run by run.

    Places and branches of runs that kept their Lunas apart, also of those that go on.
    """
    from sol.cli._looking import list_retained  # noqa: PLC0415 - loads the journal

    list_retained(store.sol(), as_json=as_json)


@app.command()
@takes_options
def clean(*, run: RunArgument, store: StoreOptions) -> None:
    """Remove what a run has kept.

    Its places and branches go, with all work in them. What is part of the run's result stays. The run must not be at
    work; it cannot go on afterwards.
    """
    from sol.cli._looking import clean as do_clean  # noqa: PLC0415 - loads the journal

    do_clean(store.sol(), run)

"""`sol workspaces`: what runs have kept of work that is in no result. Only their options are here."""

from typing import Annotated

import typer

from sol.cli.options import RunArgument, Store, Workspace

app = typer.Typer(
    name="workspaces", help="List and remove work that runs have kept beside their results.", no_args_is_help=True
)


@app.command("list")
def list_(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")] = False,
    workspace: Workspace = None,
    store: Store = None,
) -> None:
    """List what is kept, run by run.

    Places and branches of runs that kept their Lunas apart, also of those that go on.
    """
    from sol.cli.kept import list_kept  # noqa: PLC0415 - loads the journal
    from sol.solver import Sol  # noqa: PLC0415

    list_kept(Sol(workspace=workspace, store=store), as_json=as_json)


@app.command()
def clean(*, run: RunArgument, workspace: Workspace = None, store: Store = None) -> None:
    """Remove what a run has kept.

    Its places and branches go, with all work in them. What is part of the run's result stays. The run must not be at
    work; it cannot go on afterwards.
    """
    from sol.cli.kept import clean as do_clean  # noqa: PLC0415 - loads the journal
    from sol.solver import Sol  # noqa: PLC0415

    do_clean(Sol(workspace=workspace, store=store), run)

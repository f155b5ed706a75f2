"""`sol ui`: look at runs in a browser. Only its options are here."""

from importlib.util import find_spec
from typing import Annotated

import typer

from sol.cli.options import Store, Workspace, same_place
from sol.errors import UsageError

_NEEDED = ("starlette", "uvicorn")


def ui(
    *,
    run: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="Open this run; otherwise the list of runs.")
    ] = None,
    port: Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port; 0: any free one.")] = 0,
    workspace: Workspace = None,
    store: Store = None,
) -> None:
    """Look at runs in a browser, live.

    Follows runs, answers their questions and cancels nodes. Serves this machine only, and prints the address with its
    token. Ctrl-C ends it.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        them = "it" if len(missing) == 1 else "them"
        raise UsageError(f"sol ui needs {' and '.join(missing)}. Install {them} with: pip install 'sol-luna[ui]'")
    from sol.cli.browsing import browse  # noqa: PLC0415 - loads the server
    from sol.solver import Sol  # noqa: PLC0415

    sol = Sol(workspace=workspace, store=store)
    browse(sol, run, port=port, again=same_place(store, workspace))

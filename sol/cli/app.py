"""The command `sol`: puts the commands together, and ends with one message and one exit code whatever happens."""

import io
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

from sol._version import __version__
from sol.cli import models, runs, solve, strategies, workflow
from sol.cli._common import EXIT_CODES, Code, explain

app = typer.Typer(
    name="sol",
    help="Solve tasks by recursive decomposition: Sol plans and verifies, Lunas work, stuck tasks are split.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help takes a third of the time
    pretty_exceptions_enable=False,
)
app.command("solve")(solve.solve)
app.command("resume")(solve.resume)
app.command("answer")(solve.answer)
app.command("retry")(solve.retry)
app.command("runs")(runs.runs)
app.command("show")(runs.show)
app.command("cancel")(runs.cancel)
app.command("ui")(runs.ui)
app.add_typer(strategies.app)
app.add_typer(workflow.app)
app.add_typer(runs.app)
app.add_typer(models.app)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"sol-luna {__version__}")


def _print_version(*, wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def _options(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=lambda value: _print_version(wanted=value), is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process.

    Args:
        arguments: Instead of the process's own.

    Raises:
        SystemExit: Always; with one of the exit codes of `sol.cli._common`.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # in JSON, that form of half a surrogate pair is even right
    code = Code.SOLVED
    try:
        app(args=arguments, prog_name="sol")  # ends the process itself, quietly too where its output is read no more
    except Exception as error:  # noqa: BLE001 - the last place where it can be explained
        code = explain(error)
    sys.exit(code)

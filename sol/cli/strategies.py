"""`sol strategies`: list, show, check and find the files that say how Sol goes about a task."""

from pathlib import Path
from typing import Annotated

import typer

from sol.errors import StrategyError

app = typer.Typer(name="strategies", help="List, show and check strategies.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of a strategy, or path of a YAML file.")]


@app.command("list")
def list_() -> None:
    """List the strategies that are known here: shipped ones, and those in .sol/strategies."""
    from sol.cli._output import table  # noqa: PLC0415 - not needed for help
    from sol.strategy.catalog import entries, read_strategy  # noqa: PLC0415

    rows = []
    for entry in entries(Path.cwd()):
        try:
            description = read_strategy(entry.path).description
        except StrategyError as error:
            description = f"cannot be used: {str(error).splitlines()[0]}"
        rows.append((entry.name, entry.source, description))
    for line in table(("NAME", "FROM", "WHAT IT DOES"), rows):
        typer.echo(line)


@app.command()
def show(name: Name) -> None:
    """Print a strategy's file."""
    from sol.strategy.catalog import find  # noqa: PLC0415 - not needed for help

    typer.echo(find(name, Path.cwd()).read_text(encoding="utf-8"), nl=False)


@app.command()
def path(name: Name) -> None:
    """Print where a strategy's file is, to copy and change it."""
    from sol.strategy.catalog import find  # noqa: PLC0415 - not needed for help

    typer.echo(find(name, Path.cwd()))


@app.command()
def validate(
    names: Annotated[list[str], typer.Argument(metavar="NAME…", help="Names of strategies, or paths of YAML files.")],
) -> None:
    """Check strategies: what cannot be used (exit code 2), and what is unlikely to be meant."""
    from sol.cli._common import Code, explain  # noqa: PLC0415 - not needed for help
    from sol.strategy.catalog import load_strategy, warnings_of  # noqa: PLC0415

    code = Code.SOLVED
    for name in names:
        try:
            warnings = warnings_of(load_strategy(name, Path.cwd()))
        except StrategyError as error:
            code = explain(error)
            continue
        for warning in warnings:
            typer.echo(f"{name}: warning: {warning}")
        typer.echo(f"{name}: can be used")
    raise typer.Exit(code)

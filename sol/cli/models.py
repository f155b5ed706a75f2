"""`sol models`: which local models there are, and how their weights get onto this machine."""

from typing import Annotated

import typer

from sol.errors import NotFoundError

app = typer.Typer(name="models", help="List and fetch local models.", no_args_is_help=True)

Name = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="Name of a local model; without it, the default one.")
]


@app.command("list")
def list_() -> None:
    """List the local models that are known by name, and whether their weights are on this machine."""
    from luna.errors import WeightsError  # noqa: PLC0415 - not needed for help
    from luna.models import DEFAULT_MODEL, KNOWN_MODELS, find_weights  # noqa: PLC0415
    from sol.cli.output import table  # noqa: PLC0415

    rows = []
    for model in KNOWN_MODELS:
        try:
            here = "yes" if find_weights(model.name) else "no"
        except WeightsError:
            here = "damaged"
        mark = " (default)" if model is DEFAULT_MODEL else ""
        size = f"{model.size_bytes / 1_000_000:,.0f} MB"
        rows.append((f"{model.name}{mark}", size, here, model.licence, model.summary))
    for line in table(("NAME", "SIZE", "HERE", "LICENCE", "WHAT IT IS"), rows):
        typer.echo(line)


@app.command()
def fetch(
    name: Name = None,
    *,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")] = False,
) -> None:
    """Fetch a model's weights, and print where they are.

    They are verified. An interrupted fetch goes on where it stopped.
    """
    from sol.cli.fetching import fetch_shown  # noqa: PLC0415 - not needed for help

    typer.echo(fetch_shown(name, quiet=quiet))


@app.command()
def path(name: Name = None) -> None:
    """Print where a model's weights are on this machine."""
    from luna.models import find_weights, known_model  # noqa: PLC0415 - not needed for help

    model = known_model(name)
    found = find_weights(model.name)
    if found is None:
        raise NotFoundError(f"The weights of {model.name!r} are not here. Fetch them: sol models fetch {model.name}")
    typer.echo(found)

"""`sol models`: which there are, and how the local one is fetched."""

import importlib.util
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from luna.errors import ModelNotFoundError
from sol.errors import NotFoundError

if TYPE_CHECKING:
    from luna.models import FetchProgress, LocalModel

_LOCAL = "local"


def fetch_shown(name: str | None, *, quiet: bool = False) -> Path:
    """Fetch a model's weights, showing on standard error how far it is.

    Raises:
        ModelNotFoundError: If no model has that name.
        WeightsError: If the weights could not be fetched.
    """
    from rich.console import Console  # noqa: PLC0415 - not needed for help
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    from luna.models import fetch_weights, known_model  # noqa: PLC0415

    model = known_model(name)
    console = Console(stderr=True, quiet=quiet)
    if not console.is_terminal:
        console.print(f"Fetching {model.name} ({_megabytes(model)} MB)", highlight=False)
        return fetch_weights(model.name)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[source]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(model.name, total=model.size_bytes, source="")

        def show(progress: "FetchProgress") -> None:
            bar.update(task, completed=progress.done_bytes, source=progress.source)

        return fetch_weights(model.name, progress=show)


def offer_weights(names: list[str]) -> bool:
    """Ask whether to fetch the weights that these models miss, and do so; True when they are there now.

    Asks only somebody at a terminal, and only where the weights are all that is missing.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or importlib.util.find_spec("xllamacpp") is None:
        return False
    missing = {model.name: model for name in names if (model := _without_weights(name)) is not None}
    for model in missing.values():
        if not _confirmed(
            f"The weights of {model.name} ({_megabytes(model)} MB) are not on this machine. Fetch them now?"
        ):
            return False
        fetch_shown(model.name)
    return bool(missing)


def _confirmed(question: str) -> bool:
    """Ask on standard error: standard output is for results."""
    sys.stderr.write(f"{question} [Y/n] ")
    sys.stderr.flush()
    typed = sys.stdin.readline()  # without a line end: the input has ended
    return typed.endswith("\n") and typed.strip().lower() in {"", "y", "yes"}


def _without_weights(name: str) -> "LocalModel | None":
    from luna.models import find_weights, known_model  # noqa: PLC0415 - not needed for help

    provider, _, rest = name.strip().partition(":")
    if provider != _LOCAL or rest.lower().endswith(".gguf"):
        return None
    try:
        model = known_model(rest or None)
    except ModelNotFoundError:
        return None
    return model if find_weights(model.name) is None else None


def _megabytes(model: "LocalModel") -> int:
    return model.size_bytes // 1_000_000


app = typer.Typer(name="models", help="List and fetch local models.", no_args_is_help=True)

Name = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="Name of a local model; without it, the default one.")
]


@app.command("list")
def list_() -> None:
    """List the local models that are known by name, and whether their weights are on this machine."""
    from luna.errors import WeightsError  # noqa: PLC0415 - not needed for help
    from luna.models import DEFAULT_MODEL, KNOWN_MODELS, find_weights  # noqa: PLC0415
    from sol.cli._output import table  # noqa: PLC0415

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

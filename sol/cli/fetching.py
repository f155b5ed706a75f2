"""Fetch weights with a progress bar, and offer it where they are missed. Never fetches without being told to."""

import importlib.util
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from luna.errors import ModelNotFoundError
from luna.models import FetchProgress, LocalModel, fetch_weights, find_weights, known_model

_LOCAL = "local"


def fetch_shown(name: str | None, *, quiet: bool = False) -> Path:
    """Fetch a model's weights, showing on standard error how far it is.

    Raises:
        ModelNotFoundError: If no model has that name.
        WeightsError: If the weights could not be fetched.
    """
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

        def show(progress: FetchProgress) -> None:
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


def _without_weights(name: str) -> LocalModel | None:
    provider, _, rest = name.strip().partition(":")
    if provider != _LOCAL or rest.lower().endswith(".gguf"):
        return None
    try:
        model = known_model(rest or None)
    except ModelNotFoundError:
        return None
    return model if find_weights(model.name) is None else None


def _megabytes(model: LocalModel) -> int:
    return model.size_bytes // 1_000_000

"""Find workflows by name: those of the workspace, and those that come with the package."""

from pathlib import Path

from sol.errors import NotFoundError
from sol.strategy.catalog import shipped_directory
from sol.workflow.machine.errors import suggest

SUFFIXES = (".yaml", ".yml")


def known_workflows(workspace: Path | None = None) -> dict[str, Path]:
    """Files by name; one in `.sol/workflows` of the workspace hides a shipped one of the same name."""
    places = [shipped_directory() / "workflows"]
    if workspace is not None:
        places.append(workspace / ".sol" / "workflows")
    return {path.stem: path for place in places for path in sorted(place.glob("*.yaml"))}


def find_workflow(name: str, workspace: Path | None = None) -> Path:
    """The file of a workflow given by its path or its name.

    Raises:
        NotFoundError: If there is none.
    """
    path = Path(name)
    if path.suffix in SUFFIXES or len(path.parts) > 1:
        if path.is_file():
            return path
        raise NotFoundError(f"There is no workflow file {name!r}. Check the path.")
    known = known_workflows(workspace)
    if name not in known:
        hint = suggest(name, sorted(known))
        raise NotFoundError(f"There is no workflow {name!r}: give the path of a file, or a name; {hint}")
    return known[name]

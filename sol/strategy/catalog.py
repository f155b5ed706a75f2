"""Find and load strategies: those that come with the package, those of a workspace, or any YAML file by its path."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sol.errors import StrategyError, StrategyNotFoundError
from sol.rules import lint_rules
from sol.strategy.schema import Strategy
from sol.strictyaml import StrictYamlError, load_yaml, validate_model
from sol.tree.node import TERMINAL

PACKAGE = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Entry:
    """A strategy file that the catalogue knows."""

    name: str
    path: Path
    source: str


def shipped_directory() -> Path:
    """Where the strategies of the package are: inside the wheel, or beside the source of an editable install."""
    inside = PACKAGE / "_strategies"
    return inside if inside.is_dir() else PACKAGE.parent / "strategies"


def entries(workspace: Path | None = None) -> list[Entry]:
    """All known strategies by name; one of the workspace (`.sol/strategies`) hides a shipped one of the same name."""
    found: dict[str, Entry] = {}
    for entry in _walk(workspace):
        found.setdefault(entry.name, entry)
    return sorted(found.values(), key=lambda entry: entry.name)


def _walk(workspace: Path | None) -> Iterator[Entry]:
    if workspace is not None:
        for path in sorted((workspace / ".sol" / "strategies").glob("*.yaml")):
            yield Entry(path.stem, path, "workspace")
    for path in sorted(shipped_directory().glob("*.yaml")):
        yield Entry(path.stem, path, "shipped")


def find(name: str, workspace: Path | None = None) -> Path:
    """The file of a strategy given by name or by path.

    Raises:
        StrategyNotFoundError: If there is none.
    """
    if name.endswith((".yaml", ".yml")) or "/" in name:
        path = Path(name)
        if path.is_file():
            return path
    known = entries(workspace)
    for entry in known:
        if entry.name == name:
            return entry.path
    raise StrategyNotFoundError(name, tuple(entry.name for entry in known))


def load_strategy(name: str, workspace: Path | None = None) -> Strategy:
    """Load and check a strategy given by name or by path.

    Raises:
        StrategyNotFoundError: If there is none.
        StrategyError: If the file cannot be used; the message has file, line and column.
    """
    return read_strategy(find(name, workspace))


def read_strategy(path: Path) -> Strategy:
    """Load and check the strategy of one file.

    Raises:
        StrategyError: If the file cannot be used; the message has file, line and column.
    """
    try:
        document = load_yaml(path.read_bytes(), source=str(path))
        strategy = validate_model(document, Strategy)
    except StrictYamlError as error:
        raise StrategyError(str(error)) from error
    except OSError as error:
        raise StrategyError(
            f"{path}: cannot be read ({error.strerror}). Check the path and its permissions."
        ) from error
    if strategy.name != path.stem:
        raise StrategyError(
            f"{path}: the name is {strategy.name!r} and the file {path.stem!r}. Give both the same name."
        )
    return strategy


def warnings_of(strategy: Strategy) -> list[str]:
    """What is legal and yet unlikely to be meant: near misses of conditions, verdicts that no rule covers."""
    states = sorted(state.value for state in TERMINAL)
    children = {"children": [states] * strategy.arity}
    return [
        f"rules.{section}: {warning.message}"
        for section, rules in strategy.sections.items()
        for warning in lint_rules(rules, step=section, children=children.get(section))
    ]

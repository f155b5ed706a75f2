"""Find and load strategies: those that come with the package, those of a workspace, or any YAML file by its path."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from luna.monitor.monitors import MonitorSettings
from sol.errors import StrategyError, StrategyNotFoundError
from sol.rules import ConditionSyntaxError, lint_rules
from sol.strategy.schema import SECTIONS, Strategy, read_rule
from sol.strictyaml import Document, Position, Problem, StrictYamlError, load_yaml, validate_model
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
        try:
            strategy = validate_model(document, Strategy)
        except StrictYamlError:
            _check_monitors(document)  # these know the place of what is wrong
            _check_rules(document)
            raise
    except StrictYamlError as error:
        raise StrategyError(str(error)) from error
    except OSError as error:
        raise StrategyError(
            f"{path}: cannot be read ({error.strerror}). Check the path and its permissions."
        ) from error
    if strategy.name != path.stem:
        what = f"the name is {strategy.name!r} and the file's {path.stem!r}"
        raise StrategyError(str(document.error(("name",), what, "give both the same name")))
    return strategy


def _check_rules(document: Document) -> None:
    """Read the rules with their positions, which the model does not know.

    Raises:
        StrictYamlError: At the first rule, or the first section, that is not right.
    """
    rules = document.value.get("rules") if isinstance(document.value, dict) else None
    if not isinstance(rules, dict):
        return
    for section, actions in SECTIONS.items():
        if not rules.get(section):
            what = f"rules.{section} is missing"
            raise document.error(("rules", section), what, f"add rules that lead to one of {', '.join(actions)}")
        given = rules[section] if isinstance(rules[section], list) else ()
        for number, mapping in enumerate(given):
            if isinstance(mapping, dict):
                _check_rule(document, section, number, mapping)


def _check_rule(document: Document, section: str, number: int, mapping: dict[str, object]) -> None:
    path = ("rules", section, number)
    places = {name: document.at((*path, name)) for name in mapping}
    at = document.at(path)
    try:
        read_rule(
            section,
            mapping,
            position=(at.line, at.column),
            field_positions={name: (place.line, place.column) for name, place in places.items()},
        )
    except ConditionSyntaxError as error:
        problem = Problem(Position(error.line, error.column), f"rules.{section}: {error.problem}", error.hint)
        raise StrictYamlError(document.source, [problem]) from error


def _check_monitors(document: Document) -> None:
    """Check the settings of the detectors with their positions.

    Raises:
        StrictYamlError: At the first setting that is not right.
    """
    value = document.value if isinstance(document.value, dict) else {}
    monitors, patience = value.get("monitors"), value.get("patience")
    given = {"patience": patience} if type(patience) is int else {}
    try:
        MonitorSettings.model_validate({**given, **(monitors if isinstance(monitors, dict) else {})}, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        path = ("monitors", *first["loc"]) if first["loc"] else ("monitors",)
        if first["loc"] == ("patience",):
            return  # the model says so itself, in its place
        message = str(first["msg"]).removeprefix("Value error, ")
        raise document.error(path, f"{'.'.join(map(str, path))}: {message}", "correct the setting") from None


def warnings_of(strategy: Strategy) -> list[str]:
    """What is legal and yet unlikely to be meant: near misses of conditions, verdicts that no rule covers."""
    states = sorted(state.value for state in TERMINAL)
    children = {"children": [states] * strategy.arity}
    return [
        f"rules.{section}: {warning.message}"
        for section, rules in strategy.sections.items()
        for warning in lint_rules(rules, step=section, children=children.get(section))
    ]

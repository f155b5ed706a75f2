"""A workflow with all that it calls, read once; and where workflows are found by name."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from sol.errors import NotFoundError
from sol.rules import print_condition
from sol.strategy.catalog import shipped_directory
from sol.workflow.definition import Definition, Facet, Finding, Step, StepRule, WorkflowError, suggest
from sol.workflow.events import Fingerprint
from sol.workflow.load import load_definition

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


Texts: TypeAlias = Callable[[str, str], str | None]
"""Finds a text that no file has, from its kind (`persona`, `instruction`, …) and name; None: not known either."""

Args: TypeAlias = Mapping[str, tuple[Facet, ...]]

_SHORT = 16


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow with those it calls, as it is run.

    Attributes:
        file: The file of the workflow that is run, absolute.
        root: Its key.
        definitions: By key: the file's path relative to the root's directory.
        calls: Key of the workflow that a step calls, by the caller's key and the name in `call`.
        texts: Finds texts that no file has.
    """

    file: Path
    root: str
    definitions: Mapping[str, Definition]
    calls: Mapping[tuple[str, str], str]
    texts: Texts | None = None

    @classmethod
    def load(cls, path: Path | str, *, texts: Texts | None = None) -> "Workflow":
        """Read a workflow and all that it calls.

        Args:
            path: Its file; as a string also its name, looked for in `.sol/workflows` of the current directory and
                among those that come with the package.
            texts: Finds texts that no file has.

        Raises:
            NotFoundError: If there is none of this name.
            NotAWorkflowError, WorkflowError: If a file cannot be read, or the calls form a cycle.

        Source: R26, CYC-01.
        """
        file = path if isinstance(path, Path) else find_workflow(path, Path.cwd())
        reader = _Calls(file.resolve().parent)
        root = reader.read(file, [])
        return cls(file.resolve(), root, reader.definitions, reader.calls, texts)

    @property
    def definition(self) -> Definition:
        """That of the workflow which is run."""
        return self.definitions[self.root]

    @property
    def name(self) -> str:
        """Its name."""
        return self.definition.name

    def text_of(self, facet: Facet) -> str | None:
        """A facet's text: its own, or the one that `texts` knows; None if nobody does."""
        if facet.text is not None or self.texts is None:
            return facet.text
        return self.texts(facet.kind, facet.name)

    def expand(self, facets: tuple[Facet, ...], key: str, args: Args) -> tuple[Facet, ...]:
        """The facets with parameters of the workflow `key` replaced by what they stand for."""
        found: list[Facet] = []
        for facet in facets:
            if not facet.param:
                found.append(facet)
                continue
            param = self.definitions[key].params.get(facet.param)
            found += args.get(facet.param) or (param.default if param is not None else None) or ()
        return tuple(found)

    def read(self, facets: tuple[Facet, ...], key: str, args: Args) -> list[str]:
        """The texts of facets; a facet without text gives its name."""
        found = [(one.name, self.text_of(one)) for one in self.expand(facets, key, args)]
        return [name if text is None else text for name, text in found]

    def asks(self, step: Step, key: str, args: Args) -> dict[str, object]:
        """All of a step that its worker gets to see, with texts filled in, and nothing of what follows from it."""

        def texts(facets: tuple[Facet, ...]) -> list[str]:
            return self.read(facets, key, args)

        return {
            "persona": texts(step.persona),
            "instruction": texts(step.instruction),
            "policy": texts(step.policy),
            "knowledge": texts(step.knowledge),
            "report": [[one.name, *texts((one.format,) if one.format else ())] for one in step.reports],
            "edit": step.edit,
            "permission_mode": step.permission_mode,
            "allowed_tools": step.allowed_tools,
            "pass_previous_response": step.pass_previous_response,
            "quality_gates": step.quality_gates,
            "labels": [[print_condition(one.rule.condition), one.appendix] for one in step.rules],
            "worker": step.worker.model_dump(mode="json") if step.worker else None,
            "solve": step.solve,
            "call": step.call,
            "args": {name: texts(given) for name, given in step.args.items()},
        }

    def content(self, step: Step, key: str, args: Args) -> str:
        """A hash of what a step asks for: results are kept as long as it stays the same. Source: RES-03."""
        return _hash(self.asks(step, key, args))

    def fingerprint(self) -> Fingerprint:
        """Hashes of all that matters, by workflow, step and field, so that a change can be named. Source: RES-03."""
        return {key: dict(self._fields_of(key, definition)) for key, definition in self.definitions.items()}

    def _fields_of(self, key: str, definition: Definition) -> Iterator[tuple[str, dict[str, str]]]:
        monitors = [[one.cycle, one.threshold, sorted(one.ignore)] for one in definition.monitors]
        own = {"initial_step": definition.initial_step, "max_steps": definition.max_steps, "loop_monitors": monitors}
        yield "", {name: _hash(value) for name, value in own.items()}
        for step, _ in definition.every_step():
            fields = self.asks(step, key, {}) | {
                "rules": [_rule(one) for one in step.rules],
                "parallel": [[child.name for child in step.parallel], step.concurrency],
            }
            del fields["labels"]
            yield step.name, {name: _hash(value) for name, value in fields.items()}


def _rule(rule: StepRule) -> list[object]:
    guard = print_condition(rule.rule.guard) if rule.rule.guard else ""
    own = [print_condition(rule.rule.condition), guard, rule.rule.next, rule.returns]
    return [*own, rule.asks, rule.interactive_only, rule.appendix]


def _hash(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_SHORT]


def changes(before: Fingerprint, after: Fingerprint) -> list[str]:
    """What differs between two fingerprints, one line for each workflow, step or field."""
    found: list[str] = []
    for key in sorted({*before, *after}):
        if key not in before or key not in after:
            found.append(f"{key}: {'added' if key in after else 'removed'}")
            continue
        then, now = before[key], after[key]
        for step in sorted({*then, *now}):
            name = f"{key}: step {step!r}" if step else key
            if step not in then or step not in now:
                found.append(f"{name} {'added' if step in now else 'removed'}")
            elif then[step] != now[step]:
                fields = sorted(field for field in now[step] if now[step][field] != then[step].get(field))
                found.append(f"{name}: {', '.join(fields)} changed")
    return found


class _Calls:
    """Reads called workflows depth first and finds cycles."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.definitions: dict[str, Definition] = {}
        self.calls: dict[tuple[str, str], str] = {}

    def read(self, path: Path, above: list[str]) -> str:
        key = Path(os.path.relpath(path.resolve(), self._directory)).as_posix()
        if key in self.definitions:
            return key
        definition = load_definition(path)
        self.definitions[key] = definition
        for step, _ in definition.every_step():
            if step.call:
                self.calls[key, step.call] = self._called(definition, step, path, [*above, key])
        return key

    def _called(self, definition: Definition, step: Step, path: Path, chain: list[str]) -> str:
        at = definition.document.at((*step.path, "call"))
        found = find_called(step.call, path.resolve().parent)
        if found is None:
            message = (
                f"step {step.name!r} calls {step.call!r}, and there is no such workflow beside this one; add its file"
            )
            raise WorkflowError([Finding("error", at, message, str(path))])
        key = Path(os.path.relpath(found.resolve(), self._directory)).as_posix()
        if key in chain:
            cycle = " > ".join([*chain[chain.index(key) :], key])
            message = f"step {step.name!r}: workflows call each other in a cycle: {cycle}; remove one of the calls"
            raise WorkflowError([Finding("error", at, message, str(path))])
        return self.read(found, chain)


def find_called(name: str, directory: Path) -> Path | None:
    """The file of a workflow that is called by name or by path; None if there is none."""
    for candidate in (directory / name, directory / f"{name}.yaml", directory / f"{name}.yml"):
        if candidate.suffix in {".yaml", ".yml"} and candidate.is_file():
            return candidate
    return None

"""A workflow file in types: steps, workers and their facets, and what can be wrong with one."""

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from luna.protocol import WorkerSpec
from sol.errors import ConflictError, UsageError
from sol.rules import Rule
from sol.strictyaml import Document, Position, YamlPath
from sol.workflow.fields import FacetField, ParamRef

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found in a definition: an error (it does not run) or a warning. `source` is the file."""

    level: Level
    position: Position
    message: str
    source: str = ""

    def __str__(self) -> str:
        return f"{self.source}:{self.position.line}:{self.position.column}: {self.level}: {self.message}"


class WorkflowError(UsageError):
    """A workflow cannot be used. Raised before any worker is started; `findings` holds every error found."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("\n".join(map(str, findings)))
        self.findings = tuple(findings)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.findings,))


class NotAWorkflowError(WorkflowError):
    """The file is YAML and no workflow: it has no list of steps."""


class DefinitionChangedError(ConflictError):
    """The definition differs from the one that the run was started with; `changes` says in what. Nothing was changed.

    Source: RES-03.
    """

    def __init__(self, run: str, changes: Sequence[str]) -> None:
        listed = "\n".join(f"  {change}" for change in changes)
        super().__init__(
            f"The workflow of run {run!r} was changed since the run began:\n{listed}\n"
            "Accept the changes (--accept-changes) to keep the results of unchanged steps and run the others, "
            "or put the old definition back."
        )
        self.run = run
        self.changes = tuple(changes)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.run, self.changes))


def suggest(name: str, known: Collection[str]) -> str:
    """What to do about an unknown name."""
    folded = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f"did you mean {folded[near[0]]!r}?" if near else f"known: {', '.join(known)}"


FacetKind = Literal["persona", "instruction", "policy", "knowledge", "report_format"]

FOLDERS: Final[Mapping[FacetKind, tuple[str, ...]]] = {
    "persona": ("personas", "agents"),
    "instruction": ("instructions",),
    "policy": ("policies",),
    "knowledge": ("knowledge",),
    "report_format": ("report-formats", "output-contracts"),
}
"""Where a text given by name alone is looked for: beside the workflow, one folder up, and there in `facets`."""

MAX_BYTES: Final = 256 * 1024
"""The largest text file taken."""

_SUFFIXES = (".md", ".txt")


@dataclass(frozen=True, slots=True)
class Facet:
    """A text that a step uses.

    Attributes:
        kind: What it is for.
        name: As the file gives it, or the beginning of a text written in.
        text: The text; None while it is not known: a file that is not there, or a parameter.
        param: Name of the parameter that stands for it; "" for none.
    """

    kind: FacetKind
    name: str
    text: str | None
    param: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """Finds texts for one workflow file: `sections` are its own maps from name to path."""

    directory: Path
    sections: Mapping[FacetKind, Mapping[str, str]]

    def facets(self, kind: FacetKind, value: FacetField | None) -> tuple[Facet, ...]:
        """The texts that a field names, in its order."""
        if value is None:
            return ()
        if isinstance(value, ParamRef):
            return (Facet(kind, value.param, None, value.param),)
        names = (value,) if isinstance(value, str) else value
        return tuple(self.facet(kind, name) for name in names)

    def facet(self, kind: FacetKind, name: str) -> Facet:
        """One text: from a section, from a file, or what is written; `text` is None if a file is missing."""
        path = self.sections.get(kind, {}).get(name)
        if path is not None:
            return Facet(kind, name, self._read(self.directory / path))
        if "\n" in name or (" " in name and not name.endswith(_SUFFIXES)):
            return Facet(kind, name.strip().partition("\n")[0][:60], name)
        if name.endswith(_SUFFIXES):
            return Facet(kind, name, self._read(self.directory / name))
        return Facet(kind, name, self._by_name(kind, name))

    def _by_name(self, kind: FacetKind, name: str) -> str | None:
        if "/" in name or name.startswith("."):
            return None
        above = self.directory.parent
        for root in (self.directory, above, above / "facets"):
            for folder in FOLDERS[kind]:
                text = self._read(root / folder / f"{name}.md")
                if text is not None:
                    return text
        return None

    def _read(self, path: Path) -> str | None:
        try:
            if path.suffix not in _SUFFIXES or not path.is_file() or path.stat().st_size > MAX_BYTES:
                return None
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return None


DEFAULT_MAX_STEPS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRule:
    """A rule of a step.

    Attributes:
        rule: What must hold, and the next step.
        returns: What a called workflow answers when this rule holds; "" for rules with `next`.
        asks: A person is asked, and the same step runs again with the answer.
        interactive_only: Left out of runs that nobody answers.
        appendix: What the answer has to end with when this rule is chosen.
    """

    rule: Rule
    returns: str = ""
    asks: bool = False
    interactive_only: bool = False
    appendix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFile:
    """A file the step's report is kept in, and what it should look like."""

    name: str
    format: Facet | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step or sub-step; see docs/workflows.md for the fields.

    Attributes:
        path: Where it stands in the document.
        tag: Name in its status tags; the step's own, `judge` for that of a monitor.
        solve: Hand the step to the recursive orchestrator: True, or the name of a strategy.
        call: Name of another workflow that does the step; "" for none.
    """

    name: str
    path: YamlPath = ()
    tag: str
    persona: tuple[Facet, ...] = ()
    instruction: tuple[Facet, ...] = ()
    policy: tuple[Facet, ...] = ()
    knowledge: tuple[Facet, ...] = ()
    edit: bool | None = None
    permission_mode: str = ""
    allowed_tools: tuple[str, ...] | None = None
    pass_previous_response: bool = True
    reports: tuple[ReportFile, ...] = ()
    quality_gates: tuple[str, ...] = ()
    rules: tuple[StepRule, ...] = ()
    parallel: tuple["Step", ...] = ()
    concurrency: int | None = None
    call: str = ""
    args: Mapping[str, tuple[Facet, ...]] = field(default_factory=dict)
    worker: WorkerSpec | None = None
    solve: bool | str = False

    def active(self, *, interactive: bool) -> tuple[StepRule, ...]:
        """The rules that count in this run."""
        return tuple(rule for rule in self.rules if interactive or not rule.interactive_only)

    @property
    def facets(self) -> Iterator[Facet]:
        """All texts it uses, those of sub-steps not among them."""
        yield from (*self.persona, *self.instruction, *self.policy, *self.knowledge)
        yield from (report.format for report in self.reports if report.format is not None)
        for given in self.args.values():
            yield from given


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitor:
    """A cycle, how often in a row it may be gone through, and the step that judges it. Source: R25."""

    cycle: tuple[str, ...]
    threshold: int
    ignore: frozenset[str]
    judge: Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """A text that the caller of this workflow may give; `default` is None where it must."""

    kind: str
    default: tuple[Facet, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """What one workflow file says.

    Attributes:
        max_steps: Most steps of a run that starts here, called workflows included; None: no limit.
        notes: Warnings from reading it.
    """

    name: str
    description: str
    source: Path
    initial_step: str
    max_steps: int | None
    steps: tuple[Step, ...]
    monitors: tuple[Monitor, ...]
    returns: tuple[str, ...]
    params: Mapping[str, Param]
    document: Document = field(repr=False, compare=False)
    notes: tuple[Finding, ...] = field(default=(), compare=False)

    def step(self, name: str) -> Step | None:
        """The step of this name; None if there is none."""
        return next((step for step in self.steps if step.name == name), None)

    def every_step(self) -> Iterator[tuple[Step, int | None]]:
        """All steps, sub-steps after theirs, judges last; with each its number of children (None: not known)."""
        for step in self.steps:
            yield step, len(step.parallel)
            yield from ((child, 0) for child in step.parallel)
        yield from ((monitor.judge, 0) for monitor in self.monitors)

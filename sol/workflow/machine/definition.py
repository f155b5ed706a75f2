"""A machine workflow as the program uses it. Plain frozen data; reading it from YAML is `load`'s work."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from luna.protocol import WorkerSpec
from sol.rules import Rule
from sol.strictyaml import Document, YamlPath
from sol.workflow.machine.errors import Finding
from sol.workflow.machine.facets import Facet

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

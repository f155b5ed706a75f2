"""Where decisions look things up: a run's state beside the definitions it goes by; and what comes of them."""

from dataclasses import dataclass, field

from sol.engine.program import Reaction
from sol.tree.effects import Kind
from sol.workflow.machine.definition import Definition, Step, StepRule
from sol.workflow.machine.facets import Facet
from sol.workflow.machine.state import ROOT, Machine, Visit
from sol.workflow.machine.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Where:
    """A run and its workflow. Looks up definitions for what the run is doing; changes nothing."""

    machine: Machine
    workflow: Workflow

    def definition(self, frame: str) -> Definition:
        """The definition that a frame goes by.

        Raises:
            LookupError: If it is not there (any more).
        """
        return self.workflow.definitions[self.machine.frames[frame].key]

    def step(self, visit: Visit) -> Step:
        """The definition of a visit's step.

        Raises:
            LookupError: If the definition does not have it (any more).
        """
        definition = self.definition(visit.frame)
        if visit.monitor >= 0:
            return definition.monitors[visit.monitor].judge
        name = self.machine.nodes[visit.parent].step if visit.inner else visit.step
        step = definition.step(name)
        if step is not None and visit.inner:
            step = next((child for child in step.parallel if child.name == visit.step), None)
        if step is None:
            raise LookupError(f"workflow {definition.name!r} has no step {visit.step!r}")
        return step

    def rules(self, visit: Visit) -> tuple[StepRule, ...]:
        """The rules of a visit's step that count in this run."""
        return self.step(visit).active(interactive=self.machine.config.interactive)

    def args(self, frame: str) -> dict[str, tuple[Facet, ...]]:
        """What the caller of a frame's workflow gave for its parameters."""
        if frame == ROOT:
            return {}
        caller = self.machine.nodes[frame]
        key = self.machine.frames[caller.frame].key
        above = self.args(caller.frame)
        return {name: self.workflow.expand(given, key, above) for name, given in self.step(caller).args.items()}

    def kind_of(self, visit: Visit) -> Kind:
        """The kind of effect that does a visit's step."""
        return Kind.SOLVE if self.step(visit).solve else Kind.ATTEMPT


@dataclass(frozen=True, slots=True)
class Out(Where):
    """One call of `decide`: where it looks things up, and `then`, what follows from it."""

    then: Reaction = field(default_factory=Reaction)

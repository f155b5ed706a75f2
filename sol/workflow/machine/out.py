"""What a decision about a workflow collects, and where it looks things up."""

from dataclasses import dataclass

from sol.core import outcome
from sol.tree.effects import Kind
from sol.workflow.machine.definition import Step, StepRule, Workflow
from sol.workflow.machine.facets import Facet
from sol.workflow.machine.program import Program
from sol.workflow.machine.state import ROOT, SOLVE, Machine, Visit


class _Lookup:
    """Looks up definitions for what a run is doing. Changes nothing."""

    __slots__ = ()
    machine: Machine
    program: Program

    def workflow(self, frame: str) -> Workflow:
        """The workflow of a frame."""
        return self.program.workflows[self.machine.frames[frame].key]

    def step(self, visit: Visit) -> Step:
        """The definition of a visit's step.

        Raises:
            LookupError: If the definition does not have it (any more).
        """
        workflow = self.workflow(visit.frame)
        if visit.monitor >= 0:
            return workflow.monitors[visit.monitor].judge
        name = self.machine.visit(visit.up).step if visit.inner else visit.step
        step = workflow.step(name)
        if step is not None and visit.inner:
            step = next((child for child in step.parallel if child.name == visit.step), None)
        if step is None:
            raise LookupError(f"workflow {workflow.name!r} has no step {visit.step!r}")
        return step

    def rules(self, visit: Visit) -> tuple[StepRule, ...]:
        """The rules of a visit's step that count in this run."""
        return self.step(visit).active(interactive=bool(self.machine.config.get("interactive")))

    def args(self, frame: str) -> dict[str, tuple[Facet, ...]]:
        """What the caller of a frame's workflow gave for its parameters."""
        if frame == ROOT:
            return {}
        caller = self.machine.visit(frame)
        key = self.machine.frames[caller.frame].key
        above = self.args(caller.frame)
        return {name: self.program.expand(given, key, above) for name, given in self.step(caller).args.items()}

    def kind_of(self, visit: Visit) -> str:
        """The kind of effect that does a visit's step."""
        return SOLVE if self.step(visit).solve else Kind.ATTEMPT


@dataclass(frozen=True, slots=True)
class Where(_Lookup):
    """A run and its program."""

    machine: Machine
    program: Program


@dataclass(slots=True, kw_only=True)
class Out(outcome.Out, _Lookup):
    """Events and commands of one call of `decide`, in order, and where that call looks things up."""

    machine: Machine
    program: Program

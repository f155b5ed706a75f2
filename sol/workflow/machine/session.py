"""A workflow's run while this process works on it: as for the task tree, with the workflow's own state and rules."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sol.core.stepping import Step
from sol.dispatch.protocol import Effect
from sol.session import Session
from sol.tree.events import Command, Event
from sol.tree.node import Node
from sol.workflow.machine import state
from sol.workflow.machine.compose import compose, request
from sol.workflow.machine.control import may_retry
from sol.workflow.machine.core import Rules, advance
from sol.workflow.machine.effects import FileRequest, MachineDispatcher, SolveRequest
from sol.workflow.machine.out import Where
from sol.workflow.machine.program import Program
from sol.workflow.machine.state import Machine, Visit
from sol.workflow.machine.tools import worker_for


@dataclass(slots=True, kw_only=True)
class MachineSession(Session):
    """A run of a workflow in work. `machine` is also its `tree`, `effects` also its `dispatcher`."""

    machine: Machine
    program: Program
    effects: MachineDispatcher

    def take(self, incoming: Iterable[Event], *, now: float) -> Step:
        """Fold facts in, decide what follows, and start what the limits allow."""
        rules = Rules(self.program, self.strategy)
        return advance(self.machine, incoming, rules, stopping=bool(self.stopping), now=now)

    def may_retry(self, node: Node) -> bool:
        """Whether a step can be tried once more."""
        return may_retry(self.machine, node)

    def submit(self, command: Command) -> None:
        """Have an effect run."""
        where = Where(self.machine, self.program)
        visit = self.machine.visit(command.node)
        match command.kind:
            case state.FILE:
                self.effects.write(command, report_files(where, visit))
            case state.SOLVE:
                step = where.step(visit)
                self.effects.solve(
                    command,
                    SolveRequest(
                        assignment=compose(where, visit, command.because),
                        worker=worker_for(step, visit.worker),
                        strategy=step.solve if isinstance(step.solve, str) else None,
                        resumed=command.because.get("new") == "resumed",
                    ),
                )
            case _:
                self.effects.submit(Effect(command, request(where, command)))


def report_files(where: Where, visit: Visit) -> FileRequest:
    """What to keep of a step's answer: the texts it named for the files, else the answer itself for each."""
    named: Any = visit.result.get("reports") if isinstance(visit.result, Mapping) else None
    texts = named if isinstance(named, Mapping) else {}
    machine = where.machine
    return FileRequest(
        directory=machine.config["report_dir"],
        texts={
            report.name: text if isinstance(text := texts.get(report.name), str) else visit.text
            for report in where.step(visit).reports
        },
        known=dict(machine.files),
    )

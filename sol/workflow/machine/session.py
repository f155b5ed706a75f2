"""A workflow's run while this process works on it: as for the task tree, with the workflow's own state and rules."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sol.core.schedule import unwanted
from sol.dispatch.protocol import Effect
from sol.journal import NewRecord
from sol.session import Session
from sol.tree.events import Command, Event, EventType
from sol.workflow.machine import state
from sol.workflow.machine.compose import compose, request
from sol.workflow.machine.core import Rules, advance
from sol.workflow.machine.effects import CHILD, FileRequest, MachineDispatcher, SolveRequest
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

    async def commit(self, incoming: Iterable[Event]) -> None:
        """Take facts in: decide, commit, tell; leaves the commands to `delegate`.

        Raises:
            ConflictError: If another process has taken the run over. Nothing was written.
        """
        rules = Rules(self.program, self.strategy)
        done = advance(self.machine, incoming, rules, stopping=bool(self.stopping))
        if not done.events:
            return
        now = self.clock.now()
        for event in done.events:
            if event.type == EventType.STARTED:
                self.machine.nodes[event.node].since = now
        records = [NewRecord(now, event.type, event.node, event.data) for event in done.events]
        await self.journal.append(self.lease, records, status=self.machine.status, summary=self._summary())
        self.commands.extend(done.commands)
        for listener in self.listeners:
            for event in done.events:
                listener(event)

    def delegate(self) -> None:
        """Submit the commands of the last step, and stop effects whose visit has ended meanwhile."""
        commands, self.commands = self.commands, []
        for command in commands:
            if command.key in self.machine.inflight:
                self._submit(command)
        for command in unwanted(self.machine):
            if command.key not in self.cancelled:
                self.cancelled.add(command.key)
                self.effects.cancel(command.key)

    def _submit(self, command: Command) -> None:
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
                        child=str(visit.partial.get(CHILD, "")),
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

"""Walk through a workflow without any engine: the pure core, with a function in the place of the workers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sol.strategy.catalog import load_strategy
from sol.tree.events import Command, Event, EventType
from sol.workflow.machine.check import check
from sol.workflow.machine.core import Rules, advance
from sol.workflow.machine.errors import Finding, WorkflowError
from sol.workflow.machine.load import parse_workflow
from sol.workflow.machine.program import Program, load_program
from sol.workflow.machine.state import Machine, Visit, fold_events

Answer = Callable[[Visit, Command], Any]


def success(text: str = "", **result: Any) -> dict[str, Any]:
    """A report of success, with a text or a structured result."""
    return {"status": "SUCCESS", "summary": "", "result": {"text": text, **result} if result else text}


def stuck(blocker: str = "no key", question: str | None = None) -> dict[str, Any]:
    return {"status": "STUCK", "kind": "other", "blocker": blocker, "question": question}


def failed(reason: str = "broken") -> dict[str, Any]:
    return {"status": "FAILED", "kind": "premise", "reason": reason}


def lost(reason: str = "no answer") -> Exception:
    return ConnectionError(reason)


def tag(visit: Visit, number: int) -> dict[str, Any]:
    """A report that ends with a status tag."""
    name = "judge" if visit.monitor >= 0 else visit.step
    return success(f"{visit.path} says [{name.upper()}:{number}]")


def by_step(table: Mapping[str, Sequence[Any]]) -> Answer:
    """Answers by step: numbers are tags, everything else is the report; the last one is given from then on."""

    def answer(visit: Visit, command: Command) -> Any:
        answers = table[visit.step]
        chosen = answers[min(visit.n, len(answers)) - 1]
        return tag(visit, chosen) if isinstance(chosen, int) and not isinstance(chosen, bool) else chosen

    return answer


@dataclass
class Walk:
    """A walk through a program.

    Attributes:
        events: All events, as they were committed.
        started: Visits and kinds of all effects that were started, in order.
    """

    program: Program
    answer: Answer
    max_steps: int | None = 10
    interactive: bool = False
    concurrency: int = 8
    machine: Machine = field(default_factory=Machine)
    events: list[Event] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    open: list[Command] = field(default_factory=list)
    most_open: int = 0

    def begin(self) -> "Walk":
        config = {
            "kind": "workflow",
            "program": self.program.root,
            "task": "the task",
            "max_steps": self.max_steps,
            "interactive": self.interactive,
            "report_dir": "reports",
            "worker": {"kind": "function"},
            "sol": "model",
            "definition": self.program.fingerprint(),
        }
        return self.take(Event(EventType.RUN_STARTED, "", config))

    def take(self, *events: Event, stopping: bool = False) -> "Walk":
        strategy = load_strategy("single").model_copy(update={"concurrency": self.concurrency})
        done = advance(self.machine, events, Rules(self.program, strategy), stopping=stopping)
        self.events += done.events
        self.started += [f"{one.node} {one.kind}" if one.kind != "attempt" else one.node for one in done.commands]
        self.open += done.commands
        self.most_open = max(self.most_open, len(self.open))
        return self

    def run(self) -> "Walk":
        """Answer effects, the oldest first, until nothing is open."""
        if not self.events:
            self.begin()
        while self.open:
            self.finish(self.open[0])
        return self

    def finish(self, command: Command) -> None:
        self.open.remove(command)
        self.take(self.outcome(command))

    def outcome(self, command: Command) -> Event:
        visit = self.machine.visit(command.node)
        data = {"kind": command.kind, "n": command.n}
        if command.kind == "file":
            return Event(EventType.ANSWER, command.node, data | {"answer": {"files": {}}})
        answer = self.answer(visit, command)
        if isinstance(answer, Exception):
            return Event(EventType.LOST, command.node, data | {"lost": "outage", "reason": str(answer)})
        if command.kind == "rule":
            return Event(EventType.ANSWER, command.node, data | {"answer": answer})
        return Event(EventType.REPORTED, command.node, data | {"report": answer, "usage": {"calls": 1}})

    def replayed(self) -> Machine:
        """The state that the committed events make by themselves."""
        return fold_events(self.events)

    @property
    def status(self) -> str:
        return self.machine.status

    @property
    def steps(self) -> list[str]:
        """Visits in the order they were made, without the root."""
        return [path for path in self.machine.nodes if path]


def program_of(text: str, directory: Path = Path("/nowhere")) -> Program:
    """A program of one workflow, from its text."""
    workflow = parse_workflow(text, source="w.yaml", directory=directory)
    return Program(directory / "w.yaml", "w.yaml", {"w.yaml": workflow}, {})


def program_in(directory: Path, **files: str) -> Program:
    """A program of several files; the first is run."""
    paths = [directory / f"{name}.yaml" for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return load_program(paths[0])


def walk(text: str, answer: Answer | Mapping[str, Sequence[Any]], **options: Any) -> Walk:
    """Walk through a workflow from its text."""
    chosen = answer if callable(answer) else by_step(answer)
    return Walk(program_of(text), chosen, **options).run()


def findings(text: str) -> list[Finding]:
    """All findings about a text, also when it cannot be read."""
    try:
        return check(parse_workflow(text, source="w.yaml", directory=Path("/nowhere")))
    except WorkflowError as error:
        return list(error.findings)


def messages(text: str, level: str | None = None) -> list[str]:
    """The findings as `line:column message`."""
    return [
        f"{one.position.line}:{one.position.column} {one.message}"
        for one in findings(text)
        if level in {None, one.level}
    ]


PARALLEL = """
name: par
steps:
  - name: reviews
    parallel:
      - {name: a, instruction: look at a, rules: [{condition: approved}, {condition: needs_fix}]}
      - {name: b, instruction: look at b, rules: [{condition: approved}, {condition: needs_fix}]}
    rules:
      - {condition: all("approved"), next: COMPLETE}
      - {condition: any("needs_fix"), next: fix}
  - name: fix
    instruction: fix it
    rules: [{condition: fixed, next: reviews}, {condition: cannot, next: ABORT}]
"""

LOOP = """
name: loop
max_steps: 20
steps:
  - name: review
    instruction: review it
    rules: [{condition: good, next: COMPLETE}, {condition: bad, next: fix}, {condition: hopeless, next: ABORT}]
  - name: fix
    instruction: fix it
    rules: [{condition: fixed, next: review}, {condition: other, next: other}]
  - name: other
    instruction: do something else
    rules: [{condition: done, next: review}]
loop_monitors:
  - cycle: [review, fix]
    threshold: 2
    ignore_steps: [other]
    judge:
      instruction: worth it after {cycle_count} rounds?
      rules: [{condition: go on, next: review}, {condition: enough, next: COMPLETE}]
"""

ONE = """
name: one
steps:
  - name: plan
    instruction: plan {task}
    rules: [{condition: done, next: COMPLETE}, {condition: unclear, next: ABORT}]
"""

CHILD = """
name: child
subworkflow: {callable: true, returns: [needs_fix]}
steps:
  - name: check
    instruction: check
    rules: [{condition: good, next: COMPLETE}, {condition: bad, return: needs_fix}, {condition: no, next: ABORT}]
"""

CALLER = """
name: caller
steps:
  - name: gate
    call: child
    rules:
      - {condition: COMPLETE, next: COMPLETE}
      - {condition: needs_fix, next: fix}
      - {condition: ABORT, next: ABORT}
  - name: fix
    instruction: fix
    rules: [{condition: fixed, next: gate}]
"""


def calling(directory: Any, table: dict[str, Sequence[Any]], **options: Any) -> Walk:
    return Walk(program_in(directory, caller=CALLER, child=CHILD), by_step(table), **options).run()

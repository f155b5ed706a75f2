"""Walk through a workflow without any engine: the pure core, with a function in the place of the workers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from sol.engine.step import take
from sol.strategy.catalog import load_strategy
from sol.tree.effects import FileAnswer
from sol.tree.events import Answer, Command, Event, Interrupted, Lost, Reported, Resumed
from sol.tree.values import ReportData, Usage, WorkerData
from sol.workflow.check import check
from sol.workflow.definition import Finding, WorkflowError
from sol.workflow.events import CODEC, ConfigChanges, WorkflowResumed, WorkflowStarted
from sol.workflow.linked import Workflow
from sol.workflow.load import parse_definition
from sol.workflow.machine import MachineProgram
from sol.workflow.state import Machine, Visit, apply


def folded(events: Iterable[Event]) -> Machine:
    """The state that these events make."""
    machine = Machine()
    for event in events:
        apply(machine, event)
    return machine


Answering = Callable[[Visit, Command], Any]


def success(text: str = "", **result: Any) -> ReportData:
    """A report of success, with a text or a structured result."""
    return ReportData("SUCCESS", result={"text": text, **result} if result else text)


def stuck(blocker: str = "no key", question: str | None = None) -> ReportData:
    return ReportData("STUCK", kind="other", blocker=blocker, question=question)


def failed(reason: str = "broken") -> ReportData:
    return ReportData("FAILED", kind="premise", reason=reason)


def lost(reason: str = "no answer") -> Exception:
    return ConnectionError(reason)


def started(workflow: Workflow, *, max_steps: int | None = 10, interactive: bool = False) -> WorkflowStarted:
    """The first event of a run."""
    return WorkflowStarted(
        strategy={},
        worker=WorkerData("function"),
        sol="model",
        kind="workflow",
        name="w",
        file=str(workflow.file),
        program=workflow.root,
        task="the task",
        max_steps=max_steps,
        interactive=interactive,
        report_dir="reports",
        definition=workflow.fingerprint(),
    )


def more_steps(number: int) -> Event:
    """A resume that grants more steps."""
    return Event("", WorkflowResumed(config=ConfigChanges(max_steps=number)))


RESUMED = Event("", Resumed())
REPLAYED = Event("", WorkflowResumed(replay=True))


class Row(NamedTuple):
    """A transition as a journal gives it."""

    seq: int
    t: float
    type: str
    node: str
    data: bytes
    then: bytes


def reread(events: Iterable[Event]) -> list[Event]:
    """The events as they come back from a journal."""
    return [one for event in events for one in CODEC.unfold(Row(1, event.t, *CODEC.encode([event])))]


def interrupted(command: Command) -> Event:
    said = Interrupted(kind=command.kind, n=command.n, cause="interrupt", reason="stopped")
    return Event(command.node, said)


def tag(visit: Visit, number: int) -> ReportData:
    """A report that ends with a status tag."""
    name = "judge" if visit.monitor >= 0 else visit.step
    return success(f"{visit.path} says [{name.upper()}:{number}]")


def by_step(table: Mapping[str, Sequence[Any]]) -> Answering:
    """Answers by step: numbers are tags, everything else is the report; the last one is given from then on."""

    def answer(visit: Visit, command: Command) -> Any:
        answers = table[visit.step]
        chosen = answers[min(visit.n, len(answers)) - 1]
        return tag(visit, chosen) if isinstance(chosen, int) and not isinstance(chosen, bool) else chosen

    return answer


@dataclass
class Walk:
    """A walk through a workflow.

    Attributes:
        events: All events, as they were committed.
        started: Visits and kinds of all effects that were started, in order.
    """

    workflow: Workflow
    answer: Answering
    max_steps: int | None = 10
    interactive: bool = False
    concurrency: int = 8
    machine: Machine = field(default_factory=Machine)
    events: list[Event] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    open: list[Command] = field(default_factory=list)
    most_open: int = 0

    def begin(self) -> "Walk":
        first = started(self.workflow, max_steps=self.max_steps, interactive=self.interactive)
        return self.take(Event("", first))

    def take(self, *events: Event, stopping: bool = False) -> "Walk":
        strategy = load_strategy("single").model_copy(update={"concurrency": self.concurrency})
        done = take(MachineProgram(self.workflow, strategy), self.machine, events, stopping=stopping)
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
        visit, kind, n = self.machine.nodes[command.node], command.kind, command.n
        if kind == "file":
            return Event(command.node, Answer(kind=kind, n=n, answer=FileAnswer({})))
        answer = self.answer(visit, command)
        if isinstance(answer, Exception):
            return Event(command.node, Lost(kind=kind, n=n, lost="outage", reason=str(answer)))
        if kind == "rule":
            return Event(command.node, Answer(kind=kind, n=n, answer=answer))
        return Event(command.node, Reported(kind=kind, n=n, report=answer, usage=Usage(calls=1)))

    def replayed(self) -> Machine:
        """The state that the committed events make by themselves."""
        return folded(reread(self.events))

    @property
    def status(self) -> str:
        return self.machine.status

    @property
    def steps(self) -> list[str]:
        """Visits in the order they were made, without the root."""
        return [path for path in self.machine.nodes if path]


def workflow_of(text: str, directory: Path = Path("/nowhere")) -> Workflow:
    """A workflow of one file, from its text."""
    definition = parse_definition(text, source="w.yaml", directory=directory)
    return Workflow(directory / "w.yaml", "w.yaml", {"w.yaml": definition}, {})


def workflow_in(directory: Path, **files: str) -> Workflow:
    """A workflow of several files; the first is run."""
    paths = [directory / f"{name}.yaml" for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return Workflow.load(paths[0])


def walk(text: str, answer: Answering | Mapping[str, Sequence[Any]], **options: Any) -> Walk:
    """Walk through a workflow from its text."""
    chosen = answer if callable(answer) else by_step(answer)
    return Walk(workflow_of(text), chosen, **options).run()


def findings(text: str) -> list[Finding]:
    """All findings about a text, also when it cannot be read."""
    try:
        return check(parse_definition(text, source="w.yaml", directory=Path("/nowhere")))
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
    return Walk(workflow_in(directory, caller=CALLER, child=CHILD), by_step(table), **options).run()

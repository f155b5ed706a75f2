"""The state of a workflow run: visits of steps, what they came to, and how they are found."""

import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct, structs

from sol.engine.program import Reaction
from sol.tree import events as e
from sol.tree.effects import FileAnswer, Kind
from sol.tree.events import Event, Payload
from sol.tree.fold import apply_common
from sol.tree.node import Node, RunState, State
from sol.tree.values import ReportData
from sol.workflow.definition import Definition, Facet, Step, StepRule
from sol.workflow.events import (
    CallEnded,
    StepCreated,
    StepDecided,
    StepSettled,
    WorkflowResumed,
    WorkflowStarted,
)
from sol.workflow.linked import Workflow

ROOT = ""


class Visit(Node, kw_only=True, gc=False):
    """One time that a step, sub-step or monitor's judge is done.

    Its parent is the visit of the parallel step, that of the step which called its workflow, or the root.

    Attributes:
        step: Its name; "" for the root.
        task: Of the root: what the workflow is run on.
        frame: Path of the frame it belongs to.
        inner: It is a sub-step of the visit above.
        n: Which visit of this step in its frame, from 1.
        iteration: Steps of the whole run up to here.
        content: Hash of what the step asked for.
        stale: A result was there, but for another content.
        monitor: Index of the monitor whose judge this is; -1 for steps.
        proposed: Where a judge's step goes on when it decides nothing.
        text: What its worker answered; for parallel steps, what its sub-steps answered.
        verdict: Condition of the rule that held; None while none has.
        next: What that rule leads to.
        returns: What the called workflow answers to its caller by that rule; "" for none.
        outcome: How the workflow that it called has ended; "" before.
        reminded: The worker was told once that its answer chose no rule.
    """

    step: str = ""
    task: str = ""
    frame: str = ROOT
    inner: bool = False
    n: int = 1
    iteration: int = 0
    content: str = ""
    stale: bool = False
    monitor: int = -1
    proposed: str = ""
    text: str = ""
    verdict: str | None = None
    next: str = ""
    returns: str = ""
    outcome: str = ""
    reminded: bool = False

    @property
    def title(self) -> str:
        """The step's name; of the root, the task."""
        return self.step or self.task


class Frame(Struct, gc=False):
    """A workflow at work: the one that is run, or one that a step called.

    Attributes:
        path: Path of the visit that called it; "" for the one that is run.
        key: Key of its definition.
        counts: How often each step was entered.
        previous: Answer of the step before; "" before the first.
        current: Path of the newest visit.
        history: Steps entered since the last monitor fired, oldest first.
        errors: How many visits of a step in a row went on although sub-steps failed.
        pending: Step that could not be entered because of the step limit; "" while there is none.
    """

    path: str
    key: str
    counts: dict[str, int] = msgspec.field(default_factory=dict)
    previous: str = ""
    current: str = ""
    history: list[str] = msgspec.field(default_factory=list)
    errors: dict[str, int] = msgspec.field(default_factory=dict)
    pending: str = ""


class Memo(Struct, frozen=True, gc=False):
    """What an earlier walk through a changed definition left: a worker's report, good while the content is the same."""

    content: str
    report: ReportData | None
    counts: dict[str, int]


class Machine(RunState[Visit], kw_only=True, gc=False):
    """A run's whole state.

    Attributes:
        frames: By path of the calling visit.
        iteration: Steps entered so far, over all frames.
        inputs: What people answered, oldest first.
        files: SHA-256 of each report file as it was left, by name.
        memo: Results of an earlier walk, by path.
    """

    frames: dict[str, Frame] = msgspec.field(default_factory=dict)
    iteration: int = 0
    inputs: list[str] = msgspec.field(default_factory=list)
    files: dict[str, str] = msgspec.field(default_factory=dict)
    memo: dict[str, Memo] = msgspec.field(default_factory=dict)

    @property
    def config(self) -> WorkflowStarted:
        """What the run was started with, and what a resume has changed of it."""
        started = self.started
        if started is None:
            raise LookupError("the run has not been started")
        if not isinstance(started, WorkflowStarted):
            raise TypeError(f"a workflow was started with {type(started).__name__}")
        return started

    def within(self, visit: Visit) -> list[Visit]:
        """The sub-steps of a parallel step's visit, in the order of the definition."""
        return [child for path in visit.children if (child := self.nodes[path]).inner]


def apply(machine: Machine, event: Event) -> None:
    """Write one event into the state."""
    apply_common(machine, event)
    own = _OWN.get(type(event.data))
    if own is not None:
        own(machine, event.node, event.data)


def _begin(machine: Machine, _path: str, data: WorkflowStarted) -> None:
    """Put the root in place, as at the start of a run."""
    machine.nodes[ROOT] = Visit(path=ROOT, task=data.task, worker=data.worker, state=State.SPLIT)
    machine.frames = {ROOT: Frame(ROOT, data.program)}
    machine.iteration = 0


def _started(machine: Machine, path: str, data: e.Started) -> None:
    if data.cause.what == "tag":
        machine.nodes[path].reminded = True


def _reported(machine: Machine, path: str, data: e.Reported) -> None:
    machine.nodes[path].text = text_of(data.report)


def _answer(machine: Machine, _path: str, data: e.Answer) -> None:
    if isinstance(data.answer, FileAnswer):
        machine.files.update(data.answer.files)


def _answered(machine: Machine, _path: str, data: e.Answered) -> None:
    machine.inputs.append(data.text)


def _call_ended(machine: Machine, path: str, data: CallEnded) -> None:
    visit = machine.nodes[path]
    visit.outcome, visit.text = data.ended, data.text


def _created(machine: Machine, path: str, data: StepCreated) -> None:
    above = machine.nodes[data.parent]
    visit = Visit(
        path=path,
        parent=above.path,
        depth=above.depth + 1,
        worker=data.worker or machine.config.worker,
        step=data.step,
        frame=data.frame,
        inner=data.inner,
        n=data.n,
        iteration=data.iteration,
        content=data.content,
        stale=data.stale,
        monitor=data.monitor,
        proposed=data.proposed,
    )
    memo = machine.memo.get(path)
    if memo is not None:
        visit.counts = dict(memo.counts)
    if data.reused and memo is not None and memo.report is not None:
        visit.report, visit.result, visit.text = memo.report, memo.report.result, text_of(memo.report)
        visit.state = State.RUNNING
    machine.nodes[path] = visit
    above.children = (*above.children, path)
    if not visit.inner:
        _entered(machine, visit)
    if data.parallel or data.calls:
        visit.state = State.SPLIT
    if data.calls:
        machine.frames[path] = Frame(path, data.calls)


def _entered(machine: Machine, visit: Visit) -> None:
    frame = machine.frames[visit.frame]
    frame.current, frame.pending = visit.path, ""
    frame.counts[visit.step] = visit.n
    machine.iteration = visit.iteration
    if visit.monitor >= 0:
        frame.history = []
    else:
        frame.history.append(visit.step)


def _decided(machine: Machine, path: str, data: StepDecided) -> None:
    if data.wait:
        return
    visit = machine.nodes[path]
    visit.verdict, visit.next, visit.returns = data.verdict, data.next or "", data.returns
    if data.text:
        visit.text = data.text


def _settled(machine: Machine, path: str, data: e.Settled) -> None:
    visit = machine.nodes[path]
    own = data if isinstance(data, StepSettled) else None
    if own is not None and own.pending:
        machine.frames[path].pending = own.pending
    if path == ROOT:
        visit.result = None if own is None else own.result
        return
    if visit.inner:
        return
    frame = machine.frames[visit.frame]
    if visit.state == State.SUCCESS and visit.monitor < 0:
        frame.previous = visit.text
        failed = any(child.state != State.SUCCESS for child in machine.within(visit))
        frame.errors[visit.step] = frame.errors.get(visit.step, 0) + 1 if failed else 0


def _resumed(machine: Machine, _path: str, data: WorkflowResumed) -> None:
    """A resume; with `replay`, everything is walked through again and only results are kept. Source: RES-03."""
    fields = type(data.config).__struct_fields__
    changes = {name: value for name in fields if (value := getattr(data.config, name)) is not None}
    if changes:
        machine.started = structs.replace(machine.config, **changes)
    if not data.replay:
        return
    for visit in machine.nodes.values():
        done = visit.report if visit.report is not None and visit.report.status == "SUCCESS" else None
        if visit.path:
            machine.memo[visit.path] = Memo(visit.content, done, visit.counts)
    machine.nodes, machine.queue = {}, deque()
    _begin(machine, ROOT, machine.config)


_OWN: Mapping[type[Payload], Callable[..., None]] = {
    WorkflowStarted: _begin,
    WorkflowResumed: _resumed,
    StepCreated: _created,
    CallEnded: _call_ended,
    StepDecided: _decided,
    StepSettled: _settled,
    e.Settled: _settled,
    e.Started: _started,
    e.Reported: _reported,
    e.Answer: _answer,
    e.Answered: _answered,
}
"""What workflows write of an event beside what means the same in every program."""


def text_of(report: ReportData) -> str:
    """The text that a report answers with: its result, or the `text` of a structured one; else its summary."""
    result = report.result
    if isinstance(result, Mapping) and isinstance(text := result.get("text"), str):
        return text
    if isinstance(result, str):
        return result
    if result is None:
        return report.summary or report.blocker or report.reason
    return json.dumps(result, ensure_ascii=False)


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

"""A machine workflow's run as plain data: the fold of its events. Decides nothing, so replay equals the live run.

It is a `Tree` whose nodes are visits of steps, so whatever looks at trees can look at it.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sol.tree import fold as tree_fold
from sol.tree.events import Event, EventType
from sol.tree.node import Node, State, Tree

FILE = "file"
SOLVE = "solve"
ATTEMPT = "attempt"
"""Kinds of effects that only workflows have, beside `attempt` and `rule`."""

ROOT = ""


@dataclass(slots=True)
class Visit(Node):
    """One time that a step, sub-step or monitor's judge is done.

    Attributes:
        step: Its name.
        up: Path of the visit above: of the parallel step, of the step that called this workflow, or the root.
        frame: Path of the frame it belongs to.
        inner: It is a sub-step of the visit `up`.
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
        asks: That rule asks a person and then runs the step again.
        outcome: How the workflow that it called has ended; "" before.
        reminded: The worker was told once that its answer chose no rule.
    """

    step: str = ""
    up: str = ROOT
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
    asks: bool = False
    outcome: str = ""
    reminded: bool = False

    @property
    def parent(self) -> str:
        """Path of the visit above."""
        return self.up

    @property
    def depth(self) -> int:
        """Root is 0."""
        return self.path.count("/") + 1 if self.path else 0


@dataclass(slots=True)
class Frame:
    """A workflow at work: the one that is run, or one that a step called.

    Attributes:
        path: Path of the visit that called it; "" for the one that is run.
        key: Key of the workflow in the program.
        counts: How often each step was entered.
        previous: Answer of the step before; "" before the first.
        current: Path of the newest visit.
        history: Steps entered since the last monitor fired, oldest first.
        errors: How many visits of a step in a row went on although sub-steps failed.
        pending: Step that could not be entered because of the step limit; "" while there is none.
    """

    path: str
    key: str
    counts: dict[str, int] = field(default_factory=dict)
    previous: str = ""
    current: str = ""
    history: list[str] = field(default_factory=list)
    errors: dict[str, int] = field(default_factory=dict)
    pending: str = ""


@dataclass(frozen=True, slots=True)
class Memo:
    """What an earlier walk through a changed definition left: a worker's report, good while the content is the same."""

    content: str
    report: dict[str, Any] | None
    counts: dict[str, int]


@dataclass(slots=True)
class Machine(Tree):
    """A run's whole state.

    Attributes:
        frames: By path of the calling visit.
        iteration: Steps entered so far, over all frames.
        inputs: What people answered, oldest first.
        files: SHA-256 of each report file as it was left, by name.
        memo: Results of an earlier walk, by path.
    """

    frames: dict[str, Frame] = field(default_factory=dict)
    iteration: int = 0
    inputs: list[str] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    memo: dict[str, Memo] = field(default_factory=dict)

    def visit(self, path: str) -> Visit:
        """The visit of this path."""
        node = self.nodes[path]
        if not isinstance(node, Visit):
            raise TypeError(f"node {path!r} is no visit of a step")
        return node

    @property
    def visits(self) -> list[Visit]:
        """All visits, the root's among them, in the order of their creation."""
        return [self.visit(path) for path in self.nodes]

    def within(self, visit: Visit) -> list[Visit]:
        """The sub-steps of a parallel step's visit, in the order of the definition."""
        return [child for path in visit.children if (child := self.visit(path)).inner]


def fold_events(events: Iterable[Event], machine: Machine | None = None) -> Machine:
    """The state that these events make."""
    machine = Machine() if machine is None else machine
    for event in events:
        apply(machine, event)
    return machine


def apply(machine: Machine, event: Event) -> None:
    """Write one event into the state."""
    if event.type in _INSTEAD:
        _INSTEAD[event.type](machine, event)
        return
    tree_fold.apply(machine, event)
    if event.type in _ALSO:
        _ALSO[event.type](machine, event)


def _run_started(machine: Machine, _event: Event) -> None:
    _begin(machine)


def _started(machine: Machine, event: Event) -> None:
    key = (event.node, event.data["kind"], event.data["n"])
    machine.queue = deque(command for command in machine.queue if command.key != key)  # it may have passed others
    if (event.data.get("because") or {}).get("what") == "tag":
        machine.visit(event.node).reminded = True


def _reported(machine: Machine, event: Event) -> None:
    machine.visit(event.node).text = text_of(event.data["report"])


def _answer(machine: Machine, event: Event) -> None:
    if event.data["kind"] == FILE:
        machine.files.update(event.data["answer"]["files"])


def _answered(machine: Machine, event: Event) -> None:
    machine.inputs.append(event.data["text"])


def _analysed(machine: Machine, event: Event) -> None:
    visit = machine.visit(event.node)
    visit.outcome, visit.text = event.data["ended"], event.data["text"]


def _begin(machine: Machine) -> None:
    """Put the root in place, as at the start of a run."""
    config = machine.config
    machine.nodes[ROOT] = Visit(ROOT, {"goal": config["task"]}, config["worker"], state=State.SPLIT)
    machine.frames = {ROOT: Frame(ROOT, config["program"])}
    machine.iteration = 0


def _created(machine: Machine, event: Event) -> None:
    data = event.data
    visit = Visit(
        path=event.node,
        assignment={"goal": data["step"]},
        worker=data.get("worker") or machine.config["worker"],
        step=data["step"],
        up=data["up"],
        frame=data["frame"],
        inner=data.get("inner", False),
        n=data["n"],
        iteration=data["iteration"],
        content=data.get("content", ""),
        stale=data.get("stale", False),
        monitor=data.get("monitor", -1),
        proposed=data.get("proposed", ""),
    )
    memo = machine.memo.get(event.node)
    if memo is not None:
        visit.counts = dict(memo.counts)
    if data.get("reused") and memo is not None and memo.report is not None:
        visit.report, visit.result, visit.text = memo.report, memo.report.get("result"), text_of(memo.report)
        visit.state = State.RUNNING
    machine.nodes[event.node] = visit
    above = machine.nodes[visit.up]
    above.children = (*above.children, event.node)
    if not visit.inner:
        _entered(machine, visit)
    if data.get("parallel"):
        visit.state = State.SPLIT
    if data.get("calls"):
        visit.state = State.SPLIT
        machine.frames[event.node] = Frame(event.node, data["calls"])


def _entered(machine: Machine, visit: Visit) -> None:
    frame = machine.frames[visit.frame]
    frame.current, frame.pending = visit.path, ""
    frame.counts[visit.step] = visit.n
    machine.iteration = visit.iteration
    if visit.monitor >= 0:
        frame.history = []
    else:
        frame.history.append(visit.step)


def _decided(machine: Machine, event: Event) -> None:
    data = event.data
    if data.get("wait"):
        return
    visit = machine.visit(event.node)
    visit.verdict = data.get("verdict")
    visit.next = data.get("next") or ""
    visit.returns = data.get("returns", "")
    visit.asks = data.get("asks", False)
    if data.get("text"):
        visit.text = data["text"]


def _settled(machine: Machine, event: Event) -> None:
    visit = machine.visit(event.node)
    if event.data.get("pending"):
        machine.frames[visit.path].pending = event.data["pending"]
    if visit.path == ROOT:
        visit.result = event.data.get("result")
        return
    if visit.inner:
        return
    frame = machine.frames[visit.frame]
    if visit.state == State.SUCCESS and visit.monitor < 0:
        frame.previous = visit.text
        failed = any(child.state != State.SUCCESS for child in machine.within(visit))
        frame.errors[visit.step] = frame.errors.get(visit.step, 0) + 1 if failed else 0


def _resumed(machine: Machine, event: Event) -> None:
    """A resume; with `replay`, everything is walked through again and only results are kept. Source: RES-03."""
    data = event.data
    machine.status = "running"
    machine.over = ""
    machine.config |= data.get("config") or {}
    if not data.get("replay"):
        return
    for visit in machine.visits:
        done = visit.report if visit.report is not None and visit.report.get("status") == "SUCCESS" else None
        if visit.path:
            machine.memo[visit.path] = Memo(visit.content, done, visit.counts)
    machine.nodes, machine.queue = {}, deque()
    _begin(machine)


_INSTEAD: Mapping[EventType, Callable[[Machine, Event], None]] = {
    EventType.CREATED: _created,
    EventType.RESUMED: _resumed,
    EventType.ANALYSED: _analysed,
}
"""Events that workflows take otherwise than the task tree."""

_ALSO: Mapping[EventType, Callable[[Machine, Event], None]] = {
    EventType.RUN_STARTED: _run_started,
    EventType.STARTED: _started,
    EventType.REPORTED: _reported,
    EventType.ANSWER: _answer,
    EventType.ANSWERED: _answered,
    EventType.DECIDED: _decided,
    EventType.SETTLED: _settled,
}
"""Events that mean the same as in the task tree, and more."""


def text_of(report: dict[str, Any]) -> str:
    """The text that a report answers with: its result, or the `text` of a structured one; else its summary."""
    result = report.get("result")
    if isinstance(result, dict) and isinstance(result.get("text"), str):
        return str(result["text"])
    if isinstance(result, str):
        return result
    if result is None:
        return str(report.get("summary") or report.get("blocker") or report.get("reason") or "")
    return json.dumps(result, ensure_ascii=False)

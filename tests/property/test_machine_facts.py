"""Machine workflows under everything that can happen to them, several facts in one step; what must hold holds."""

import pickle
import re
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sol.engine.step import given_up, take, unwanted
from sol.strategy.catalog import load_strategy
from sol.strategy.schema import Budget, Strategy
from sol.tree import events as e
from sol.tree.effects import FileAnswer, Judged
from sol.tree.events import Command, Event
from sol.tree.node import TERMINAL, State
from sol.tree.values import ProgressData, Usage
from sol.workflow.events import CallEnded, ConfigChanges, StepCreated, WorkflowResumed
from sol.workflow.linked import Workflow
from sol.workflow.load import parse_definition
from sol.workflow.machine import MachineProgram
from sol.workflow.state import ROOT, Machine, apply
from tests.unit.workflow.walk import failed, folded, interrupted, reread, started, stuck, success, tag

TARGETS = st.sampled_from(["a", "b", "both", "sub", "COMPLETE", "ABORT"])
Key = tuple[str, str, int]

CALLED = """
name: called
subworkflow: {callable: true, returns: [no]}
steps:
  - {name: first, instruction: do it, rules: [{condition: one, next: second}, {condition: two, return: no}]}
  - {name: second, instruction: do it, rules: [{condition: one, next: COMPLETE}, {condition: two, next: first}]}
"""


WORKFLOW = """
name: w
initial_step: FIRST
steps:
  - name: a
    instruction: do it
    report: a.md
    rules:
      - {condition: x, next: TARGET}
      - {condition: y, next: TARGET, requires_user_input: true}
      - {condition: 'ai("q")', next: TARGET}
  - {name: b, instruction: do it, solve: SOLVE, rules: [{condition: x, next: TARGET}, {condition: y, next: TARGET}]}
  - {name: sub, call: c, rules: [{condition: COMPLETE, next: TARGET}, {condition: 'no', next: TARGET}]}
  - name: both
    concurrency: LIMIT
    parallel:
      - {name: p, instruction: do it, rules: [{condition: 'yes'}, {condition: 'no'}]}
      - {name: q, instruction: do it, report: q.md, rules: [{condition: 'yes'}, {condition: 'no'}]}
      - {name: r, instruction: do it, solve: true, rules: [{condition: 'yes'}, {condition: 'no'}]}
      - {name: s, call: c}
    rules:
      - {condition: 'at_least(2, "yes")', next: TARGET}
"""
MORE = (
    """      - {condition: 'any("error")', next: TARGET}
""",
    """      - {condition: 'ai("q")', next: TARGET}
""",
    """loop_monitors:
  - cycle: [a, b]
    threshold: 1
    judge: {instruction: worth it at all, rules: [{condition: r, next: TARGET}]}
""",
)


@st.composite
def workflows(draw: st.DrawFn) -> Workflow:
    """Plain, solving, calling and parallel steps, report files, ai() rules, a monitor; rules lead anywhere."""
    chosen = [part for part in MORE if draw(st.booleans())]
    text = WORKFLOW + "".join(chosen if chosen[:-1] else MORE)
    text = re.sub("TARGET", lambda _: draw(TARGETS), text)
    text = text.replace("FIRST", draw(st.sampled_from(["a", "b", "sub", "both", "both"])))
    text = text.replace("SOLVE", draw(st.sampled_from(["true", "false"])))
    text = text.replace("LIMIT", str(draw(st.integers(1, 4))))
    texts = {"w.yaml": text, "c.yaml": CALLED}
    read = {name: parse_definition(text, source=name, directory=Path("/nowhere")) for name, text in texts.items()}
    return Workflow(Path("/nowhere/w.yaml"), "w.yaml", read, {("w.yaml", "c"): "c.yaml"})


class Facts(RuleBasedStateMachine):
    """One run. `running` is what a dispatcher would have in work; `shadow` is the state that a journal would give."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = Machine()
        self.shadow = Machine()
        self.events: list[Event] = []
        self.running: dict[Key, Command] = {}
        self.live = False
        self.started: set[Key] = set()
        self.ended: set[Key] = set()

    @initialize(
        workflow=workflows(),
        concurrency=st.integers(1, 5),
        calls=st.one_of(st.none(), st.integers(1, 12)),
        steps=st.integers(1, 12),
    )
    def begin(self, workflow: Workflow, concurrency: int, calls: int | None, steps: int) -> None:
        limits = {"concurrency": concurrency, "budget": Budget(calls=calls)}
        self.workflow = workflow
        self.goes_by(load_strategy("single").model_copy(update=limits))
        self.live = True
        self.send(Event(ROOT, started(workflow, max_steps=steps, interactive=True)))

    def goes_by(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.program = MachineProgram(self.workflow, strategy)

    # --- one step and what must hold of it ---

    def send(self, *facts: Event, stopping: bool = False) -> None:
        other: Machine = pickle.loads(pickle.dumps(self.machine))
        done = take(self.program, self.machine, facts, stopping=stopping, now=1.0)
        assert take(self.program, other, facts, stopping=stopping, now=1.0) == done
        self.events += done.events
        for event in reread(done.events):
            self.one_event(event)
        assert self.shadow == self.machine, "replay gives another state"
        for command in done.commands:
            assert command.key not in self.running, "handed out twice"
            self.running[command.key] = command
        self.running = {key: command for key, command in self.running.items() if key in self.machine.inflight}

    def one_event(self, event: Event) -> None:
        """What must hold of a single event, seen from the state before it."""
        machine = self.shadow
        before = {path: (node.state, node.paused) for path, node in machine.nodes.items()}
        match event.data:
            case e.Started() as data:
                self.check_start(event.node, data)
            case StepCreated():
                assert event.node not in machine.nodes, "the same visit twice"
            case e.Outcome() | e.Late() as data:
                key = (event.node, data.kind, data.n)
                assert key in self.started, "an outcome without its effect"
                assert key not in self.ended, "a second outcome"
                self.ended.add(key)
                late = key in machine.abandoned
                assert late == isinstance(data, e.Late), "late is what was abandoned, also after a retry"
                assert late or not machine.nodes[event.node].ended
            case e.Decided() | e.Asked() | CallEnded():
                assert not machine.nodes[event.node].ended
            case _:
                pass
        apply(machine, event)
        for path, (state, paused) in before.items():
            now = machine.nodes[path].state if path in machine.nodes else state
            if state in TERMINAL and now != state and not isinstance(event.data, e.Resumed):
                assert path == event.node
                assert isinstance(event.data, e.Reopened) or (paused and isinstance(event.data, e.Settled))
            elif isinstance(event.data, e.Settled) and path == event.node:
                assert state not in TERMINAL or paused, "ended twice"

    def check_start(self, path: str, data: e.Started) -> None:
        machine, key = self.shadow, (path, data.kind, data.n)
        assert key not in self.started, "started twice"
        self.started.add(key)
        visit = machine.nodes[path]
        alive = [command for k, command in machine.inflight.items() if k not in machine.abandoned]
        assert all(command.node != path for command in alive), "two effects of one visit at once"
        while True:
            assert not visit.ended, "started below or on a visit that has ended"
            if not visit.path:
                break
            visit = machine.nodes[visit.parent]
        calls = self.strategy.budget.calls
        if calls is not None and data.reserve is not None:
            assert machine.spent.calls + machine.reserved.calls < calls

    @invariant()
    def holds(self) -> None:
        machine = self.machine
        if not machine.nodes:
            return
        assert machine.iteration <= machine.config.max_steps
        assert len(machine.inflight) <= self.strategy.concurrency
        assert machine.reserved.calls == sum(one.reserve.calls for one in machine.inflight.values() if one.reserve)
        alive = [command for key, command in machine.inflight.items() if key not in machine.abandoned]
        for frame in machine.frames.values():
            steps = [one for one in machine.nodes.values() if one.path and one.frame == frame.path and not one.inner]
            open_ = [one for one in steps if not one.ended or one.paused]
            assert [one.path for one in open_] in ([], [frame.current]), "two steps of one workflow at once"
        for visit in machine.nodes.values():
            children = machine.within(visit)
            if not children:
                continue
            working = [one for one in children if any(f"{c.node}/".startswith(f"{one.path}/") for c in alive)]
            limit = self.workflow.definition.step("both").concurrency  # type: ignore[union-attr]
            assert len(working) <= limit
        if alive or (machine.queue and self.live):
            return
        if machine.root.ended and not machine.root.paused:
            assert machine.status == str(machine.root.state)
            assert all(visit.ended and (not visit.paused or machine.root.resumable) for visit in machine.nodes.values())
            assert not machine.queue
        elif self.live:
            assert machine.status == "waiting", f"stalled: {[(v.path, str(v.state)) for v in machine.nodes.values()]}"
            assert any(visit.state == State.WAITING for visit in machine.nodes.values())

    # --- outcomes ---

    def outcome(self, command: Command, draw: Any) -> Event:
        path, kind, n, usage = command.node, command.kind, command.n, Usage(calls=1 if command.reserve else 0)
        kinds = [0, 1, 1, 2, 2, 3, 4, 5, 6] if command.kind in {"attempt", "solve"} else [1, 1, 2, 4]
        number = draw(st.sampled_from(kinds))
        if number == 4:
            return Event(path, e.Lost(kind=kind, n=n, usage=usage, lost="outage", reason="x"))
        if command.kind == "file":
            return Event(path, e.Answer(kind=kind, n=n, usage=usage, answer=FileAnswer({"f": "0"})))
        if command.kind == "rule":
            return Event(path, e.Answer(kind=kind, n=n, usage=usage, answer=Judged(number == 1, "seen")))
        visit = self.machine.nodes[path]
        reports = [failed(), tag(visit, 1), tag(visit, 2), success("?"), None, stuck(), stuck("?", "which?")]
        report = reports[number]
        assert report is not None
        return Event(path, e.Reported(kind=kind, n=n, usage=usage, report=report))

    @property
    def resumable(self) -> bool:
        return not self.machine.root.ended or self.machine.root.resumable

    def picked(self, draw: Any) -> Command:
        return self.running[draw(st.sampled_from(sorted(self.running)))]

    @precondition(lambda self: self.running and self.live)
    @rule(data=st.data(), count=st.integers(1, 3))
    def outcomes_arrive(self, data: st.DataObject, count: int) -> None:
        chosen = data.draw(st.permutations(sorted(self.running)))[:count]
        self.send(*(self.outcome(self.running[key], data.draw) for key in chosen))

    @precondition(lambda self: self.running and self.live)
    @rule(data=st.data())
    def the_oldest_outcome_arrives(self, data: st.DataObject) -> None:
        self.send(self.outcome(next(iter(self.running.values())), data.draw))

    @precondition(lambda self: self.running and self.live)
    @rule(data=st.data(), calls=st.integers(0, 9))
    def something_is_told_on_the_way(self, data: st.DataObject, calls: int) -> None:
        """As a run inside the run does; it may go beyond the budget."""
        solving = [command for command in self.running.values() if command.kind == "solve"]
        if solving:
            usage = Usage(calls=calls)
            said = e.Progressed("solve", solving[0].n, ProgressData("spent", usage=usage), usage)
            told = Event(solving[0].node, said)
            self.send(*data.draw(st.permutations([told, self.outcome(self.picked(data.draw), data.draw)])))

    @precondition(lambda self: self.ended and self.live)
    @rule(data=st.data())
    def an_outcome_comes_twice(self, data: st.DataObject) -> None:
        path, kind, n = data.draw(st.sampled_from(sorted(self.ended)))
        before = len(self.events)
        self.send(Event(path, e.Lost(kind=kind, n=n, lost="outage", reason="again")))
        assert len(self.events) == before

    @precondition(lambda self: self.live)
    @rule()
    def a_cancelled_worker_stops(self) -> None:
        for command in unwanted(self.machine)[:1]:
            said = e.Lost(kind=command.kind, n=command.n, lost="cancelled", reason="stopped")
            self.send(Event(command.node, said))

    # --- requests and limits ---

    def request(self, fact: Event, together: bool, draw: Any) -> None:
        """A request alone, or in one step with an outcome that comes before or after it."""
        facts = [fact]
        if together and self.running:
            facts = draw(st.permutations([fact, self.outcome(self.picked(draw), draw)]))
        self.send(*facts)

    @precondition(lambda self: self.machine.nodes and self.live and len(self.events) > 20)
    @rule(data=st.data(), together=st.booleans(), sure=st.integers(0, 2))
    def the_run_is_cancelled(self, data: st.DataObject, together: bool, sure: int) -> None:
        if sure == 0:
            path = data.draw(st.sampled_from([*self.machine.nodes, "z"]))
            self.request(Event(path, e.CancelRequested(by="ann")), together, data.draw)

    @precondition(lambda self: self.machine.nodes and self.live)
    @rule(data=st.data(), together=st.booleans(), note=st.sampled_from(["", "the lamp works now"]))
    def a_step_is_retried(self, data: st.DataObject, together: bool, note: str) -> None:
        able = [visit.path for visit in self.machine.nodes.values() if self.program.may_retry(self.machine, visit.path)]
        path = data.draw(st.sampled_from([*able, *self.machine.nodes]))
        self.request(Event(path, e.RetryRequested(note)), together, data.draw)

    @precondition(lambda self: self.live)
    @rule(data=st.data(), together=st.booleans())
    def a_question_is_answered(self, data: st.DataObject, together: bool) -> None:
        asked = [visit.path for visit in self.machine.nodes.values() if visit.state == State.WAITING]
        if asked:
            path = data.draw(st.sampled_from(asked))
            self.request(Event(path, e.Answered("yes", by="ann")), together, data.draw)

    @precondition(lambda self: self.machine.nodes and self.live and len(self.events) > 20)
    @rule(data=st.data(), together=st.booleans(), sure=st.integers(0, 2))
    def the_time_is_over(self, data: st.DataObject, together: bool, sure: int) -> None:
        if sure == 0:
            self.request(Event(ROOT, e.BudgetHit("seconds", 9.0)), together, data.draw)

    # --- sessions ---

    @precondition(lambda self: self.machine.nodes and self.live)
    @rule(data=st.data(), sure=st.integers(0, 2))
    def the_run_is_interrupted(self, data: st.DataObject, sure: int) -> None:
        """All effects are stopped; some had their outcome already."""
        if sure:
            return
        facts = [
            self.outcome(command, data.draw) if data.draw(st.booleans()) else interrupted(command)
            for command in self.running.values()
        ]
        self.live = False
        self.send(*facts, stopping=True)
        assert not self.machine.inflight
        assert self.machine.status != "running"

    @precondition(lambda self: self.machine.nodes and self.live)
    @rule(sure=st.integers(0, 2))
    def the_process_is_killed(self, sure: int) -> None:
        if sure == 0:
            self.machine = folded(reread(self.events))
            assert self.machine == self.shadow
            self.live = False

    @precondition(lambda self: self.machine.nodes and not self.live and self.resumable)
    @rule(replay=st.integers(0, 3), more=st.integers(0, 3), calls=st.integers(0, 3))
    def the_run_is_resumed(self, replay: int, more: int, calls: int) -> None:
        """As it is, or walked through again after a change; perhaps with higher limits."""
        limits = ConfigChanges(max_steps=self.machine.config.max_steps + more)
        budget = self.strategy.budget
        if budget.calls is not None:
            wider = Budget(calls=budget.calls + calls)
            self.goes_by(self.strategy.model_copy(update={"budget": wider}))
        self.live = True
        # What was in work has no outcome and is submitted again.
        self.running = dict(self.machine.inflight)
        gone = set(self.machine.abandoned)
        self.send(Event(ROOT, WorkflowResumed(config=limits, replay=replay == 0)))
        assert not gone & set(self.machine.inflight), "waits for what nobody runs any more"

    @precondition(lambda self: self.machine.nodes and self.machine.root.ended and self.live)
    @rule()
    def the_process_ends(self) -> None:
        self.live = False

    @precondition(lambda self: self.machine.nodes and not self.live)
    @rule(data=st.data())
    def a_request_is_recorded_meanwhile(self, data: st.DataObject) -> None:
        """As `sol cancel` and its like do when nobody works on the run."""
        path = data.draw(st.sampled_from(sorted(self.machine.nodes)))
        asked = data.draw(st.sampled_from([e.RetryRequested(), e.Answered("yes"), e.CancelRequested("enough")]))
        self.running = {}
        self.send(Event(path, asked), stopping=True)
        self.send(*given_up(self.machine), stopping=True)

    @rule()
    def idle(self) -> None:
        """Nothing happens; there is always this to do."""


Facts.TestCase.settings = settings(deadline=None, max_examples=80, stateful_step_count=40)
TestFacts = Facts.TestCase

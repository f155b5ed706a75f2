"""The pure core under everything that can happen to it, in any order; what must hold holds after every step."""

import json
import os
import pickle
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import structs

from sol.core.decide import TreeProgram
from sol.core.report import active_children
from sol.engine.step import Transition, given_up, take, unwanted
from sol.strategy.schema import Strategy
from sol.tree.effects import Kind
from sol.tree.events import Command, Created, Event, EventType, Late, Outcome, RunStatus, Split, Started
from sol.tree.fold import apply_task, fold
from sol.tree.node import TERMINAL, State, Tree
from tests.support.core import assignment_of, fact, reread, stored
from tests.support.world import World, strategies

WORDS = {str(state) for state in TERMINAL}
Key = tuple[str, str, int]


def check_parents(tree: Tree) -> None:
    """What each node says of its parent agrees with what the parent says of its children."""
    assert [node.path for node in tree.nodes.values() if not node.depth] == [""]
    for node in tree.nodes.values():
        above = tree.above(node)
        assert (above is None) is (node.path == "")
        assert [one.path for one in tree.lineage(node)] == [node.path[:end] for end in reversed(range(len(node.path)))]
        if above is not None:
            assert above.path == node.parent
            assert node.depth == above.depth + 1
            assert above.children.count(node.path) == 1
        assert all(tree.nodes[path].parent == node.path for path in node.children)
        assert set(node.current_children) <= set(node.children)


def without_parents(transitions: list[Transition]) -> list[Event]:
    """The events as a journal has them that does not say whose part a part is."""
    events = reread(transitions)
    return [
        Event(one.node, structs.replace(one.data, parent=None), one.t) if isinstance(one.data, Created) else one
        for one in events
    ]


def refuse(number: str) -> float:
    raise AssertionError(f"{number} is no JSON")


class Core(RuleBasedStateMachine):
    """One run. `running` is what a dispatcher would have in work; `shadow` is the tree that a journal would give."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = Tree()
        self.shadow = Tree()
        self.transitions: list[Transition] = []
        self.events: list[Event] = []
        self.running: dict[Key, Command] = {}
        self.live = False  # a session works on the run
        self.stopping = False
        self.killed = False  # the last session has ended without a last word
        self.started: set[Key] = set()
        self.ended: set[Key] = set()
        self.retried = False
        self.tries: dict[str, int] = {}
        self.now = 0.0

    @initialize(strategy=strategies(), model=st.booleans(), judged=st.booleans(), apart=st.booleans())
    def begin(self, strategy: Strategy, model: bool, judged: bool, apart: bool) -> None:
        self.strategy = strategy
        self.program = TreeProgram(strategy)
        self.world = World(strategy)
        criteria: list[dict[str, Any]] = [{"text": "in order"}] if judged else [{"command": "true"}, {"text": "fine"}]
        self.live = True
        data = {
            "assignment": assignment_of(success_criteria=criteria),
            "worker": {"kind": "function"},
            "sol": "model" if model else "rules",
            "strategy": strategy.model_dump(mode="json"),
        }
        if apart:
            data |= {"isolation": "worktree", "base": "base"}
        self.send(fact(EventType.RUN_STARTED, "", data))

    # --- one step and what must hold of it ---

    def send(self, *facts: Event) -> None:
        self.now += 1.0
        other: Tree = pickle.loads(pickle.dumps(self.tree))
        copies: list[Event] = pickle.loads(pickle.dumps(facts))
        done = take(self.program, self.tree, facts, stopping=self.stopping, now=self.now)
        again = take(self.program, other, copies, stopping=self.stopping, now=self.now)
        assert again == done, "the same tree and facts gave something else"
        assert other == self.tree
        assert len(done.transitions) <= max(1, len(facts)), "what follows from a fact belongs to its transition"
        self.transitions += done.transitions
        self.events += done.events
        for event in reread(done.transitions):
            self.one_event(event)
        assert self.shadow == self.tree, "replay gives another tree"
        for command in done.commands:
            assert command.key in self.tree.inflight
            assert command.key not in self.running, "handed out twice"
            self.running[command.key] = command
            self.program.request(self.tree, command)
        for key in list(self.running):
            if key not in self.tree.inflight:
                del self.running[key]
        before = pickle.dumps(self.tree)
        self.program.decide(self.tree, Event("", RunStatus(self.tree.status)))
        assert pickle.dumps(self.tree) == before

    def one_event(self, event: Event) -> None:
        """What must hold of a single event, seen from the tree before it."""
        tree = self.shadow
        before = {path: (node.state, node.paused) for path, node in tree.nodes.items()}
        match event.type, event.data:
            case _, Started() as start:
                self.check_start(event.node, start)
            case _, Split(children):
                assert 2 <= len(children) <= self.strategy.arity
            case _, Outcome(kind, n) | Late(Outcome(kind, n)):
                key = (event.node, kind, n)
                if n > 0:
                    assert key in self.started, "an outcome without its effect"
                    assert key not in self.ended, "a second outcome"
                    self.ended.add(key)
                if event.type != EventType.LATE:
                    assert not tree.nodes[event.node].ended, "an outcome changed a node that had ended"
            case EventType.DECIDED | EventType.ANALYSED | EventType.ASKED | EventType.REDEFINED, _:
                assert not tree.nodes[event.node].ended
            case EventType.RETRY_REQUESTED | EventType.ANSWERED, _:
                self.retried = True
            case EventType.REOPENED, _:
                assert tree.nodes[event.node].state != State.SUCCESS, "accepted work was reopened"
            case _:
                pass
        apply_task(tree, event)
        for path, (state, paused) in before.items():
            now = tree.nodes[path].state
            if state in TERMINAL and now != state:
                assert path == event.node
                assert event.type == EventType.REOPENED or (paused and event.type == EventType.SETTLED)

    def check_start(self, path: str, start: Started) -> None:
        tree, key = self.shadow, (path, start.kind, start.n)
        assert key not in self.started, "started twice"
        assert not any(of == path and kind == key[1] and n >= key[2] for of, kind, n in self.started)
        self.started.add(key)
        cause = start.cause
        if key[1] == Kind.ATTEMPT:
            assert key[2] == 1 or cause.new, "the same task once more, unchanged"
            asked_for = cause.what == "answer" or cause.new == "resumed" or self.retried
            self.tries[path] = self.tries.get(path, 0) + (not asked_for)
            assert self.tries[path] <= 2 * (3 + self.strategy.max_replans), "attempts without end"
        for end in range(len(path) + 1):
            assert not tree.nodes[path[:end]].ended, "started below or on a node that has ended"
        alive = [command for k, command in tree.inflight.items() if k not in tree.abandoned]
        assert all(command.node != path for command in alive), "two effects of one node at once"
        assert len(tree.inflight) < self.strategy.concurrency
        budget, reserve = self.strategy.budget, start.reserve
        for name in ("calls", "tokens"):
            limit = getattr(budget, name)
            if limit is not None and reserve is not None and getattr(reserve, name):
                assert getattr(tree.spent, name) + getattr(tree.reserved, name) + getattr(reserve, name) <= limit

    @invariant()
    def holds(self) -> None:
        tree = self.tree
        if not tree.nodes:
            return
        check_parents(tree)
        for node in tree.nodes.values():
            assert node.depth <= self.strategy.max_depth
            assert node.splits <= 1 + self.strategy.max_replans
            if node.ended and not node.paused:
                assert all(tree.nodes[path].ended for path in node.children), f"{node.path!r} ended before its parts"
        if tree.is_isolated:
            self.nothing_accepted_is_lost()
        alive = [key for key in tree.inflight if key not in tree.abandoned]
        assert len(tree.inflight) <= self.strategy.concurrency
        for name in ("calls", "tokens"):
            assert getattr(tree.reserved, name) == sum(
                getattr(c.reserve, name) for c in tree.inflight.values() if c.reserve
            )
        calls = self.strategy.budget.calls
        assert calls is None or tree.spent.calls <= calls
        total = [sum(getattr(node.spent, name) for node in tree.nodes.values()) for name in ("calls", "tokens")]
        assert total == [tree.spent.calls, tree.spent.tokens]
        if alive or (tree.queue and self.live):
            return
        if tree.root.ended and not tree.root.paused:
            assert tree.status == str(tree.root.state)
            assert all(node.ended for node in tree.nodes.values())
            assert not tree.queue
        elif self.live:
            assert tree.status == "waiting", f"stalled: {[(n.path, str(n.state)) for n in tree.nodes.values()]}"
            assert any(node.state == State.WAITING for node in tree.nodes.values())
        else:
            assert tree.status in {"waiting", "interrupted"} or (self.killed and tree.status == "running")
            assert all(node.state != State.RUNNING for node in tree.nodes.values())

    def nothing_accepted_is_lost(self) -> None:
        """Accepted work holds the work of the accepted parts that it was put together from."""
        for node in self.tree.nodes.values():
            if node.state != State.SUCCESS:
                continue
            assert node.snapshot, f"{node.path!r} was accepted, and nobody knows where its work is"
            for path in active_children(self.tree, node):
                part = self.tree.nodes[path]
                if part.state == State.SUCCESS:
                    assert self.world.holds[part.snapshot] <= self.world.holds[node.snapshot]

    # --- outcomes ---

    def picked(self, draw: Any) -> Command:
        return self.running[draw(st.sampled_from(sorted(self.running)))]

    @precondition(lambda self: self.running and self.live)
    @rule(data=st.data(), count=st.integers(1, 3))
    def outcomes_arrive(self, data: st.DataObject, count: int) -> None:
        """One or several in one step, in any order."""
        chosen = data.draw(st.permutations(sorted(self.running)))[:count]
        self.send(*(self.world.outcome(self.tree, self.running[key], data.draw) for key in chosen))

    @precondition(lambda self: self.running and self.live)
    @rule(data=st.data())
    def the_oldest_outcome_arrives(self, data: st.DataObject) -> None:
        self.send(self.world.outcome(self.tree, next(iter(self.running.values())), data.draw))

    @precondition(lambda self: self.running and self.live)
    @rule(data=st.data(), tokens=st.integers(0, 20), stored=st.booleans())
    def something_is_told_on_the_way(self, data: st.DataObject, tokens: int, stored: bool) -> None:
        command = self.picked(data.draw)
        if stored:
            event = {"type": "partial", "key": str(tokens), "value": [tokens]}
            self.send(fact(EventType.PROGRESSED, command.node, {"kind": command.kind, "n": command.n, "event": event}))
        elif command.reserve:
            usage = {"tokens": tokens}
            spent: dict[str, Any] = {"type": "spent", "usage": usage}
            told = {"kind": command.kind, "n": command.n, "event": spent, "usage": usage}
            self.send(fact(EventType.PROGRESSED, command.node, told))

    @precondition(lambda self: self.ended and self.live)
    @rule(data=st.data())
    def an_outcome_comes_twice(self, data: st.DataObject) -> None:
        path, kind, n = data.draw(st.sampled_from(sorted(self.ended)))
        before = len(self.events)
        self.send(fact(EventType.LOST, path, {"kind": kind, "n": n, "lost": "outage", "reason": "again"}))
        assert len(self.events) == before

    @precondition(lambda self: self.live)
    @rule()
    def a_cancelled_worker_stops(self) -> None:
        for command in unwanted(self.tree)[:1]:
            said = {"kind": command.kind, "n": command.n, "lost": "cancelled", "reason": "stopped"}
            self.send(fact(EventType.LOST, command.node, said))

    # --- requests and limits ---

    def request(self, asked: Event, together: bool, draw: Any) -> None:
        """A request alone, or in one step with an outcome that comes before or after it."""
        facts = [asked]
        if together and self.running:
            facts = draw(st.permutations([asked, self.world.outcome(self.tree, self.picked(draw), draw)]))
        self.send(*facts)

    @precondition(lambda self: self.tree.nodes and self.live)
    @rule(data=st.data(), together=st.booleans())
    def a_node_is_cancelled(self, data: st.DataObject, together: bool) -> None:
        path = data.draw(st.sampled_from([*sorted(self.tree.nodes)[1:], "z"]))
        self.request(fact(EventType.CANCEL_REQUESTED, path, {"by": "ann"}), together, data.draw)

    @precondition(lambda self: self.tree.nodes and self.live and len(self.events) > 40)
    @rule(data=st.data(), together=st.booleans(), sure=st.integers(0, 3))
    def the_run_is_cancelled(self, data: st.DataObject, together: bool, sure: int) -> None:
        if sure == 0:
            self.request(fact(EventType.CANCEL_REQUESTED, "", {"by": "ann"}), together, data.draw)

    @precondition(lambda self: self.tree.nodes and self.live)
    @rule(data=st.data(), together=st.booleans(), note=st.sampled_from(["", "the lamp works now"]))
    def a_node_is_retried(self, data: st.DataObject, together: bool, note: str) -> None:
        ended = [node.path for node in self.tree.nodes.values() if node.ended]
        path = data.draw(st.sampled_from([*ended, "z"]))
        self.request(fact(EventType.RETRY_REQUESTED, path, {"note": note}), together, data.draw)

    @precondition(lambda self: self.live)
    @rule(data=st.data(), together=st.booleans())
    def a_question_is_answered(self, data: st.DataObject, together: bool) -> None:
        asked = [node.path for node in self.tree.nodes.values() if node.state == State.WAITING]
        if asked:
            path = data.draw(st.sampled_from(asked))
            self.request(fact(EventType.ANSWERED, path, {"text": "yes", "by": "ann"}), together, data.draw)

    @precondition(lambda self: self.tree.nodes and self.live and len(self.events) > 40)
    @rule(data=st.data(), together=st.booleans(), sure=st.integers(0, 2))
    def the_time_is_over(self, data: st.DataObject, together: bool, sure: int) -> None:
        if sure == 0:
            self.request(fact(EventType.BUDGET_HIT, "", {"what": "seconds", "limit": 9.0}), together, data.draw)

    # --- sessions ---

    @precondition(lambda self: self.tree.nodes and self.live)
    @rule(data=st.data(), sure=st.integers(0, 2))
    def the_run_is_interrupted(self, data: st.DataObject, sure: int) -> None:
        """All effects are stopped; some had their outcome already."""
        if sure:
            return
        facts = [
            self.world.outcome(self.tree, command, data.draw)
            if data.draw(st.booleans())
            else fact(
                EventType.INTERRUPTED,
                command.node,
                {"kind": command.kind, "n": command.n, "cause": "interrupt", "reason": "stopped"},
            )
            for command in self.running.values()
        ]
        self.stopping = True
        self.send(*facts)
        self.live = False
        assert not self.tree.inflight

    @precondition(lambda self: self.tree.nodes and self.live)
    @rule(sure=st.integers(0, 2))
    def the_process_is_killed(self, sure: int) -> None:
        if sure == 0:
            self.tree = fold(reread(self.transitions))
            assert self.tree == self.shadow
            self.live = False
            self.stopping = self.killed = True

    @precondition(lambda self: self.tree.nodes and not self.live)
    @rule(data=st.data())
    def a_request_is_recorded_meanwhile(self, data: st.DataObject) -> None:
        """As `sol cancel` and its like do when nobody works on the run."""
        path = data.draw(st.sampled_from(sorted(self.tree.nodes)))
        type_ = data.draw(st.sampled_from([EventType.RETRY_REQUESTED, EventType.ANSWERED, EventType.CANCEL_REQUESTED]))
        said = {"text": "yes"} if type_ == EventType.ANSWERED else {}
        self.running = {}
        self.send(fact(type_, path, said | {"by": "ann"}))
        self.send(*given_up(self.tree))
        assert not self.running

    @precondition(lambda self: self.tree.nodes and not self.live)
    @rule(data=st.data())
    def the_run_is_resumed(self, data: st.DataObject) -> None:
        """Effects that were in flight when the process was killed are submitted again with their keys."""
        self.live, self.stopping, self.killed = True, False, False
        self.running = dict(self.tree.inflight)
        ended = sorted(node.path for node in self.tree.nodes.values() if node.ended)
        first = [fact(EventType.RETRY_REQUESTED, path, {}) for path in ended[:1] if data.draw(st.booleans())]
        self.send(*first, fact(EventType.RESUMED, "", {}))
        assert not self.tree.abandoned

    def teardown(self) -> None:
        if self.events:
            assert fold(reread(self.transitions)) == self.tree
            assert fold(without_parents(self.transitions)) == self.tree, "journals that do not say who is whose parent"
            for record in stored(self.transitions):
                json.loads(record.data, parse_constant=refuse)
                json.loads(record.then or b"[]", parse_constant=refuse)


EXAMPLES = int(os.environ.get("SOL_CORE_EXAMPLES", "30"))
"""Runs to try. A few seconds by default; set the variable to some thousands for a long search."""

Core.TestCase.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
TestCore = pytest.mark.case("PAR-04")(pytest.mark.timeout(max(120, 2 * EXAMPLES))(Core.TestCase))

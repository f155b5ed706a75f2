"""The pure core under everything that can happen to it, in any order; what must hold holds after every step."""

import json
import os
import pickle
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sol.core.assign import request
from sol.core.control import given_up
from sol.core.decide import decide, step
from sol.core.places import is_isolated
from sol.core.requests import Kind
from sol.core.ruling import active_children
from sol.core.schedule import unwanted
from sol.strategy.schema import Strategy
from sol.tree.events import Command, Event, EventType
from sol.tree.fold import apply, fold
from sol.tree.node import TERMINAL, State, Tree
from tests.support.core import assignment_of, reread
from tests.support.world import World, strategies

OUTCOMES = {EventType.REPORTED, EventType.CHECKED, EventType.ANSWER, EventType.LOST, EventType.INTERRUPTED}
WORDS = {str(state) for state in TERMINAL}
Key = tuple[str, str, int]


class Core(RuleBasedStateMachine):
    """One run. `running` is what a dispatcher would have in work; `shadow` is the tree that a journal would give."""

    def __init__(self) -> None:
        super().__init__()
        self.tree = Tree()
        self.shadow = Tree()
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
        self.send(Event(EventType.RUN_STARTED, "", data))

    # --- one step and what must hold of it ---

    def send(self, *facts: Event) -> None:
        self.now += 1.0
        other: Tree = pickle.loads(pickle.dumps(self.tree))
        done = step(self.tree, facts, self.strategy, stopping=self.stopping, now=self.now)
        again = step(other, facts, self.strategy, stopping=self.stopping, now=self.now)
        assert again == done, "the same tree and facts gave something else"
        assert other == self.tree
        self.events += done.events
        for event in reread(done.events):
            self.one_event(event)
        assert self.shadow == self.tree, "replay gives another tree"
        for command in done.commands:
            assert command.key in self.tree.inflight
            assert command.key not in self.running, "handed out twice"
            self.running[command.key] = command
            request(self.tree, command, self.strategy)
        for key in list(self.running):
            if key not in self.tree.inflight:
                del self.running[key]
        before = pickle.dumps(self.tree)
        decide(self.tree, Event(EventType.RUN_STATUS, "", {"status": self.tree.status}), self.strategy)
        assert pickle.dumps(self.tree) == before

    def one_event(self, event: Event) -> None:
        """What must hold of a single event, seen from the tree before it."""
        tree = self.shadow
        before = {path: (node.state, node.paused) for path, node in tree.nodes.items()}
        match event.type:
            case EventType.STARTED:
                self.check_start(event)
            case EventType.SPLIT:
                assert 2 <= len(event.data["children"]) <= self.strategy.arity
            case _ if event.type in OUTCOMES or event.type == EventType.LATE:
                key = (event.node, event.data["kind"], event.data["n"])
                if event.data["n"] > 0:
                    assert key in self.started, "an outcome without its effect"
                    assert key not in self.ended, "a second outcome"
                    self.ended.add(key)
                if event.type != EventType.LATE:
                    assert not tree.nodes[event.node].ended, "an outcome changed a node that had ended"
            case EventType.DECIDED | EventType.ANALYSED | EventType.ASKED | EventType.REDEFINED:
                assert not tree.nodes[event.node].ended
            case EventType.RETRY_REQUESTED | EventType.ANSWERED:
                self.retried = True
            case EventType.REOPENED:
                assert tree.nodes[event.node].state != State.SUCCESS, "accepted work was reopened"
            case _:
                pass
        apply(tree, event)
        for path, (state, paused) in before.items():
            now = tree.nodes[path].state
            if state in TERMINAL and now != state:
                assert path == event.node
                assert event.type == EventType.REOPENED or (paused and event.type == EventType.SETTLED)

    def check_start(self, event: Event) -> None:
        tree, key = self.shadow, (event.node, event.data["kind"], event.data["n"])
        assert key not in self.started, "started twice"
        assert not any(path == event.node and kind == key[1] and n >= key[2] for path, kind, n in self.started)
        self.started.add(key)
        because = event.data.get("because", {})
        if key[1] == Kind.ATTEMPT:
            assert key[2] == 1 or because.get("new"), "the same task once more, unchanged"
            asked_for = because.get("what") == "answer" or because.get("new") == "resumed" or self.retried
            self.tries[event.node] = self.tries.get(event.node, 0) + (not asked_for)
            assert self.tries[event.node] <= 2 * (3 + self.strategy.max_replans), "attempts without end"
        for end in range(len(event.node) + 1):
            assert not tree.nodes[event.node[:end]].ended, "started below or on a node that has ended"
        alive = [command for k, command in tree.inflight.items() if k not in tree.abandoned]
        assert all(command.node != event.node for command in alive), "two effects of one node at once"
        assert len(tree.inflight) < self.strategy.concurrency
        budget, reserve = self.strategy.budget, event.data.get("reserve", {})
        for name in ("calls", "tokens"):
            limit = getattr(budget, name)
            if limit is not None and reserve.get(name):
                assert getattr(tree.spent, name) + getattr(tree.reserved, name) + reserve[name] <= limit

    @invariant()
    def holds(self) -> None:
        tree = self.tree
        if not tree.nodes:
            return
        for node in tree.nodes.values():
            assert node.depth <= self.strategy.max_depth
            assert node.splits <= 1 + self.strategy.max_replans
            if node.ended and not node.paused:
                assert all(tree.nodes[path].ended for path in node.children), f"{node.path!r} ended before its parts"
        if is_isolated(tree):
            self.nothing_accepted_is_lost()
        alive = [key for key in tree.inflight if key not in tree.abandoned]
        assert len(tree.inflight) <= self.strategy.concurrency
        for name in ("calls", "tokens"):
            assert getattr(tree.reserved, name) == sum(c.reserve.get(name, 0) for c in tree.inflight.values())
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
            self.send(Event(EventType.PROGRESSED, command.node, {"kind": command.kind, "n": command.n, "event": event}))
        elif command.reserve:
            usage = {"tokens": tokens}
            spent: dict[str, Any] = {"type": "spent", "usage": usage}
            fact = {"kind": command.kind, "n": command.n, "event": spent, "usage": usage}
            self.send(Event(EventType.PROGRESSED, command.node, fact))

    @precondition(lambda self: self.ended and self.live)
    @rule(data=st.data())
    def an_outcome_comes_twice(self, data: st.DataObject) -> None:
        path, kind, n = data.draw(st.sampled_from(sorted(self.ended)))
        before = len(self.events)
        self.send(Event(EventType.LOST, path, {"kind": kind, "n": n, "lost": "outage", "reason": "again"}))
        assert len(self.events) == before

    @precondition(lambda self: self.live)
    @rule()
    def a_cancelled_worker_stops(self) -> None:
        for command in unwanted(self.tree)[:1]:
            said = {"kind": command.kind, "n": command.n, "lost": "cancelled", "reason": "stopped"}
            self.send(Event(EventType.LOST, command.node, said))

    # --- requests and limits ---

    def request(self, fact: Event, together: bool, draw: Any) -> None:
        """A request alone, or in one step with an outcome that comes before or after it."""
        facts = [fact]
        if together and self.running:
            facts = draw(st.permutations([fact, self.world.outcome(self.tree, self.picked(draw), draw)]))
        self.send(*facts)

    @precondition(lambda self: self.tree.nodes and self.live)
    @rule(data=st.data(), together=st.booleans())
    def a_node_is_cancelled(self, data: st.DataObject, together: bool) -> None:
        path = data.draw(st.sampled_from([*sorted(self.tree.nodes)[1:], "z"]))
        self.request(Event(EventType.CANCEL_REQUESTED, path, {"by": "ann"}), together, data.draw)

    @precondition(lambda self: self.tree.nodes and self.live and len(self.events) > 40)
    @rule(data=st.data(), together=st.booleans(), sure=st.integers(0, 3))
    def the_run_is_cancelled(self, data: st.DataObject, together: bool, sure: int) -> None:
        if sure == 0:
            self.request(Event(EventType.CANCEL_REQUESTED, "", {"by": "ann"}), together, data.draw)

    @precondition(lambda self: self.tree.nodes and self.live)
    @rule(data=st.data(), together=st.booleans(), note=st.sampled_from(["", "the lamp works now"]))
    def a_node_is_retried(self, data: st.DataObject, together: bool, note: str) -> None:
        ended = [node.path for node in self.tree.nodes.values() if node.ended]
        path = data.draw(st.sampled_from([*ended, "z"]))
        self.request(Event(EventType.RETRY_REQUESTED, path, {"note": note}), together, data.draw)

    @precondition(lambda self: self.live)
    @rule(data=st.data(), together=st.booleans())
    def a_question_is_answered(self, data: st.DataObject, together: bool) -> None:
        asked = [node.path for node in self.tree.nodes.values() if node.state == State.WAITING]
        if asked:
            path = data.draw(st.sampled_from(asked))
            self.request(Event(EventType.ANSWERED, path, {"text": "yes", "by": "ann"}), together, data.draw)

    @precondition(lambda self: self.tree.nodes and self.live and len(self.events) > 40)
    @rule(data=st.data(), together=st.booleans(), sure=st.integers(0, 2))
    def the_time_is_over(self, data: st.DataObject, together: bool, sure: int) -> None:
        if sure == 0:
            self.request(Event(EventType.BUDGET_HIT, "", {"what": "seconds", "limit": 9.0}), together, data.draw)

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
            else Event(
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
            self.tree = fold(reread(self.events))
            assert self.tree == self.shadow
            self.live = False
            self.stopping = self.killed = True

    @precondition(lambda self: self.tree.nodes and not self.live)
    @rule(data=st.data())
    def a_request_is_recorded_meanwhile(self, data: st.DataObject) -> None:
        """As `sol cancel` and its like do when nobody works on the run."""
        path = data.draw(st.sampled_from(sorted(self.tree.nodes)))
        type_ = data.draw(st.sampled_from([EventType.RETRY_REQUESTED, EventType.ANSWERED, EventType.CANCEL_REQUESTED]))
        self.running = {}
        self.send(Event(type_, path, {"text": "yes", "by": "ann"}))
        self.send(*given_up(self.tree))
        assert not self.running

    @precondition(lambda self: self.tree.nodes and not self.live)
    @rule(data=st.data())
    def the_run_is_resumed(self, data: st.DataObject) -> None:
        """Effects that were in flight when the process was killed are submitted again with their keys."""
        self.live, self.stopping, self.killed = True, False, False
        self.running = dict(self.tree.inflight)
        ended = sorted(node.path for node in self.tree.nodes.values() if node.ended)
        first = [Event(EventType.RETRY_REQUESTED, path, {}) for path in ended[:1] if data.draw(st.booleans())]
        self.send(*first, Event(EventType.RESUMED, "", {}))
        assert not self.tree.abandoned

    def teardown(self) -> None:
        if self.events:
            assert fold(reread(self.events)) == self.tree
            json.dumps([event.data for event in self.events], allow_nan=False)


EXAMPLES = int(os.environ.get("SOL_CORE_EXAMPLES", "30"))
"""Runs to try. A few seconds by default; set the variable to some thousands for a long search."""

Core.TestCase.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
)
TestCore = pytest.mark.case("PAR-04")(pytest.mark.timeout(max(120, 2 * EXAMPLES))(Core.TestCase))

"""Machine workflows under any order of outcomes, kills, interruptions and resumes."""

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from sol.tree.events import Event, Lost, Reported, Started
from tests.unit.workflow.walk import RESUMED, Walk, failed, interrupted, stuck, success, tag, workflow_of

NAMES = ("a", "b", "c")
TARGETS = st.sampled_from([*NAMES, "both", "COMPLETE", "COMPLETE", "ABORT"])


@st.composite
def workflows(draw: st.DrawFn) -> str:
    """A workflow of three plain steps, a parallel one and perhaps a monitor, with rules that lead anywhere."""
    lines = ["name: w", "steps:"]
    for name in NAMES:
        rules = [f"{{condition: r{index}, next: {draw(TARGETS)}}}" for index in range(draw(st.integers(1, 3)))]
        lines.append(f"  - {{name: {name}, instruction: do it, rules: [{', '.join(rules)}]}}")
    both = "instruction: look at it, rules: [{condition: yes}, {condition: no}]"
    inner = [f"{{name: {name}, {both}}}" for name in "xyz"]
    lines += ["  - name: both"]
    if draw(st.booleans()):
        lines.append("    concurrency: 2")
    lines += ["    parallel:", *(f"      - {one}" for one in inner), "    rules:"]
    conditions = ['all("yes")', 'any("no")', 'at_least(2, "yes")', 'any("error")']
    chosen = draw(st.lists(st.sampled_from(conditions), min_size=1, max_size=3, unique=True))
    lines += [f"      - {{condition: '{one}', next: {draw(TARGETS)}}}" for one in chosen]
    if draw(st.booleans()):
        judge = f"{{instruction: worth it at all, rules: [{{condition: r, next: {draw(TARGETS)}}}]}}"
        lines += ["loop_monitors:", f"  - {{cycle: [a, b], threshold: 1, judge: {judge}}}"]
    return "\n".join(lines)


def steady(seed: int) -> Any:
    """Answers that depend on the visit alone, so that a redelivery gives the same."""

    def answer(visit: Any, command: Any) -> Any:
        number = sum(map(ord, visit.path)) * 31 + seed
        match number % 11:
            case 0:
                return failed()
            case 1:
                return stuck()
            case 2:
                return success("no tag")
            case _:
                return tag(visit, number % 3 + 1)

    return answer


@given(workflows(), st.integers(0, 1000), st.integers(0, 12))
@settings(deadline=None)
def test_every_run_ends_within_its_limit_and_replays(text: str, seed: int, limit: int) -> None:
    done = Walk(workflow_of(text), steady(seed), max_steps=limit).run()
    assert done.status in {"success", "failed", "exhausted"}
    assert done.machine.iteration <= limit
    assert done.replayed() == done.machine
    keys = Counter((e.node, e.data.kind, e.data.n) for e in done.events if isinstance(e.data, Started))
    assert all(count == 1 for count in keys.values())


@given(workflows(), st.integers(0, 1000), st.data())
@settings(deadline=None)
def test_order_of_outcomes_changes_nothing(text: str, seed: int, data: st.DataObject) -> None:
    straight = Walk(workflow_of(text), steady(seed)).run()
    mixed = Walk(workflow_of(text), steady(seed)).begin()
    while mixed.open:
        mixed.finish(mixed.open[data.draw(st.integers(0, len(mixed.open) - 1))])

    def facts(walk: Walk) -> Any:
        visits = sorted(walk.machine.nodes.values(), key=lambda visit: visit.path)
        return walk.status, walk.machine.root.reason, [(visit.path, visit.verdict, visit.text) for visit in visits]

    assert facts(mixed) == facts(straight)


class Stops(RuleBasedStateMachine):
    """A run whose process is stopped in every way comes to the same end as one that is left alone."""

    @initialize(text=workflows(), seed=st.integers(0, 1000))
    def begin(self, text: str, seed: int) -> None:
        self.text, self.seed = text, seed
        self.walk = Walk(workflow_of(text), steady(seed)).begin()
        self.lost: set[str] = set()

    @precondition(lambda self: self.walk.open)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        self.walk.finish(self.walk.open[data.draw(st.integers(0, len(self.walk.open) - 1))])

    @precondition(lambda self: self.walk.open)
    @rule()
    def kill(self) -> None:
        """The process dies: what was started and has no outcome is submitted again under the same key."""
        self.walk.machine = self.walk.replayed()
        self.walk.open = list(self.walk.machine.inflight.values())
        self.resume()

    @precondition(lambda self: self.walk.open)
    @rule()
    def interrupt(self) -> None:
        outcomes = [interrupted(one) for one in self.walk.open]
        self.walk.open = []
        self.walk.take(*outcomes, stopping=True)
        assert self.walk.status == "interrupted"
        self.resume()

    @precondition(lambda self: self.walk.open)
    @rule()
    def lose(self) -> None:
        """An effect is lost, the others go on to their end; a resume takes the lost one up again."""
        command = self.walk.open.pop(0)
        if self.walk.machine.nodes[command.node].monitor >= 0:
            self.walk.open.insert(0, command)  # a lost judge changes the way, as it should
            return
        self.walk.take(Event(command.node, Lost(kind=command.kind, n=command.n, lost="outage", reason="x")))
        if 'any("error")' in self.text:
            self.lost.add(command.node)

    @precondition(lambda self: self.walk.machine.root.resumable)
    @rule()
    def resume(self) -> None:
        self.walk.take(RESUMED)

    @rule()
    def idle(self) -> None:
        """Nothing happens; there is always this to do."""

    @invariant()
    def replays(self) -> None:
        if hasattr(self, "walk"):
            again = self.walk.replayed()
            assert {path: node.state for path, node in again.nodes.items()} == {
                path: node.state for path, node in self.walk.machine.nodes.items()
            }

    def teardown(self) -> None:
        if not hasattr(self, "walk"):
            return
        for _ in range(20):
            while self.walk.open:
                self.walk.finish(self.walk.open[0])
            if not self.walk.machine.root.resumable or self.walk.machine.root.kind == "step_limit":
                break
            self.resume()
        straight = Walk(workflow_of(self.text), steady(self.seed)).run()
        if not self.lost:  # with a rule for errors, a lost sub-step leads elsewhere
            assert (self.walk.status, self.walk.machine.root.reason) == (straight.status, straight.machine.root.reason)
            reported = Counter(e.node for e in self.walk.events if isinstance(e.data, Reported))
            again = Counter(e.node for e in straight.events if isinstance(e.data, Reported))
            assert reported == again


Stops.TestCase.settings = settings(deadline=None, max_examples=30, stateful_step_count=20)
TestStops = Stops.TestCase

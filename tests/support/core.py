"""A run of the pure core driven by hand: every test says which outcomes come, and sees what the core makes of them."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sol.core.decide import TreeProgram, TreeReading
from sol.engine.step import StepResult, Transition, take
from sol.journal import Record
from sol.strategy.catalog import load_strategy
from sol.strategy.schema import Strategy
from sol.tree.codec import Codec
from sol.tree.effects import CHECKS_OF_INTEGRATION
from sol.tree.events import Command, Event, EventType
from sol.tree.fold import fold
from sol.tree.node import TaskNode, Tree

GOAL = "sort the bricks by colour"


def strategy_of(name: str = "binary", **changes: Any) -> Strategy:
    """A shipped strategy with other settings."""
    return Strategy.model_validate(load_strategy(name).model_dump(mode="json") | changes)


def assignment_of(goal: str = GOAL, **changes: Any) -> dict[str, Any]:
    """An assignment in its JSON form, with one criterion that only words describe."""
    return {
        "goal": goal,
        "context": "none",
        "inputs": {"bricks": ["red", "blue", "red", "green"]},
        "constraints": [],
        "expected_output": {"description": "the bricks in order"},
        "success_criteria": [{"text": "they are in order"}],
        "stop_conditions": ["a brick has no colour"],
        **changes,
    }


def child(goal: str, **changes: Any) -> dict[str, Any]:
    """A child as a planner proposes it."""
    return {
        "goal": goal,
        "claim": "simpler",
        "success_criteria": [{"text": f"done: {goal}"}],
        "expected_output": None,
        "inputs": None,
        "worker": None,
        **changes,
    }


def success(result: Any = "ok", **more: Any) -> dict[str, Any]:
    return {"status": "SUCCESS", "summary": "done", "result": result, **more}


def stuck(blocker: str = "the lamp is out", kind: str = "other", **more: Any) -> dict[str, Any]:
    return {"status": "STUCK", "kind": kind, "blocker": blocker, **more}


def failed(kind: str = "premise", reason: str = "there are no bricks", **more: Any) -> dict[str, Any]:
    return {"status": "FAILED", "kind": kind, "reason": reason, **more}


def parts(result: Any = "whole", *, wrong: Iterable[str] = (), left_open: Iterable[str] = ()) -> dict[str, Any]:
    """An integration; `wrong` names the checks that do not hold."""
    bad = set(wrong)
    checks = {name: {"ok": name not in bad, "note": f"about {name}"} for name in CHECKS_OF_INTEGRATION}
    return {"result": result, "summary": "put together", "checks": checks, "open": list(left_open)}


def reassessed(finding: str = "wrong_dimension", remedy: str = "give_up", **more: Any) -> dict[str, Any]:
    return {
        "finding": finding,
        "remedy": remedy,
        "reason": "as it is",
        "goal": "",
        "information": "",
        "question": "",
        **more,
    }


def fact(type_: str, node: str = "", data: Mapping[str, Any] | None = None) -> Event:
    """An event from its data as the journal stores it."""
    (event,) = TreeReading.codec.unfold(Record(1, 0.0, str(type_), node, json.dumps(data or {}).encode(), b""))
    return event


def stored(transitions: Iterable[Transition], codec: Codec = TreeReading.codec) -> list[Record]:
    """The transitions as a journal has them."""
    return [Record(seq, one[0].t, *codec.encode(one)) for seq, one in enumerate(transitions, start=1)]


def reread(transitions: Iterable[Transition], codec: Codec = TreeReading.codec) -> list[Event]:
    """The events as they come back from a journal."""
    return [event for record in stored(transitions, codec) for event in codec.unfold(record)]


class Scenario:
    """One run. Methods named after outcomes send the outcome of the node's effect in flight.

    Attributes:
        tree: The fold so far.
        transitions: All transitions committed so far.
        events: Their events.
        last: The newest step.
    """

    def __init__(
        self,
        strategy: Strategy | str = "binary",
        *,
        sol: str = "model",
        assignment: Mapping[str, Any] | None = None,
        apart: bool = False,
        **changes: Any,
    ) -> None:
        self.strategy = strategy_of(strategy, **changes) if isinstance(strategy, str) else strategy
        self.tree = Tree()
        self.transitions: list[Transition] = []
        self.events: list[Event] = []
        self.now = 1000.0
        self.last = StepResult([], [])
        self.takes(
            EventType.RUN_STARTED,
            "",
            {
                "assignment": dict(assignment or assignment_of()),
                "worker": {"kind": "function"},
                "sol": sol,
                "strategy": self.strategy.model_dump(mode="json"),
                **({"isolation": "worktree", "base": "base"} if apart else {}),
            },
        )

    # --- looking ---

    def __getitem__(self, path: str) -> TaskNode:
        return self.tree.nodes[path]

    @property
    def doing(self) -> list[str]:
        """Effects in flight as `path:kind`, oldest first."""
        return [f"{command.node}:{command.kind}" for command in self.tree.inflight.values()]

    @property
    def status(self) -> str:
        return self.tree.status

    @property
    def states(self) -> dict[str, str]:
        return {path: str(node.state) for path, node in self.tree.nodes.items()}

    def types(self, path: str | None = None, *, since: int = 0) -> list[str]:
        """Types of the events of a node, or of all."""
        return [str(event.type) for event in self.events[since:] if path is None or event.node == path]

    def data(self, type_: EventType, path: str = "") -> Any:
        """Payload of the newest event of this type on a node."""
        return next(event.data for event in reversed(self.events) if event.type == type_ and event.node == path)

    def asked(self, path: str = "") -> Any:
        """The request of the node's effect in flight."""
        return self.program.request(self.tree, self._command(path))

    def replayed(self) -> Tree:
        """The tree that the committed transitions make after a trip through the journal's codec."""
        return fold(reread(self.transitions))

    # --- sending ---

    @property
    def program(self) -> TreeProgram:
        return TreeProgram(self.strategy)

    def send(self, *facts: Event, stopping: bool = False) -> list[Event]:
        self.now += 1.0
        self.last = take(self.program, self.tree, facts, stopping=stopping, now=self.now)
        self.transitions += self.last.transitions
        self.events += self.last.events
        return self.last.events

    def takes(self, type_: str, path: str = "", data: Mapping[str, Any] | None = None) -> list[Event]:
        """Send one fact, given its data as the journal stores it."""
        return self.send(fact(type_, path, data))

    def _command(self, path: str) -> Command:
        found = [command for command in self.tree.inflight.values() if command.node == path]
        assert found, f"nothing of {path!r} is in flight; there are {self.doing}"
        return found[-1]

    def outcome(self, type_: EventType, path: str = "", **data: Any) -> Event:
        command = self._command(path)
        return fact(type_, path, {"kind": command.kind, "n": command.n, "seconds": 1.0, **data})

    def reports(self, report: Mapping[str, Any], path: str = "", **more: Any) -> list[Event]:
        usage = more.pop("usage", {"calls": 1})
        return self.send(self.outcome(EventType.REPORTED, path, report=dict(report), usage=usage, **more))

    def answers(self, answer: Mapping[str, Any], path: str = "", **more: Any) -> list[Event]:
        usage = more.pop("usage", {"calls": 1})
        return self.send(self.outcome(EventType.ANSWER, path, answer=dict(answer), usage=usage, **more))

    def judges(self, *holds: bool, path: str = "") -> list[Event]:
        verdicts = [{"holds": one, "reason": "seen"} for one in holds]
        return self.answers({"verdicts": verdicts}, path)

    def checks(self, *oks: bool | None, path: str = "", kind: str = "command") -> list[Event]:
        results = [
            {"criterion": f"check {number}", "kind": kind, "ok": ok, "detail": "seen"} for number, ok in enumerate(oks)
        ]
        return self.send(self.outcome(EventType.CHECKED, path, results=results))

    def splits(self, *goals: str | Mapping[str, Any], path: str = "", **more: Any) -> list[Event]:
        """Answer a request for a split with these children."""
        children = [child(goal) if isinstance(goal, str) else dict(goal) for goal in goals]
        answer = {
            "children": children,
            "sequential": False,
            "dimension": "data_logic",
            "reason": "it falls in two",
            "how": "model",
            **more,
        }
        return self.answers(answer, path)

    def solves(self, path: str = "", result: Any = "ok", **more: Any) -> list[Event]:
        """The node's Luna succeeds, and the judge agrees."""
        return [*self.reports(success(result), path, **more), *self.judges(True, path=path)]

    def merges(self, snapshot: str, *labels: str, path: str = "", conflict: str | None = None) -> list[Event]:
        """The work of these parts is merged, all of it or up to a conflict with another part."""
        told = None if conflict is None else {"part": conflict, "files": ["a.py"]}
        return self.answers({"snapshot": snapshot, "merged": list(labels), "conflict": told}, path)

    def lose(self, path: str = "", kind: str = "rate_limit") -> list[Event]:
        return self.send(self.outcome(EventType.LOST, path, lost=kind, reason="asked to wait", usage={"calls": 1}))

    def cancel(self, path: str = "") -> list[Event]:
        return self.takes(EventType.CANCEL_REQUESTED, path, {"reason": "", "by": "ann"})

    def retry(self, path: str = "", **more: Any) -> list[Event]:
        return self.takes(EventType.RETRY_REQUESTED, path, more)

    def tell(self, text: str, path: str = "") -> list[Event]:
        """Answer the node's question."""
        return self.takes(EventType.ANSWERED, path, {"text": text, "by": "ann", "at": self.now})

    def interrupt(self) -> list[Event]:
        """Stop all that runs, as a session does."""
        stopped = [
            fact(EventType.INTERRUPTED, c.node, {"kind": c.kind, "n": c.n, "cause": "interrupt", "reason": "stopped"})
            for c in self.tree.inflight.values()
        ]
        return self.send(*stopped, stopping=True)

    def resume(self, **data: Any) -> list[Event]:
        return self.takes(EventType.RESUMED, "", data)

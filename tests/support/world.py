"""Whatever effects of a run may bring, drawn at random, well formed and otherwise as wild as a model may be."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from luna.protocol import FailedKind, StuckKind
from sol.core.assign import request
from sol.strategy.schema import Strategy
from sol.tree.effects import AttemptRequest, Checkout, Finding, IntegrateRequest, Kind, MergeRequest, Remedy
from sol.tree.events import Command, Event, EventType
from sol.tree.node import Tree
from sol.tree.values import JUDGED
from tests.support.core import GOAL, child, fact, parts, strategy_of

Draw = Callable[[st.SearchStrategy[Any]], Any]

reports = st.one_of(
    st.fixed_dictionaries(
        {"status": st.just("SUCCESS"), "summary": st.just("done"), "result": st.sampled_from([None, [1], "text"])}
    ),
    st.fixed_dictionaries(
        {
            "status": st.just("STUCK"),
            "kind": st.sampled_from([str(kind) for kind in StuckKind]),
            "blocker": st.sampled_from(["no lamp", "no lamp", ""]),
        },
        optional={
            "unknown": st.just(["a", "b"]),
            "question": st.sampled_from(["may I?", None]),
            "attempted": st.just(["looked"]),
        },
    ),
    st.fixed_dictionaries(
        {
            "status": st.just("FAILED"),
            "kind": st.sampled_from([str(kind) for kind in FailedKind]),
            "reason": st.just("no bricks"),
        }
    ),
)
reassessments = st.fixed_dictionaries(
    {
        "finding": st.sampled_from([str(finding) for finding in Finding]),
        "remedy": st.sampled_from([str(remedy) for remedy in Remedy]),
        "reason": st.just("as it is"),
        "goal": st.sampled_from(["", "sort the red bricks", "fix everything"]),
        "information": st.sampled_from(["", "the lamp is upstairs"]),
        "question": st.sampled_from(["", "which lamp?"]),
    }
)
integrations = st.one_of(
    st.builds(parts),
    st.builds(
        parts,
        wrong=st.sampled_from([["goal_met"], ["parts_imply_whole"], ["nothing_open", "goal_met"]]),
        left_open=st.sampled_from([[], ["A"], ["B"], ["A", "B"]]),
    ),
)
shapes = st.sampled_from(
    """good good good sequential restated equal vague many one cannot inputs portion again bare owner above""".split()
)
rule_lists = {
    "report": st.lists(
        st.tuples(
            st.sampled_from(["SUCCESS", "STUCK", "FAILED", "FAILED:premise", 'ai("is it so?")', "STUCK:other"]),
            st.sampled_from(["validate", "split", "replan", "escalate", "ask", "fail"]),
        ),
        min_size=1,
        max_size=4,
    ),
    "validation": st.lists(
        st.tuples(
            st.sampled_from(["passed", "unchecked", "failed", "failed:parts", "integrated", 'ai("is it good?")']),
            st.sampled_from(["accept", "attempt", "split", "replan", "escalate", "ask", "fail"]),
        ),
        min_size=1,
        max_size=4,
    ),
    "children": st.lists(
        st.tuples(
            st.sampled_from(
                ['all("success")', 'any("failed")', 'any("cancelled")', 'at_least(1, "success")', 'ai("whole?")']
            ),
            st.sampled_from(["integrate", "replan", "escalate", "fail"]),
        ),
        min_size=1,
        max_size=4,
    ),
    "depth_limit": st.lists(
        st.tuples(
            st.sampled_from(["remedy:redefine", "remedy:ask", "remedy:give_up", "depth_limit", 'ai("hopeless?")']),
            st.sampled_from(["as_proposed", "redefine", "ask", "set_aside", "give_up"]),
        ),
        min_size=1,
        max_size=4,
    ),
}
made_up = st.fixed_dictionaries(
    {
        section: rules.map(lambda pairs: [{"condition": condition, "next": then} for condition, then in pairs])
        for section, rules in rule_lists.items()
    }
)


@st.composite
def strategies(draw: st.DrawFn) -> Strategy:
    name = draw(st.sampled_from(["binary", "binary", "halve", "isolate", "plan-first", "single"]))
    changes: dict[str, Any] = {
        "max_depth": draw(st.integers(0, 3)),
        "concurrency": draw(st.integers(1, 4)),
        "arity": draw(st.integers(2, 3)),
        "max_replans": draw(st.integers(0, 2)),
        "integrate": draw(st.sampled_from(["sol", "luna"])),
    }
    if draw(st.booleans()):
        changes["attempt"] = draw(st.sampled_from(["first", "never", "auto"]))
    if draw(st.booleans()):
        changes["budget"] = {
            "calls": draw(st.none() | st.integers(0, 12)),
            "tokens": draw(st.none() | st.integers(0, 100)),
            "per_call": {"tokens": draw(st.none() | st.just(10))},
        }
    if draw(st.booleans()):
        changes["rules"] = draw(made_up)
    return strategy_of(name, **changes)


class World:
    """Makes outcomes of effects. Goals are numbered, so that good splits never repeat one.

    Attributes:
        holds: For each snapshot, the snapshots of all work that it holds.
    """

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.names = 0
        self.holds: dict[str, frozenset[str]] = {"base": frozenset()}

    def outcome(self, tree: Tree, command: Command, draw: Draw) -> Event:
        most = self.strategy.budget.per_call.tokens or 40
        calls = command.reserve.calls if command.reserve is not None else 0
        usage: dict[str, Any] = {"calls": calls, "tokens": draw(st.integers(0, most)) if calls else 0}
        data: dict[str, Any] = {"kind": command.kind, "n": command.n, "seconds": 0.5, "usage": usage}
        if draw(st.integers(0, 9)) == 0:
            lost = draw(st.sampled_from(["rate_limit", "planner", "cancelled"]))
            return fact(EventType.LOST, command.node, {**data, "lost": lost, "reason": "lost"})
        asked = request(tree, command, self.strategy)
        if isinstance(asked, AttemptRequest | IntegrateRequest) and asked.checkout is not None:
            data["snapshot"] = self._work(asked.checkout, [label for label, _ in asked.checkout.sides])
        if command.kind == Kind.ATTEMPT:
            return fact(EventType.REPORTED, command.node, {**data, "report": draw(reports)})
        if isinstance(asked, MergeRequest):
            return fact(EventType.ANSWER, command.node, {**data, "answer": self._merge(asked, draw)})
        if command.kind == Kind.CHECK:
            criteria = tree.nodes[command.node].assignment.success_criteria
            del data["usage"]
            oks = [draw(st.booleans()) if one.kind == "command" else None for one in criteria]
            results = [
                {"criterion": str(n), "kind": "text" if ok is None else "command", "ok": ok, "detail": "seen"}
                for n, ok in enumerate(oks)
            ]
            return fact(EventType.CHECKED, command.node, {**data, "results": results})
        return fact(EventType.ANSWER, command.node, {**data, "answer": self._answer(tree, command, draw)})

    def _work(self, checkout: Checkout, labels: list[str]) -> str:
        """A new snapshot: that of the base with these sides, and what was done on top of it."""
        sides = dict(checkout.sides)
        snapshot = f"s{len(self.holds)}"
        held = [self.holds[one] for one in (checkout.base, *(sides[label] for label in labels))]
        self.holds[snapshot] = frozenset({snapshot}).union(*held)
        return snapshot

    def _merge(self, asked: MergeRequest, draw: Draw) -> dict[str, Any]:
        labels = [label for label, _ in asked.checkout.sides]
        settled = asked.worker is not None
        if settled and draw(st.booleans()):
            return parts(None, wrong=["no_contradiction"], left_open=["A"])
        fits = draw(st.integers(min(settled, len(labels)), len(labels)))
        conflict = None if fits == len(labels) else {"part": labels[fits], "files": ["a.py"]}
        return {"snapshot": self._work(asked.checkout, labels[:fits]), "merged": labels[:fits], "conflict": conflict}

    def _answer(self, tree: Tree, command: Command, draw: Draw) -> dict[str, Any]:
        verdict = st.fixed_dictionaries({"holds": st.booleans(), "reason": st.just("seen")})
        match command.kind:
            case Kind.ATOMIC:
                return {"atomic": draw(st.booleans()), "reason": "so"}
            case Kind.JUDGE:
                criteria = tree.nodes[command.node].assignment.success_criteria
                return {"verdicts": [draw(verdict) for one in criteria if one.kind in JUDGED]}
            case Kind.SPLIT:
                return self._split(tree, command, draw)
            case Kind.APPLY:
                return {"landed": draw(st.booleans()), "where": "", "note": "there", "changed": []}
            case Kind.INTEGRATE:
                return draw(integrations)  # type: ignore[no-any-return]  # draw is untyped
            case Kind.REASSESS:
                return draw(reassessments)  # type: ignore[no-any-return]  # draw is untyped
            case _:
                return draw(verdict)  # type: ignore[no-any-return]  # draw is untyped

    def _goal(self) -> str:
        self.names += 1
        return f"sort box {self.names}"

    def _split(self, tree: Tree, command: Command, draw: Draw) -> dict[str, Any]:
        shape = draw(shapes)
        if shape == "cannot":
            return {"cannot": "nothing to split along"}
        node = tree.nodes[command.node]
        parent = node.assignment.goal
        count = draw(st.integers(2, self.strategy.arity))
        children = [child(self._goal()) for _ in range(count)]
        match shape:
            case "restated" | "equal":
                children[-1] = child(f"“{parent.upper()}”.")
            case "vague":
                children[0] = child("fix everything here")
            case "many":
                children += [child(self._goal()) for _ in range(3)]
            case "one":
                children = children[:1]
            case "inputs":
                children = [child(parent, inputs={"bricks": [n]}, success_criteria=()) for n in range(count)]
            case "portion":
                children[0] = child(f"do the first half of: {parent}")
            case "again" if node.tried:
                children = [child(goal.split(" #")[0]) for goal in node.tried[-1]]
            case "bare":
                children[0]["success_criteria"] = ()
            case "owner":
                children[0]["worker"] = "planner"
            case "above":
                children[0] = child(GOAL)
            case _:
                pass
        return {
            "children": children,
            "sequential": shape in {"sequential", "restated"} or draw(st.booleans()),
            "dimension": "data_logic",
            "reason": "two things",
            "how": "inputs" if shape == "inputs" else "model",
        }

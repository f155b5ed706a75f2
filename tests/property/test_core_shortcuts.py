"""What the core works out the short way comes to the same as the long way."""

import re
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from luna.protocol import Assignment
from sol.core.report import rule
from sol.core.split import refuse
from sol.engine.program import Reaction
from sol.rules import Child, Context, Matched, evaluate, kind_of, print_condition
from sol.tree.effects import normalised
from sol.tree.events import Decided
from sol.tree.node import State, TaskNode
from sol.tree.values import ChildPlan, SplitAnswer, WorkerData, plain
from tests.support.core import GOAL, Scenario, stuck
from tests.support.world import made_up

LABELS = ["SUCCESS", "STUCK", "STUCK:other ", "FAILED:premise", "passed", "failed", "remedy:ask", "depth_limit"]


@given(
    rules=made_up,
    section=st.sampled_from(["report", "validation", "children", "depth_limit"]),
    labels=st.lists(st.sampled_from(LABELS), max_size=3),
    states=st.lists(st.sampled_from(list(State)), max_size=3),
)
def test_rules_decide_as_their_engine_does(rules: Any, section: str, labels: list[str], states: list[State]) -> None:
    run = Scenario(rules=rules)
    node = run[""]
    node.children = node.current_children = tuple(str(number) for number in range(len(states)))
    for path, state in zip(node.current_children, states, strict=True):
        run.tree.nodes[path] = TaskNode(path=path, assignment=node.assignment, worker=WorkerData("x"), state=state)
    out = Reaction()
    action = rule(run.tree, node, section, labels, run.strategy, out)
    children = tuple(Child(path, str(state)) for path, state in zip(node.current_children, states, strict=True))
    found = evaluate(run.strategy.sections[section], Context(children=children, labels=frozenset(labels)))
    said = out.events[0].data
    assert isinstance(said, Decided)
    if not isinstance(found, Matched):
        assert action is None
        assert said.rule is None
        return
    decision = found.decision
    kind = kind_of(decision.condition)
    assert action == decision.next
    assert said == Decided(
        section,
        decision.rule_index,
        kind,
        print_condition(decision.condition),
        decision.next,
        {} if kind == "label" else decision.read,
    )


@given(st.text() | st.text("Aa \t“\"'.,!?-ＡÄß#"))
def test_goals_are_compared_without_case_quotes_and_white_space(goal: str) -> None:
    text = re.sub(r"[\"'`“”‘’«»]", "", unicodedata.normalize("NFKC", goal).casefold())
    assert normalised(goal) == " ".join(text.split()).strip(" .,:;!?-")


WORDS = st.sampled_from(
    ["none", " None ", "", "  ", "\x1c", "\x85", "\ud800", "ok", " ok ", "é", "nOne\u3000", "\ufeff"]
)


@pytest.mark.req("S30", "S31")
@given(description=WORDS | st.none(), criteria=st.lists(WORDS, min_size=1, max_size=2), plainly=st.booleans())
def test_child_is_refused_just_when_its_assignment_is(
    description: str | None, criteria: list[str], plainly: bool
) -> None:
    run = Scenario()
    run.reports(stuck())
    node = run[""]
    odd = ChildPlan(
        "find red",
        "simpler",
        tuple(criteria) if plainly else tuple({"text": one} for one in criteria),
        description if plainly or description is None else {"description": description},
    )
    answer = SplitAnswer((odd, ChildPlan("find blue", "simpler", ("done",))), False, "data_logic", "two", "model")
    refusal = refuse(run.tree, node, answer, ("find red", "find blue"), run.strategy)
    fields = {
        "goal": "find red",
        "success_criteria": [{"text": one} for one in criteria],
        "expected_output": {"description": "The result of: find red" if description is None else description},
    }
    try:
        Assignment.model_validate(plain(node.assignment) | fields)
    except ValidationError as error:
        first = error.errors()[0]
        assert refusal == ("bad_split", f"child 0: {'.'.join(map(str, first['loc']))}: {first['msg']}")
    else:
        assert refusal is None
    assert node.assignment.goal == GOAL

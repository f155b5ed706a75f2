"""Carry out what a rule leads to. Called with the action that the strategy chose; chooses nothing itself."""

from sol.core.escalate import escalate, labels_of, remedy
from sol.core.ruling import active_children, report_kind, report_reason, rule
from sol.core.split import want_split
from sol.engine.program import Reaction
from sol.strategy.schema import Strategy
from sol.tree.effects import Kind, ReassessAnswer
from sol.tree.events import Asked, Checked
from sol.tree.node import State, TaskNode, Tree
from sol.tree.values import JUDGED, AssignmentData, Cause, CheckResult

_WORST = (State.CANCELLED, State.EXHAUSTED, State.FAILED, State.BLOCKED, State.SKIPPED)


def ruled(tree: Tree, node: TaskNode, section: str, labels: list[str], strategy: Strategy, out: Reaction) -> None:
    """Decide by a section of the strategy's rules and carry the decision out. Source: S63."""
    action = rule(tree, node, section, labels, strategy, out)
    if action is not None:
        act(tree, node, action, strategy, out)


def on_rule_answer(tree: Tree, node: TaskNode, strategy: Strategy, out: Reaction) -> None:
    """The judge has answered the `ai()` condition that a decision waited for: decide again with its answer."""
    pending = node.deciding
    if pending is None:
        return
    if pending.section == "depth_limit":
        if node.reassessment is not None:
            on_reassessed(tree, node, node.reassessment, strategy, out)
    else:
        ruled(tree, node, pending.section, list(pending.labels), strategy, out)


def on_reassessed(tree: Tree, node: TaskNode, answer: ReassessAnswer, strategy: Strategy, out: Reaction) -> None:
    """Sol has looked at a task that cannot be split: let the rules decide what becomes of it. Source: S57, S58."""
    labels = list(node.deciding.labels) if node.deciding is not None else labels_of(node, answer)
    action = rule(tree, node, "depth_limit", labels, strategy, out)
    if action is not None:
        remedy(node, action, answer, out)


def act(tree: Tree, node: TaskNode, action: str, strategy: Strategy, out: Reaction) -> None:
    """Carry out one action. Without parts there is nothing new to attempt with, so that escalates. Source: S53, S63."""
    match action:
        case "validate":
            validate(node, out)
        case "accept" if tree.is_isolated and not node.path:
            out.want(node, Kind.LAND)
        case "accept":
            accept(node, out)
        case "attempt" if node.generation:
            out.want(node, Kind.ATTEMPT, Cause(new="information", what="parts"))
        case "set_aside":
            out.settle(node, State.SKIPPED, kind="parts", reason="All of its parts were set aside.")
        case "integrate":
            out.want(node, Kind.MERGE if tree.is_isolated else Kind.INTEGRATE)
        case "split":
            want_split(node, strategy, out)
        case "replan" if node.generation:
            want_split(node, strategy, out)
        case "replan" if node.path:
            out.settle(node, State.FAILED, kind=report_kind(node), reason=report_reason(node))
        case "replan" | "escalate" | "attempt":
            escalate(node, report_kind(node), out)
        case "ask":
            out.event(node.path, Asked(report_reason(node), kind="rule"))
        case _:
            _fail(tree, node, out)


def accept(node: TaskNode, out: Reaction) -> None:
    """End a node with success."""
    out.settle(node, State.SUCCESS, kind="unchecked" if node.unchecked else "")


def validate(node: TaskNode, out: Reaction) -> None:
    """Verify a claimed or integrated result: by an effect where any criterion can be executed. Source: S59."""
    criteria = criteria_of(node.assignment)
    if all(kind in JUDGED for kind, _ in criteria):
        results = tuple(CheckResult(criterion=text, kind=kind, ok=None, detail="") for kind, text in criteria)
        out.event(node.path, Checked(kind=Kind.CHECK, n=0, results=results))
    else:
        out.want(node, Kind.CHECK)


def criteria_of(assignment: AssignmentData) -> list[tuple[str, str]]:
    """Kind and text of every criterion of an assignment, implied ones included."""
    expected = assignment.expected_output
    found = [("file", f"file {path}") for path in expected.files]
    if expected.json_schema is not None:
        found.append(("json_schema", "json_schema"))
    found += [(criterion.kind, criterion.words) for criterion in assignment.success_criteria]
    return found


def _fail(tree: Tree, node: TaskNode, out: Reaction) -> None:
    """End a node without success: as its worst child, or for what its own report says."""
    if not node.generation:
        out.settle(node, State.FAILED, kind=report_kind(node), reason=report_reason(node))
        return
    children = [tree.nodes[path] for path in active_children(tree, node)]
    bad = [child for state in _WORST for child in children if child.state == state]
    if bad:
        reason = f"Part {bad[0].path} is {bad[0].state}: {bad[0].reason}"
        out.settle(node, bad[0].state, kind=bad[0].kind, reason=reason)
    else:
        out.settle(node, State.FAILED, kind=report_kind(node), reason=report_reason(node))

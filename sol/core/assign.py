"""Make the request of a command: what a Luna or the planner gets to see. Nothing here decides anything.

Context is kept small: the parent's goal, what is known and tried, results of earlier parts.
"""

import json
from typing import Any

from luna.text import clip
from sol.core.act import JUDGED
from sol.core.requests import (
    AtomicRequest,
    AttemptRequest,
    CheckRequest,
    How,
    IntegrateRequest,
    JudgeRequest,
    Kind,
    Part,
    ReassessRequest,
    Request,
    ReviewRequest,
    RuleRequest,
    SplitRequest,
)
from sol.core.ruling import active_children, effective_report, report_reason
from sol.strategy.schema import Strategy
from sol.tree.events import Command
from sol.tree.node import Node, State, Tree

RESULT_BYTES = 1024
"""Most bytes of an earlier part's result in a context."""

NAME_BLOCKER = "Your last report named no blocker. If you are stuck again, say concretely what is in the way."


def request(tree: Tree, command: Command, strategy: Strategy) -> Request:
    """What to hand to the effect of a command. Pure: the same tree and command give the same request."""
    node = tree.nodes[command.node]
    assignment = node.assignment
    match command.kind:
        case Kind.ATTEMPT:
            return AttemptRequest(compose(tree, node, strategy), node.worker, node.partial, command.because)
        case Kind.CHECK:
            return CheckRequest(assignment, node.result, node.since)
        case Kind.JUDGE:
            open_ = [c["criterion"] for c in node.checks if c["ok"] is None and c["kind"] in JUDGED]
            return JudgeRequest(assignment, node.result, tuple(open_))
        case Kind.SPLIT:
            return _split_request(tree, node, command, strategy)
        case Kind.REVIEW:
            return ReviewRequest(assignment, tuple(command.because["proposal"]["children"]))
        case Kind.INTEGRATE:
            parts = tuple(part_of(tree, path) for path in active_children(tree, node))
            by_luna = strategy.integrate == "luna" and node.how != How.INPUTS
            return IntegrateRequest(assignment, parts, node.sequential, node.how, node.worker if by_luna else None)
        case Kind.REASSESS:
            parts = tuple(part_of(tree, path) for path in node.children)
            return ReassessRequest(assignment, effective_report(node), command.because["trigger"], parts)
        case Kind.RULE:
            material = {"report": effective_report(node), "children": _children(tree, node)}
            return RuleRequest(assignment, command.because["question"], material)
        case _:
            return AtomicRequest(assignment)


def _split_request(tree: Tree, node: Node, command: Command, strategy: Strategy) -> SplitRequest:
    parts = [part_of(tree, path) for path in node.children]
    return SplitRequest(
        assignment=node.assignment,
        report=effective_report(node),
        dimensions=strategy.dimensions,
        splitter=strategy.splitter,
        arity=strategy.arity,
        depth_left=strategy.max_depth - node.depth,
        done=tuple(part for part in parts if part.state == State.SUCCESS),
        failed=tuple(part for part in parts if part.state != State.SUCCESS),
        tried=node.tried,
        refused=command.because.get("refused"),
    )


def _children(tree: Tree, node: Node) -> list[dict[str, str]]:
    return [
        {"path": path, "goal": tree.nodes[path].assignment["goal"], "state": str(tree.nodes[path].state)}
        for path in active_children(tree, node)
    ]


def part_of(tree: Tree, path: str) -> Part:
    """A child as the planner sees it."""
    node = tree.nodes[path]
    summary = (node.integration or node.report or {}).get("summary", "")
    return Part(path, node.assignment["goal"], str(node.state), node.result, summary, node.reason)


def compose(tree: Tree, node: Node, strategy: Strategy) -> dict[str, Any]:
    """The assignment as its Luna gets it: with the context that this task needs and no more. Source: S23, S25, S33."""
    lines = [] if node.assignment["context"] == "none" else [node.assignment["context"]]
    lines += _from_above(tree, node)
    lines += [_done(tree.nodes[path]) for path in node.children if tree.nodes[path].state == State.SUCCESS]
    lines += [f"New: {note}" for note in node.notes]
    if node.because.get("what") == "name_blocker":
        lines.append(f"New: {NAME_BLOCKER}")
    inputs = node.assignment["inputs"]
    if node.after:
        before = tree.nodes[node.after]
        inputs = {**inputs, "previous": before.result}
        lines.append(f"The part before this one was: {before.assignment['goal']}. Its result is the input “previous”.")
    context = clip("\n".join(lines), limit_bytes=strategy.context_bytes).text if lines else "none"
    return {**node.assignment, "context": context, "inputs": inputs}


def _from_above(tree: Tree, node: Node) -> list[str]:
    """What the parent's goal, its report and its accepted parts tell this node."""
    if not node.path:
        return []
    parent = tree.nodes[node.parent]
    if parent.how == How.INPUTS:
        return []
    lines = [f"This is part of: {parent.assignment['goal']}"]
    report = effective_report(parent)
    if report is not None:
        known = [str(item) for item in report.get("known") or ()]
        tried = [str(item) for item in report.get("attempted") or ()]
        lines += [f"Known: {item}" for item in known]
        lines += [f"Already tried on the whole: {item}" for item in tried]
        lines.append(f"What stopped it: {report_reason(parent)}")
    earlier = [path for path in parent.children if path not in parent.generation]
    lines += [_done(tree.nodes[path]) for path in earlier if tree.nodes[path].state == State.SUCCESS]
    return lines


def _done(node: Node) -> str:
    result = clip(json.dumps(node.result, ensure_ascii=False), limit_bytes=RESULT_BYTES).text
    return f"Done already: {node.assignment['goal']}. Result: {result}"

"""What a node's attempt is asked for, and what it gets of its neighbours. Pure."""

import json
from collections.abc import Iterable

from msgspec import structs

from luna.text import clip
from sol.core.report import active_children, effective_report, integrates_by_luna, report_reason
from sol.strategy.schema import Strategy
from sol.tree import effects as f
from sol.tree.effects import Checkout, How, Kind, Part, Request
from sol.tree.events import Command
from sol.tree.node import State, TaskNode, Tree
from sol.tree.values import JUDGED, AssignmentData, Json, plain

ROOT = "root"
"""How places of the root are called, whose path is the empty text."""


def start_of(tree: Tree, node: TaskNode) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The snapshot that work on a node starts from, and the accepted parts, by path, that belong into it as well.

    A task that was put together before starts from that; one that follows another from where that ended; any other one
    from where its parent started. What earlier splits have brought belongs into it. Source: S24, S25.
    """
    also: list[tuple[str, str]] = []
    while True:
        over = [path for path in node.children if path not in node.current_children]
        also = [*accepted(tree, over), *also]
        if node.merged or not node.path:
            return node.merged or tree.config.base, tuple(also)
        if node.after and (before := tree.nodes[node.after]).snapshot:
            return before.snapshot, tuple(also)
        node = tree.nodes[node.after or node.parent]


def accepted(tree: Tree, paths: Iterable[str]) -> list[tuple[str, str]]:
    """Path and snapshot of those nodes that are accepted and have changed anything."""
    found = [tree.nodes[path] for path in paths]
    return [(node.path, node.snapshot) for node in found if node.state == State.SUCCESS and node.snapshot]


def checkout_of(tree: Tree, node: TaskNode, command: Command) -> Checkout | None:
    """The checkout of an attempt, check or integration; None when all work in the workspace itself."""
    if not tree.is_isolated:
        return None
    label = node.path or ROOT
    base, also = start_of(tree, node)
    if command.kind == Kind.ATTEMPT:
        return Checkout(f"{label}.{command.n}", base, also)
    if command.kind == Kind.INTEGRATE or node.integration is not None:
        return Checkout(f"{label}.merge", node.snapshot or base)
    return Checkout(f"{label}.{node.counts.get(Kind.ATTEMPT, 0)}", node.snapshot or base)


def checkouts_of(node: TaskNode) -> list[str]:
    """Names of all checkouts that there may be of a node."""
    label = node.path or ROOT
    return [f"{label}.{n}" for n in range(1, node.counts.get(Kind.ATTEMPT, 0) + 1)] + [f"{label}.merge"]


def merge_of(tree: Tree, node: TaskNode) -> Checkout:
    """The checkout where the accepted parts of a node are merged, and those that are to be merged into it now.

    That is everything accepted or, after a conflict, what is not in yet.
    """
    base, also = start_of(tree, node)
    sides = dict([*also, *accepted(tree, node.current_children)])
    if node.merging:
        base = node.merging.snapshot
        sides = {path: snapshot for path, snapshot in sides.items() if path not in node.merging.merged}
    return Checkout(f"{node.path or ROOT}.merge", base, tuple(sides.items()))


RESULT_BYTES = 1024
"""Most bytes of an earlier part's result in a context."""

NAME_BLOCKER = "Your last report named no blocker. If you are stuck again, say concretely what is in the way."


def request(tree: Tree, command: Command, strategy: Strategy) -> Request:
    """What to hand to the effect of a command. Pure: the same tree and command give the same request."""
    node = tree.nodes[command.node]
    assignment = node.assignment
    match command.kind:
        case Kind.ATTEMPT:
            given = compose(tree, node, strategy)
            checkout = checkout_of(tree, node, command)
            return f.AttemptRequest(given, node.worker, node.partial, command.cause, node.answers, checkout)
        case Kind.CHECK:
            return f.CheckRequest(assignment, node.result, node.since, node.worker, checkout_of(tree, node, command))
        case Kind.JUDGE:
            open_ = [c.criterion for c in node.checks if c.ok is None and c.kind in JUDGED]
            return f.JudgeRequest(assignment, node.result, tuple(open_))
        case Kind.SPLIT:
            return _split_request(tree, node, command, strategy)
        case Kind.REVIEW:
            proposal = command.cause.proposal
            return f.ReviewRequest(assignment, () if proposal is None else proposal.children)
        case Kind.INTEGRATE:
            parts = tuple(part_of(tree, path) for path in active_children(tree, node))
            worker = node.worker if integrates_by_luna(node, strategy) else None
            checkout = checkout_of(tree, node, command)
            return f.IntegrateRequest(assignment, parts, node.sequential, node.how, worker, checkout)
        case Kind.MERGE:
            return _merge_request(tree, node, command)
        case Kind.APPLY:
            return f.ApplyRequest(node.snapshot, tree.config.base)
        case Kind.REASSESS:
            parts = tuple(part_of(tree, path) for path in node.children)
            return f.ReassessRequest(assignment, effective_report(node), command.cause.trigger, parts)
        case Kind.RULE:
            report = effective_report(node)
            material = {"report": None if report is None else plain(report), "children": _children(tree, node)}
            return f.RuleRequest(assignment, command.cause.question, material)
        case _:
            return f.AtomicRequest(assignment)


def _merge_request(tree: Tree, node: TaskNode, command: Command) -> f.MergeRequest:
    checkout = merge_of(tree, node)
    paths = dict.fromkeys([path for path, _ in checkout.sides] + active_children(tree, node))
    parts = tuple(part_of(tree, path) for path in paths)
    return f.MergeRequest(node.assignment, checkout, parts, node.worker if command.cause.conflict is not None else None)


def _split_request(tree: Tree, node: TaskNode, command: Command, strategy: Strategy) -> f.SplitRequest:
    parts = [part_of(tree, path) for path in node.children]
    return f.SplitRequest(
        assignment=node.assignment,
        report=effective_report(node),
        dimensions=strategy.dimensions,
        splitter=strategy.splitter,
        arity=strategy.arity,
        depth_left=strategy.max_depth - node.depth,
        done=tuple(part for part in parts if part.state == State.SUCCESS),
        failed=tuple(part for part in parts if part.state != State.SUCCESS),
        tried=node.tried,
        refused=command.cause.refused,
    )


def _children(tree: Tree, node: TaskNode) -> list[Json]:
    return [
        {"path": path, "goal": tree.nodes[path].assignment.goal, "state": str(tree.nodes[path].state)}
        for path in active_children(tree, node)
    ]


def part_of(tree: Tree, path: str) -> Part:
    """A child as the planner sees it."""
    node = tree.nodes[path]
    said = node.integration or node.report
    return Part(
        path,
        node.assignment.goal,
        str(node.state),
        node.result,
        said.summary if said is not None else "",
        node.reason,
        inputs=node.assignment.inputs,
        halved=node.how == How.INPUTS,
    )


def compose(tree: Tree, node: TaskNode, strategy: Strategy) -> AssignmentData:
    """The assignment as its Luna gets it: with the context that this task needs and no more. Source: S23, S25, S33."""
    assignment = node.assignment
    lines = [] if assignment.context == "none" else [assignment.context]
    lines += _from_above(tree, node)
    before, done = _earlier(tree, node)
    done += [tree.nodes[path] for path in node.children if tree.nodes[path].state == State.SUCCESS]
    lines += [_done(one) for one in done]
    lines += [f"New: {note}" for note in node.notes]
    if node.cause.what == "name_blocker":
        lines.append(f"New: {NAME_BLOCKER}")
    inputs = assignment.inputs
    if before is not None:
        inputs = {**inputs, "previous": before.result}
        lines.append(f"The part before this one was: {before.assignment.goal}. Its result is the input “previous”.")
    context = clip("\n".join(lines), limit_bytes=strategy.context_bytes).text if lines else "none"
    if context == assignment.context and inputs is assignment.inputs:
        return assignment
    return structs.replace(assignment, context=context, inputs=inputs)


def _from_above(tree: Tree, node: TaskNode) -> list[str]:
    """What the goal, the notes and the report of the task that this one is part of tell it.

    Halves of inputs are no parts of a thought: they get what the whole got.
    """
    lines: list[str] = []
    for parent in tree.lineage(node):
        notes = [f"Known: {note}" for note in parent.notes]
        if parent.how != How.INPUTS:
            return [f"This is part of: {parent.assignment.goal}", *notes, *_reported(parent), *lines]
        lines = [*notes, *lines]
    return lines


def _reported(node: TaskNode) -> list[str]:
    report = effective_report(node)
    if report is None:
        return []
    known = [f"Known: {item}" for item in report.known]
    tried = [f"Already tried on the whole: {item}" for item in report.attempted]
    return [*known, *tried, f"What stopped it: {report_reason(node)}"]


def _earlier(tree: Tree, node: TaskNode) -> tuple[TaskNode | None, list[TaskNode]]:
    """The accepted part that this one, or the task it is part of, builds on; and other accepted parts around it."""
    before: TaskNode | None = None
    done: list[TaskNode] = []
    at = node
    while at.path:
        parent = tree.nodes[at.parent]
        if at.after:
            previous = tree.nodes[at.after]
            before, more = (previous, []) if before is None else (before, [previous])
        elif parent.how != How.INPUTS:
            # Parts that are worked on at the same time are no news to each other, but are to what comes of a re-split.
            paths = (
                parent.children if at is not node else [p for p in parent.children if p not in parent.current_children]
            )
            more = [tree.nodes[path] for path in paths if path != at.path and tree.nodes[path].state == State.SUCCESS]
        else:
            more = []
        done = [*more, *done]
        at = parent
    return before, done


def _done(node: TaskNode) -> str:
    result = clip(json.dumps(node.result, ensure_ascii=False), limit_bytes=RESULT_BYTES).text
    return f"Done already: {node.assignment.goal}. Result: {result}"

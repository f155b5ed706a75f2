"""A node from its first attempt to its end: attempts, checks, integration, as the strategy's rules say. Pure."""

from sol.core.report import active_children, failed_checks, only_parts, open_issues, report_kind, report_reason, rule
from sol.core.split import escalate, labels_of, remedy, want_split
from sol.engine.program import Reaction
from sol.strategy.schema import Strategy
from sol.tree.effects import AtomicAnswer, IntegrateAnswer, Kind, MergeAnswer, ReassessAnswer
from sol.tree.events import Analysed, Asked, Checked, Event, Settled, Stopped
from sol.tree.node import State, TaskNode, Tree
from sol.tree.values import JUDGED, AssignmentData, Cause, CheckResult, ReportData

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
            out.want(node, Kind.APPLY)
        case "accept":
            accept(node, out)
        case "attempt" if node.current_children:
            out.want(node, Kind.ATTEMPT, Cause(new="information", what="parts"))
        case "set_aside":
            out.settle(node, State.SKIPPED, kind="parts", reason="All of its parts were set aside.")
        case "integrate":
            out.want(node, Kind.MERGE if tree.is_isolated else Kind.INTEGRATE)
        case "split":
            want_split(node, strategy, out)
        case "replan" if node.current_children:
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
    if not node.current_children:
        out.settle(node, State.FAILED, kind=report_kind(node), reason=report_reason(node))
        return
    children = [tree.nodes[path] for path in active_children(tree, node)]
    bad = [child for state in _WORST for child in children if child.state == state]
    if bad:
        reason = f"Part {bad[0].path} is {bad[0].state}: {bad[0].reason}"
        out.settle(node, bad[0].state, kind=bad[0].kind, reason=reason)
    else:
        out.settle(node, State.FAILED, kind=report_kind(node), reason=report_reason(node))


def begin(node: TaskNode, strategy: Strategy, out: Reaction) -> None:
    """Start a node: let a Luna try, split first, or ask whether it is atomic. Source: S08, S09, S11."""
    if strategy.attempt == "first" or node.depth >= strategy.max_depth:
        out.want(node, Kind.ATTEMPT)
    elif strategy.attempt == "never":
        out.want(node, Kind.SPLIT)
    else:
        out.want(node, Kind.ATOMIC)


def on_atomic(node: TaskNode, answer: AtomicAnswer, out: Reaction) -> None:
    """Sol has judged whether the task is one piece of work. Source: S09."""
    out.want(node, Kind.ATTEMPT if answer.atomic else Kind.SPLIT)


def on_reported(tree: Tree, node: TaskNode, report: ReportData, n: int, strategy: Strategy, out: Reaction) -> None:
    """A Luna has handed in its report and is stopped. Source: S07, S10, S54, S56."""
    if report.status == "SUCCESS":
        ruled(tree, node, "report", ["SUCCESS"], strategy, out)
        return
    out.event(node.path, Stopped(n))
    kind = report_kind(node)
    if kind == "unspecified" and node.cause.what != "name_blocker":
        out.want(node, Kind.ATTEMPT, Cause(new="constraint", what="name_blocker"))
        return
    out.event(node.path, Analysed(kind=kind, blocker=report_reason(node), unknown=report.unknown))
    if report.question:
        out.event(node.path, Asked(report.question, kind="needs_human"))
    else:
        ruled(tree, node, "report", [report.status, f"{report.status}:{kind}"], strategy, out)


def on_checked(tree: Tree, node: TaskNode, strategy: Strategy, out: Reaction) -> None:
    """The executable criteria have been run, or there are none. Source: S59."""
    unjudged = [check for check in node.checks if check.ok is None and check.kind in JUDGED]
    if unjudged and not failed_checks(node) and tree.config.sol == "model":
        out.want(node, Kind.JUDGE)
    else:
        conclude(tree, node, strategy, out)


def conclude(tree: Tree, node: TaskNode, strategy: Strategy, out: Reaction) -> None:
    """All that can be checked has been: let the rules accept or reject the result. Source: S59, S63."""
    labels = ["integrated"] if node.integration is not None else []
    failed = failed_checks(node)
    if failed:
        kind = report_kind(node)
        criteria = tuple(check.criterion for check in failed)
        out.event(node.path, Analysed(kind=kind, blocker=report_reason(node), failed=criteria))
        ruled(tree, node, "validation", ["failed", f"failed:{kind}", *labels], strategy, out)
    else:
        ruled(tree, node, "validation", ["unchecked" if node.unchecked else "passed", *labels], strategy, out)


def on_merged(
    tree: Tree, node: TaskNode, answer: MergeAnswer | IntegrateAnswer, strategy: Strategy, out: Reaction
) -> None:
    """The work of the parts was merged: integrate their results, or let a new Luna settle a conflict. Source: S61."""
    if isinstance(answer, IntegrateAnswer):
        on_integrated(tree, node, answer, strategy, out)
    elif answer.conflict is not None:
        out.want(node, Kind.MERGE, Cause(new="information", conflict=answer.conflict))
    else:
        out.want(node, Kind.INTEGRATE)


def on_integrated(tree: Tree, node: TaskNode, whole: IntegrateAnswer, strategy: Strategy, out: Reaction) -> None:
    """Parts have been put together: verify the whole, or plan anew where something is open. Source: S60, S62."""
    if not any(check.ok is False for check in whole.checks.values()):
        validate(node, out)
        return
    if only_parts(whole):
        out.event(node.path, Analysed(kind="parts", blocker=report_reason(node)))
        ruled(tree, node, "validation", ["failed", "failed:parts"], strategy, out)
        return
    found = tuple(sorted(open_issues(whole)))
    if found in node.open_sets:
        before = "; ".join(" + ".join(one) for one in node.open_sets)
        reason = f"The same issues are open again: {'; '.join(found)}. Open before: {before}."
        ended = Settled(State.FAILED, kind="oscillation", reason=reason, open=(*node.open_sets, found))
        out.events.append(Event(node.path, ended))
        return
    out.event(node.path, Analysed(kind="integration", blocker=report_reason(node), open=found))
    ruled(tree, node, "validation", ["failed", "failed:integration"], strategy, out)


def on_settled(tree: Tree, node: TaskNode, strategy: Strategy, out: Reaction) -> None:
    """A node has ended: start or block those that waited for it; when all siblings have ended, decide on the parent.

    Source: S24, S25, S56, S63.
    """
    if not node.path:
        return
    parent = tree.nodes[node.parent]
    if parent.ended or node.path not in parent.current_children:
        return
    siblings = [tree.nodes[path] for path in parent.current_children]
    for sibling in siblings:
        if sibling.after == node.path and sibling.state == State.PENDING:
            follow(node, sibling, strategy, out)
    if all(sibling.ended and not sibling.paused for sibling in siblings):
        _conclude(tree, parent, strategy, out)


def follow(node: TaskNode, sibling: TaskNode, strategy: Strategy, out: Reaction) -> None:
    """What the end of a part means for the one that waits for it. Source: S24."""
    if node.state == State.SUCCESS:
        begin(sibling, strategy, out)
    else:
        reason = f"It needs part {node.path}, which is {node.state}."
        out.settle(sibling, State.BLOCKED, kind=node.kind, reason=reason, resumable=node.resumable)


def _conclude(tree: Tree, parent: TaskNode, strategy: Strategy, out: Reaction) -> None:
    children = [tree.nodes[path] for path in active_children(tree, parent)]
    broken = [child for child in children if child.resumable]
    if broken:
        first = broken[0]
        reason = f"Part {first.path} is {first.state} and can be taken up again: {first.reason}"
        state = State.EXHAUSTED if first.state == State.EXHAUSTED else State.BLOCKED
        out.settle(parent, state, kind=first.kind, reason=reason, resumable=True)
    else:
        ruled(tree, parent, "children", [], strategy, out)

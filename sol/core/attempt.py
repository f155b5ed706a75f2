"""From a node's beginning to a result that is accepted or not: who tries, what a report and its checks mean."""

from sol.core.act import ruled, validate
from sol.core.ruling import failed_checks, only_parts, open_issues, report_kind, report_reason
from sol.engine.program import Reaction
from sol.strategy.schema import Strategy
from sol.tree.effects import AtomicAnswer, IntegrateAnswer, Kind, MergeAnswer
from sol.tree.events import Analysed, Asked, Event, Settled, Stopped
from sol.tree.node import State, TaskNode, Tree
from sol.tree.values import JUDGED, Cause, ReportData


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
    if kind == "unspecified" and node.because.what != "name_blocker":
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

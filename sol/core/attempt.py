"""From a node's beginning to a result that is accepted or not: who tries, what a report and its checks mean."""

from typing import Any

from sol.core.act import JUDGED, ruled, validate
from sol.core.outcome import Out
from sol.core.requests import Kind
from sol.core.ruling import failed_checks, only_parts, open_issues, report_kind, report_reason
from sol.strategy.schema import Strategy
from sol.tree.events import EventType
from sol.tree.node import Node, State, Tree


def begin(node: Node, strategy: Strategy, out: Out) -> None:
    """Start a node: let a Luna try, split first, or ask whether it is atomic. Source: S08, S09, S11."""
    if strategy.attempt == "first" or node.depth >= strategy.max_depth:
        out.want(node, Kind.ATTEMPT)
    elif strategy.attempt == "never":
        out.want(node, Kind.SPLIT)
    else:
        out.want(node, Kind.ATOMIC)


def on_atomic(node: Node, answer: dict[str, Any], out: Out) -> None:
    """Sol has judged whether the task is one piece of work. Source: S09."""
    out.want(node, Kind.ATTEMPT if answer["atomic"] else Kind.SPLIT)


def on_reported(tree: Tree, node: Node, n: int, strategy: Strategy, out: Out) -> None:
    """A Luna has handed in its report and is stopped. Source: S07, S10, S54, S56."""
    report = node.report or {}
    status = report["status"]
    if status == "SUCCESS":
        ruled(tree, node, "report", ["SUCCESS"], strategy, out)
        return
    out.event(EventType.STOPPED, node.path, n=n)
    kind = report_kind(node)
    if kind == "unspecified" and node.because.get("what") != "name_blocker":
        out.want(node, Kind.ATTEMPT, new="constraint", what="name_blocker")
        return
    analysis: dict[str, Any] = {"kind": kind, "blocker": report_reason(node)}
    if report.get("unknown"):
        analysis["unknown"] = list(report["unknown"])
    out.event(EventType.ANALYSED, node.path, **analysis)
    if report.get("question"):
        out.event(EventType.ASKED, node.path, question=report["question"], kind="needs_human")
    else:
        ruled(tree, node, "report", [status, f"{status}:{kind}"], strategy, out)


def on_checked(tree: Tree, node: Node, strategy: Strategy, out: Out) -> None:
    """The executable criteria have been run, or there are none. Source: S59."""
    unjudged = [check for check in node.checks if check["ok"] is None and check["kind"] in JUDGED]
    if unjudged and not failed_checks(node) and tree.config["sol"] == "model":
        out.want(node, Kind.JUDGE)
    else:
        conclude(tree, node, strategy, out)


def conclude(tree: Tree, node: Node, strategy: Strategy, out: Out) -> None:
    """All that can be checked has been: let the rules accept or reject the result. Source: S59, S63."""
    labels = ["integrated"] if node.integration is not None else []
    if failed_checks(node):
        failed = [check["criterion"] for check in failed_checks(node)]
        out.event(EventType.ANALYSED, node.path, kind=report_kind(node), blocker=report_reason(node), failed=failed)
        ruled(tree, node, "validation", ["failed", f"failed:{report_kind(node)}", *labels], strategy, out)
    else:
        ruled(tree, node, "validation", ["unchecked" if node.unchecked else "passed", *labels], strategy, out)


def on_merged(tree: Tree, node: Node, answer: dict[str, Any], strategy: Strategy, out: Out) -> None:
    """The work of the parts was merged: integrate their results, or let a new Luna settle a conflict. Source: S61."""
    if "checks" in answer:
        on_integrated(tree, node, strategy, out)
    elif answer["conflict"] is not None:
        out.want(node, Kind.MERGE, new="information", conflict=answer["conflict"])
    else:
        out.want(node, Kind.INTEGRATE)


def on_integrated(tree: Tree, node: Node, strategy: Strategy, out: Out) -> None:
    """Parts have been put together: verify the whole, or plan anew where something is open. Source: S60, S62."""
    integration = node.integration or {}
    if not any(check["ok"] is False for check in integration["checks"].values()):
        validate(node, out)
        return
    if only_parts(integration):
        out.event(EventType.ANALYSED, node.path, kind="parts", blocker=report_reason(node))
        ruled(tree, node, "validation", ["failed", "failed:parts"], strategy, out)
        return
    found = sorted(open_issues(integration))
    if tuple(found) in node.open_sets:
        before = "; ".join(" + ".join(one) for one in node.open_sets)
        reason = f"The same issues are open again: {'; '.join(found)}. Open before: {before}."
        out.settle(node, State.FAILED, kind="oscillation", reason=reason, open=[*node.open_sets, found])
        return
    out.event(EventType.ANALYSED, node.path, kind="integration", blocker=report_reason(node), open=found)
    ruled(tree, node, "validation", ["failed", "failed:integration"], strategy, out)

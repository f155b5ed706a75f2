"""Apply a section of the strategy's rules to a node, and tell what a node's last report amounts to."""

from collections.abc import Sequence
from typing import Any

from sol.core.outcome import Out
from sol.core.requests import Kind
from sol.rules import (
    Child,
    Context,
    Decision,
    Judgement,
    Matched,
    NeedJudge,
    NoMatch,
    evaluate,
    kind_of,
    print_condition,
)
from sol.strategy.schema import Strategy
from sol.tree.events import EventType
from sol.tree.node import Node, State, Tree


def rule(tree: Tree, node: Node, section: str, labels: Sequence[str], strategy: Strategy, out: Out) -> str | None:
    """Decide by the rules of a section; return what its rule leads to, or None when the node waits or has ended.

    Args:
        tree: The whole tree; the children's states are read from it.
        node: The node to decide about.
        section: Name of the section.
        labels: What label conditions may match.
        strategy: Whose rules.
        out: Gets the record of the decision; the question to the judge; or the node's end when no rule holds.

    Source: S63, R09, R14, R20, R24.
    """
    judgements = {
        int(number): Judgement(holds=answer["holds"], reason=answer["reason"])
        for key, answer in node.judgements.items()
        for of, _, number in [key.partition("/")]
        if of == section
    }
    children = tuple(Child(path, str(tree.nodes[path].state)) for path in active_children(tree, node))
    context = Context(children=children, labels=frozenset(labels), judgements=judgements)
    match evaluate(strategy.sections[section], context):
        case Matched(decision):
            out.event(EventType.DECIDED, node.path, section=section, **_record(decision))
            return decision.next
        case NeedJudge(rule_index, question, _):
            out.event(EventType.DECIDED, node.path, section=section, labels=list(labels), wait=True)
            out.want(node, Kind.RULE, rule=f"{section}/{rule_index}", question=question)
        case NoMatch(seen):
            tried = "; ".join(print_condition(one.condition) for one in seen)
            saw = ", ".join([*labels, *(f"{child.name} {child.verdict}" for child in children)])
            reason = f"No rule of {section} holds. Seen: {saw}. Rules: {tried}."
            out.event(EventType.DECIDED, node.path, section=section, rule=None, next=None, reason=reason)
            out.settle(node, State.FAILED, kind="no_rule", reason=reason)
    return None


def _record(decision: Decision) -> dict[str, Any]:
    record: dict[str, Any] = {
        "rule": decision.rule_index,
        "kind": kind_of(decision.condition),
        "condition": print_condition(decision.condition),
        "next": decision.next,
    }
    if record["kind"] != "label":  # a label read nothing but what the condition says
        record["read"] = decision.read
    return record if decision.reason is None else {**record, "reason": decision.reason}


def active_children(tree: Tree, node: Node) -> list[str]:
    """The children that count: accepted ones of earlier splits, then those of the newest one. Source: S25."""
    newest = set(node.generation)
    kept = [path for path in node.children if path not in newest and tree.nodes[path].state == State.SUCCESS]
    return [*kept, *node.generation]


def failed_checks(node: Node) -> list[dict[str, Any]]:
    """Results of the newest checks that did not hold."""
    return [check for check in node.checks if check["ok"] is False]


def report_kind(node: Node) -> str:
    """One word for why the node's last report or integration does not do. Source: S07, S59, S62."""
    failed = failed_checks(node)
    if failed:
        return "unverified_success" if any(check["kind"] == "file" for check in failed) else "verification"
    if node.integration is not None:
        return "parts" if only_parts(node.integration) else "integration"
    report = node.report
    if report is None or report["status"] == "SUCCESS":
        return "rule"
    if report["status"] == "STUCK" and not report["blocker"].strip():
        return "unspecified"
    return str(report["kind"])


def report_reason(node: Node) -> str:
    """One sentence for why the node's last report or integration does not do."""
    failed = failed_checks(node)
    if failed:
        return "; ".join(f"{check['criterion']}: {check['detail'] or 'does not hold'}" for check in failed)
    if node.integration is not None:
        return "Integration left open: " + ("; ".join(open_issues(node.integration)) or "nothing named")
    report = node.report or {}
    return str(
        report.get("blocker") or report.get("reason") or report.get("summary") or "No concrete blocker was named."
    )


def effective_report(node: Node) -> dict[str, Any] | None:
    """The report that a split or reassessment works from: a rejected SUCCESS counts as STUCK. Source: S59."""
    failed = failed_checks(node)
    if not failed and node.integration is None:
        return node.report
    claim = node.report or {}
    return {
        "status": "STUCK",
        "kind": report_kind(node),
        "summary": claim.get("summary", ""),
        "blocker": report_reason(node),
        "known": [],
        "unknown": [],
        "attempted": [claim["summary"]] if claim.get("summary") else [],
        "suggested_split": [],
        "evidence": [f"{check['criterion']}: {check['detail']}" for check in failed],
    }


def only_parts(integration: dict[str, Any]) -> bool:
    """Whether all parts are done and fit, and only are not the whole yet (open questions settled, say)."""
    wrong = [name for name, check in integration["checks"].items() if check["ok"] is False]
    return wrong == ["parts_imply_whole"] and not integration.get("open")


def open_issues(integration: dict[str, Any]) -> list[str]:
    """What an integration left open: the issues it named, or the checks that do not hold."""
    named = list(integration.get("open") or ())
    wrong = [f"{name}: {check['note']}" for name, check in integration["checks"].items() if check["ok"] is False]
    return named or wrong

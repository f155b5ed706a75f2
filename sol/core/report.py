"""Apply a section of the strategy's rules to a node, and tell what a node's last report amounts to."""

from collections.abc import Sequence

from sol.engine.program import Reaction
from sol.rules import (
    Aggregate,
    Child,
    Context,
    Decision,
    Judgement,
    Matched,
    NeedJudge,
    NoMatch,
    Quorum,
    aggregate_holds,
    evaluate,
    kind_of,
    print_condition,
)
from sol.strategy.schema import Strategy
from sol.tree.effects import How, IntegrateAnswer, Kind
from sol.tree.events import Decided
from sol.tree.node import State, TaskNode, Tree
from sol.tree.values import Cause, CheckResult, ReportData


def rule(
    tree: Tree, node: TaskNode, section: str, labels: Sequence[str], strategy: Strategy, out: Reaction
) -> str | None:
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
    plainly = _first(tree, node, section, labels, strategy)
    if plainly is not None:
        out.event(node.path, plainly)
        return plainly.next
    judgements = {
        int(number): Judgement(holds=answer.holds, reason=answer.reason)
        for key, answer in node.judgements.items()
        for of, _, number in [key.partition("/")]
        if of == section
    }
    children = tuple(Child(path, state) for path, state in _children(tree, node))
    context = Context(children=children, labels=frozenset(labels), judgements=judgements)
    match evaluate(strategy.sections[section], context):
        case Matched(decision):
            out.event(node.path, _record(section, decision))
            return decision.next
        case NeedJudge(rule_index, question, _):
            out.event(node.path, Decided(section, labels=tuple(labels), wait=True))
            out.want(node, Kind.RULE, Cause(rule=f"{section}/{rule_index}", question=question))
        case NoMatch(seen):
            tried = "; ".join(print_condition(one.condition) for one in seen)
            saw = ", ".join([*labels, *(f"{child.name} {child.verdict}" for child in children)])
            reason = f"No rule of {section} holds. Seen: {saw}. Rules: {tried}."
            out.event(node.path, Decided(section, reason=reason))
            out.settle(node, State.FAILED, kind="no_rule", reason=reason)
    return None


def _first(tree: Tree, node: TaskNode, section: str, labels: Sequence[str], strategy: Strategy) -> Decided | None:
    """The first rule that holds, as long as labels and the children's states tell; None: a judge must, or none does.

    Comes to what `evaluate` comes to, without all that it keeps for whoever wants to know why.
    """
    said = {label.strip() for label in labels}
    children: list[list[str]] | None = None
    for index, tried in enumerate(strategy.tried[section]):
        if tried.kind == "label":
            if tried.text in said:
                return Decided(section, index, tried.kind, tried.text, tried.next)
            continue
        condition = tried.condition
        if not isinstance(condition, Aggregate | Quorum):
            return None
        if children is None:
            children = [[path, state] for path, state in _children(tree, node)]
        if aggregate_holds(condition, [state for _, state in children]):
            return Decided(section, index, tried.kind, tried.text, tried.next, {"children": children})
    return None


def _children(tree: Tree, node: TaskNode) -> list[tuple[str, str]]:
    """Path and state of the children that count."""
    return [(path, str(tree.nodes[path].state)) for path in active_children(tree, node)]


def _record(section: str, decision: Decision) -> Decided:
    kind = kind_of(decision.condition)
    return Decided(
        section,
        rule=decision.rule_index,
        kind=kind,
        condition=print_condition(decision.condition),
        next=decision.next,
        read={} if kind == "label" else decision.read,  # a label read nothing but what the condition says
        reason=decision.reason,
    )


def integrates_by_luna(node: TaskNode, strategy: Strategy) -> bool:
    """Whether a Luna puts the parts of this node together. Halves of inputs need none. Source: S61."""
    return strategy.integrate == "luna" and node.how != How.INPUTS


def active_children(tree: Tree, node: TaskNode) -> list[str]:
    """The children that count: accepted ones of earlier splits, then those of the newest one. Source: S25."""
    newest = set(node.current_children)
    kept = [path for path in node.children if path not in newest and tree.nodes[path].state == State.SUCCESS]
    return [*kept, *node.current_children]


def failed_checks(node: TaskNode) -> list[CheckResult]:
    """Results of the newest checks that did not hold."""
    return [check for check in node.checks if check.ok is False]


def report_kind(node: TaskNode) -> str:
    """One word for why the node's last report or integration does not do. Source: S07, S59, S62."""
    failed = failed_checks(node)
    if failed:
        return "unverified_success" if any(check.kind == "file" for check in failed) else "verification"
    if node.integration is not None:
        return "parts" if only_parts(node.integration) else "integration"
    report = node.report
    if report is None or report.status == "SUCCESS":
        return "rule"
    if report.status == "STUCK" and not report.blocker.strip():
        return "unspecified"
    return report.kind


def report_reason(node: TaskNode) -> str:
    """One sentence for why the node's last report or integration does not do."""
    failed = failed_checks(node)
    if failed:
        return "; ".join(f"{check.criterion}: {check.detail or 'does not hold'}" for check in failed)
    if node.integration is not None:
        return "Integration left open: " + ("; ".join(open_issues(node.integration)) or "nothing named")
    report = node.report
    said = "" if report is None else report.blocker or report.reason or report.summary
    return said or "No concrete blocker was named."


def effective_report(node: TaskNode) -> ReportData | None:
    """The report that a split or reassessment works from: a rejected SUCCESS counts as STUCK. Source: S59."""
    failed = failed_checks(node)
    if not failed and node.integration is None:
        return node.report
    summary = node.report.summary if node.report is not None else ""
    return ReportData(
        "STUCK",
        kind=report_kind(node),
        summary=summary,
        blocker=report_reason(node),
        attempted=(summary,) if summary else (),
        evidence=tuple(f"{check.criterion}: {check.detail}" for check in failed),
    )


def only_parts(integration: IntegrateAnswer) -> bool:
    """Whether all parts are done and fit, and only are not the whole yet (open questions settled, say)."""
    wrong = [name for name, check in integration.checks.items() if check.ok is False]
    return wrong == ["parts_imply_whole"] and not integration.open


def open_issues(integration: IntegrateAnswer) -> list[str]:
    """What an integration left open: the issues it named, or the checks that do not hold."""
    named = list(integration.open)
    wrong = [f"{name}: {check.note}" for name, check in integration.checks.items() if check.ok is False]
    return named or wrong

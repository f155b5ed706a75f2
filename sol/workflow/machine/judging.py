"""What a step's answer means: its report, its rules, its verdict. Pure.

Statuses and verdicts are read from the report's fields and from status tags only, never from prose.
"""

from collections.abc import Mapping
from typing import Any, Final

from sol.tree.effects import Kind
from sol.rules import (
    Child,
    Context,
    Decision,
    Judgement,
    Label,
    Matched,
    NeedJudge,
    NoMatch,
    evaluate,
    kind_of,
    needs_status_tag,
    print_condition,
    read_verdict,
)
from sol.rules.evaluate import Scalar
from sol.tree.events import EventType
from sol.tree.node import State
from sol.workflow.machine.check import ERROR_LABEL
from sol.workflow.machine.definition import StepRule
from sol.workflow.machine.out import Out
from sol.workflow.machine.state import FILE, Visit

SECTION: Final = "rules"
SEPARATOR: Final = "\n\n---\n\n"


def on_reported(out: Out, visit: Visit) -> None:
    """A worker has reported."""
    report = visit.report or {}
    match report.get("status"):
        case "SUCCESS":
            if out.step(visit).reports:
                out.want(visit, FILE)
            else:
                judge(out, visit)
        case "STUCK" if report.get("question") and visit.monitor < 0:
            out.event(EventType.ASKED, visit.path, question=report["question"])
        case "STUCK":
            reason = report.get("blocker") or "The worker named no blocker."
            out.settle(visit, State.FAILED, kind="stuck", reason=reason)
        case _:
            out.settle(visit, State.FAILED, kind=report.get("kind", "failed"), reason=report.get("reason", ""))


def judge(out: Out, visit: Visit) -> None:
    """Try the rules of a step whose answer is there. Source: R05, R08, R09, R14, R20."""
    rules = out.rules(visit)
    if not rules and visit.inner:
        # The end of a called workflow is a verdict of its own; without rules all else is undetermined.
        out.event(EventType.DECIDED, visit.path, section=SECTION, verdict=visit.outcome or None)
        out.settle(visit, State.SUCCESS)
        return
    children = out.machine.within(visit)
    text = combined(children) if children else visit.text
    context = Context(
        children=[Child(child.step, _counts_as(child)) for child in children],
        labels=_labels(visit, rules),
        step=out.step(visit).tag,
        text=text,
        values=_values(visit.result),
        judgements={
            int(key.partition("/")[2]): Judgement(holds=answer["holds"], reason=answer["reason"])
            for key, answer in visit.judgements.items()
        },
    )
    match evaluate([one.rule for one in rules], context):
        case Matched(decision):
            _matched(out, visit, rules[decision.rule_index], decision, text=text if children else "")
        case NeedJudge(index, question, _):
            out.event(EventType.DECIDED, visit.path, section=SECTION, labels=[], wait=True)
            out.want(visit, Kind.RULE, rule=f"{SECTION}/{index}", question=question)
        case NoMatch() as nothing:
            _no_match(out, visit, rules, nothing)


def combined(children: list[Visit]) -> str:
    """The answers of sub-steps as one text, in the order of the definition."""
    return SEPARATOR.join(f"## {child.step}\n{child.text}" for child in children)


def _counts_as(child: Visit) -> str | None:
    return child.verdict if child.state == State.SUCCESS else ERROR_LABEL


def _labels(visit: Visit, rules: tuple[StepRule, ...]) -> frozenset[str]:
    """Labels that the report answers to by a field, or by the way the called workflow ended. Source: R23."""
    if visit.outcome:
        return frozenset({visit.outcome})
    known = [one.rule.condition.text for one in rules if isinstance(one.rule.condition, Label)]
    verdict = read_verdict(visit.result, known) if isinstance(visit.result, Mapping) else None
    return frozenset() if verdict is None else frozenset({verdict})


def _values(result: Any) -> dict[str, Scalar]:  # noqa: ANN401 - JSON
    """What `{{ result.name }}` refers to: the scalars of a structured result. Source: R19."""
    if not isinstance(result, Mapping):
        return {}
    return {f"{{{{ result.{name} }}}}": value for name, value in result.items() if isinstance(value, str | bool | int)}


def _matched(out: Out, visit: Visit, chosen: StepRule, decision: Decision, *, text: str) -> None:
    record: dict[str, Any] = {
        "section": SECTION,
        "rule": decision.rule_index,
        "kind": kind_of(decision.condition),
        "condition": print_condition(decision.condition),
        "next": decision.next,
        "read": decision.read,
        "verdict": decision.verdict,
    }
    if decision.reason is not None:
        record["reason"] = decision.reason
    if chosen.returns:
        record["returns"] = chosen.returns
    if text:
        record["text"] = text
    out.event(EventType.DECIDED, visit.path, **record)
    if chosen.asks:
        question = f"{visit.text}\n\n{chosen.appendix}".strip() or f"Step {visit.step!r} needs an answer."
        out.event(EventType.ASKED, visit.path, question=question)
    else:
        out.settle(visit, State.SUCCESS)


def _no_match(out: Out, visit: Visit, rules: tuple[StepRule, ...], nothing: NoMatch) -> None:
    """No rule holds: say so to the worker once, then end with what each rule saw. Source: R14, RULE-02."""
    tried = "; ".join(print_condition(one.condition) for one in nothing.seen)
    reason = f"no rule holds ({tried})"
    tags = needs_status_tag([one.rule for one in rules])
    if tags:
        reason += f"; the answer ends with no status tag of the step {visit.step!r} that chooses one"
    record = {"section": SECTION, "rule": None, "next": None, "reason": reason, "seen": nothing.to_dict()["seen"]}
    out.event(EventType.DECIDED, visit.path, **record)
    answered = visit.report is not None and not visit.outcome
    if tags and answered and not visit.reminded and visit.counts.get(Kind.ATTEMPT):
        out.want(visit, Kind.ATTEMPT, new="constraint", what="tag", answer=visit.text)
    elif visit.inner:
        out.settle(visit, State.SUCCESS, kind="no_verdict", reason=reason)
    else:
        out.settle(visit, State.FAILED, kind="no_rule", reason=reason)

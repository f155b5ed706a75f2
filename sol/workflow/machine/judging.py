"""What a step's answer means: its report, its rules, its verdict. Pure.

Statuses and verdicts are read from the report's fields and from status tags only, never from prose.
"""

from collections.abc import Mapping
from typing import Final

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
from sol.tree.effects import Kind
from sol.tree.events import Asked
from sol.tree.node import State
from sol.tree.values import Cause, Json, plain
from sol.workflow.machine.check import ERROR_LABEL
from sol.workflow.machine.definition import StepRule
from sol.workflow.machine.events import StepDecided
from sol.workflow.machine.out import Out
from sol.workflow.machine.state import Visit

SECTION: Final = "rules"
SEPARATOR: Final = "\n\n---\n\n"


def on_reported(out: Out, visit: Visit) -> None:
    """A worker has reported."""
    report = visit.report
    if report is None:
        return
    match report.status:
        case "SUCCESS" if out.step(visit).reports:
            out.then.want(visit, Kind.FILE)
        case "SUCCESS":
            judge(out, visit)
        case "STUCK" if report.question and visit.monitor < 0:
            out.then.event(visit.path, Asked(report.question))
        case "STUCK":
            reason = report.blocker or "The worker named no blocker."
            out.then.settle(visit, State.FAILED, kind="stuck", reason=reason)
        case _:
            out.then.settle(visit, State.FAILED, kind=report.kind or "failed", reason=report.reason)


def judge(out: Out, visit: Visit) -> None:
    """Try the rules of a step whose answer is there. Source: R05, R08, R09, R14, R20."""
    rules = out.rules(visit)
    if not rules and visit.inner:
        # The end of a called workflow is a verdict of its own; without rules all else is undetermined.
        out.then.event(visit.path, StepDecided(SECTION, verdict=visit.outcome or None))
        out.then.settle(visit, State.SUCCESS)
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
            int(key.partition("/")[2]): Judgement(holds=answer.holds, reason=answer.reason)
            for key, answer in visit.judgements.items()
        },
    )
    match evaluate([one.rule for one in rules], context):
        case Matched(decision):
            _matched(out, visit, rules[decision.rule_index], decision, text=text if children else "")
        case NeedJudge(index, question, _):
            out.then.event(visit.path, StepDecided(SECTION, wait=True))
            out.then.want(visit, Kind.RULE, Cause(rule=f"{SECTION}/{index}", question=question))
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


def _values(result: Json) -> dict[str, Scalar]:
    """What `{{ result.name }}` refers to: the scalars of a structured result. Source: R19."""
    if not isinstance(result, Mapping):
        return {}
    return {f"{{{{ result.{name} }}}}": value for name, value in result.items() if isinstance(value, str | bool | int)}


def _matched(out: Out, visit: Visit, chosen: StepRule, decision: Decision, *, text: str) -> None:
    decided = StepDecided(
        SECTION,
        rule=decision.rule_index,
        kind=kind_of(decision.condition),
        condition=print_condition(decision.condition),
        next=decision.next,
        read=plain(decision.read),
        reason=decision.reason,
        verdict=decision.verdict,
        returns=chosen.returns,
        text=text,
    )
    out.then.event(visit.path, decided)
    if chosen.asks:
        question = f"{visit.text}\n\n{chosen.appendix}".strip() or f"Step {visit.step!r} needs an answer."
        out.then.event(visit.path, Asked(question))
    else:
        out.then.settle(visit, State.SUCCESS)


def _no_match(out: Out, visit: Visit, rules: tuple[StepRule, ...], nothing: NoMatch) -> None:
    """No rule holds: say so to the worker once, then end with what each rule saw. Source: R14, RULE-02."""
    tried = "; ".join(print_condition(one.condition) for one in nothing.seen)
    reason = f"no rule holds ({tried})"
    tags = needs_status_tag([one.rule for one in rules])
    if tags:
        reason += f"; the answer ends with no status tag of the step {visit.step!r} that chooses one"
    seen = tuple(plain(one.to_dict()) for one in nothing.seen)
    out.then.event(visit.path, StepDecided(SECTION, reason=reason, seen=seen))
    answered = visit.report is not None and not visit.outcome
    if tags and answered and not visit.reminded and visit.counts.get(Kind.ATTEMPT):
        out.then.want(visit, Kind.ATTEMPT, Cause(new="constraint", what="tag", answer=visit.text))
    elif visit.inner:
        out.then.settle(visit, State.SUCCESS, kind="no_verdict", reason=reason)
    else:
        out.then.settle(visit, State.FAILED, kind="no_rule", reason=reason)

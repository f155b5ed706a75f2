"""From one step to the next: judging a step's result, its rules, loop monitors. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import structs

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
from sol.tree.values import Cause, Json, plain, worker_data
from sol.workflow.check import ERROR_LABEL, takes_errors
from sol.workflow.definition import Monitor, Step, StepRule
from sol.workflow.events import CallEnded, StepCreated, StepDecided, StepSettled
from sol.workflow.fields import COMPLETE, ENDS
from sol.workflow.state import ROOT, Frame, Out, Visit

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


ERROR_ROUNDS = 3
"""How often in a row a parallel step may go on although a sub-step failed."""


def on_begin(out: Out) -> None:
    """The run begins, or is walked through again."""
    enter(out, out.machine.frames[ROOT], out.definition(ROOT).initial_step)


def enter(out: Out, frame: Frame, name: str) -> None:
    """Go to a step, unless the step limit is reached. Source: R25."""
    step = out.definition(frame.path).step(name)
    if step is None:
        reason = f"There is no step {name!r} any more."
        fail_frame(out, frame, State.FAILED, kind="no_step", reason=reason, resumable=False)
        return
    if not step.call and _at_limit(out, frame, name):
        return
    n = frame.counts.get(name, 0) + 1
    created = StepCreated(
        step=name,
        parent=frame.path,
        frame=frame.path,
        n=n,
        iteration=out.machine.iteration + (0 if step.call else 1),
        calls=out.workflow.calls[frame.key, step.call] if step.call else "",
    )
    _create(out, step, f"{name}#{n}", created)


def _at_limit(out: Out, frame: Frame, name: str) -> bool:
    limit = out.machine.config.max_steps
    if limit is None or out.machine.iteration < limit:
        return False
    steps = "1 step" if limit == 1 else f"{limit} steps"
    reason = f"The limit of {steps} is reached; the next would be {name!r}. Resume with a higher one to go on."
    ended = StepSettled(State.EXHAUSTED, kind="step_limit", reason=reason, resumable=True, pending=name)
    out.then.event(frame.path, ended)
    return True


def _create(out: Out, step: Step, name: str, created: StepCreated) -> None:
    """Visit a step: the event has yet to be told what the step asks for, who does it, and whether that was done."""
    path = f"{created.parent}/{name}" if created.parent else name
    content = out.workflow.content(step, out.machine.frames[created.frame].key, out.args(created.frame))
    memo = None if step.parallel or step.call else out.machine.memo.get(path)
    event = structs.replace(
        created,
        content=content,
        parallel=bool(step.parallel),
        reused=memo is not None and memo.content == content and memo.report is not None,
        stale=memo is not None and memo.content != content,
        worker=None if step.worker is None else worker_data(step.worker),
    )
    out.then.event(path, event)


def on_created(out: Out, visit: Visit, *, reused: bool) -> None:
    """A visit is there: begin what its step is."""
    step = out.step(visit)
    frame = out.machine.frames[visit.frame]
    if visit.path in out.machine.frames:
        called = out.machine.frames[visit.path]
        enter(out, called, out.definition(visit.path).initial_step)
    elif step.parallel:
        for child in step.parallel:
            created = StepCreated(
                step=child.name,
                parent=visit.path,
                frame=visit.frame,
                inner=True,
                n=visit.n,
                iteration=visit.iteration,
                calls=out.workflow.calls[frame.key, child.call] if child.call else "",
            )
            _create(out, child, child.name, created)
    elif reused:
        on_reported(out, visit)
    else:
        out.then.want(visit, out.kind_of(visit))


def on_settled(out: Out, visit: Visit) -> None:
    """A visit has ended."""
    if visit.path == ROOT:
        return
    if visit.inner:
        _next_inner(out, visit)
    elif visit.state == State.SUCCESS:
        follow(out, visit)
    elif visit.monitor >= 0 and visit.state == State.FAILED:
        # A monitor that fails changes nothing.
        _lead(out, out.machine.frames[visit.frame], visit.proposed)
    else:
        frame = out.machine.frames[visit.frame]
        fail_frame(out, frame, visit.state, kind=visit.kind, reason=_of(visit), resumable=visit.resumable)


def _of(visit: Visit) -> str:
    return visit.reason if visit.reason.startswith("Step ") else f"Step {visit.step!r}: {visit.reason}"


def fail_frame(out: Out, frame: Frame, state: State, *, kind: str, reason: str, resumable: bool) -> None:
    """A workflow cannot go on: end whoever called it, or the run."""
    above = out.machine.nodes[frame.path]
    if not above.ended:
        out.then.settle(above, state, kind=kind, reason=reason, resumable=resumable)


def follow(out: Out, visit: Visit) -> None:
    """Go where the rule of a finished step leads. Source: R25."""
    frame = out.machine.frames[visit.frame]
    if visit.returns:
        _end(out, frame, visit.returns)
    else:
        _lead(out, frame, visit.next)


def _lead(out: Out, frame: Frame, following: str) -> None:
    if following in ENDS:
        _end(out, frame, following)
    else:
        proceed(out, frame, following)


def proceed(out: Out, frame: Frame, following: str) -> None:
    """Go to a step, unless a monitor wants its cycle looked at first. Source: R25."""
    index = fired(out.definition(frame.path).monitors, frame.history, following)
    if index is None:
        enter(out, frame, following)
    else:
        _watch(out, frame, index, following)


def fired(monitors: Sequence[Monitor], history: Sequence[str], following: str) -> int | None:
    """The first monitor that fires when `following` is entered now; None if none does.

    A monitor fires when the newest steps, without those it ignores, are its cycle `threshold` times in a row, and the
    next step enters the cycle again.

    Args:
        monitors: In the order of the file.
        history: Steps entered since a monitor last fired, oldest first.
        following: The step that comes next.

    Source: R25.
    """
    for index, monitor in enumerate(monitors):
        if following != monitor.cycle[0]:
            continue
        seen = [step for step in history if step not in monitor.ignore]
        wanted = list(monitor.cycle) * monitor.threshold
        if seen[-len(wanted) :] == wanted:
            return index
    return None


def _watch(out: Out, frame: Frame, index: int, following: str) -> None:
    """Let a monitor's judge look at the cycle before it is entered again; counts as a step. Source: R25."""
    if _at_limit(out, frame, following):
        return
    judge_step = out.definition(frame.path).monitors[index].judge
    n = frame.counts.get(judge_step.name, 0) + 1
    created = StepCreated(
        step=judge_step.name,
        parent=frame.path,
        frame=frame.path,
        n=n,
        iteration=out.machine.iteration + 1,
        monitor=index,
        proposed=following,
    )
    _create(out, judge_step, f"{judge_step.name}#{n}", created)


def _end(out: Out, frame: Frame, label: str) -> None:
    """A workflow has come to its end: tell its caller, or end the run."""
    if frame.path:
        out.then.event(frame.path, CallEnded(label, frame.previous))
        return
    if label == COMPLETE:
        out.then.event(ROOT, StepSettled(State.SUCCESS, result=frame.previous))
        return
    last = out.machine.nodes[frame.current]
    kind = "aborted" if label in ENDS else "returned"
    reason = f"Step {last.step!r} led to {label}: {last.verdict}."
    out.then.event(ROOT, StepSettled(State.FAILED, kind=kind, reason=reason, result=frame.previous))


def _next_inner(out: Out, visit: Visit) -> None:
    """A sub-step has ended: conclude the step when all have."""
    parent = out.machine.nodes[visit.parent]
    if parent.ended:
        return
    children = out.machine.within(parent)
    if len(children) < len(out.step(parent).parallel):
        return
    if all(child.ended and not child.paused for child in children):
        _conclude(out, parent, children)


def _conclude(out: Out, parent: Visit, children: list[Visit]) -> None:
    """All sub-steps have ended: fail the step if some did and no rule takes that, else judge it. Source: R05."""
    failed = [child for child in children if child.state != State.SUCCESS]
    frame = out.machine.frames[parent.frame]
    first = next((child for child in failed if child.state != State.FAILED), failed[0] if failed else None)
    if first is None:
        judge(out, parent)
        return
    resumable = first.state != State.CANCELLED and any(child.resumable for child in failed)
    if first.state != State.FAILED or not takes_errors(out.rules(parent)):
        out.then.settle(parent, first.state, kind=first.kind, reason=_of(first), resumable=resumable)
    elif frame.errors.get(parent.step, 0) >= ERROR_ROUNDS:
        reason = f"Sub-steps failed {ERROR_ROUNDS + 1} times in a row, last {_of(first)}"
        out.then.settle(parent, State.FAILED, kind="error_limit", reason=reason)
    else:
        judge(out, parent)

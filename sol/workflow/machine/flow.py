"""Which step comes next: entering steps, ending visits, ending workflows. Pure."""

from typing import Any

from sol.tree.events import EventType
from sol.tree.node import State
from sol.workflow.machine.check import takes_errors
from sol.workflow.machine.definition import Step
from sol.workflow.machine.fields import COMPLETE, ENDS
from sol.workflow.machine.judging import judge, on_reported
from sol.workflow.machine.monitors import fired
from sol.workflow.machine.out import Out
from sol.workflow.machine.state import ROOT, Frame, Visit

ERROR_ROUNDS = 3
"""How often in a row a parallel step may go on although a sub-step failed."""


def on_begin(out: Out) -> None:
    """The run begins, or is walked through again."""
    enter(out, out.machine.frames[ROOT], out.workflow(ROOT).initial_step)


def enter(out: Out, frame: Frame, name: str) -> None:
    """Go to a step, unless the step limit is reached. Source: R25."""
    step = out.workflow(frame.path).step(name)
    if step is None:
        reason = f"There is no step {name!r} any more."
        fail_frame(out, frame, State.FAILED, kind="no_step", reason=reason, resumable=False)
        return
    if not step.call and _at_limit(out, frame, name):
        return
    n = frame.counts.get(name, 0) + 1
    more: dict[str, Any] = {}
    if step.call:
        more["calls"] = out.program.calls[frame.key, step.call]
    iteration = out.machine.iteration + (0 if step.call else 1)
    _create(out, step, f"{name}#{n}", frame=frame, up=frame.path, n=n, iteration=iteration, **more)


def _at_limit(out: Out, frame: Frame, name: str) -> bool:
    limit = out.machine.config["max_steps"]
    if limit is None or out.machine.iteration < limit:
        return False
    steps = "1 step" if limit == 1 else f"{limit} steps"
    reason = f"The limit of {steps} is reached; the next would be {name!r}. Resume with a higher one to go on."
    above = out.machine.visit(frame.path)
    out.settle(above, State.EXHAUSTED, kind="step_limit", reason=reason, resumable=True, pending=name)
    return True


def _create(out: Out, step: Step, name: str, *, frame: Frame, up: str, **data: Any) -> None:  # noqa: ANN401 - JSON
    path = f"{up}/{name}" if up else name
    content = out.program.content(step, frame.key, out.args(frame.path))
    memo = out.machine.memo.get(path)
    if memo is not None and not step.parallel and not step.call:
        if memo.content == content and memo.report is not None:
            data["reused"] = True
        elif memo.content != content:
            data["stale"] = True
    if step.parallel:
        data["parallel"] = True
    if step.worker is not None:
        data["worker"] = step.worker.model_dump(mode="json", exclude_defaults=True)
    out.event(EventType.CREATED, path, step=step.name, up=up, frame=frame.path, content=content, **data)


def on_created(out: Out, visit: Visit, *, reused: bool) -> None:
    """A visit is there: begin what its step is."""
    step = out.step(visit)
    frame = out.machine.frames[visit.frame]
    if visit.path in out.machine.frames:
        called = out.machine.frames[visit.path]
        enter(out, called, out.workflow(visit.path).initial_step)
    elif step.parallel:
        for child in step.parallel:
            more = {"calls": out.program.calls[frame.key, child.call]} if child.call else {}
            _create(
                out,
                child,
                child.name,
                frame=frame,
                up=visit.path,
                inner=True,
                n=visit.n,
                iteration=visit.iteration,
                **more,
            )
    elif reused:
        on_reported(out, visit)
    else:
        out.want(visit, out.kind_of(visit))


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
    above = out.machine.visit(frame.path)
    if not above.ended:
        out.settle(above, state, kind=kind, reason=reason, resumable=resumable)


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
    index = fired(out.workflow(frame.path).monitors, frame.history, following)
    if index is None:
        enter(out, frame, following)
    else:
        _watch(out, frame, index, following)


def _watch(out: Out, frame: Frame, index: int, following: str) -> None:
    """Let a monitor's judge look at the cycle before it is entered again; counts as a step. Source: R25."""
    if _at_limit(out, frame, following):
        return
    judge_step = out.workflow(frame.path).monitors[index].judge
    n = frame.counts.get(judge_step.name, 0) + 1
    _create(
        out,
        judge_step,
        f"{judge_step.name}#{n}",
        frame=frame,
        up=frame.path,
        n=n,
        iteration=out.machine.iteration + 1,
        monitor=index,
        proposed=following,
    )


def _end(out: Out, frame: Frame, label: str) -> None:
    """A workflow has come to its end: tell its caller, or end the run."""
    if frame.path:
        out.event(EventType.ANALYSED, frame.path, ended=label, text=frame.previous)
        return
    root = out.machine.visit(ROOT)
    if label == COMPLETE:
        out.settle(root, State.SUCCESS, result=frame.previous)
        return
    last = out.machine.visit(frame.current)
    kind = "aborted" if label in ENDS else "returned"
    reason = f"Step {last.step!r} led to {label}: {last.verdict}."
    out.settle(root, State.FAILED, kind=kind, reason=reason, result=frame.previous)


def _next_inner(out: Out, visit: Visit) -> None:
    """A sub-step has ended: conclude the step when all have."""
    parent = out.machine.visit(visit.up)
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
        out.settle(parent, first.state, kind=first.kind, reason=_of(first), resumable=resumable)
    elif frame.errors.get(parent.step, 0) >= ERROR_ROUNDS:
        reason = f"Sub-steps failed {ERROR_ROUNDS + 1} times in a row, last {_of(first)}"
        out.settle(parent, State.FAILED, kind="error_limit", reason=reason, resumable=False)
    else:
        judge(out, parent)

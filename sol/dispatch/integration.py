"""Integration as a task of its own for a Luna: the assignment it gets, and what its report means. Source: S61."""

from collections.abc import Sequence

from luna.text import clip
from luna.workspaces import Conflict, ConflictFile
from sol.tree.effects import (
    CHECKS_OF_INTEGRATION,
    IntegrateAnswer,
    IntegrateRequest,
    IntegrationCheck,
    MergeRequest,
)
from sol.tree.values import AssignmentData, CriterionData, ExpectedData, ReportData

_WHOLE = "Each file in conflict is whole again, without conflict markers, or is gone on purpose."
TEXTS_BYTES = 196_608
"""Most bytes of texts that a Luna gets which settles a conflict; the largest file that is told fits, with all sides."""


def assignment_of(request: IntegrateRequest) -> AssignmentData:
    """The assignment, with all seven fields, of putting the parts of a task together."""
    task = request.assignment
    parts = [
        {"goal": part.goal, "state": part.state, "result": part.result, "summary": part.summary}
        for part in request.parts
    ]
    return AssignmentData(
        goal=f"Put the results of the parts together so that they meet this goal: {task.goal}",
        context=task.context,
        inputs={**task.inputs, "parts": parts},
        constraints=(*task.constraints, "Do none of the parts again; work from their results."),
        expected_output=task.expected_output,
        success_criteria=task.success_criteria,
        stop_conditions=(
            "Two parts contradict each other.",
            "Something that the goal needs is in none of the parts.",
        ),
    )


def read_integration(report: ReportData, request: IntegrateRequest) -> IntegrateAnswer:
    """What the report of an integrating Luna says about the five checks; those it says nothing about stay unjudged.

    Source: S60, S62.
    """
    checks = _unjudged()
    unfinished = [part for part in request.parts if part.state not in {"success", "skipped"}]
    if unfinished:
        note = "; ".join(f"part {p.path} is {p.state}" for p in unfinished)
        checks["nothing_open"] = IntegrationCheck(ok=False, note=note)
    if report.status == "SUCCESS":
        return IntegrateAnswer(report.result, report.summary, checks)
    problem = report.blocker or report.reason or "the integrating Luna named no reason"
    checks["goal_met"] = IntegrationCheck(ok=False, note=problem)
    return IntegrateAnswer(None, report.summary, checks, (problem,))


def _unjudged() -> dict[str, IntegrationCheck]:
    return {name: IntegrationCheck(ok=None) for name in CHECKS_OF_INTEGRATION}


def conflict_assignment(request: MergeRequest, conflict: Conflict, *, context_bytes: int) -> AssignmentData:
    """The assignment, with all seven fields, of settling a conflict between the work of parts.

    Names of files come from workers, so they stand among the inputs only.
    """
    task = request.assignment
    label = conflict.side.label
    texts, left_out = _texts(conflict.files)
    lines = [
        f"Both belong to this task: {task.goal}",
        f"Merged so far are the parts before it (ours); part {label} (theirs) differs where it is marked.",
        *([f"Sides left out here, see the files: {left_out} of {len(texts)}."] if left_out else []),
        *(f"Part {part.path}: {part.goal} {part.summary}".strip() for part in request.parts),
    ]
    return AssignmentData(
        goal=f"Settle the conflict between the work of part {label} and that of the parts before it",
        context=clip("\n".join(lines), limit_bytes=context_bytes).text,
        inputs={"conflicts": texts},
        constraints=(*task.constraints, "Keep what both sides were made for; leave out neither side's work."),
        expected_output=ExpectedData("For each file, in one sentence, how its sides were brought together"),
        success_criteria=(
            CriterionData(text=_WHOLE),
            CriterionData(text="The work of both sides is in effect."),
        ),
        stop_conditions=("The sides contradict each other: what one was made for undoes the other.",),
    )


def _texts(files: Sequence[ConflictFile]) -> tuple[list[dict[str, str | None]], int]:
    """Path and sides of each file, as long as there is room for the sides; and of how many files there was none."""
    room_bytes, left_out = TEXTS_BYTES, 0
    told: list[dict[str, str | None]] = []
    for file in files:
        sides = {"before": file.base, "ours": file.ours, "theirs": file.theirs}
        size_bytes = sum(len(text.encode()) for text in sides.values() if text is not None)
        if size_bytes > room_bytes:
            left_out += 1
            sides = dict.fromkeys(sides)
        else:
            room_bytes -= size_bytes
        told.append({"path": file.path, **sides})
    return told, left_out


def conflict_left(report: ReportData, conflict: Conflict, marked: Sequence[str]) -> IntegrateAnswer:
    """The failed integration that follows when the conflict could not be settled. Source: S60, S62."""
    files = ", ".join(marked or (file.path for file in conflict.files))
    why = "conflict markers are left" if marked else report.blocker or report.reason or "not settled"
    note = f"the work of part {conflict.side.label} does not fit that of the parts before it in {files}: {why}"
    checks = _unjudged() | {"no_contradiction": IntegrationCheck(ok=False, note=note)}
    return IntegrateAnswer(None, report.summary, checks, (note,))

"""Integration as a task of its own for a Luna: the assignment it gets, and what its report means. Source: S61."""

from typing import Any

from sol.core.requests import CHECKS_OF_INTEGRATION, IntegrateAnswer, IntegrateRequest


def assignment_of(request: IntegrateRequest) -> dict[str, Any]:
    """The assignment, with all seven fields, of putting the parts of a task together."""
    task = request.assignment
    parts = [
        {"goal": part.goal, "state": part.state, "result": part.result, "summary": part.summary}
        for part in request.parts
    ]
    return {
        "goal": f"Put the results of the parts together so that they meet this goal: {task['goal']}",
        "context": task["context"],
        "inputs": {**task["inputs"], "parts": parts},
        "constraints": [*task["constraints"], "Do none of the parts again; work from their results."],
        "expected_output": task["expected_output"],
        "success_criteria": task["success_criteria"],
        "stop_conditions": [
            "Two parts contradict each other.",
            "Something that the goal needs is in none of the parts.",
        ],
    }


def read_integration(report: dict[str, Any], request: IntegrateRequest) -> IntegrateAnswer:
    """What the report of an integrating Luna says about the five checks; those it says nothing about stay unjudged.

    Source: S60, S62.
    """
    checks: dict[str, Any] = {name: {"ok": None, "note": ""} for name in CHECKS_OF_INTEGRATION}
    unfinished = [part for part in request.parts if part.state not in {"success", "skipped"}]
    if unfinished:
        checks["nothing_open"] = {"ok": False, "note": "; ".join(f"part {p.path} is {p.state}" for p in unfinished)}
    if report["status"] == "SUCCESS":
        return IntegrateAnswer(report.get("result"), report["summary"], checks)
    problem = report.get("blocker") or report.get("reason") or "the integrating Luna named no reason"
    checks["goal_met"] = {"ok": False, "note": problem}
    return IntegrateAnswer(None, report.get("summary", ""), checks, (problem,))

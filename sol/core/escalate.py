"""What Sol does where no further split is possible: reassess, then redefine, ask, set aside or give up."""

from typing import Any

from sol.core.outcome import Out
from sol.core.requests import Kind, Remedy
from sol.core.ruling import report_kind, report_reason
from sol.core.vague import vague
from sol.tree.events import EventType
from sol.tree.node import Node, State


def escalate(node: Node, trigger: str, out: Out) -> None:
    """Reassess the node once; when that has been done before, give it up. Source: S11, S57.

    Args:
        node: The node that cannot be split.
        trigger: What led here: `depth_limit`, `unsplittable`, `replans` or the kind of a FAILED report.
        out: Gets the command or the end.
    """
    if node.redefined:
        out.settle(node, State.FAILED, kind=trigger, reason=report_reason(node))
    else:
        out.want(node, Kind.REASSESS, trigger=trigger)


def labels_of(node: Node, answer: dict[str, Any]) -> list[str]:
    """What the rules for the depth limit may match: finding, trigger, kind of the last report, proposed remedy."""
    return [
        answer["finding"],
        answer["trigger"],
        f"kind:{report_kind(node)}",
        f"remedy:{answer['remedy']}",
    ]


def remedy(node: Node, action: str, answer: dict[str, Any], out: Out) -> None:
    """Carry out what the rules made of a reassessment. Source: S01, S53, S58."""
    trigger = answer["trigger"]
    reason = f"{report_reason(node).rstrip('. ')}. Reassessed as {answer['finding']}: {answer['reason']}"
    match answer["remedy"] if action == "as_proposed" else action:
        case Remedy.REDEFINE if answer.get("information") or answer.get("goal"):
            goal = answer.get("goal", "")
            information = answer.get("information") or f"The goal was restated: {goal}"
            # The root's goal is fixed (S01): there a restatement is information only.
            restated = goal if node.path and vague(goal) is None else ""
            out.event(EventType.REDEFINED, node.path, goal=restated, information=information)
        case Remedy.ASK:
            question = answer.get("question") or report_reason(node)
            out.event(EventType.ASKED, node.path, question=question, kind=answer["finding"])
        case "set_aside":
            out.settle(node, State.SKIPPED, kind=trigger, reason=report_reason(node))
        case _:
            out.settle(node, State.FAILED, kind=trigger, reason=reason)

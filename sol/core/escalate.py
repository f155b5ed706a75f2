"""What Sol does where no further split is possible: reassess, then redefine, ask, set aside or give up."""

from sol.core.ruling import report_kind, report_reason
from sol.core.vague import vague
from sol.engine.program import Reaction
from sol.tree.effects import Kind, ReassessAnswer, Remedy
from sol.tree.events import Asked, Redefined
from sol.tree.node import State, TaskNode
from sol.tree.values import Cause


def escalate(node: TaskNode, trigger: str, out: Reaction) -> None:
    """Reassess the node once; when that has been done before, give it up. Source: S11, S57.

    Args:
        node: The node that cannot be split.
        trigger: What led here: `depth_limit`, `unsplittable`, `replans` or the kind of a FAILED report.
        out: Gets the command or the end.
    """
    if node.redefined:
        out.settle(node, State.FAILED, kind=trigger, reason=report_reason(node))
    else:
        out.want(node, Kind.REASSESS, Cause(trigger=trigger))


def labels_of(node: TaskNode, answer: ReassessAnswer) -> list[str]:
    """What the rules for the depth limit may match: finding, trigger, kind of the last report, proposed remedy."""
    return [answer.finding, node.trigger, f"kind:{report_kind(node)}", f"remedy:{answer.remedy}"]


def remedy(node: TaskNode, action: str, answer: ReassessAnswer, out: Reaction) -> None:
    """Carry out what the rules made of a reassessment. Source: S01, S53, S58."""
    trigger = node.trigger
    reason = f"{report_reason(node).rstrip('. ')}. Reassessed as {answer.finding}: {answer.reason}"
    match answer.remedy if action == "as_proposed" else action:
        case Remedy.REDEFINE if answer.information or answer.goal:
            information = answer.information or f"The goal was restated: {answer.goal}"
            # The root's goal is fixed (S01): there a restatement is information only.
            restated = answer.goal if node.path and vague(answer.goal) is None else ""
            out.event(node.path, Redefined(information, goal=restated))
        case Remedy.ASK:
            out.event(node.path, Asked(answer.question or report_reason(node), kind=answer.finding))
        case "set_aside":
            out.settle(node, State.SKIPPED, kind=trigger, reason=report_reason(node))
        case _:
            out.settle(node, State.FAILED, kind=trigger, reason=reason)

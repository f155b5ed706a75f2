"""Splitting a node, and what comes where that is not possible: a vaguer goal, a reassessment, the parent. Pure."""

import json
import re
import unicodedata
from collections.abc import Mapping
from hashlib import sha256

import msgspec
from pydantic import ValidationError

from luna.protocol import NONE, Assignment
from sol.core.report import report_kind, report_reason
from sol.engine.program import Reaction
from sol.strategy.schema import Strategy
from sol.tree.effects import CannotSplit, Claim, How, Judged, Kind, ReassessAnswer, Remedy, normalised
from sol.tree.events import Asked, AssignmentChanges, Created, Redefined, Refused, Split
from sol.tree.node import DIGITS, State, TaskNode, Tree
from sol.tree.values import Cause, ChildPlan, CriterionData, Json, SplitAnswer, plain, read

_EMPTY_WORDS = frozenset(
    """
    a an the this that these those it its them they here there around about of in on at to for with and or all any every
    everything anything something whatever whole entire stuff thing things rest remaining other others some more up out
    please just now asap properly correctly better good nice right well again ok okay work works working done do does
    make makes making get fix fixes fixing solve handle improve finish complete check clean sort deal change update
    implement write you we i me my our your can could should must is are be so as etc
    """.split()
)
_EMPTY_PHRASES = (
    "この辺",
    "その辺",
    "このあたり",
    "ここ",
    "そこ",
    "これ",
    "それ",
    "あれ",
    "全部",
    "すべて",
    "全て",
    "みんな",
    "いろいろ",
    "直して",
    "修正して",
    "やって",
    "よろしく",
    "お願い",
    "ください",
    "下さい",
    "しておいて",
    "しといて",
    "して",
    "なんとか",
    "を",
    "は",
    "が",
    "に",
    "の",
    "も",
    "で",
    "と",
)
_BETWEEN = re.compile(r"[^\w./-]+")


def vague(goal: str) -> str | None:
    """Say why a goal is too vague to hand out, or None when it names something.

    What counts is whether any word is left once pronouns, quantifiers and verbs that fit everything are taken away.

    Source: S34.
    """
    if goal.isascii():  # the phrases are not
        text = goal.casefold().strip()
    else:
        text = unicodedata.normalize("NFKC", goal).casefold().strip()
        for phrase in _EMPTY_PHRASES:
            text = text.replace(phrase, " ")
    for word in _BETWEEN.split(text):
        bare = word.strip("./-")
        if bare and bare not in _EMPTY_WORDS:
            return None
    return f"the goal {goal!r} names no object to work on; say what is to be changed or found, and where"


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


_PORTION = re.compile(r"\b(half|part|parts|portion|rest|remainder|remaining|first|second)\b")
_EXECUTED = ("command", "python")
_CLAIMS = frozenset(Claim)
_SURROGATE = re.compile("[\ud800-\udfff]")


def want_split(node: TaskNode, strategy: Strategy, out: Reaction) -> None:
    """Ask the planner for a split where the limits allow one, otherwise reassess. Source: S11, S13, S56, S57."""
    if node.depth >= strategy.max_depth:
        escalate(node, "depth_limit", out)
    elif node.splits > strategy.max_replans or len(node.children) + strategy.arity > len(DIGITS):
        escalate(node, "replans", out)
    else:
        out.want(node, Kind.SPLIT)


def on_proposed(
    tree: Tree, node: TaskNode, answer: SplitAnswer | CannotSplit, strategy: Strategy, out: Reaction
) -> None:
    """The planner has answered a request for a split. Source: S12, S14–S16."""
    if isinstance(answer, CannotSplit):
        if node.counts.get(Kind.ATTEMPT):
            escalate(node, "unsplittable", out)
        else:
            out.want(node, Kind.ATTEMPT)
        return
    keys = _keys(answer)
    refusal = refuse(tree, node, answer, keys, strategy)
    if refusal is not None:
        _refused(node, keys, *refusal, out)
    elif tree.config.sol == "model" and any(is_portion(node, child) for child in answer.children):
        out.want(node, Kind.REVIEW, Cause(proposal=answer))
    else:
        _accept(node, answer, keys, out)


def on_reviewed(node: TaskNode, answer: Judged, out: Reaction) -> None:
    """Sol has looked at a split whose child reads like a mere portion of its parent. Source: S15."""
    proposal = node.cause.proposal
    if proposal is None:
        return
    keys = _keys(proposal)
    if answer.holds:
        _accept(node, proposal, keys, out)
    else:
        _refused(node, keys, "no_progress_split", f"a child is a mere portion of the task: {answer.reason}", out)


def _refused(node: TaskNode, keys: tuple[str, ...], kind: str, reason: str, out: Reaction) -> None:
    """Refuse a proposal: the first time the planner is asked once more, the second time the node ends."""
    # The same children may come back with what they lacked; a split that gets nowhere may not come back at all.
    goals = keys if kind == "no_progress_split" else ()
    out.event(node.path, Refused("split", kind, reason, goals=goals))
    if node.refusals:
        out.settle(
            node, State.FAILED, kind=kind, reason=f"Two proposed splits were refused; the last because {reason}."
        )
    else:
        out.want(node, Kind.SPLIT, Cause(new="constraint", refused=reason))


def refuse(
    tree: Tree, node: TaskNode, answer: SplitAnswer, keys: tuple[str, ...], strategy: Strategy
) -> tuple[str, str] | None:
    """Say why a split is not taken, as a kind and a reason; None when it is fine. Source: S12, S14–S16, S34."""
    children = answer.children
    if not 2 <= len(children) <= strategy.arity:
        return "bad_split", f"a split has 2 to {strategy.arity} children, not {len(children)}"
    for number, child in enumerate(children):
        flaw = _flaw(node, child, answer)
        if flaw is not None:
            return "bad_split", f"child {number}: {flaw}"
    if sorted(keys) in [sorted(goals) for goals in node.tried]:
        return "no_progress_split", "the same children were tried or refused before"
    if len(set(keys)) < len(keys):
        return "no_progress_split", "two children are the same task"
    return _no_progress(tree, node, answer)


def _flaw(node: TaskNode, child: ChildPlan, answer: SplitAnswer) -> str | None:
    reason = vague(child.goal)
    if reason is not None:
        return reason
    if child.claim not in _CLAIMS:
        return f"claim is {child.claim!r}; it must be one of {', '.join(Claim)}"
    if child.worker not in {None, node.worker.kind}:
        return f"it names {child.worker!r} to do it; a child is done by a Luna of kind {node.worker.kind!r}"
    if answer.how != How.INPUTS and not child.success_criteria:
        return "it has no success criteria of its own"
    return _bad_assignment(node, child, answer)


def _bad_assignment(node: TaskNode, child: ChildPlan, answer: SplitAnswer) -> str | None:
    """Refuse criteria that cannot be read, and commands that nobody but the model asked for."""
    for criterion in child.success_criteria:
        executed = isinstance(criterion, Mapping) and any(kind in criterion for kind in _EXECUTED)
        if executed and not _is_own(node, criterion):
            return f"criterion {criterion!r} would run something that the task does not name"
    own = _as_given(node, child, how=answer.how)
    if own.keys() <= {"inputs"} or _are_words(own):
        return None
    try:
        Assignment.model_validate(plain(node.assignment) | own)
        read(AssignmentChanges, own)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except msgspec.ValidationError as error:  # a number that is given as a text, say
        return str(error)
    return None


def _are_words(own: Mapping[str, Json]) -> bool:
    """Whether changes consist of nothing but words that say something, as most do: there is nothing to check then."""
    goal, expected, criteria = own.get("goal"), own.get("expected_output"), own.get("success_criteria", [])
    return (
        (goal is None or _says_something(goal))
        and (expected is None or _is_one(expected, "description"))
        and isinstance(criteria, list)
        and all(_is_one(criterion, "text") for criterion in criteria)
    )


def _is_one(value: Json, key: str) -> bool:
    """Whether a value is an object with nothing but words under this key."""
    return isinstance(value, dict) and len(value) == 1 and key in value and _says_something(value[key])


def _says_something(text: Json) -> bool:
    """Whether this is text that an assignment may have, for sure."""
    if not isinstance(text, str) or text.strip().lower() in {"", NONE}:
        return False
    return text.isascii() or not _SURROGATE.search(text)


def _is_own(node: TaskNode, criterion: Json) -> bool:
    """Whether a criterion is one of the task's own."""
    try:
        return read(CriterionData, criterion) in node.assignment.success_criteria
    except msgspec.ValidationError:
        return False


def _no_progress(tree: Tree, node: TaskNode, answer: SplitAnswer) -> tuple[str, str] | None:
    """Refuse a child that is its parent over again. Source: S15."""
    children = answer.children
    above_it = list(tree.lineage(node))
    goals_above = {normalised(above.assignment.goal) for above in above_it}
    path = [node, *above_it]
    for number, child in enumerate(children):
        is_same = same_task(node, child)
        again = not is_same and normalised(child.goal) in goals_above
        if again and any(same_task(above, child) for above in above_it):
            return "no_progress_split", f"child {number} is the same task as one further up"
        if is_same:
            last = number == len(children) - 1 and answer.sequential
            if not last:
                return "no_progress_split", f"child {number} is the same task as its parent"
            if any(above.restates and _same_goal(above.assignment.goal, child.goal) for above in path):
                return "no_progress_split", "the task was repeated once on this path already"
        elif is_portion(node, child) and any(above.portion for above in path):
            return "no_progress_split", f"child {number} is once more a mere portion of its parent"
    return None


def _accept(node: TaskNode, answer: SplitAnswer, keys: tuple[str, ...], out: Reaction) -> None:
    """Make the children. Source: S12, S24."""
    children = answer.children
    paths = tuple(node.path + DIGITS[len(node.children) + number] for number in range(len(children)))
    split = Split(
        children=paths,
        goals=keys,
        how=answer.how,
        dimension=answer.dimension,
        sequential=answer.sequential,
        reason=answer.reason,
        cause=report_kind(node) if node.report else "",
    )
    out.event(node.path, split)
    for number, child in enumerate(children):
        same = same_task(node, child)
        created = Created(
            changes(node, child, how=answer.how),
            parent=node.path,
            claim=child.claim,
            after=paths[number - 1] if answer.sequential and number else "",
            restates=same,
            portion=not same and is_portion(node, child),
        )
        out.event(paths[number], created)


def changes(node: TaskNode, child: ChildPlan, *, how: str) -> AssignmentChanges:
    """The fields in which a child's assignment differs from its parent's; the child's was found to be readable."""
    return read(AssignmentChanges, _as_given(node, child, how=how))


def _as_given(node: TaskNode, child: ChildPlan, *, how: str) -> dict[str, Json]:
    """The same fields as the planner gave them."""
    found: dict[str, Json] = {}
    if child.goal != node.assignment.goal:
        found["goal"] = child.goal
    if child.inputs is not None:
        found["inputs"] = child.inputs
    if child.success_criteria:
        found["success_criteria"] = [{"text": one} if isinstance(one, str) else one for one in child.success_criteria]
    if child.expected_output is not None:
        expected = child.expected_output
        found["expected_output"] = {"description": expected} if isinstance(expected, str) else expected
    elif how != How.INPUTS and not same_task(node, child):
        found["expected_output"] = {"description": f"The result of: {child.goal}"}
    return found


# --- sameness --------------------------------------------------------------------------------------------------------


def _same_goal(a: str, b: str) -> bool:
    return normalised(a) == normalised(b)


def same_task(node: TaskNode, child: ChildPlan) -> bool:
    """Whether a proposed child is its parent over again: the same goal on the same inputs."""
    given, inputs = node.assignment, child.inputs
    if normalised(given.goal) != normalised(child.goal):
        return False
    return inputs is None or inputs == given.inputs


def is_portion(node: TaskNode, child: ChildPlan) -> bool:
    """Whether a child is worded as a mere portion ("the first half of …") of its parent on the same inputs."""
    inputs = child.inputs
    if inputs is not None and inputs != node.assignment.inputs:
        return False
    parent, goal = normalised(node.assignment.goal), normalised(child.goal)
    return parent in goal and _PORTION.search(goal.replace(parent, " ")) is not None


def _keys(answer: SplitAnswer) -> tuple[str, ...]:
    """One text for each child that is equal for equal tasks."""
    return tuple(_key(child) for child in answer.children)


def _key(child: ChildPlan) -> str:
    goal = normalised(child.goal)
    if child.inputs is None:
        return goal
    canonical = json.dumps(child.inputs, sort_keys=True, separators=(",", ":"))
    return f"{goal} #{sha256(canonical.encode()).hexdigest()[:12]}"

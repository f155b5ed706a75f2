"""Ask for a split, and take or refuse what the planner proposes. The planner never makes a node by itself."""

import json
import re
from collections.abc import Mapping
from hashlib import sha256

import msgspec
from pydantic import ValidationError

from luna.protocol import NONE, Assignment
from sol.core.escalate import escalate
from sol.core.ruling import report_kind
from sol.core.vague import vague
from sol.engine.program import Reaction
from sol.strategy.schema import Strategy
from sol.tree.effects import CannotSplit, Claim, How, Judged, Kind, normalised
from sol.tree.events import AssignmentChanges, Created, Refused, Split
from sol.tree.node import DIGITS, State, TaskNode, Tree
from sol.tree.values import Cause, ChildPlan, CriterionData, Json, SplitAnswer, plain, read

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
    proposal = node.because.proposal
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
        because=report_kind(node) if node.report else "",
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

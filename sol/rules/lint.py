"""Rules looked at before they are used: those that can never apply, and results that none of them covers."""

import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from sol.rules.evaluate import aggregate_holds
from sol.rules.rule import Position, Rule
from sol.rules.syntax import KEYWORDS, Aggregate, ConditionSyntaxError, Label, Quorum, parse_condition, print_condition

Verdicts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """The first combination that no rule covers, or None. With `capped` the search was given up before it was sure."""

    first_uncovered: Verdicts | None
    capped: bool = False


def check_coverage(
    rules: Sequence[Rule], children: Sequence[Collection[str | None]], *, max_steps: int = 20_000
) -> Coverage:
    """Find the first combination of child verdicts for which no rule can hold.

    A rule that depends on more than verdicts (a label, `ai()`, `when`, `otherwise`) may always hold, so a list with one
    has no gap; a guard counts as holding.

    Args:
        rules: The rules of the step.
        children: For each child all verdicts it can have, None for undetermined. The order given is the order in which
            combinations come; a set is sorted. An empty collection means that the child never has a verdict.
        max_steps: Steps to take at most, at least 1.

    Source: R21.
    """
    aggregates = [rule.condition for rule in rules if isinstance(rule.condition, Aggregate | Quorum)]
    if len(aggregates) < len(rules):
        return Coverage(None)
    open_beginnings: list[Verdicts] = [()]
    for child in children:
        verdicts = _ordered(child)
        max_steps -= len(open_beginnings) * len(verdicts)
        if max_steps < 0:
            return Coverage(None, capped=True)
        open_beginnings = _extended(open_beginnings, verdicts, aggregates)
    for whole in open_beginnings:
        if not any(aggregate_holds(condition, whole) for condition in aggregates):
            return Coverage(whole)
    return Coverage(None)


def first_uncovered(rules: Sequence[Rule], children: Sequence[Collection[str | None]]) -> Verdicts | None:
    """Return the first combination that no rule covers; None also where `check_coverage` says that it gave up.

    Source: R21.
    """
    return check_coverage(rules, children).first_uncovered


def _ordered(verdicts: Collection[str | None]) -> Verdicts:
    """Put a child's verdicts in a fixed order; undetermined comes last in a set."""
    if isinstance(verdicts, AbstractSet):
        return tuple(sorted(verdicts, key=lambda verdict: (verdict is None, verdict or ""))) or (None,)
    return tuple(verdicts) or (None,)


def _extended(
    beginnings: Sequence[Verdicts], verdicts: Verdicts, aggregates: Sequence[Aggregate | Quorum]
) -> list[Verdicts]:
    """Lengthen each beginning by each verdict; of those that the rules cannot tell apart, the first is kept."""
    found: dict[tuple[object, ...], Verdicts] = {}
    for beginning in beginnings:
        for verdict in verdicts:
            longer = (*beginning, verdict)
            if not any(_settled(condition, longer) for condition in aggregates):
                found.setdefault(tuple(_state(condition, longer) for condition in aggregates), longer)
    return list(found.values())


def _settled(condition: Aggregate | Quorum, begun: Verdicts) -> bool:
    """Tell whether a condition holds whatever the children still to come say."""
    return condition.op in {"any", "at_least"} and aggregate_holds(condition, begun)


def _state(condition: Aggregate | Quorum, begun: Verdicts) -> object:
    """Reduce unsettled verdicts to what still matters to a condition: equal states have equal futures."""
    match condition:
        case Aggregate("all", targets):
            wanted = targets if len(targets) > 1 else targets * len(begun)
            return begun == wanted[: len(begun)]
        case Aggregate():
            return False
        case Quorum(_, count, target):
            return min(begun.count(target), count + 1), any(verdict is not None for verdict in begun)
        case _:
            assert_never(condition)


Code = Literal["near-miss", "no-children", "unknown-label", "quorum-too-large", "not-covered", "coverage-unknown"]

_ALTERNATIVES: Final = "|".join(KEYWORDS)
_FORM: Final = re.compile(rf"({_ALTERNATIVES})(\s*)\((.*)\)", re.IGNORECASE | re.DOTALL)
_NEGATED: Final = re.compile(rf"(?:not\s+|!\s*)({_ALTERNATIVES})\s*\((.*)\)", re.IGNORECASE | re.DOTALL)
_WHEN: Final = re.compile(r"when\s*\(", re.IGNORECASE)
_BARE: Final = re.compile(r"[^\"',()]+")
_SIGNS: Final = str.maketrans("“”„‟‘’（），", '""""\'\'(),')


@dataclass(frozen=True, slots=True)
class Warned:
    """One warning about a rule, or about the whole list where `rule_index` is None. `rule_index` counts from 0."""

    code: Code
    message: str
    rule_index: int | None = None
    position: Position | None = None


def lint_rules(
    rules: Sequence[Rule],
    *,
    step: str,
    children: Sequence[Collection[str | None] | None] | None = None,
) -> tuple[Warned, ...]:
    """Find rules that are probably not meant as they are written.

    Args:
        rules: The rules of the step.
        step: Name of the step, for the messages.
        children: For each child all verdicts it can have, or None where they are not known; empty where the step has no
            children. None means that not even the number is known.

    Source: R07, R17, R21.
    """
    found = [warned for index, rule in enumerate(rules) for warned in _of_label(index, rule, step)]
    if children is None:
        return tuple(found)
    if not children:
        return (*found, *_without_children(rules, step))
    found += _of_aggregates(rules, step, children)
    return (*found, *_gaps(rules, step, children))


def near_miss(text: str) -> str | None:
    """Tell what a plain label was probably meant to be; None for a text that looks like a label.

    Source: R17.
    """
    trimmed = text.strip().translate(_SIGNS)
    if "||" in trimmed:
        parts = " and ".join(f"condition: {part.strip()}" for part in trimmed.split("||"))
        return f"two rules with the same next, {parts}"
    if "&&" in trimmed or _WHEN.match(trimmed):
        return "the field when: {value: …, equals: …}, next to condition or alone"
    if trimmed == "otherwise":
        return "the field otherwise: true"
    negated = _NEGATED.fullmatch(trimmed)
    if negated:
        form = _repaired(negated.group(1), negated.group(2))
        return form and f"a rule {form} before this one, or at_most(0, …)"
    form_match = _FORM.fullmatch(trimmed)
    if form_match is None:
        return None
    keyword, gap, arguments = form_match.groups()
    # "All (minor) issues" is prose; "ALL(minor)" hardly is.
    return None if gap and _BARE.fullmatch(arguments) else _repaired(keyword, arguments)


def _repaired(keyword: str, arguments: str) -> str | None:
    """Write a form as it should be, or None if its arguments make no sense even with their quotes mended."""
    quoted = f'"{arguments.strip()}"' if _BARE.fullmatch(arguments) else re.sub(r"'([^'\"]*)'", r'"\1"', arguments)
    try:
        condition = parse_condition(f"{keyword.lower()}({quoted})")
    except ConditionSyntaxError:
        return None
    return None if isinstance(condition, Label) else print_condition(condition)


def _of_label(index: int, rule: Rule, step: str) -> list[Warned]:
    if not isinstance(rule.condition, Label):
        return []
    text = rule.condition.text
    intent = near_miss(text)
    if intent is None:
        return []
    message = f"Rule {index + 1} of step {step!r}: {text!r} is a plain label. Probably meant: {intent}."
    return [Warned("near-miss", message, index, rule.position)]


def _without_children(rules: Sequence[Rule], step: str) -> list[Warned]:
    return [
        Warned(
            "no-children",
            f"Rule {index + 1} of step {step!r}: {print_condition(rule.condition)} never holds, since the step has no "
            "children. Use a label or ai(…).",
            index,
            rule.position,
        )
        for index, rule in enumerate(rules)
        if isinstance(rule.condition, Aggregate | Quorum)
    ]


def _of_aggregates(rules: Sequence[Rule], step: str, children: Sequence[Collection[str | None] | None]) -> list[Warned]:
    """Find aggregates that ask for labels nobody gives, or for more children than there are."""
    known = [child for child in children if child is not None]
    labels = {verdict for child in known for verdict in child} if len(known) == len(children) else None
    found: list[Warned] = []
    for index, rule in enumerate(rules):
        condition = rule.condition
        if not isinstance(condition, Aggregate | Quorum):
            continue
        where = f"Rule {index + 1} of step {step!r}: "
        targets = condition.targets if isinstance(condition, Aggregate) else (condition.target,)
        for target in targets if labels is not None else ():
            if target not in (labels or ()):
                message = f"{where}no child can have the verdict {target!r}. Write it exactly as a child's rule does."
                found.append(Warned("unknown-label", message, index, rule.position))
        if isinstance(condition, Quorum) and condition.op == "at_least" and condition.count > len(children):
            message = (
                f"{where}{print_condition(condition)} never holds with {len(children)} children. Lower the number."
            )
            found.append(Warned("quorum-too-large", message, index, rule.position))
    return found


def _gaps(rules: Sequence[Rule], step: str, children: Sequence[Collection[str | None] | None]) -> list[Warned]:
    closed = [child for child in children if child is not None]
    if not rules or len(closed) < len(children):
        return []
    coverage = check_coverage(rules, closed)
    if coverage.capped:
        message = f"Step {step!r}: too many combinations of verdicts to tell whether every one has a rule."
        return [Warned("coverage-unknown", message)]
    if coverage.first_uncovered is None:
        return []
    verdicts = ", ".join("none" if verdict is None else repr(verdict) for verdict in coverage.first_uncovered)
    message = f"Step {step!r}: no rule covers the child verdicts ({verdicts}). Add a rule for them."
    return [Warned("not-covered", message)]

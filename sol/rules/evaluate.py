"""What a condition means for the results of children. Asks nobody: questions to a model come back as questions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self, assert_never

from sol.rules.rule import Rule, equals_of
from sol.rules.syntax import (
    Aggregate,
    Ai,
    Condition,
    Kind,
    Label,
    Otherwise,
    Quorum,
    When,
    kind_of,
    print_condition,
)
from sol.rules.verdict import TagFound, TagMissing, TagOutOfRange, find_tag


def aggregate_holds(condition: Aggregate | Quorum, verdicts: Sequence[str | None]) -> bool:
    """Tell whether an aggregate holds.

    Without children it never does. A child without a verdict makes `all` false; the others act as if it were not there,
    so `at_most` needs one child that has a verdict.

    Args:
        condition: What must hold.
        verdicts: The children's verdicts in their order, trimmed; None for a child that has none.

    Source: R01-R06, R16, R18, R22.
    """
    match condition:
        case Aggregate("all", (target,)):
            return bool(verdicts) and all(verdict == target for verdict in verdicts)
        case Aggregate("all", targets):
            return len(targets) == len(verdicts) and tuple(verdicts) == targets
        case Aggregate(_, targets):
            return any(verdict in targets for verdict in verdicts)
        case Quorum("at_least", count, target):
            return verdicts.count(target) >= count
        case Quorum(_, count, target):
            return verdicts.count(target) <= count and any(verdict is not None for verdict in verdicts)
        case _:
            assert_never(condition)


Scalar = str | bool | int | float | None
"""A value that a reference may have."""


@dataclass(frozen=True, slots=True)
class Child:
    """A child as aggregates see it. `verdict` is None while it is undetermined: it has no rules, or none held (R05)."""

    name: str
    verdict: str | None


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's answer to one `ai()` rule, as its structured fields gave it; prose has no way in. Source: R23."""

    holds: bool
    reason: str

    def __post_init__(self) -> None:
        if type(self.holds) is not bool:
            raise TypeError(f"A judgement's holds must be True or False, not {self.holds!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """All that rules may look at.

    Attributes:
        children: In the order that `all` with several labels means; empty where there are none (R06, R07).
        labels: Labels that a report answers to, such as its status. A label rule holds if its label is among them.
        step: Name of the step whose status tags count; None reads no tags.
        text: The combined text in which tags are looked for.
        values: What each reference is, by `normalise_reference`. A reference that is not in it is undetermined, and
            neither `when` nor `otherwise` holds on it.
        equals: Every `equals` that an `otherwise` is the opposite of; None means those of the list evaluated.
        judgements: The judge's answers so far, by index of their rule.
    """

    children: Sequence[Child] = ()
    labels: frozenset[str] = frozenset()
    step: str | None = None
    text: str = ""
    values: Mapping[str, Scalar] = field(default_factory=dict)
    equals: Sequence[When] | None = None
    judgements: Mapping[int, Judgement] = field(default_factory=dict)


Reading = Mapping[str, object]
"""What a condition looked at, as JSON-able data; see docs/rules.md for the keys of each kind."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A rule that did not hold, and what it looked at. `rule_index` counts from 0."""

    rule_index: int
    condition: Condition
    read: Reading

    def to_dict(self) -> dict[str, object]:
        """Return the record as plain data."""
        return _record(self.rule_index, self.condition, self.read)


@dataclass(frozen=True, slots=True)
class Decision:
    """The rule that held, and why.

    Attributes:
        rule_index: From 0, among all rules of the list.
        condition: The rule's condition.
        next: The rule's `next`.
        read: What the condition looked at.
        reason: The judge's reason; None for a rule that asked no judge.
        passed: The rules before it, which did not hold.

    Source: R20.
    """

    rule_index: int
    condition: Condition
    next: str
    read: Reading
    reason: str | None
    passed: tuple[Seen, ...]

    @property
    def kind(self) -> Kind:
        """How the condition is decided."""
        return kind_of(self.condition)

    @property
    def verdict(self) -> str:
        """The verdict that this decision gives its own node: the condition's text. Source: R08."""
        return print_condition(self.condition)

    def to_dict(self) -> dict[str, object]:
        """Return the record as plain data for the journal and the tree."""
        record = _record(self.rule_index, self.condition, self.read)
        passed = [seen.to_dict() for seen in self.passed]
        return {**record, "next": self.next, "reason": self.reason, "passed": passed}


@dataclass(frozen=True, slots=True)
class Matched:
    """A rule held."""

    decision: Decision


@dataclass(frozen=True, slots=True)
class NoMatch:
    """No rule held; `seen` has one entry for each. Source: R14."""

    seen: tuple[Seen, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the record as plain data."""
        return {"seen": [seen.to_dict() for seen in self.seen]}


@dataclass(frozen=True, slots=True)
class NeedJudge:
    """An `ai()` rule was reached that has no judgement yet. `seen` are the rules before it."""

    rule_index: int
    question: str
    seen: tuple[Seen, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """A rule without guard, with what is told of it whenever it is tried: kind and text of its condition."""

    condition: Condition
    kind: Kind
    text: str
    next: str

    @classmethod
    def of(cls, rule: Rule) -> Self:
        """What there is to tell of a rule."""
        return cls(rule.condition, kind_of(rule.condition), print_condition(rule.condition), rule.next)


Outcome = Matched | NoMatch | NeedJudge
"""What one evaluation comes to."""


def _record(rule_index: int, condition: Condition, read: Reading) -> dict[str, object]:
    text = print_condition(condition)
    return {"rule_index": rule_index, "kind": kind_of(condition), "condition": text, "read": dict(read)}


def evaluate(rules: Sequence[Rule], context: Context) -> Outcome:
    """Try the rules in their order, up to the first that holds or that needs a judge.

    The same arguments always give the same outcome, so after `NeedJudge` the caller adds the answer to
    `context.judgements` and calls again. Nothing after the rule that holds is looked at.

    Source: R09-R11, R14.
    """
    view = _View(rules, context)
    seen: list[Seen] = []
    for index, rule in enumerate(rules):
        condition = rule.condition
        read: Reading = {}
        if rule.guard is not None:
            holds, guard = view.look(index, rule.guard)
            read = {"guard": {"condition": print_condition(rule.guard), **guard}}
            if not holds:
                seen.append(Seen(index, condition, read))
                continue
        judgement = None
        if isinstance(condition, Ai):
            judgement = context.judgements.get(index)
            if judgement is None:
                return NeedJudge(index, condition.question, tuple(seen))
        holds, own = view.look(index, condition)
        read = {**read, **own} if read else own
        if holds:
            reason = judgement.reason if judgement else None
            return Matched(Decision(index, condition, rule.next, read, reason, tuple(seen)))
        seen.append(Seen(index, condition, read))
    return NoMatch(tuple(seen))


class _View:
    """A context as one rule list sees it; what several rules share is worked out once, when first looked at."""

    __slots__ = ("_children", "_context", "_rules", "_tag", "_verdicts")

    def __init__(self, rules: Sequence[Rule], context: Context) -> None:
        self._rules = rules
        self._context = context
        self._verdicts: list[str | None] | None = None
        self._children: Reading = {}
        self._tag: TagFound | TagOutOfRange | TagMissing | None = None

    def look(self, index: int, condition: Condition) -> tuple[bool, Reading]:
        """Tell whether a condition holds, and what it looked at."""
        match condition:
            case Aggregate() | Quorum():
                return self._aggregate(condition)
            case Label(text):
                return self._label(index, text)
            case Ai():
                judgement = self._context.judgements[index]
                return judgement.holds, {"holds": judgement.holds, "reason": judgement.reason}
            case When():
                known = condition.value in self._context.values
                return when_holds(condition, self._context.values), self._references([condition.value], known=known)
            case Otherwise():
                return self._otherwise(condition)
            case _:
                assert_never(condition)

    def _aggregate(self, condition: Aggregate | Quorum) -> tuple[bool, Reading]:
        if self._verdicts is None:
            children = self._context.children
            self._verdicts = [(child.verdict.strip() or None) if child.verdict else None for child in children]
            names = [child.name for child in children]
            self._children = {"children": list(map(list, zip(names, self._verdicts, strict=True)))}
        return aggregate_holds(condition, self._verdicts), self._children

    def _label(self, index: int, text: str) -> tuple[bool, Reading]:
        context = self._context
        read: dict[str, object] = {"labels": sorted(context.labels)} if context.labels else {}
        if any(label.strip() == text for label in context.labels):
            return True, read
        if context.step is None:
            return False, read or {"labels": []}
        if self._tag is None:
            self._tag = find_tag(context.text, context.step, len(self._rules))
        match self._tag:
            case TagFound(chosen, tag):
                read["tag"] = tag
                if not isinstance(self._rules[chosen].condition, Label):
                    read["problem"] = f"rule {chosen + 1} is not a label"
                return chosen == index, read
            case TagOutOfRange(tag, count):
                return False, {**read, "tag": tag, "problem": f"out of range: the step has {count} rules"}
            case TagMissing():
                return False, {**read, "tag": None}
            case _:
                assert_never(self._tag)

    def _otherwise(self, condition: Otherwise) -> tuple[bool, Reading]:
        given = self._context.equals
        equals = equals_of(self._rules) if given is None else given
        references = list(dict.fromkeys(part.value for part in equals if condition.value in (None, part.value)))
        values = self._context.values
        known = all(reference in values for reference in references)
        return otherwise_holds(condition, equals, values), self._references(references, known=known)

    def _references(self, references: list[str], *, known: bool) -> Reading:
        values = self._context.values
        found = {reference: values[reference] for reference in references if reference in values}
        return {"values": found} if known else {"values": found, "problem": "a value is undetermined"}


def when_holds(condition: When, values: Mapping[str, Scalar]) -> bool:
    """Tell whether a reference has exactly this value, type included; an undetermined one has not.

    Source: R19.
    """
    value = values.get(condition.value)
    return type(value) is type(condition.equals) and value == condition.equals


def otherwise_holds(condition: Otherwise, equals: Sequence[When], values: Mapping[str, Scalar]) -> bool:
    """Tell whether no `equals` matched on the reference, or on any if `condition` names none.

    Needs at least one such `equals`, and that every reference looked at is determined.

    Args:
        condition: The `otherwise`.
        equals: All `equals` of the definition; those on other references are left out.
        values: What each reference is.

    Source: R19.
    """
    own = [part for part in equals if condition.value in (None, part.value)]
    return bool(own) and all(part.value in values and not when_holds(part, values) for part in own)

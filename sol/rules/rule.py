"""Rules as YAML mappings: reading one rule, and checking that the rules of a step fit together.

Takes plain mappings from a strict loader; it must not read files or evaluate anything.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from sol.rules.syntax import (
    Aggregate,
    Condition,
    ConditionSyntaxError,
    Label,
    Otherwise,
    RuleListError,
    When,
    parse_condition,
    print_condition,
)

UNUSED_NEXT: Final = "_"
"""The `next` of a rule that leads nowhere, such as a rule of a parallel sub-step."""

Position = tuple[int, int]
"""Line and column, both from 1."""

_FIELDS: Final = frozenset({"condition", "when", "otherwise", "next"})
_REFERENCE: Final = re.compile(r"\s*\{\{\s*([\w-]+(?:\.[\w-]+)*)\s*\}\}\s*")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a list.

    Attributes:
        condition: What must hold.
        next: What follows when it does; the engine passes it on unread. Children's rules have one too, unused (R12).
        guard: A second condition that must hold as well and is looked at first; None means there is none.
        position: Where the rule stands in its file; None means it came from no file.
    """

    condition: Condition
    next: str
    guard: When | Otherwise | None = None
    position: Position | None = None

    @property
    def verdict(self) -> str:
        """The verdict of a node whose rule this is: the condition's text without the guard. Source: R08."""
        return print_condition(self.condition)


def normalise_reference(text: str) -> str:
    """Write a reference in its one form, `{{ a.b.c }}`.

    Raises:
        ValueError: If the text is anything but exactly one whole reference.

    Source: R19.
    """
    match = _REFERENCE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not exactly one reference such as {{{{ steps.review.outputs.ready }}}}.")
    return f"{{{{ {match.group(1)} }}}}"


def parse_rule(
    mapping: Mapping[str, object],
    *,
    position: Position = (1, 1),
    field_positions: Mapping[str, Position] | None = None,
    extra_fields: Collection[str] = (),
    next_required: bool = True,
) -> Rule:
    """Read one rule from its YAML mapping.

    A rule has `condition` (text), `when: {value, equals}`, `when: {value, otherwise: true}` or `otherwise: true`. With
    `condition` and one of the others, that one is the rule's guard.

    Args:
        mapping: The rule, as the strict loader gave it.
        position: Line and column of the rule.
        field_positions: Line and column of a field's value; a field not named here counts as at `position`.
        extra_fields: Names of more fields, which the caller reads itself.
        next_required: Whether `next` must be there; without it the rule gets `UNUSED_NEXT`.

    Raises:
        ConditionSyntaxError: If the rule cannot be read; the message has the line and the column.

    Source: R12, R16, R17, R19.
    """
    source = _Source(mapping, position, field_positions or {})
    for name in mapping:
        if name not in _FIELDS and name not in extra_fields:
            known = ", ".join(sorted(_FIELDS | set(extra_fields)))
            source.fail(name, f"a rule has no field {name!r}", f"Its fields are {known}.")
    guard = source.branch()
    if "condition" in mapping:
        line, column = source.at("condition")
        condition = parse_condition(source.text("condition"), line=line, column=column)
        return Rule(condition, source.next(required=next_required), guard, position)
    if guard is None:
        source.fail("", "a rule needs a condition", "Add condition, when or otherwise.")
    return Rule(guard, source.next(required=next_required), None, position)


class _Source:
    """A rule's mapping together with the places of its fields."""

    def __init__(self, mapping: Mapping[str, object], position: Position, places: Mapping[str, Position]) -> None:
        self._mapping = mapping
        self._position = position
        self._places = places

    def at(self, name: str) -> Position:
        return self._places.get(name, self._position)

    def fail(self, name: str, problem: str, hint: str) -> NoReturn:
        line, column = self.at(name)
        value = self._mapping[name] if name in self._mapping else dict(self._mapping)
        raise ConditionSyntaxError(problem, value=value, hint=hint, line=line, column=column)

    def text(self, name: str) -> str:
        value = self._mapping[name]
        if not isinstance(value, str):
            self.fail(name, f"{name} must be a text", "Put it in quotes.")
        return value

    def next(self, *, required: bool) -> str:
        if "next" not in self._mapping:
            if required:
                self.fail("", "a rule needs next", "Add next with the name of what follows.")
            return UNUSED_NEXT
        value = self.text("next")
        if not value.strip():
            self.fail("next", "next must not be empty", "Name what follows.")
        return value

    def branch(self) -> When | Otherwise | None:
        """Read `when` or `otherwise`; None when there is neither."""
        if "otherwise" in self._mapping:
            if "when" in self._mapping:
                self.fail("otherwise", "a rule has when and otherwise", "Keep one of them.")
            self._require_true(self._mapping["otherwise"], "otherwise")
            return Otherwise()
        if "when" not in self._mapping:
            return None
        when = self._mapping["when"]
        if not isinstance(when, Mapping) or set(when) not in ({"value", "equals"}, {"value", "otherwise"}):
            hint = (
                'Write when: {value: "{{ steps.review.outputs.ready }}", equals: true}, or otherwise: true for equals.'
            )
            self.fail("when", "when must be a mapping of value and equals", hint)
        reference = self._reference(when["value"])
        if "otherwise" in when:
            self._require_true(when["otherwise"], "when")
            return Otherwise(reference)
        equals = when["equals"]
        if not isinstance(equals, str | bool):
            self.fail("when", "equals must be a text or a boolean", "Quote a number; there is no conversion.")
        return When(reference, equals)

    def _require_true(self, value: object, name: str) -> None:
        if value is not True:
            self.fail(name, "otherwise can only be true", "Write otherwise: true, or leave it out.")

    def _reference(self, value: object) -> str:
        try:
            return normalise_reference(value if isinstance(value, str) else "")
        except ValueError:
            hint = 'Write value: "{{ steps.review.outputs.ready }}", without any text around it.'
            self.fail("when", "value must be exactly one reference", hint)


def equals_of(rules: Sequence[Rule]) -> tuple[When, ...]:
    """List every `equals` of the rules, guards included."""
    parts = [part for rule in rules for part in (rule.guard, rule.condition)]
    return tuple(part for part in parts if isinstance(part, When))


def check_rules(rules: Sequence[Rule], *, step: str, children: int | None = None) -> None:
    """Refuse rules that can be read but can never mean anything.

    Args:
        rules: All rules of the step; for `otherwise` across steps, all rules of the definition.
        step: Name of the step, for the message.
        children: How many children it has; None means that this is not known before it runs. With 0, aggregates are
            left to `lint_rules`, since that is a warning only.

    Raises:
        RuleListError: If an `all` with several labels has not one for each child, if an `otherwise` has no `equals` on
            its reference, or if one reference has two `otherwise`.

    Source: R07, R16, R19.
    """
    references = {part.value for part in equals_of(rules)}
    covered: set[str | None] = set()
    for index, rule in enumerate(rules):
        for part in (rule.guard, rule.condition):
            if isinstance(part, Otherwise):
                _check_otherwise(part, references, covered, step=step, rule_index=index)
        condition = rule.condition
        if isinstance(condition, Aggregate) and condition.op == "all" and len(condition.targets) > 1 and children:
            _check_positions(condition, children, step=step, rule_index=index)


def _check_otherwise(
    part: Otherwise, references: set[str], covered: set[str | None], *, step: str, rule_index: int
) -> None:
    if not references or (part.value is not None and part.value not in references):
        hint = "Add a when with equals on the same reference."
        raise RuleListError(
            "otherwise has no equals to be the opposite of", step=step, rule_index=rule_index, hint=hint
        )
    if part.value in covered:
        hint = "Keep one of them."
        raise RuleListError("a second otherwise for the same reference", step=step, rule_index=rule_index, hint=hint)
    covered.add(part.value)


def _check_positions(condition: Aggregate, children: int, *, step: str, rule_index: int) -> None:
    labels = len(condition.targets)
    if labels != children:
        hint = "Give one label for each child in their order, or a single label for all of them."
        problem = f"{print_condition(condition)} has {labels} labels for {children} children"
        raise RuleListError(problem, step=step, rule_index=rule_index, hint=hint)


def possible_verdicts(rules: Sequence[Rule]) -> tuple[str, ...]:
    """List the verdicts that a node with these rules can have, in file order, each once. Source: R08, R21."""
    return tuple(dict.fromkeys(rule.verdict for rule in rules))


def needs_status_tag(rules: Sequence[Rule]) -> bool:
    """Tell whether the prompt must ask for a status tag: only when a rule is a label. Source: R13."""
    return any(isinstance(rule.condition, Label) for rule in rules)

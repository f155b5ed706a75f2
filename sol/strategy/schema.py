"""What a strategy file holds, in types. Reads no files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from luna.monitor.monitors import MonitorSettings
from sol.errors import StrategyError
from sol.rules import Ai, ConditionSyntaxError, Otherwise, Rule, Tried, When, parse_rule
from sol.rules.rule import Position
from sol.tree.node import DIGITS


@dataclass(frozen=True, slots=True)
class Dimension:
    """A way to split a task in two.

    Attributes:
        first, second: What each half is about.
        when: When it fits.
        sequential: Whether the second half rests on the first.
    """

    first: str
    second: str
    when: str
    sequential: bool


DIMENSIONS: Mapping[str, Dimension] = {
    "unknown_a_unknown_b": Dimension(
        "settle one open question", "settle the other", "the report lists two or more unknowns", sequential=False
    ),
    "discovery_execution": Dimension(
        "find out what to do", "do what was found", "it is not clear yet how to go about the task", sequential=True
    ),
    "reproduction_fix": Dimension(
        "reproduce the fault and find its cause",
        "fix it and show that it is fixed",
        "something is broken",
        sequential=True,
    ),
    "interface_implementation": Dimension(
        "fix the interface and its limits", "build what is behind it", "a component is to be made", sequential=True
    ),
    "data_logic": Dimension(
        "understand and prepare the data",
        "build the processing of it",
        "data is turned into something",
        sequential=True,
    ),
    "local_integration": Dimension(
        "make the part work by itself", "make it work within the whole", "a part joins a larger system", sequential=True
    ),
}
"""Split dimensions in their default order. Source: S17–S22."""


Count = Annotated[int, Field(strict=True, ge=1)]
Amount = Annotated[float, Field(gt=0)]

SECTIONS: Mapping[str, Sequence[str]] = {
    "report": ("validate", "split", "replan", "escalate", "ask", "fail"),
    "validation": ("accept", "attempt", "split", "replan", "escalate", "ask", "fail"),
    "children": ("integrate", "set_aside", "replan", "escalate", "fail"),
    "depth_limit": ("as_proposed", "redefine", "ask", "set_aside", "give_up"),
}
"""For each section of rules, what its rules may lead to. Source: S63."""


def read_rule(
    section: str,
    mapping: Mapping[str, object],
    *,
    position: Position = (1, 1),
    field_positions: Mapping[str, Position] | None = None,
) -> Rule:
    """Read one rule of a section.

    Args:
        section: Name of the section.
        mapping: The rule as the file has it.
        position: Line and column of the rule.
        field_positions: Line and column of the values of its fields.

    Raises:
        ConditionSyntaxError: If it cannot be read, leads to what its section does not have, or compares values, of
            which a strategy has none.

    Source: S63.
    """
    places = field_positions or {}
    rule = parse_rule(mapping, position=position, field_positions=places)
    if rule.guard is not None or isinstance(rule.condition, When | Otherwise):
        line, column = places.get("when", places.get("otherwise", position))
        raise ConditionSyntaxError(
            "a strategy's rules have no values to compare",
            value=dict(mapping),
            hint="Write a label, an aggregate over children, or ai(…).",
            line=line,
            column=column,
        )
    if rule.next not in SECTIONS[section]:
        line, column = places.get("next", position)
        hint = f"Rules of {section} lead to one of {', '.join(SECTIONS[section])}."
        raise ConditionSyntaxError(f"next is {rule.next!r}", value=rule.next, hint=hint, line=line, column=column)
    return rule


def _compiled(section: str, items: tuple[tuple[str, object], ...]) -> Rule:
    """A rule, read once however many strategies have it."""
    try:
        return _read_once(section, items)
    except TypeError:  # a field that holds a list or a mapping
        return read_rule(section, dict(items))


@lru_cache(maxsize=1024)
def _read_once(section: str, items: tuple[tuple[str, object], ...]) -> Rule:
    return read_rule(section, dict(items))


def _rules_for_editors() -> dict[str, Any]:
    def one(actions: Sequence[str]) -> dict[str, Any]:
        fields = {"condition": {"type": "string"}, "next": {"enum": list(actions)}}
        rule = {
            "type": "object",
            "required": ["condition", "next"],
            "properties": fields,
            "additionalProperties": False,
        }
        return {"type": "array", "minItems": 1, "items": rule}

    sections = {section: one(actions) for section, actions in SECTIONS.items()}
    return {"type": "object", "required": list(SECTIONS), "properties": sections, "additionalProperties": False}


def _monitors_for_editors() -> dict[str, Any]:
    schema = MonitorSettings.model_json_schema()
    fields = {name: field for name, field in schema["properties"].items() if name != "patience"}
    return {"type": "object", "properties": fields, "additionalProperties": False}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PerCall(_Part):
    """The most that one effect may use; reserved before it starts, and charged where usage is not reported."""

    tokens: Count | None = None
    cost: Amount | None = None


class Budget(_Part):
    """Limits of a whole tree, shared by all its nodes and by what they call. None: no limit. 0 calls means none.

    Attributes:
        calls: Attempts of Lunas and calls of Sol's model together.
        tokens: Input and output together.
        cost: US dollars.
        seconds: Wall-clock seconds of the run, over all its resumes.
    """

    calls: Annotated[int, Field(strict=True, ge=0)] | None = None
    tokens: Annotated[int, Field(strict=True, ge=0)] | None = None
    cost: Annotated[float, Field(ge=0)] | None = None
    seconds: Amount | None = None
    per_call: PerCall = PerCall()

    def narrowed(self, other: "Budget") -> "Budget":
        """The tighter of both limits in each respect. Source: S13."""
        return Budget(
            calls=_least(self.calls, other.calls),
            tokens=_least(self.tokens, other.tokens),
            cost=_least(self.cost, other.cost),
            seconds=_least(self.seconds, other.seconds),
            per_call=self.per_call,
        )


_Number = TypeVar("_Number", int, float)


def _least(a: _Number | None, b: _Number | None) -> _Number | None:
    return b if a is None else a if b is None else min(a, b)


class AttemptLimits(_Part):
    """What one attempt may take. None: no limit.

    Attributes:
        timeout_s: Seconds in all.
        inactivity_s: Seconds without any sign of life.
    """

    timeout_s: Amount | None = None
    inactivity_s: Amount | None = None


class Strategy(_Part):
    """How Sol goes about a task.

    Attributes:
        attempt: Whether a node is tried by a Luna first, always split first, or Sol judges whether it is atomic.
        max_depth: Deepest level a split may make; the root is 0; 0 means never split. Source: S11.
        arity: Most children of one split, at least 2. Source: S12.
        splitter: `auto`: Sol's model, or without one the report and then the inputs; `inputs`: always halve inputs.
        dimensions: Split dimensions in the order of preference. Source: S17–S22.
        patience: Actions without progress before a worker counts as stuck. Source: S50.
        monitors: Other settings of the stuck detectors.
        max_replans: How often a node may be split anew after its first split. Source: S56.
        integrate: Who puts parts together: Sol's planner, or a Luna with a task of its own. Source: S61.
        concurrency: Most effects of the run at the same time.
        context_bytes: Most bytes of context that an assignment carries. Source: S33.
        limits: Of one attempt.
        budget: Of the tree.
        rules: What follows from reports, checks, children's states and reassessments. Source: S63.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
    description: str
    attempt: Literal["first", "never", "auto"] = "first"
    max_depth: Annotated[int, Field(strict=True, ge=0, le=10_000)] = 5
    arity: Annotated[int, Field(strict=True, ge=2, le=8)] = 2
    splitter: Literal["auto", "inputs"] = "auto"
    dimensions: tuple[str, ...] = tuple(DIMENSIONS)
    patience: Count = 5
    monitors: Annotated[dict[str, JsonValue], WithJsonSchema(_monitors_for_editors())] = Field(default_factory=dict)
    max_replans: Annotated[int, Field(strict=True, ge=0, le=10)] = 2
    integrate: Literal["sol", "luna"] = "sol"
    concurrency: Count = 4
    context_bytes: Annotated[int, Field(strict=True, ge=256)] = 4096
    limits: AttemptLimits = AttemptLimits()
    budget: Budget = Budget()
    rules: Annotated[
        dict[Literal["report", "validation", "children", "depth_limit"], tuple[dict[str, JsonValue], ...]],
        WithJsonSchema(_rules_for_editors()),
    ]

    @field_validator("dimensions")
    @classmethod
    def _known_dimensions(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name not in DIMENSIONS:
                raise ValueError(f"no split dimension is named {name!r}; known: {', '.join(DIMENSIONS)}")
        if not value or len(set(value)) < len(value):
            raise ValueError("name at least one split dimension, and each only once")
        return value

    @field_validator("monitors")
    @classmethod
    def _patience_apart(cls, value: dict[str, Any]) -> dict[str, Any]:
        if "patience" in value:
            raise ValueError("patience is a field of the strategy itself; move it out of monitors")
        return value

    @field_validator("rules")
    @classmethod
    def _every_section(cls, value: dict[str, tuple[dict[str, Any], ...]]) -> dict[str, tuple[dict[str, Any], ...]]:
        for section, actions in SECTIONS.items():
            if not value.get(section):
                raise ValueError(f"rules.{section} is missing; its rules lead to one of {', '.join(actions)}")
            for number, mapping in enumerate(value[section], start=1):
                try:
                    _compiled(section, tuple(mapping.items()))
                except ConditionSyntaxError as error:
                    raise ValueError(f"rules.{section} rule {number}: {error.problem}. {error.hint}") from error
        return value

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.arity * (1 + self.max_replans) > len(DIGITS):
            raise ValueError(
                f"arity {self.arity} with max_replans {self.max_replans} could make more than {len(DIGITS)} children"
            )
        _ = self.monitor_settings
        return self

    @cached_property
    def monitor_settings(self) -> MonitorSettings:
        """Settings of the stuck detectors, `patience` among them."""
        return MonitorSettings.model_validate({"patience": self.patience, **self.monitors})

    @cached_property
    def sections(self) -> Mapping[str, tuple[Rule, ...]]:
        """The rules by section, read."""
        return {
            name: tuple(_compiled(name, tuple(rule.items())) for rule in rules) for name, rules in self.rules.items()
        }

    @cached_property
    def tried(self) -> Mapping[str, tuple[Tried, ...]]:
        """The rules by section, with what is looked up each time one is tried."""
        return {name: tuple(map(Tried.of, rules)) for name, rules in self.sections.items()}

    @property
    def asks_judge(self) -> bool:
        """Whether any of its rules asks Sol's model a question; such a strategy cannot be used without one."""
        return any(isinstance(rule.condition, Ai) for rules in self.sections.values() for rule in rules)

    def with_limits(self, *, max_depth: int | None, budget: "Budget | Mapping[str, Any] | None") -> "Strategy":
        """The same strategy with other limits, where they are given; for whoever starts or resumes the run.

        Raises:
            StrategyError: If a limit is out of its range.
        """
        given = budget.model_dump(exclude_unset=True) if isinstance(budget, Budget) else dict(budget or {})
        if max_depth is None and not given:
            return self
        data = self.model_dump(mode="json")
        data["budget"] |= given
        if max_depth is not None:
            data["max_depth"] = max_depth
        try:
            return Strategy.model_validate(data)
        except ValidationError as error:
            lines = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
            raise StrategyError("The limits cannot be used. " + "; ".join(lines)) from error

    def narrowed(self, *, max_depth: int | None = None, budget: Budget | None = None) -> "Strategy":
        """The same strategy with tighter limits; limits are never widened by it. Source: S13."""
        update: dict[str, Any] = {}
        if max_depth is not None:
            update["max_depth"] = min(self.max_depth, max_depth)
        if budget is not None:
            update["budget"] = self.budget.narrowed(budget)
        return self.model_copy(update=update)

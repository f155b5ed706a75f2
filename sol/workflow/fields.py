"""The fields of a workflow file as people write them, and which fields of comparable tools are known but not acted on.

Shapes only: what they mean together is checked elsewhere.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from luna.protocol import Text

COMPLETE: Final = "COMPLETE"
ABORT: Final = "ABORT"
ENDS: Final = frozenset({COMPLETE, ABORT})
"""Where a rule leads to end the workflow."""

Whole = Annotated[int, Field(strict=True, ge=1)]
Name = Annotated[str, Field(pattern=r"^[^\s/#\[\]{}:]+( [^\s/#\[\]{}:]+)*$", max_length=100)]


class Fields(BaseModel):
    """Base: immutable, unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class ParamRef(Fields):
    """`{$param: name}`: what the caller of the workflow gives, or the parameter's default."""

    param: Annotated[Text, Field(alias="$param")]


FacetField: TypeAlias = ParamRef | Text | tuple[Text, ...]


class ReportFields(Fields):
    """One report file: its name, and a text or the name of a text that says what it looks like."""

    name: Text
    format: Text | None = None


class ContractFields(Fields):
    """What a step hands in beside its answer."""

    report: tuple[ReportFields, ...]


class ParallelFields(Fields):
    """Sub-steps in the long form."""

    fixed: tuple["StepFields", ...]


class StepFields(Fields):
    """A step or sub-step."""

    name: Name
    description: str | None = None
    kind: Literal["agent", "workflow_call"] | None = None
    agent: Text | None = None
    persona: FacetField | None = None
    instruction: FacetField | None = None
    instruction_template: Text | None = None
    policy: FacetField = ()
    knowledge: FacetField = ()
    edit: bool | None = None
    permission_mode: Text | None = None
    required_permission_mode: Text | None = None
    allowed_tools: tuple[Text, ...] | None = None
    pass_previous_response: bool = True
    report: Text | ReportFields | tuple[Text | dict[str, Text], ...] = ()
    output_contracts: ContractFields | None = None
    quality_gates: tuple[Text, ...] = ()
    rules: tuple[dict[str, JsonValue], ...] = ()
    parallel: tuple["StepFields", ...] | ParallelFields | None = None
    concurrency: Whole | None = None
    call: Text | None = None
    args: dict[str, FacetField] = Field(default_factory=dict)
    worker: Text | dict[str, JsonValue] | None = None
    solve: bool | Text = False


class JudgeFields(Fields):
    """Who looks at a cycle, and what may follow."""

    persona: FacetField | None = None
    agent: Text | None = None
    instruction: FacetField | None = None
    instruction_template: Text | None = None
    rules: Annotated[tuple[dict[str, JsonValue], ...], Field(min_length=1)]
    worker: Text | dict[str, JsonValue] | None = None


class MonitorFields(Fields):
    """A cycle of steps to be looked at when it has been gone through `threshold` times in a row."""

    cycle: Annotated[tuple[Text, ...], Field(min_length=2)]
    threshold: Whole = 3
    ignore_steps: tuple[Text, ...] = ()
    judge: JudgeFields


class ParamFields(Fields):
    """A parameter of a workflow that others call."""

    type: Literal["facet_ref", "facet_ref[]"]
    facet_kind: Literal["persona", "instruction", "policy", "knowledge", "report_format"]
    default: Text | tuple[Text, ...] | None = None
    description: str | None = None


class CallableFields(Fields):
    """What a workflow offers to those that call it."""

    callable: Literal[True] = True
    visibility: Text | None = None
    returns: tuple[Text, ...] = ()
    params: dict[str, ParamFields] = Field(default_factory=dict)


class WorkflowFields(Fields):
    """A whole file."""

    name: Text
    description: str = ""
    initial_step: Text | None = None
    max_steps: Whole | Literal["infinite"] | None = None
    max_iterations: Whole | Literal["infinite"] | None = None
    steps: tuple[StepFields, ...]
    loop_monitors: tuple[MonitorFields, ...] = ()
    subworkflow: CallableFields | None = None
    personas: dict[str, Text] = Field(default_factory=dict)
    instructions: dict[str, Text] = Field(default_factory=dict)
    policies: dict[str, Text] = Field(default_factory=dict)
    knowledge: dict[str, Text] = Field(default_factory=dict)
    report_formats: dict[str, Text] = Field(default_factory=dict)

    @field_validator("personas", "instructions", "policies", "knowledge", "report_formats", mode="before")
    @classmethod
    def _empty(cls, value: object) -> object:
        return {} if value is None else value


RULE_FIELDS: Final = ("return", "appendix", "requires_user_input", "interactive_only")
"""Fields of a rule beside those that the rule engine reads."""

NOT_ACTED_ON: Final[Mapping[str, frozenset[str]]] = {
    "workflow": frozenset(
        "workflow_config schemas facet_pools interactive_mode capabilities mcp_servers finding_contract all_steps "
        "answer_agent auto_routing rate_limit_fallback".split()
    ),
    "step": frozenset(
        "tags agent_name persona_name session session_key provider model provider_options capabilities mcp "
        "mcp_servers completion_retry review_completion structured_output promotion requires_user_input "
        "allow_git_commit delay_before_ms companion dynamic_facets team_leader vars".split()
    ),
    "subworkflow": frozenset({"requires_finding_contract"}),
    "report": frozenset({"use_judge", "order"}),
    "judge": frozenset({"provider", "model", "provider_options", "tags"}),
}
"""Fields of real files that change nothing here; each that occurs is named in a warning."""

NOT_OFFERED: Final[Mapping[str, str]] = {
    "arpeggio": "steps over the rows of a data source are not offered; let a worker of kind `function` read the source",
    "system_inputs": "steps without a worker are not offered; give the step a worker of kind `function` or `command`",
    "effects": "steps without a worker are not offered; give the step a worker of kind `function` or `command`",
    "uses": "step fragments are not offered; write the step out",
    "with": "step fragments are not offered; write the step out",
}
"""Fields that would change what a step does so much that leaving them out would be wrong: refused."""


def strip_known(value: dict[str, Any], level: str) -> list[str]:
    """Take the fields that are known and not acted on out of a mapping; return their names."""
    found = [name for name in value if name in NOT_ACTED_ON[level]]
    for name in found:
        del value[name]
    return found

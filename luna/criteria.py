"""Success criteria and what they came to, as data: what must hold before a SUCCESS is accepted. Executes nothing.

Written in YAML as a one-key mapping (`{command: pytest -q}`), as `ai("question")`, or as plain words.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar, cast

import msgspec
from pydantic import BaseModel, ConfigDict, Discriminator, Field, JsonValue, StringConstraints, Tag, field_validator

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class _Criterion(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: ClassVar[str]


class CommandCriterion(_Criterion):
    """A command must end with this exit code. Never run by a shell.

    Attributes:
        command: Argument list, or one string that is split by shell-like rules.
        exit_code: 0 to 255.
        timeout_s: Seconds after which it counts as not passed.
    """

    kind: ClassVar[str] = "command"
    command: Annotated[tuple[str, ...], Field(min_length=1)] | Text
    exit_code: int = Field(default=0, ge=0, le=255)
    timeout_s: float = Field(default=120.0, gt=0)


class FileCriterion(_Criterion):
    """A file inside the workspace must exist and be non-empty; `new`: changed since the attempt started."""

    kind: ClassVar[str] = "file"
    file: Text
    new: bool = True


class SchemaCriterion(_Criterion):
    """The result must satisfy a JSON Schema (draft 2020-12)."""

    kind: ClassVar[str] = "json_schema"
    json_schema: dict[str, JsonValue]


class SourceCriterion(_Criterion):
    """Every value of the result must occur literally in its source.

    With a list as input the result must be a list of the same length, and the values of element i are looked for in
    source i. So it is with the lines or records of a file when the result is a list; a file without a unit has records
    (.csv, .tsv, .jsonl, .ndjson) or lines. Otherwise, and always with a text or with `unit: bytes`, they are looked for
    in the whole.

    Attributes:
        values_in: Name of the input that is the source.
    """

    kind: ClassVar[str] = "values_in"
    values_in: Text


class PythonCriterion(_Criterion):
    """A callable by import path, `module:function`, from the task's own code.

    It is called with `(result, inputs)` and returns True, False, or a string that says what is wrong.
    """

    kind: ClassVar[str] = "python"
    python: Text

    @field_validator("python")
    @classmethod
    def _import_path(cls, value: str) -> str:
        module, _, name = value.partition(":")
        if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
            raise ValueError(f"write module:function, not {value!r}")
        return value


class AiCriterion(_Criterion):
    """A question that Sol's model answers from the result; needs a Sol model."""

    kind: ClassVar[str] = "ai"
    ai: Text


class TextCriterion(_Criterion):
    """Plain words. Judged by Sol's model when there is one, otherwise the node is marked unchecked."""

    kind: ClassVar[str] = "text"
    text: Text


_KINDS: tuple[type[_Criterion], ...] = (
    CommandCriterion,
    FileCriterion,
    SchemaCriterion,
    SourceCriterion,
    PythonCriterion,
    AiCriterion,
    TextCriterion,
)
_BY_KIND = {cls.kind: cls for cls in _KINDS}


def _tag(value: Any) -> str | None:  # noqa: ANN401 - pydantic hands over whatever was written
    if isinstance(value, _Criterion):
        return value.kind
    if isinstance(value, Mapping):
        for kind in _BY_KIND:
            if kind in value:
                return kind
    return None


Criterion: TypeAlias = Annotated[
    Annotated[CommandCriterion, Tag("command")]
    | Annotated[FileCriterion, Tag("file")]
    | Annotated[SchemaCriterion, Tag("json_schema")]
    | Annotated[SourceCriterion, Tag("values_in")]
    | Annotated[PythonCriterion, Tag("python")]
    | Annotated[AiCriterion, Tag("ai")]
    | Annotated[TextCriterion, Tag("text")],
    Discriminator(
        _tag,
        custom_error_type="criterion",
        custom_error_message=(
            "a criterion is one of {command: …}, {file: …}, {json_schema: …}, {values_in: INPUT}, "
            '{python: module:function}, ai("…") or plain words'
        ),
    ),
]


def parse_criterion(value: object) -> object:
    """Turn the short forms (`ai("…")`, plain words) into a mapping; everything else is handed on as it is.

    Raises:
        ValueError: If `ai(` is opened and not well formed.
    """
    if not isinstance(value, str):
        return value
    text = value.strip()
    if not text.startswith("ai("):
        return {"text": text}
    inner = text[3:-1].strip() if text.endswith(")") else ""
    if len(inner) < 3 or inner[0] != '"' or inner[-1] != '"':
        raise ValueError(f'write ai("question"), not {value!r}')
    body = inner[1:-1]
    if '"' in body.replace("\\\\", "").replace('\\"', ""):
        raise ValueError(f'a double quote inside ai("…") is written \\", in {value!r}')
    return {"ai": body.replace('\\"', '"').replace("\\\\", "\\")}


ModelT = TypeVar("ModelT", bound=BaseModel)
_set = object.__setattr__  # the models are frozen


def trusted_model(cls: type[ModelT], given: dict[str, Any]) -> ModelT:
    """A model of values that were validated before; what `model_construct` gives, in a fraction of its time.

    Args:
        cls: A model with neither aliases nor private attributes.
        given: A value for each field without a default; becomes part of the model.
    """
    made = cls.__new__(cls)
    _set(made, "__dict__", _defaults(cls) | given)
    _set(made, "__pydantic_fields_set__", set(given))
    _set(made, "__pydantic_extra__", None)
    _set(made, "__pydantic_private__", None)
    return made


@cache
def _defaults(cls: type[BaseModel]) -> dict[str, Any]:
    # A field without a default has its place, too, so that all models have theirs in the same order.
    return {name: field.get_default(call_default_factory=False) for name, field in cls.model_fields.items()}


def trusted_criterion(data: Mapping[str, Any]) -> Criterion:
    """A criterion that was validated before, of what `model_dump` gave. Checks nothing."""
    made = _BY_KIND[_tag(data) or ""]
    given = dict(data)
    if isinstance(given.get("command"), list):
        given["command"] = tuple(given["command"])
    return cast("Criterion", trusted_model(made, given))


class CheckResult(msgspec.Struct, frozen=True, gc=False):
    """What one criterion came to.

    Attributes:
        criterion: The criterion in one line, for people.
        kind: Its kind: command, file, json_schema, values_in, python, ai or text.
        ok: None: not checked.
        detail: Why it failed, or what was seen; at most 2,000 bytes.
    """

    criterion: str
    kind: str
    ok: bool | None
    detail: str = ""

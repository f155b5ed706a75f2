"""Reports made of what a program or an agent leaves behind: exit codes, result files, report forms."""

import io
import json
import signal
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, TypeAlias, assert_never

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    WithJsonSchema,
    create_model,
)

from luna.errors import LunaError
from luna.process.execute import ProcessLimits, ProcessResult
from luna.protocol import REPORT, Data, Failed, FailedKind, Report, Stuck, StuckKind, Success, Text
from luna.schemas import schema_errors
from luna.strictjson import loads
from luna.text import clip, redact, repeated, strip_controls, whole_characters

OutputKind: TypeAlias = Literal["text", "json", "report"]

_TAIL_BYTES: Final = 2_000
_REASON_BYTES: Final = 500
_REPETITION_BYTES: Final = 65_536  # how much of a reply is looked through for repetition
_SIGNAL_BASE: Final = 128  # a shell reports a child killed by signal n as exit code 128 + n
_UNREADABLE: Final = frozenset({FailedKind.FORMAT, FailedKind.NO_STATUS, FailedKind.TRUNCATED})
_MODELS: Final[dict[str, type[Data]]] = {"SUCCESS": Success, "STUCK": Stuck, "FAILED": Failed}


def judge(
    result: ProcessResult,
    *,
    name: str,
    output: OutputKind,
    ok_exit_codes: Collection[int],
    limits: ProcessLimits,
    leave_out: Callable[[bytes], bool] | None = None,
) -> Report:
    """Turn the end of a command into a report.

    Args:
        result: How it ended.
        name: The program, for messages.
        output: What its standard output is.
        ok_exit_codes: Exit codes that may be a SUCCESS.
        limits: Those it ran under.
        leave_out: Tells which lines of standard output are no part of the reply.

    Source: S52, S55, STAT-01, LOOP-07.
    """
    evidence = _evidence(result)
    match result.kind:
        case "exited":
            return _exited(result, evidence, _Reading(name, output, frozenset(ok_exit_codes), limits, leave_out))
        case "killed":
            how = _signal_name(result.signal) if result.signal is not None else result.error
            return Failed(kind=FailedKind.KILLED, reason=f"{name} was killed: {how}", evidence=evidence)
        case "timeout":
            blocker = f"{name} did not end within {limits.timeout_s:g} s and was ended"
            return Stuck(kind=StuckKind.TIMEOUT, blocker=blocker, summary="Time-out.", evidence=evidence)
        case "inactive":
            blocker = f"{name} wrote nothing for {limits.inactivity_s:g} s and was ended"
            return Stuck(kind=StuckKind.TIMEOUT, blocker=blocker, summary="No sign of life.", evidence=evidence)
        case "output_limit":
            return _over_limit(result, evidence, limits)
        case "not_started":
            return Failed(kind=FailedKind.NOT_STARTED, reason=result.error, evidence=evidence)
        case _:
            assert_never(result.kind)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How the output of a command that ended by itself is read."""

    name: str
    output: OutputKind
    ok_exit_codes: frozenset[int]
    limits: ProcessLimits
    leave_out: Callable[[bytes], bool] | None


def _exited(result: ProcessResult, evidence: tuple[str, ...], reading: _Reading) -> Report:
    code = result.exit_code or 0
    good = code in reading.ok_exit_codes
    if not good and (how := _signal_name(code - _SIGNAL_BASE)):
        reason = f"{reading.name} ended with exit code {code}: {how}"
        return Failed(kind=FailedKind.KILLED, reason=reason, evidence=evidence)
    if result.stdout_bytes > reading.limits.output_bytes:
        return _over_limit(result, evidence, reading.limits)
    report = _read(result, evidence, reading) if good or reading.output == "report" else None
    if good and report is not None:
        return report
    if isinstance(report, Stuck) or (isinstance(report, Failed) and report.kind not in _UNREADABLE):
        return report  # its own word, and no claim of success
    last = _last_line(result.stderr)
    claim = ("claimed SUCCESS nevertheless",) if isinstance(report, Success) else ()
    reason = f"{reading.name} ended with exit code {code}{': ' + last if last else ''}"
    return Failed(kind=FailedKind.EXIT, reason=reason, evidence=(*claim, *evidence))


def _read(result: ProcessResult, evidence: tuple[str, ...], reading: _Reading) -> Report:
    data = result.stdout
    if reading.leave_out is not None:
        data = b"".join(line for line in io.BytesIO(data) if not reading.leave_out(line))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"the output of {reading.name} is no UTF-8 at byte {error.start}"
        return Failed(kind=FailedKind.FORMAT, reason=reason, evidence=evidence)
    match reading.output:
        case "text":
            value: JsonValue = text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")
        case "json":
            try:
                value = loads(text)
            except ValueError as error:
                reason = f"the output of {reading.name} is no JSON value: {error}"
                return Failed(kind=FailedKind.FORMAT, reason=reason, evidence=evidence)
        case "report":
            return _record(text, evidence, reading.name)
        case _:
            assert_never(reading.output)
    risks = tuple(f"process {pid} could not be ended" for pid in result.leftovers)
    return Success(
        summary=f"{reading.name} ended with exit code {result.exit_code}.", result=value, remaining_risks=risks
    )


def _record(text: str, evidence: tuple[str, ...], name: str) -> Report:
    """The report that is the last line; a status anywhere else may be quoted, and does not count."""
    try:
        return read_record(text.rstrip().rpartition("\n")[2])
    except NoRecordError as error:
        what = f"the last line of {name}" if error.kind == FailedKind.NO_STATUS else f"the report of {name}"
        return Failed(kind=error.kind, reason=f"{what} {error}", evidence=evidence)


def with_warning(report: Report, warning: str) -> Report:
    """The report with one thing more to know about how it came about."""
    where = "remaining_risks" if isinstance(report, Success) else "evidence"
    return report.model_copy(update={where: (*getattr(report, where), warning)})


class NoRecordError(LunaError):
    """A text is no report. Raised by `read_record`.

    Attributes:
        kind: no_status, truncated or format.
    """

    def __init__(self, kind: FailedKind, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind

    def __str__(self) -> str:
        return str(self.args[1])


def read_record(text: str) -> Report:
    """The report that a text is, all of it; what a report has no field for becomes a suggestion.

    Raises:
        NoRecordError: If it is none. The message goes on from what the text is: "is cut off".

    Source: S05, S52, STAT-01.
    """
    text = text.strip()
    try:
        value = loads(text)
    except ValueError as error:
        if not text.startswith("{"):
            raise _no_status() from None
        if text.endswith("}"):
            raise NoRecordError(FailedKind.FORMAT, f"is no JSON: {error}") from None
        raise NoRecordError(FailedKind.TRUNCATED, "is cut off") from None
    if not isinstance(value, dict) or "status" not in value:
        raise _no_status()
    try:
        return REPORT.validate_python(_with_suggestions(value))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise NoRecordError(FailedKind.FORMAT, f"is not valid: {where}: {first['msg']}") from None


def _with_suggestions(record: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """What a report has no field for (new tasks, other criteria) is kept as a suggestion. Source: S05."""
    status = record["status"]
    model = _MODELS.get(status) if isinstance(status, str) else None
    if model is None:
        return record
    others = {key: value for key, value in record.items() if key not in model.model_fields}
    suggestions = record.get("suggestions", {})
    if not others or not isinstance(suggestions, dict):
        return record
    return {key: value for key, value in record.items() if key not in others} | {"suggestions": suggestions | others}


def _no_status() -> NoRecordError:
    return NoRecordError(FailedKind.NO_STATUS, "is no JSON object with a status")


def _over_limit(result: ProcessResult, evidence: tuple[str, ...], limits: ProcessLimits) -> Failed:
    reason = "reply over limit"
    text = result.stdout[:_REPETITION_BYTES].decode("utf-8", "replace")
    if found := repeated(text):
        unit = clip(found.unit, limit_bytes=100).text
        reason += f", repeated text ({unit!r}, {found.count} times in a row)"
    reason += f"; the limit is {limits.output_bytes} bytes"
    return Failed(kind=FailedKind.OUTPUT_LIMIT, reason=reason, evidence=evidence)


def _evidence(result: ProcessResult) -> tuple[str, ...]:
    """Ends of both streams, and what could not be ended."""
    tails = {"stdout": _tail(result.stdout, _TAIL_BYTES), "stderr": _tail(result.stderr, _TAIL_BYTES)}
    seen = [f"{stream}: {tail}" for stream, tail in tails.items() if tail]
    return (*seen, *(f"process {pid} could not be ended" for pid in result.leftovers))


def _last_line(data: bytes) -> str:
    """The last thing that was said, which names the error in nearly every program's output."""
    lines = _tail(data, _TAIL_BYTES).splitlines()
    return lines[-1].strip()[-_REASON_BYTES:] if lines else ""


def _tail(data: bytes, limit: int) -> str:
    text = strip_controls(data[-limit:].decode("utf-8", "replace")).lstrip("\ufffd").strip()
    return redact(text)


def _signal_name(number: int) -> str:
    try:
        return f"signal {signal.Signals(number).name}"
    except ValueError:
        return ""


_SUCCESS = "ReportSuccess"


class Form(BaseModel):
    """What all three have in common: what they have no field for is kept, and not offered. Source: S05."""

    model_config = ConfigDict(extra="allow", json_schema_extra=lambda schema: schema.pop("additionalProperties", None))


class ReportStuck(Form):
    """Report that you cannot go on. The task may then be split, so say what is known and what is not."""

    blocker: Text = Field(description="the concrete obstacle")
    kind: Literal[
        "information_missing",
        "access_missing",
        "dependency_unavailable",
        "premise_wrong",
        "not_solvable_alone",
        "entangled_unknowns",
        "scope_too_large",
        "several_causes",
        "needs_human",
        "other",
    ] = "other"
    summary: str = ""
    known: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    attempted: tuple[str, ...] = ()
    suggested_split: tuple[str, ...] = ()
    question: str | None = Field(default=None, description="only if a human must answer it")


class ReportFailed(Form):
    """Report that the task cannot be done by anybody because what it assumes does not hold."""

    reason: Text
    evidence: tuple[str, ...] = ()


REPORT_NAMES: Final = frozenset({_SUCCESS, ReportStuck.__name__, ReportFailed.__name__})
"""Names of the tools that are reports."""


def report_types(schema: Mapping[str, JsonValue] | None) -> tuple[type[Form], ...]:
    """The forms of the three reports; the result of a success is held to the schema of the expected output."""
    result: Any = Any
    if schema is not None:
        # References would have to be rewritten for the tool's own schema, so such a schema is told in words.
        text = json.dumps(schema)
        shown = {"description": f"satisfies this JSON Schema: {text}"} if '"$ref"' in text else dict(schema)
        result = Annotated[Any, AfterValidator(_fitting(schema)), WithJsonSchema(shown)]
    success = create_model(
        _SUCCESS,
        __base__=Form,
        __doc__="Report that the task is done and its success criteria are met.",
        summary=(str, ...),
        result=(result, ... if schema is not None else None),
        evidence=(tuple[str, ...], ()),
        remaining_risks=(tuple[str, ...], ()),
    )
    return success, ReportStuck, ReportFailed


def _fitting(schema: Mapping[str, JsonValue]) -> Callable[[JsonValue], JsonValue]:
    def fits(value: JsonValue) -> JsonValue:
        if errors := schema_errors(value, schema):
            raise ValueError("; ".join(errors))
        return value

    return fits


def read_report(given: Form | None, *, cut: bool, refusal: str | None, last_text: str) -> Report:
    """The report that the agent gave, or that it gave none.

    Args:
        given: In one of the forms; None: the agent ended without.
        cut: Whether its last turn ended at a length limit.
        refusal: Why the model would not go on; None: it did not refuse.
        last_text: What it said last, as evidence where there is no report.

    Source: S05, S52, S55, STAT-01.
    """
    match given:
        case None if cut:
            return Failed(kind=FailedKind.TRUNCATED, reason="the last turn was cut off", evidence=(last_text,))
        case None if refusal is not None:
            return Failed(kind=FailedKind.REFUSED, reason=f"the model refused: {refusal}", evidence=(last_text,))
        case None:
            return Failed(kind=FailedKind.NO_STATUS, reason="the agent ended without a report", evidence=(last_text,))
        case ReportStuck():
            return Stuck.model_validate(_fields(given))
        case ReportFailed():
            return Failed.model_validate(_fields(given))
        case success:
            return Success.model_validate(_fields(success))


def _fields(given: Form) -> dict[str, JsonValue]:
    """What a form says, in the words of the vocabulary; what it has no field for is a suggestion."""
    others = given.model_extra or {}
    fields = {**given.model_dump(exclude=set(others)), "suggestions": others}
    return dict(json.loads(whole_characters(json.dumps(fields, ensure_ascii=False))))

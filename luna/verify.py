"""Success criteria that programs can check, and values against their source. Judges nothing in words."""

import asyncio
import copy
import json
import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, assert_never

import msgspec
from pydantic import JsonValue

from luna.callables import in_thread, load_callable
from luna.criteria import (
    AiCriterion,
    CheckResult,
    CommandCriterion,
    Criterion,
    FileCriterion,
    PythonCriterion,
    SchemaCriterion,
    SourceCriterion,
    TextCriterion,
)
from luna.errors import WorkerConfigError
from luna.inputs import InputError, elements_of, inside, materialise_all
from luna.process.execute import ProcessLimits, ProcessResult, run_process, split_command
from luna.process.sandbox import Confined, Confinement
from luna.protocol import Assignment
from luna.schemas import Schema, schema_errors
from luna.text import clip, redact, strip_controls

_NUMBER = re.compile(r"(?P<sign>[-\u2212]?)(?P<mantissa>\d+(?:\.\d+)?)(?P<exponent>[eE][+-]?\d{1,4})?")
_BORDER = "\0"  # between the texts of a structured source, so that no value spans two of them


class Source:
    """All texts and numbers of one source.

    Texts are compared with each run of white space taken for one space; numbers with the numbers that stand in the
    source, by value of their decimal text: 12.5 occurs in "12.50", neither 2 nor 12 does.

    Args:
        value: A text, or JSON whose texts, numbers and keys count.
    """

    def __init__(self, value: JsonValue) -> None:
        texts: list[str] = []
        self._numbers: set[Decimal] = set()
        for leaf in _leaves_with_keys(value):
            if isinstance(leaf, str):
                texts.append(_normalised(leaf))
            else:
                number = _decimal(leaf)
                self._numbers.add(number)
                texts.append(str(number))
        self._text = _BORDER.join(texts)
        self._numbers.update(_numbers_in(self._text))

    def has(self, value: str | float) -> bool:
        """Tell whether `value` occurs in it."""
        if isinstance(value, str):
            return _normalised(value) in self._text
        return _decimal(value) in self._numbers

    def missing(self, result: JsonValue) -> Iterator[tuple[str, str | int | float]]:
        """The values of a result that do not occur, each with its JSON pointer.

        Keys, booleans and nulls need no source.
        """
        return ((pointer, value) for pointer, value in _values(result, "") if not self.has(value))


def _normalised(text: str) -> str:
    return " ".join(text.split())


def _decimal(number: float) -> Decimal:
    return Decimal(number) if isinstance(number, int) else Decimal(repr(number))


def _numbers_in(text: str) -> Iterator[Decimal]:
    for found in _NUMBER.finditer(text):
        sign, mantissa, exponent = found["sign"], found["mantissa"], found["exponent"]
        for written in (mantissa, mantissa + exponent) if exponent else (mantissa,):
            yield Decimal(written)
            if sign:  # "3-5" holds 5, "-5" holds both
                yield -Decimal(written)
        if found.start("mantissa") and text[found.start("mantissa") - 1] == ".":
            yield Decimal("0." + mantissa.partition(".")[0])


def _leaves_with_keys(value: JsonValue) -> Iterator[str | int | float]:
    stack = [value]
    while stack:
        match stack.pop():
            case None | bool():
                pass
            case dict() as mapping:
                stack.extend(mapping)
                stack.extend(mapping.values())
            case list() as items:
                stack.extend(items)
            case leaf:
                yield leaf


def _values(value: JsonValue, pointer: str) -> Iterator[tuple[str, str | int | float]]:
    stack = [(pointer, value)]
    while stack:
        where, item = stack.pop()
        match item:
            case None | bool():
                pass
            case dict():
                pairs = [(f"{where}/{key.replace('~', '~0').replace('/', '~1')}", v) for key, v in item.items()]
                stack.extend(reversed(pairs))
            case list():
                stack.extend(reversed([(f"{where}/{i}", v) for i, v in enumerate(item)]))
            case _:
                yield where, item


DETAIL_BYTES: Final = 2_000
INPUT_BYTES: Final = 64 << 20
PYTHON_TIMEOUT_S: Final = 120.0
MAX_MISSING: Final = 5
# Up to these sizes a result is checked in about a millisecond, when it fits and when it does not.
_QUICK_BYTES = 32_768
_SLOW_BYTES = 1_024
_LABEL_BYTES = 200
_VALUE_BYTES = 120
_OUTPUT_BYTES = 1_200
# The kernel stamps files with the time of its last tick, at most 10 ms ago; some file systems keep whole seconds only.
_TICK_S = 0.02
_COARSE_S = 2.0


async def verify(
    criteria: Sequence[Criterion],
    *,
    assignment: Assignment,
    result: JsonValue,
    workspace: Path,
    started_t: float,
    confinement: Confinement | None = None,
    python_timeout_s: float = PYTHON_TIMEOUT_S,
) -> tuple[CheckResult, ...]:
    """Check a result against each criterion, one after the other and in order; a failed one does not stop the rest.

    Args:
        criteria: As `Assignment.checks` gives them.
        assignment: The task; its inputs are the sources of `values_in` and reach `python` with their files read.
        result: What the worker claims.
        workspace: Where commands run, and where files and modules are looked for.
        started_t: When the attempt began, in seconds since the epoch.
        confinement: The sandbox that commands run in; None: in none. Its limits are not theirs.
        python_timeout_s: Most seconds a `python` criterion may take. Its thread cannot be stopped; what it returns
            later is dropped.

    Source: S59, STAT-02.
    """
    checks = _Checks(assignment, result, workspace, started_t, confinement, python_timeout_s)
    return tuple([await checks.run(criterion) for criterion in criteria])


@dataclass
class _Checks:
    """One result under check. A check gives what is wrong, "" for nothing."""

    assignment: Assignment
    result: JsonValue
    workspace: Path
    started_t: float
    confinement: Confinement | None
    python_timeout_s: float
    _inputs: dict[str, JsonValue] | None = field(default=None, init=False)

    async def run(self, criterion: Criterion) -> CheckResult:
        match criterion:
            case CommandCriterion():
                label, wrong = _words(criterion.command), await self._command(criterion)
            case FileCriterion():
                label, wrong = criterion.file, self._file(criterion)
            case SchemaCriterion():
                label, wrong = "", "\n".join(await self._schema(criterion.json_schema))
            case SourceCriterion():
                find_missing = partial(self._values_in, criterion.values_in)
                label, wrong = criterion.values_in, await in_thread(find_missing, name="values_in criterion")
            case PythonCriterion():
                label, wrong = criterion.python, await self._python(criterion.python)
            case AiCriterion() | TextCriterion():
                text = criterion.ai if isinstance(criterion, AiCriterion) else criterion.text
                return _check_result(criterion.kind, text, None, "not checked here")
            case _:
                assert_never(criterion)
        return _check_result(criterion.kind, label, not wrong, wrong)

    async def _schema(self, schema: Mapping[str, JsonValue]) -> list[str]:
        """What does not fit. Only where it may take long, or the schema is new, in a thread."""
        known = Schema.known(schema)
        if known is not None and (size := self._result_bytes()) <= _QUICK_BYTES:
            if known.surely_fits(self.result):
                return []
            if size <= _SLOW_BYTES and not known.refers:
                return known.errors(self.result)
        return await in_thread(partial(schema_errors, self.result, schema), name="json_schema criterion")

    def _result_bytes(self) -> float:
        try:
            return len(msgspec.json.encode(self.result))
        except (TypeError, ValueError, RecursionError):  # checked elsewhere
            return math.inf

    async def _command(self, criterion: CommandCriterion) -> str:
        limits = ProcessLimits(timeout_s=criterion.timeout_s, output_bytes=2 * _OUTPUT_BYTES)
        try:
            command = await in_thread(partial(self._confined, criterion.command), name="sandbox")
            process = await run_process(command.argv, cwd=command.cwd, limits=limits, env=command.env)
        except WorkerConfigError as error:
            return str(error)
        if failure := command.not_started(process):
            return failure
        if process.kind == "exited" and process.exit_code == criterion.exit_code:
            return ""
        return f"{_end(process, criterion)}{_output(process)}"

    def _confined(self, command: str | Sequence[str]) -> Confined:
        words = split_command(command) if isinstance(command, str) else command
        if self.confinement is None:
            return Confined(argv=tuple(words), cwd=self.workspace)
        return self.confinement.confine(words, self.workspace)

    def _file(self, criterion: FileCriterion) -> str:
        try:
            path = inside(self.workspace, criterion.file)
            stat = path.stat()
        except InputError as error:
            return str(error)
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        if not path.is_file():
            return "is no regular file"
        if stat.st_size == 0:
            return "is empty"
        coarse = stat.st_mtime_ns % 1_000_000_000 == 0
        if criterion.new and stat.st_mtime < self.started_t - (_COARSE_S if coarse else _TICK_S):
            age_s = self.started_t - stat.st_mtime
            return f"was not changed since the attempt started: its last change was {age_s:.2f} s before"
        return ""

    def _values_in(self, name: str) -> str:
        if name not in self.assignment.inputs:
            return f"there is no input {name!r}; the inputs are {sorted(self.assignment.inputs)!r}"
        given = self.assignment.inputs[name]
        try:
            content = self._read_inputs()[name]
            sources = elements_of(given, content, self.workspace)
        except InputError as error:
            return str(error)
        if sources is None or not (isinstance(given, list) or isinstance(self.result, list)):
            return _missing((pointer, value, name) for pointer, value in Source(content).missing(self.result))
        if not isinstance(self.result, list) or len(self.result) != len(sources):
            have = f"{len(self.result)} elements" if isinstance(self.result, list) else type(self.result).__name__
            return f"the result must be a list of {len(sources)} elements, one for each of {name!r}; it is {have}"
        pairs = enumerate(zip(sources, self.result, strict=True))
        return _missing(
            (f"/{i}{pointer}", value, f"{name}[{i}]")
            for i, (source, part) in pairs
            for pointer, value in Source(source).missing(part)
        )

    async def _python(self, path: str) -> str:
        def call() -> object:
            function = load_callable(path, self.workspace, installed=False)
            return function(copy.deepcopy(self.result), copy.deepcopy(self._read_inputs()))

        try:
            async with asyncio.timeout(self.python_timeout_s) as limit:
                answer = await in_thread(call, name=path)
        except Exception as error:  # noqa: BLE001 - whatever the task's own code raises means: not passed
            if limit.expired():
                return f"did not return within {self.python_timeout_s:g} s"
            return f"{type(error).__name__}: {error}"
        if answer is True:
            return ""
        if isinstance(answer, str) and answer:
            return answer
        return "returned False" if answer is False else f"returned {answer!r}; return True, False or what is wrong"

    def _read_inputs(self) -> dict[str, JsonValue]:
        if self._inputs is None:
            self._inputs = materialise_all(self.assignment.inputs, self.workspace, limit_bytes=INPUT_BYTES)
        return self._inputs


def _check_result(kind: str, label: str, ok: bool | None, detail: str) -> CheckResult:  # noqa: FBT001 - private
    words = f"{kind}: {label}" if label else kind
    return CheckResult(
        criterion=clip(words, limit_bytes=_LABEL_BYTES).text,
        kind=kind,
        ok=ok,
        detail=clip(detail, limit_bytes=DETAIL_BYTES).text,
    )


def _words(command: Sequence[str] | str) -> str:
    return command if isinstance(command, str) else shlex.join(command)


def _end(process: ProcessResult, criterion: CommandCriterion) -> str:
    match process.kind:
        case "exited":
            return f"exit code {process.exit_code}, wanted {criterion.exit_code}"
        case "killed":
            return process.error or f"killed by signal {process.signal}"
        case "timeout":
            return f"did not end within {criterion.timeout_s:g} s"
        case _:
            return process.error or process.kind


def _output(process: ProcessResult) -> str:
    text = strip_controls((process.stdout + process.stderr).decode("utf-8", "replace")).strip()
    return "\n" + clip(redact(text), limit_bytes=_OUTPUT_BYTES).text if text else ""


def _missing(values: Iterable[tuple[str, str | int | float, str]]) -> str:
    found = list(islice(values, MAX_MISSING + 1))
    lines = [
        f"at {json.dumps(pointer, ensure_ascii=False)}: {clip(repr(value), limit_bytes=_VALUE_BYTES).text} "
        f"does not occur in {source}"
        for pointer, value, source in found[:MAX_MISSING]
    ]
    return "\n".join([*lines, "and more"] if len(found) > MAX_MISSING else lines)

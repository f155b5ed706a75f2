"""A Luna that is a command. Its exit code, its end and its output are judged here; nothing it prints is executed.

Output becomes a SUCCESS only when the command ended by itself with a good exit code and the output is complete.
"""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, ValidationError, model_validator

from luna.callables import in_thread
from luna.inputs import InputError, as_bytes, materialise, materialise_all
from luna.process.child import LINE_BYTES
from luna.process.conversation import finish
from luna.process.execute import ProcessRegistry, ProcessResult, run_process, split_command
from luna.process.sandbox import Confined, Confinement, ConfinementOptions
from luna.protocol import (
    EVENT_TYPES,
    PROGRESS,
    Assignment,
    Delivery,
    Failed,
    FailedKind,
    Note,
    ProgressEvent,
    Report,
    Text,
)
from luna.workers.reports import OutputKind, judge, with_warning
from luna.workers.shared import INPUT_BYTES, WorkerSettings, input_report, read_options

_EVENT_TYPES = frozenset(event.model_fields["type"].default for event in EVENT_TYPES)
_ExitCode = Annotated[int, Field(strict=True, ge=0, le=255)]
_Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class CommandOptions(ConfinementOptions):
    """WorkerOptions of the kind `command`, beside those of its sandbox and its limits.

    Attributes:
        command: Argument list, or one string that is split by shell-like rules. No shell runs it.
        input: What it reads from standard input. json: the assignment, with its files read, and `partial` when an
            earlier attempt left parts; text: one input as it is in its file, or as JSON when it is no text.
        input_name: The input meant. With json, only this input; with text needed when there are several.
        output: text: all of standard output is the result, without its last line end. json: it is one JSON value.
            report: its last line is a report, `{"status": "SUCCESS", …}`.
        progress: jsonl: lines of standard output that are JSON objects with the `type` of a progress event are
            progress, not output. Those over 65,536 bytes are left out.
        timeout_s: Seconds until it is ended as STUCK; None: no limit.
        inactivity_s: Seconds without output until then; None: no limit.
        output_bytes: Most bytes of standard output and error together; then it is ended.
        input_bytes: Most bytes of inputs it is given; larger ones end STUCK, kind `scope_too_large`.
        env: Names of variables it gets from our environment, beside the harmless ones.
        ok_exit_codes: Exit codes that mean it has done its work.
    """

    command: Annotated[tuple[str, ...], Field(min_length=1)] | Text
    input: Literal["none", "json", "text"] = "json"
    input_name: Text | None = None
    output: OutputKind = "text"
    progress: Literal["none", "jsonl"] = "none"
    timeout_s: float | None = Field(default=600.0, gt=0, allow_inf_nan=False)
    inactivity_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    output_bytes: int = Field(default=1 << 20, gt=0)
    input_bytes: int = Field(default=INPUT_BYTES, gt=0)
    env: tuple[_Variable, ...] = ()
    ok_exit_codes: Annotated[tuple[_ExitCode, ...], Field(min_length=1)] = (0,)

    @model_validator(mode="after")
    def _name_needs_input(self) -> Self:
        if self.input == "none" and self.input_name is not None:
            raise ValueError(f"input_name {self.input_name!r} needs input: json or input: text")
        return self


def create(options: dict[str, JsonValue], *, settings: WorkerSettings) -> "CommandWorker":
    """Make a command worker from its options.

    Raises:
        WorkerConfigError: If an option is wrong.
    """
    return CommandWorker(read_options("command", CommandOptions, options), processes=settings.processes)


class CommandWorker:
    """Runs a command once for each delivery, in the workspace.

    It finds the workspace in `SOL_WORKSPACE` and the attempt's key, the same for a redelivery, in `SOL_ATTEMPT`.
    When this ends, however it ends, all that the command started has been ended. A kill by the limit on processor time
    is named in the report.

    Args:
        options: What to run, and how.
        processes: Where it is recorded while it runs.

    Raises:
        WorkerConfigError: If the command is a string that cannot be split into words, or a sandbox is required and
            cannot be had.

    Source: S52, S55, STAT-01, PROC-02, LOOP-07.
    """

    def __init__(self, options: CommandOptions, *, processes: ProcessRegistry | None = None) -> None:
        command = options.command
        self._argv = split_command(command) if isinstance(command, str) else list(command)
        self._options = options
        self._processes = processes
        self.confinement = Confinement(options, programs=self._argv[:1])
        self._limits = replace(
            self.confinement.limits(timeout_s=options.timeout_s, output_bytes=options.output_bytes),
            inactivity_s=options.inactivity_s,
            stop_at_output_bytes=options.output_bytes,
        )

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        """Run the command; yields its progress lines, and one report."""
        try:
            if self._options.input == "none" and self._options.sandbox == "off":  # nothing to wait for
                stdin, command = self._prepared(assignment, delivery)
            else:
                stdin, command = await in_thread(partial(self._prepared, assignment, delivery), name="inputs")
        except InputError as error:
            yield input_report(error)
            return
        if command.warning:
            yield Note(text=f"{self._argv[0]} {command.warning}")
        if self._options.progress == "none":
            yield self._judged(await self._process(command, stdin, delivery, None), command)
            return
        async with aclosing(self._with_progress(command, stdin, delivery)) as items:
            async for item in items:
                yield item

    def _prepared(self, assignment: Assignment, delivery: Delivery) -> tuple[bytes, Confined]:
        return self._stdin(assignment, delivery), self.confinement.confine(self._argv, delivery.workspace)

    def _stdin(self, assignment: Assignment, delivery: Delivery) -> bytes:
        options, workspace = self._options, delivery.workspace
        if options.input == "none":
            return b""
        name = options.input_name
        if name is None and options.input == "text":
            name = _only_input(assignment)
        if name is not None and name not in assignment.inputs:
            raise InputError(f"there is no input {name!r}; the inputs are {sorted(assignment.inputs)!r}")
        if name is None:
            inputs = materialise_all(assignment.inputs, workspace, limit_bytes=options.input_bytes)
            whole = assignment.model_dump(mode="json") | {"inputs": inputs}
            if delivery.partial:
                whole["partial"] = dict(delivery.partial)
            return _json(whole)
        value = assignment.inputs[name]
        if options.input == "text":
            return as_bytes(value, workspace, limit_bytes=options.input_bytes)
        return _json(materialise(value, workspace, limit_bytes=options.input_bytes))

    async def _process(
        self, command: Confined, stdin: bytes, delivery: Delivery, on_line: Callable[[bytes], None] | None
    ) -> ProcessResult:
        passed_on = {name: os.environ[name] for name in self._options.env if name in os.environ}
        return await run_process(
            command.argv,
            cwd=command.cwd,
            limits=self._limits,
            stdin=stdin,
            env={**passed_on, "SOL_WORKSPACE": str(command.cwd), "SOL_ATTEMPT": delivery.key, **command.env},
            on_line=on_line,
            registry=self._processes and self._processes.for_attempt(delivery.key),
        )

    async def _with_progress(
        self, command: Confined, stdin: bytes, delivery: Delivery
    ) -> AsyncGenerator[ProgressEvent | Report]:
        lines: asyncio.Queue[bytes | None] = asyncio.Queue()  # holds no more than output_bytes
        process = asyncio.create_task(self._process(command, stdin, delivery, lines.put_nowait))
        process.add_done_callback(lambda _: lines.put_nowait(None))
        try:
            while (line := await lines.get()) is not None:
                event = _progress(line)
                if event is not None:
                    yield event
            result = process.result()
        finally:
            if await finish(process):
                raise asyncio.CancelledError
        yield self._judged(result, command, leave_out=_is_progress)

    def _judged(
        self, result: ProcessResult, command: Confined, *, leave_out: Callable[[bytes], bool] | None = None
    ) -> Report:
        options, name = self._options, self._argv[0]
        if reason := command.not_started(result):
            return Failed(kind=FailedKind.NOT_STARTED, reason=f"{name}: {reason}")
        report = judge(
            result,
            name=name,
            output=options.output,
            ok_exit_codes=options.ok_exit_codes,
            limits=self._limits,
            leave_out=leave_out,
        )
        limit = self.confinement.limit_reached(result)
        if limit and isinstance(report, Failed) and report.kind == FailedKind.KILLED:
            report = report.model_copy(update={"reason": f"{report.reason}, {limit}"})
        return with_warning(report, f"{name} {command.warning}") if command.warning else report


def _only_input(assignment: Assignment) -> str:
    if len(assignment.inputs) == 1:
        return next(iter(assignment.inputs))
    names = sorted(assignment.inputs)
    raise InputError(f"the command reads one input as text, the task has {names!r}; name one by input_name")


def _json(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _progress(line: bytes) -> ProgressEvent | None:
    """The event of a progress line; a note for one that is wrong; None for output."""
    if len(line) >= LINE_BYTES:
        return Note(text=f"a line of {LINE_BYTES} bytes or more was not read as progress")
    if not _is_progress(line):
        return None
    try:
        return PROGRESS.validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        return Note(text=f"a progress line was ignored: {where}: {first['msg']}")


def _is_progress(line: bytes) -> bool:
    if not line.lstrip().startswith(b"{"):
        return False
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and isinstance(value.get("type"), str) and value["type"] in _EVENT_TYPES

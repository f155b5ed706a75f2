"""The worker that drives a coding agent over the Agent Client Protocol, in the workspace, to its report.

Only a turn that ended normally with a valid report is believed; whatever else happens to the agent is a report of ours.
"""

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Final, Literal, TypeAlias, assert_never

import acp
from acp.schema import PromptResponse
from pydantic import ValidationError

from luna.callables import in_thread
from luna.conversation import Conversation, NotStartedError, converse, finish
from luna.errors import ModelError
from luna.models.failures import Declined, meaning
from luna.process import ProcessResult, split_command
from luna.protocol import (
    Assignment,
    Delivery,
    Failed,
    FailedKind,
    Note,
    ProgressEvent,
    Report,
    Spent,
    Stuck,
    StuckKind,
    Usage,
)
from luna.redact import redact
from luna.sandbox import Confined, Confinement
from luna.text import clip
from luna.workers.acp_options import AcpOptions
from luna.workers.acp_report import after_denial, once_more, prompt, read_report
from luna.workers.acp_session import Feed, Session
from luna.workers.outcome import NoRecordError, judge, with_warning
from luna.workers.shared import WorkerSettings

_STDERR_BYTES: Final = 65_536
_DENIALS: Final = 5
"""So many times an agent that stops at a denial is told to go on without."""
_EXIT_S: Final = 1.0
"""How long an agent that has ended its output may take to exit by itself."""
_MESSAGE_BYTES: Final = 2_000
_AUTH_REQUIRED: Final = -32000
_LOWEST_HTTP_ERROR: Final = 400
_StoppedEarly: TypeAlias = Literal["max_tokens", "max_turn_requests", "refusal", "cancelled"]
_STATUS_KEYS: Final = ("status", "statusCode", "status_code", "httpStatus")


class AcpWorker:
    """Starts an agent for each delivery and lets it do the task; when this ends, all that it started has been ended.

    It finds the workspace in `SOL_WORKSPACE` and the attempt's key, the same for a redelivery, in `SOL_ATTEMPT`. After
    a turn that ends without a valid report it is asked once more, for the report alone; before that, where it stopped
    because something was denied, up to five times to go on without.

    Args:
        options: Which agent, and how.
        settings: What all workers share.

    Raises:
        WorkerConfigError: If the command is a string that cannot be split into words, or a sandbox is required and
            cannot be had.

    Source: S04, S10, S51, S52, S55, PAR-03, STAT-01.
    """

    def __init__(self, options: AcpOptions, *, settings: WorkerSettings) -> None:
        command = options.command
        self._argv = split_command(command) if isinstance(command, str) else list(command)
        self._name = self._argv[0]
        self._options = options
        self._processes = settings.processes
        self.confinement = Confinement(options, programs=self._argv[:1])
        limits = self.confinement.limits(timeout_s=options.timeout_s, output_bytes=_STDERR_BYTES)
        # The other half of the grace time is for its turn.
        self._limits = replace(limits, inactivity_s=options.inactivity_s, grace_s=options.grace_s / 2)

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        """Let the agent work; yields what it does, and one report.

        Raises:
            WorkerConfigError: If it speaks another version of the protocol, or a config option is wrong.
            ModelError: If it wants to be logged in, or its provider refuses it.
            Interruption: If the same delivery may be made again later.
        """
        feed = Feed()
        attempt = asyncio.create_task(self._attempt(assignment, delivery, feed))
        try:
            while (event := await feed.get()) is not None:
                yield event
            report = await attempt
        finally:
            feed.stop()
            if await finish(attempt):
                raise asyncio.CancelledError
        yield report

    async def _attempt(self, assignment: Assignment, delivery: Delivery, feed: Feed) -> Report:
        try:
            command = await in_thread(partial(self.confinement.confine, self._argv, delivery.workspace), name="sandbox")
            if command.warning:
                await feed.put(Note(text=f"{self._name} {command.warning}"))
            return await self._converse(command, assignment, delivery, feed)
        except NotStartedError as error:
            return Failed(kind=FailedKind.NOT_STARTED, reason=str(error))
        finally:
            await feed.put(None)

    async def _converse(self, command: Confined, assignment: Assignment, delivery: Delivery, feed: Feed) -> Report:
        passed_on = {name: os.environ[name] for name in self._options.env if name in os.environ}
        report: Report | None = None
        has_exited = False
        async with converse(
            command.argv,
            cwd=command.cwd,
            limits=self._limits,
            env={**passed_on, "SOL_WORKSPACE": str(command.cwd), "SOL_ATTEMPT": delivery.key, **command.env},
            registry=self._processes and self._processes.for_attempt(delivery.key),
        ) as talk:
            session = Session(talk, name=self._name, options=self._options, workspace=command.cwd, feed=feed)
            try:
                report = await self._turns(session, talk, assignment, delivery, feed)
            except ConnectionError:
                has_exited = await talk.wait(_EXIT_S)
            except acp.RequestError as error:
                report = self._refused(error, talk)
            except ValidationError as error:
                report = self._misspoken(error)
            finally:
                await session.close()
        if report is None:
            report = self._broken(talk.result, command, session, has_exited=has_exited)
        return with_warning(report, f"{self._name} {command.warning}") if command.warning else report

    async def _turns(
        self, session: Session, talk: Conversation, assignment: Assignment, delivery: Delivery, feed: Feed
    ) -> Report:
        start_s = self._options.start_s
        try:
            async with asyncio.timeout(start_s):
                await session.open()
        except TimeoutError:
            reason = f"{self._name} has opened no session within {start_s:g} s; is it started as an ACP agent?"
            return Failed(kind=FailedKind.NOT_STARTED, reason=reason, evidence=_last_words(talk))
        schema = assignment.expected_output.json_schema
        text = prompt(assignment, delivery, token=delivery.fence or secrets.token_hex(8))
        paid_usd = 0.0
        denials, asked_again = 0, False
        while True:
            response = await session.prompt(text)
            cost_usd = session.updates.cost_usd or 0.0
            if (spent := _spent(response, cost_usd - paid_usd)) is not None:
                await feed.put(spent)
            paid_usd = cost_usd
            message = session.updates.message
            if response.stop_reason != "end_turn":
                return self._stopped(response.stop_reason, message)
            try:
                return read_report(message, schema)
            except NoRecordError as error:
                if session.was_denied and denials < _DENIALS:
                    denials += 1
                    text = after_denial()
                elif asked_again:
                    reason = f"{self._name} has not reported, asked twice: {error}"
                    return Failed(kind=error.kind, reason=reason, evidence=_said(message))
                else:
                    asked_again = True
                    text = once_more(str(error))

    def _stopped(self, why: _StoppedEarly, message: str) -> Report:
        """The report on a turn that did not end of itself, whatever its last message claims. Source: S52, STAT-01."""
        match why:
            case "max_tokens":
                reason = f"the last turn of {self._name} was cut off at its limit of tokens"
                return Failed(kind=FailedKind.TRUNCATED, reason=reason, evidence=_said(message))
            case "max_turn_requests":
                blocker = f"{self._name} has used up the model calls that it allows itself for one turn"
                return Stuck(kind=StuckKind.STEP_LIMIT, summary="".join(_said(message)), blocker=blocker)
            case "refusal":
                reason = f"{self._name} or its model refuses to go on"
                return Failed(kind=FailedKind.REFUSED, reason=reason, evidence=_said(message))
            case "cancelled":
                reason = f"{self._name} says that its turn was cancelled, which nobody asked for"
                return Failed(kind=FailedKind.KILLED, reason=reason, evidence=_said(message))
            case _:
                assert_never(why)

    def _refused(self, error: acp.RequestError, talk: Conversation) -> Failed:
        """The report on an error that the agent answers with.

        Raises:
            ModelError: If it wants to be logged in, or says that its provider refuses it for good.
            Interruption: If it says by an HTTP status that its provider limits it or is out.
        """
        data = "" if error.data is None else f" {json.dumps(error.data, ensure_ascii=False)}"
        said = redact(clip(f"{error}{data}", limit_bytes=_MESSAGE_BYTES).text)
        if error.code == _AUTH_REQUIRED:
            raise ModelError(
                f"{self._name} wants to be logged in: {said}. Log in with it once by hand, or hand its key on with the "
                "worker's option 'env'."
            ) from error
        if (status := _http_status(error.data)) is not None:
            found = meaning(_ProviderError(said, status))
            if not isinstance(found, Declined):
                raise found from error
            return Failed(kind=found.kind, reason=f"{self._name}: {found.reason}")
        reason = f"{self._name} answered with an error: {said}"
        return Failed(kind=FailedKind.EXCEPTION, reason=reason, evidence=_last_words(talk))

    def _misspoken(self, error: ValidationError) -> Failed:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = f"{self._name} answered with a {error.title} that is not valid: {where}: {first['msg']}"
        return Failed(kind=FailedKind.FORMAT, reason=reason)

    def _broken(self, result: ProcessResult | None, command: Confined, session: Session, *, has_exited: bool) -> Report:
        """The report on an agent that has gone away in the middle."""
        if session.fault:
            return Failed(kind=FailedKind.OUTPUT_LIMIT, reason=f"{self._name}: {session.fault}")
        if result is None or (result.kind in {"exited", "killed"} and not has_exited):
            reason = f"{self._name} closed its output without a report, and was ended"
            return Failed(kind=FailedKind.EXIT, reason=reason)
        if reason := command.not_started(result):
            return Failed(kind=FailedKind.NOT_STARTED, reason=f"{self._name}: {reason}")
        # What it wrote to standard output are messages of the protocol.
        silent = replace(result, stdout=b"", stdout_bytes=0)
        report = judge(silent, name=self._name, output="report", ok_exit_codes=(), limits=self._limits)
        if isinstance(report, Stuck):
            return report.model_copy(update={"summary": "".join(_said(session.updates.message)) or report.summary})
        if isinstance(report, Failed) and (limit := self.confinement.limit_reached(result)):
            return report.model_copy(update={"reason": f"{report.reason}, {limit}"})
        return report


class _ProviderError(Exception):
    """What an agent says that its provider answered, in the shape that `meaning` reads."""

    def __init__(self, message: str, status_code: int) -> None:
        super().__init__(message)
        self.status_code = status_code


def _http_status(data: object) -> int | None:
    """The HTTP status in an error's data, where it is told as one. Words are not interpreted."""
    found = [data.get(key) for key in _STATUS_KEYS] if isinstance(data, dict) else []
    return next((value for value in found if isinstance(value, int) and value >= _LOWEST_HTTP_ERROR), None)


def _spent(response: PromptResponse, cost_usd: float) -> Spent | None:
    """What a turn cost; None when the agent tells nothing. Tokens and model calls are as it counts them."""
    if response.usage is None:
        return Spent(usage=Usage(calls=1, cost=cost_usd, reported=False)) if cost_usd > 0 else None
    return Spent(usage=Usage(calls=1, tokens=response.usage.total_tokens, cost=max(cost_usd, 0.0)))


def _last_words(talk: Conversation) -> tuple[str, ...]:
    return (f"stderr: {stderr}",) if (stderr := talk.stderr_tail) else ()


def _said(message: str) -> tuple[str, ...]:
    return (clip(message.strip(), limit_bytes=_MESSAGE_BYTES).text,) if message.strip() else ()

"""One session with a coding agent over ACP: started, configured as asked and as it offers, prompted, ended."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import acp
from acp.schema import (
    AllowedOutcome,
    BooleanConfigOptionCapabilities,
    ClientCapabilities,
    ClientSessionCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ReadTextFileResponse,
    RequestPermissionResponse,
    SessionConfigOptionBoolean,
    SessionConfigOptionsCapabilities,
    SessionConfigOptionSelect,
    SessionConfigSelectGroup,
    SessionNotification,
    ToolCallUpdate,
    WriteTextFileResponse,
)
from pydantic import ValidationError

from luna.callables import in_thread
from luna.errors import WorkerConfigError
from luna.inputs import OutsideWorkspaceError
from luna.process.conversation import Conversation, finish
from luna.protocol import Note, ProgressEvent
from luna.strictjson import loads
from luna.text import clip, redact
from luna.tools.builtin import FileTools
from luna.workers._acp_events import Updates
from luna.workers._acp_policy import AcpOptions, AgentPaths, Permissions, may_edit, may_read, refusal

Offered: TypeAlias = Sequence[SessionConfigOptionSelect | SessionConfigOptionBoolean]
Value: TypeAlias = bool | str

_SHOWN: Final = 20


def option_for(purpose: str, offered: Offered) -> str | None:
    """The id of the option with which an agent lets one choose its model or mode; None when it has none.

    Args:
        purpose: `model` or `mode`: the option's category, or its id where it tells none.
        offered: What the agent offers.
    """
    by_category = (option.id for option in offered if option.category == purpose)
    by_id = (option.id for option in offered if option.id == purpose)
    return next(by_category, None) or next(by_id, None)


def check(config_id: str, value: Value, offered: Offered, *, agent: str) -> None:
    """Check one option that is to be set.

    Args:
        config_id: The option's id.
        value: One of a select's values, or whether a boolean is on.
        offered: What the agent offers now; it may change with each option that is set.
        agent: For messages.

    Raises:
        WorkerConfigError: If there is no such option, or it does not take this value; says what there is.
    """
    option = next((each for each in offered if each.id == config_id), None)
    if option is None:
        known = f"it has {_listed(config_id, [each.id for each in offered])}" if offered else "it has none at all"
        raise WorkerConfigError(f"{agent} has no config option {config_id!r}; {known}")
    if isinstance(option, SessionConfigOptionBoolean):
        if not isinstance(value, bool):
            raise WorkerConfigError(f"config option {config_id!r} of {agent} is {value!r}; it takes true or false")
        return
    values = [*_values(option)]
    if not isinstance(value, str) or value not in values:
        takes = _listed(value, values)
        raise WorkerConfigError(f"config option {config_id!r} of {agent} is {value!r}; it takes {takes}")


def check_mode(mode: str, known: Sequence[str], *, agent: str) -> None:
    """Check a session mode of an agent that has no config option for it.

    Raises:
        WorkerConfigError: If there is no such mode; says which there are.
    """
    if mode not in known:
        modes = f"it has {_listed(mode, known)}" if known else "it offers no choice of modes"
        raise WorkerConfigError(f"{agent} has no mode {mode!r}; {modes}")


def check_set(wanted: Mapping[str, Value], offered: Offered, *, agent: str) -> None:
    """Check that the agent has taken what it was given.

    Raises:
        WorkerConfigError: If an option has another value than the one that was set.
    """
    for option in offered:
        if option.id in wanted and option.current_value != wanted[option.id]:
            raise WorkerConfigError(
                f"{agent} keeps its config option {option.id!r} at {option.current_value!r} although it offers "
                f"{wanted[option.id]!r}; leave the option out"
            )


def _values(option: SessionConfigOptionSelect) -> Iterator[str]:
    for each in option.options:
        if isinstance(each, SessionConfigSelectGroup):
            yield from (inner.value for inner in each.options)
        else:
            yield each.value


def _listed(wanted: object, known: Sequence[str]) -> str:
    """What there is, the most similar first; a part of it when it is much."""
    near = get_close_matches(wanted, known, n=3) if isinstance(wanted, str) else []
    ordered = list(dict.fromkeys([*near, *known]))
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return ", ".join(ordered[:_SHOWN]) + more


_UPDATE: Final = "session/update"
_WAITING_EVENTS: Final = 256
_NOISE_TOLD: Final = 20
_NOISE_BYTES: Final = 300
_READ_BYTES: Final = 10_000_000
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class Feed:
    """Events on their way from the agent to whoever reads the worker; while many wait, the agent is not listened to."""

    def __init__(self) -> None:
        self._items: asyncio.Queue[ProgressEvent | None] = asyncio.Queue(_WAITING_EVENTS)
        self._stopped = False

    async def put(self, event: ProgressEvent | None) -> None:
        """Hand on an event, or None as the last; dropped when nobody wants them any more."""
        if not self._stopped:
            await self._items.put(event)

    def stop(self) -> None:
        """Nobody wants any more events."""
        self._stopped = True
        while not self._items.empty():
            self._items.get_nowait()

    async def get(self) -> ProgressEvent | None:
        """The next event; None after the last."""
        return await self._items.get()


class AcpSession:
    """One session with an agent that has been started.

    Args:
        talk: The agent's process.
        name: What it is called in messages.
        options: Which model, mode, config and permissions.
        workspace: Where it works.
        feed: Takes the events.

    Attributes:
        updates: What the agent has told so far.
        fault: Why the agent is not listened to any more; "" as long as it is, and when it ended its output.
    """

    def __init__(self, talk: Conversation, *, name: str, options: AcpOptions, workspace: Path, feed: Feed) -> None:
        places = AgentPaths(workspace)
        self.updates = Updates(places)
        self._name = name
        self._options = options
        self._workspace = workspace
        self._feed = feed
        self._id = ""
        self._denials_before = 0
        self._wire = _Wire(talk, feed, self._on_update)
        self._client = _Client(options.permissions, places, self.updates, feed)
        self._agent = acp.connect_to_agent(cast("acp.Client", self._client), self._wire)

    @property
    def fault(self) -> str:
        """See the class."""
        return self._wire.fault

    @property
    def was_denied(self) -> bool:
        """Whether something was denied to the agent in its last turn."""
        return self._client.denials > self._denials_before

    async def open(self) -> None:
        """Greet the agent, open the session and set what it is to be set to.

        Raises:
            WorkerConfigError: If the agent speaks another version of the protocol, or an option is wrong.
            acp.RequestError: If the agent refuses.
            ConnectionError: If it has gone away.
        """
        policy = self._options.permissions
        greeted = await self._agent.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(
                fs=FileSystemCapabilities(read_text_file=may_read(policy), write_text_file=may_edit(policy)),
                session=ClientSessionCapabilities(
                    config_options=SessionConfigOptionsCapabilities(boolean=BooleanConfigOptionCapabilities())
                ),
            ),
        )
        if greeted.protocol_version != acp.PROTOCOL_VERSION:
            raise WorkerConfigError(
                f"{self._name} speaks version {greeted.protocol_version} of the Agent Client Protocol, Luna version "
                f"{acp.PROTOCOL_VERSION}; install a version of it that speaks that"
            )
        new = await self._agent.new_session(cwd=str(self._workspace), mcp_servers=[])
        self._id = new.session_id
        info = greeted.agent_info
        who = f"{info.title or info.name} {info.version}" if info is not None else self._name
        await self._feed.put(Note(text=f"opened a session with {who}"))
        await self._configure(new)

    async def prompt(self, text: str) -> PromptResponse:
        """Let the agent do one turn. When cancelled, the agent is asked to end the turn, and has a moment for it.

        Raises:
            acp.RequestError: If the agent cannot.
            ConnectionError: If it has gone away.
        """
        self.updates.begin_turn()
        self._denials_before = self._client.denials
        turn = asyncio.ensure_future(self._agent.prompt(session_id=self._id, prompt=[acp.text_block(text)]))
        try:
            await asyncio.wait({turn})
        except asyncio.CancelledError:
            await self._call_off(turn)
            raise
        finally:
            await finish(turn)
        for event in self.updates.end_message():
            await self._feed.put(event)
        return turn.result()

    async def close(self) -> None:
        """Stop listening; the process is somebody else's to end."""
        await self._agent.close()

    async def _configure(self, new: NewSessionResponse) -> None:
        """Set the options one after the other: which ones there are may depend on those before."""
        options = self._options
        offered: Offered = new.config_options or ()
        wanted: dict[str, Value] = {}
        if options.model is not None:
            model = option_for("model", offered)
            if model is None:
                raise WorkerConfigError(f"{self._name} offers no choice of models; leave the option 'model' out")
            wanted[model] = options.model
        mode = option_for("mode", offered)
        if options.mode is not None and mode is not None:
            wanted[mode] = options.mode
        elif options.mode is not None:
            known = [each.id for each in new.modes.available_modes] if new.modes is not None else []
            check_mode(options.mode, known, agent=self._name)
            await self._agent.set_session_mode(session_id=self._id, mode_id=options.mode)
        wanted |= options.config
        for config_id, value in wanted.items():
            offered = await self._set(config_id, value, offered)
        check_set(wanted, offered, agent=self._name)

    async def _set(self, config_id: str, value: Value, offered: Offered) -> Offered:
        check(config_id, value, offered, agent=self._name)
        try:
            changed = await self._agent.set_config_option(config_id=config_id, session_id=self._id, value=value)
        except acp.RequestError as error:
            raise WorkerConfigError(
                f"{self._name} refuses to set its config option {config_id!r} to {value!r}: {error}"
            ) from error
        return changed.config_options

    async def _call_off(self, turn: "asyncio.Future[PromptResponse]") -> None:
        self._feed.stop()
        self._client.called_off = True
        call = asyncio.ensure_future(self._agent.cancel(session_id=self._id))
        both: list[asyncio.Future[Any]] = [turn, call]
        try:
            await asyncio.wait(both, timeout=self._options.grace_s / 2)
        finally:
            await finish(call)

    async def _on_update(self, params: object) -> None:
        try:
            told = SessionNotification.model_validate(params)
        except ValidationError:  # of a later version of the protocol; it still shows that the agent is alive
            return
        if told.session_id == self._id:
            for event in self.updates.events(told.update):
                await self._feed.put(event)


class _Wire:
    """Messages as lines of JSON. Takes the agent's updates out one by one, so that they are seen in order.

    The protocol's package would start a task for each of them, and give up at a line that is no object.
    """

    def __init__(self, talk: Conversation, feed: Feed, on_update: Callable[[object], Awaitable[None]]) -> None:
        self._talk = talk
        self._feed = feed
        self._on_update = on_update
        self._noise = 0
        self.fault = ""

    async def send(self, message: dict[str, Any]) -> None:
        try:
            self._talk.writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
            await self._talk.writer.drain()
        except ConnectionError:
            if "method" in message:
                raise
            # An answer that nobody waits for any more: the package would log it as a fault, with its traceback.

    async def receive(self) -> dict[str, Any] | None:
        while True:
            await asyncio.sleep(0)  # lines that are there already are read without waiting: others get their turn here
            try:
                line = await self._talk.reader.readline()
            except ValueError:
                self.fault = "it wrote a line that is too long for a message"
                return None
            if not line:
                return None
            message = _message(line)
            if message is None:
                await self._note_noise(line)
            elif message.get("method") == _UPDATE and "id" not in message:
                await self._on_update(message.get("params"))
            else:
                return message

    async def close(self) -> None:
        """Nothing to do: the pipes belong to the conversation."""

    async def _note_noise(self, line: bytes) -> None:
        self._noise += bool(line.strip())
        if line.strip() and self._noise <= _NOISE_TOLD:
            text = clip(redact(line.decode("utf-8", "replace").strip()), limit_bytes=_NOISE_BYTES).text
            await self._feed.put(Note(text=f"no message of the protocol: {text}"))


def _message(line: bytes) -> dict[str, Any] | None:
    text = line.decode("utf-8", "replace")
    try:
        value = loads(text)
        if _SURROGATE.search(text):  # halves of pairs, where an agent has cut a text in the middle of one
            value = loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode())
    except ValueError:
        return None
    return _sound(value) if isinstance(value, dict) else None


def _sound(message: dict[str, Any]) -> dict[str, Any] | None:
    """A message that the protocol's package can take; others end its listening, and leave requests without an end."""
    if isinstance(message.get("id"), list | dict):
        return None
    if "error" in message and not isinstance(message["error"], dict):
        message["error"] = {"message": json.dumps(message["error"], ensure_ascii=False)}
    return message


class _Client:
    """What an agent may ask of us."""

    def __init__(self, policy: Permissions, places: AgentPaths, updates: Updates, feed: Feed) -> None:
        self._policy = policy
        self._places = places
        self._updates = updates
        self._feed = feed
        self.called_off = False
        self.denials = 0

    async def request_permission(
        self,
        session_id: str,  # noqa: ARG002 - there is one
        tool_call: ToolCallUpdate,
        options: Sequence[PermissionOption],
        **_: object,
    ) -> RequestPermissionResponse:
        if self.called_off:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        call = self._updates.call(tool_call)
        denied = refusal(self._policy, call.kind, call.paths, self._places)
        kinds = ["reject_once", "reject_always"] if denied else ["allow_once"]
        if not denied and self._policy == "allow":
            kinds.append("allow_always")
        by_kind = {option.kind: option.option_id for option in reversed(options)}
        chosen = next((by_kind[kind] for kind in kinds if kind in by_kind), None)
        if not denied and chosen is None:
            denied = "the agent offers no way to allow it once"
            chosen = by_kind.get("reject_once")
        if denied:
            self.denials += 1
            await self._feed.put(Note(text=f"denied: {call.name} {clip(call.title, limit_bytes=200).text}: {denied}"))
        if chosen is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=chosen))

    async def read_text_file(
        self, path: str, line: int | None = None, limit: int | None = None, **_: object
    ) -> ReadTextFileResponse:
        if not may_read(self._policy):
            raise _denied(path, f"permissions: {self._policy} does not grant reading")
        return ReadTextFileResponse(content=await in_thread(partial(self._read, path, line, limit), name="read"))

    async def write_text_file(self, path: str, content: str, **_: object) -> WriteTextFileResponse:
        if not may_edit(self._policy):
            raise _denied(path, f"permissions: {self._policy} does not grant writing")
        await in_thread(partial(self._write, path, content), name="write")
        return WriteTextFileResponse()

    def _read(self, path: str, line: int | None, limit: int | None) -> str:
        try:
            file = self._places.file(path)
            if not file.is_file():
                raise acp.RequestError.resource_not_found(path)
            if file.stat().st_size > _READ_BYTES:
                raise _denied(path, f"it has more than {_READ_BYTES} bytes")
            text = file.read_bytes().decode()
        except OutsideWorkspaceError as error:
            raise _denied(path, str(error)) from None
        except UnicodeDecodeError:
            raise _denied(path, "it is not text") from None
        except OSError as error:
            raise _denied(path, error.strerror or str(error)) from None
        if line is None and limit is None:
            return text
        start = max((line or 1) - 1, 0)
        lines = text.splitlines(keepends=True)
        return "".join(lines[start:] if limit is None else lines[start : start + limit])

    def _write(self, path: str, content: str) -> None:
        with suppress(acp.RequestError):
            if self._read(path, None, None) == content:
                return  # some agents write the file themselves too, and take a later change of it for somebody else's
        files = FileTools(self._places.file("."))
        outcome = files.write_file(self._places.relative(path), content)
        if outcome.error:
            raise _denied(path, outcome.text)


def _denied(path: str, why: str) -> acp.RequestError:
    return acp.RequestError.invalid_params({"path": path, "details": f"denied: {why}"})

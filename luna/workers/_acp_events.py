"""From what a coding agent tells of its turn to progress events: each message and each action once, when it is whole.

Acts on nothing, and keeps no more than the message and the tool calls that are under way.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    ContentToolCallContent,
    FileEditToolCallContent,
    TextContentBlock,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
)
from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from luna.models.answers import MAX_REPLY_BYTES
from luna.monitor.base import Memory
from luna.protocol import Action, Note, ProgressEvent, Said
from luna.text import clip, size_bytes
from luna.workers._acp_policy import AgentPaths

_OBSERVATION_BYTES: Final = 4_000
_ARGUMENT_BYTES: Final = 16_000
_TITLE_CHARACTERS: Final = 80
_ARGUMENTS: Final = TypeAdapter(dict[str, JsonValue])
_CALLS: Final = 1_000
_SIGN_OF_LIFE: Final = 2_000
"""After so many characters of a thought or a message that goes on, the agent is said to be alive."""

_Call: TypeAlias = ToolCallStart | ToolCallProgress | ToolCallUpdate


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call as far as the agent has told of it; later tellings replace earlier ones."""

    title: str = ""
    kind: str = ""
    status: str = ""
    raw_input: Any = None
    raw_output: Any = None
    content: tuple[Any, ...] = ()
    locations: tuple[str, ...] = ()

    def told(self, call: _Call) -> "ToolUse":
        """The same with what is new in an update."""
        given: dict[str, Any] = {
            "title": self.title or call.title,  # the first one names the tool, later ones often what it is at
            "kind": call.kind,
            "status": call.status,
            "raw_input": call.raw_input,
            "raw_output": call.raw_output,
            "content": tuple(call.content or ()),
            "locations": tuple(location.path for location in call.locations or ()),
        }
        return replace(self, **{name: value for name, value in given.items() if value})

    @property
    def name(self) -> str:
        """The kind of the action, or what the agent calls it where the protocol has no word for it."""
        return (self.kind if self.kind not in {"", "other"} else self.title.strip()[:_TITLE_CHARACTERS]) or "tool"

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.status in {"completed", "failed"}

    @property
    def paths(self) -> tuple[str, ...]:
        """All files that it says it touches."""
        edited = (part.path for part in self.content if isinstance(part, FileEditToolCallContent))
        return tuple(dict.fromkeys([*self.locations, *edited]))


class Updates:
    """What has come out of an agent in one session.

    Args:
        places: The workspace.

    Attributes:
        message: The last message; whole at the end of a turn.
        cost_usd: Of the whole session so far; None when the agent does not tell.
    """

    def __init__(self, places: AgentPaths) -> None:
        self._places = places
        self._parts: list[str] = []
        self._size = 0
        self._message_id: str | None = None
        self._calls: Memory[str, ToolUse] = Memory(_CALLS)
        self._streamed = 0
        self.message = ""
        self.cost_usd: float | None = None

    def begin_turn(self) -> None:
        """Forget the last message: it does not belong to the next turn."""
        self.message = ""

    def call(self, update: ToolCallUpdate) -> ToolUse:
        """A tool call that the agent asks about, with all that it has told of it."""
        known = self._calls.get(update.tool_call_id)
        return (known if known is not None and not known.has_ended else ToolUse()).told(update)

    def events(self, update: BaseModel) -> Iterator[ProgressEvent]:
        """The events in one update."""
        match update:
            case AgentMessageChunk(content=TextContentBlock(text=text)):
                yield from self._chunk(text, update.message_id)
            case AgentThoughtChunk(content=TextContentBlock(text=text)):
                yield from self.end_message()
                yield from self._alive(text, "thinking")
            case ToolCallStart() | ToolCallProgress():
                yield from self.end_message()
                yield from self._tool(update)
            case AgentPlanUpdate():
                done = sum(entry.status == "completed" for entry in update.entries)
                yield Note(text=f"plan: {done} of {len(update.entries)} done")
            case UsageUpdate():
                if update.cost is not None and update.cost.currency.upper() == "USD":
                    self.cost_usd = update.cost.amount
            case _:
                pass

    def end_message(self) -> Iterator[ProgressEvent]:
        """What was said last is whole."""
        text, self._parts, self._size = "".join(self._parts), [], 0
        if text.strip():
            self.message = text
            yield Said(text=text.strip())

    def _chunk(self, text: str, message_id: str | None) -> Iterator[ProgressEvent]:
        if message_id != self._message_id or self._size > MAX_REPLY_BYTES:
            yield from self.end_message()
        self._message_id = message_id
        self._parts.append(text)
        self._size += size_bytes(text)
        yield from self._alive(text, "writing")

    def _alive(self, text: str, what: str) -> Iterator[ProgressEvent]:
        self._streamed += len(text)
        if self._streamed >= _SIGN_OF_LIFE:
            self._streamed = 0
            yield Note(text=what)

    def _tool(self, update: ToolCallStart | ToolCallProgress) -> Iterator[ProgressEvent]:
        known = self._calls.get(update.tool_call_id)
        if known is not None and known.has_ended:
            if not isinstance(update, ToolCallStart):
                return
            known = None  # another call: some models count their calls anew in each answer
        call = (known or ToolUse()).told(update)
        self._calls.put(update.tool_call_id, call)
        if call.has_ended:
            yield self._action(call)
        elif known is None:
            yield Note(text=f"began {call.name}: {clip(call.title, limit_bytes=200).text}")

    def _action(self, call: ToolUse) -> Action:
        touched = map(self._places.relative, call.paths)
        return Action(
            name=call.name,
            arguments=_arguments(call),
            observation=clip(_observation(call), limit_bytes=_OBSERVATION_BYTES).text,
            error=call.status == "failed",
            paths=tuple(path for path in touched if path != "."),  # commands name the workspace they run in
        )


def _arguments(call: ToolUse) -> dict[str, JsonValue]:
    """The tool's input; its title where the agent does not tell it, or all its calls would look the same."""
    given = call.raw_input
    arguments: dict[str, JsonValue] = (
        given if isinstance(given, dict) else {"input": given} if given else {"title": call.title}
    )
    text = json.dumps(arguments, ensure_ascii=False)
    if size_bytes(text) > _ARGUMENT_BYTES or _is_too_deep(arguments):
        return {"input": clip(text, limit_bytes=_ARGUMENT_BYTES).text}
    return arguments


def _is_too_deep(arguments: dict[str, JsonValue]) -> bool:
    """Whether a value is nested deeper than an event can hold it."""
    try:
        _ARGUMENTS.validate_python(arguments)
    except ValidationError:
        return True
    return False


def _observation(call: ToolUse) -> str:
    texts = [*_texts(call.content)]
    if texts or call.raw_output is None:
        return "\n".join(texts)
    output = call.raw_output
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def _texts(content: Sequence[Any]) -> Iterator[str]:
    for part in content:
        match part:
            case ContentToolCallContent(content=TextContentBlock(text=text)):
                yield text
            case FileEditToolCallContent(path=path):
                yield f"changed {path}"
            case _:
                pass

"""Writes events as the journal stores them and reads them back, those of earlier versions too.

A row of the journal is a transition: a fact with all that was decided because of it. What JSON cannot hold has been
refused where it came in, so nothing is looked for here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec
from msgspec import Raw, Struct

from sol.errors import StoreError
from sol.tree import effects, events
from sol.tree.effects import Kind
from sol.tree.events import Event, EventType, Late, Outcome, Payload
from sol.tree.values import AnswerValue, Json, SplitAnswer, plain

AnswerReader = Callable[[bytes | Raw], AnswerValue]
SHARED_BYTES: Final = 256
_SHARED: Final = 4096
_UNSHARED: Final = frozenset(
    {
        EventType.RUN_STARTED,
        EventType.RESUMED,
        EventType.CREATED,
        EventType.PROGRESSED,
        EventType.REPORTED,
        EventType.ANSWER,
        EventType.LATE,
    }
)
_encoder: Final = msgspec.json.Encoder()
_then: Final = msgspec.json.Decoder(tuple[tuple[str, str, Raw], ...])
_keys: Final = msgspec.json.Decoder(dict[str, Raw])


class StoredRow(Protocol):
    """A transition as a journal gives it."""

    @property
    def seq(self) -> int:
        """See `sol.journal.Record`."""
        ...

    @property
    def t(self) -> float:
        """See `sol.journal.Record`."""
        ...

    @property
    def type(self) -> str:
        """See `sol.journal.Record`."""
        ...

    @property
    def node(self) -> str:
        """See `sol.journal.Record`."""
        ...

    @property
    def data(self) -> bytes:
        """See `sol.journal.Record`."""
        ...

    @property
    def then(self) -> bytes:
        """See `sol.journal.Record`."""
        ...


class Encoded(NamedTuple):
    """A transition as it is stored: type, node and data of the fact, and what followed."""

    type: str
    node: str
    data: bytes
    then: bytes


class _Answer(Outcome, frozen=True, kw_only=True):
    """An answer whose class is told by its kind."""

    answer: Raw
    snapshot: str = ""


class _Late(Struct, frozen=True):
    was: str


def reader_of(kind: type[AnswerValue]) -> AnswerReader:
    """Reads an answer that is always of this class."""
    return msgspec.json.Decoder(kind).decode


def _either(key: str, with_it: type[AnswerValue], without: type[AnswerValue]) -> AnswerReader:
    """Reads an answer whose class is told by whether it has a field."""
    first, second = msgspec.json.Decoder(with_it), msgspec.json.Decoder(without)
    return lambda data: (first if key in _keys.decode(data) else second).decode(data)


_ANSWERS: Final[Mapping[str, AnswerReader]] = {
    Kind.ATOMIC: reader_of(effects.AtomicAnswer),
    Kind.JUDGE: reader_of(effects.JudgeAnswer),
    Kind.SPLIT: _either("cannot", effects.CannotSplit, SplitAnswer),
    Kind.REVIEW: reader_of(effects.Judged),
    Kind.MERGE: _either("checks", effects.IntegrateAnswer, effects.MergeAnswer),
    Kind.INTEGRATE: reader_of(effects.IntegrateAnswer),
    Kind.APPLY: reader_of(effects.ApplyAnswer),
    Kind.REASSESS: reader_of(effects.ReassessAnswer),
    Kind.RULE: reader_of(effects.Judged),
    Kind.FILE: reader_of(effects.FileAnswer),
}


class Codec:
    """Writes and reads the events of one program.

    Args:
        payloads: The classes of its own events, which come before the engine's of the same type.
        answers: Readers of answers to effects of its own kinds.
    """

    def __init__(self, payloads: Iterable[type[Payload]], answers: Mapping[str, AnswerReader] | None = None) -> None:
        classes = {one.TYPE: one for one in (*COMMON, *payloads)}
        self._decoders = {str(name): msgspec.json.Decoder(kind) for name, kind in classes.items()}
        self._decoders[EventType.ANSWER] = msgspec.json.Decoder(_Answer)
        self._was = msgspec.json.Decoder(_Late)
        self._answers = {**_ANSWERS, **(answers or {})}
        self._shared: dict[tuple[str, bytes], Payload] = {}

    def encode(self, happened: Sequence[Event]) -> Encoded:
        """A transition: the fact first, then what followed, in order."""
        first = happened[0]
        rest = [(event.data.TYPE, event.node, _stored(event.data)) for event in happened[1:]]
        then = _encoder.encode(rest) if rest else b""
        return Encoded(first.data.TYPE, first.node, _encoder.encode(_stored(first.data)), then)

    def unfold(self, row: StoredRow) -> list[Event]:
        """The events of a transition, in order.

        Raises:
            StoreError: If it was changed from outside, or was written by a newer version.
        """
        try:
            found = [Event(row.node, self._payload(row.type, row.data), row.t)]
            if row.then:
                found += [Event(node, self._payload(name, data), row.t) for name, node, data in _then.decode(row.then)]
        except (msgspec.MsgspecError, KeyError, ValueError) as error:
            raise StoreError(
                f"Event {row.seq} of the journal ({row.type!r} of node {row.node!r}) cannot be read: {error}. "
                "It is damaged, or a newer sol-luna wrote it: restore a copy, or upgrade."
            ) from error
        return found

    def _payload(self, name: str, data: bytes | Raw) -> Payload:
        """What an event says. Short ones are mostly like others of the run: those share one object.

        Results and inputs are not shared: whoever is handed a list may write to it.
        """
        text = bytes(data)
        if len(text) > SHARED_BYTES or name in _UNSHARED:
            return self._read(name, text)
        known = self._shared.get((name, text))
        if known is None:
            if len(self._shared) >= _SHARED:
                self._shared.clear()
            known = self._shared[name, text] = self._read(name, text)
        return known

    def _read(self, name: str, data: bytes) -> Payload:
        if name == EventType.LATE:
            was = self._was.decode(data).was
            outcome = self._payload(was, data) if was != EventType.LATE else None
            if not isinstance(outcome, Outcome):
                raise ValueError(f"{was} is no outcome")
            return Late(outcome)
        found = self._decoders[name].decode(data)
        if isinstance(found, _Answer):
            value = self._answers[found.kind](found.answer)
            return events.Answer(
                kind=found.kind,
                n=found.n,
                usage=found.usage,
                seconds=found.seconds,
                answer=value,
                snapshot=found.snapshot,
            )
        return found


def plain_event(event: Event) -> dict[str, Json]:
    """What an event says as the JSON object that is stored of it, for people and other programs."""
    return plain(_stored(event.data))


def _stored(data: Payload) -> object:
    if type(data) is Late:
        return {"was": data.outcome.TYPE, **msgspec.to_builtins(data.outcome)}
    return data


COMMON: Final[tuple[type[Payload], ...]] = (
    events.RunStarted,
    events.RunStatus,
    events.Resumed,
    events.CancelRequested,
    events.Answered,
    events.RetryRequested,
    events.BudgetHit,
    events.Queued,
    events.Started,
    events.Dropped,
    events.Progressed,
    events.Reported,
    events.Checked,
    events.Lost,
    events.Interrupted,
    events.Decided,
    events.Asked,
    events.Reopened,
    events.Settled,
)
"""Events that the engine itself knows."""

TASK_EVENTS: Final[tuple[type[Payload], ...]] = (
    events.TaskStarted,
    events.TaskResumed,
    events.Created,
    events.Stopped,
    events.Analysed,
    events.Refused,
    events.Split,
    events.Redefined,
)
"""Events of task trees."""

__all__ = ["COMMON", "TASK_EVENTS", "AnswerReader", "Codec", "Encoded", "StoredRow", "plain_event", "reader_of"]

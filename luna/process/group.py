"""Which processes belong to a command, also after its leader or the whole engine has died.

Finds, records and signals processes; starts none. Never signals one that it cannot prove to be the command's own.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from luna.process.table import (
    POLL_S,
    Moment,
    ProcessInfo,
    carries_token,
    is_there,
    look_at_all,
    look_at_newer,
    machine,
    own_start,
)

KILL_ROUNDS: Final = 5
KILL_ROUND_S: Final = 0.1
_LOOKS_AT_UNCLEAR: Final = 3


@dataclass(frozen=True, slots=True)
class Origin:
    """What is known of a command's start.

    Attributes:
        token: The value put into its environment.
        leader: Pid of the command, which leads a session of its own. None when the engine died before it knew.
        started: The leader's start (see `ProcessInfo`); where there is no leader, a moment before.
    """

    token: str
    leader: int | None
    started: float


def belonging(
    everything: Mapping[int, ProcessInfo],
    origin: Origin,
    *,
    known: frozenset[tuple[int, float]] = frozenset(),
    has_token: Callable[[int, str], bool | None] = carries_token,
) -> tuple[ProcessInfo, ...]:
    """Pick the living processes that are proven to come from one command.

    Proof is one of: seen before (`known`: pid and start); in the leader's session; the token in its environment; child
    of a process that is proven. A session proves nothing once another process has the leader's pid.
    """
    leader = everything.get(origin.leader) if origin.leader is not None else None
    session = origin.leader if leader is None or leader.started == origin.started else None
    ours: dict[int, ProcessInfo] = {}
    rest: list[ProcessInfo] = []
    for seen in everything.values():
        if not seen.alive or seen.pid == os.getpid():
            continue
        recent = seen.started >= origin.started
        if (seen.pid, seen.started) in known or (
            recent and (seen.session == session or has_token(seen.pid, origin.token))
        ):
            ours[seen.pid] = seen
        elif recent:
            rest.append(seen)
    while children := [seen for seen in rest if seen.parent in ours and seen.pid not in ours]:
        ours.update({child.pid: child for child in children})
    return tuple(ours.values())


class ProcessGroup:
    """All processes that come from one command, watched until none is left.

    Safe to use from a signal handler that interrupts another use: state is replaced, never changed in place.

    Args:
        origin: The command's start.
        held: The leader is our child and not waited for yet, so its pid and group cannot be anybody else's.
        since: From before the start of a leader that is held; with it only what has started since is looked at.
    """

    def __init__(self, origin: Origin, *, held: bool = False, since: Moment | None = None) -> None:
        self.origin = origin
        self._held = held
        self._since = since
        self._known: frozenset[tuple[int, float]] = frozenset()
        self._escaped: frozenset[int] = frozenset()
        self._unclear: Mapping[int, int] = {}

    @property
    def escaped(self) -> tuple[int, ...]:
        """Pids met so far that had left the command's session."""
        return tuple(sorted(self._escaped))

    def living(self) -> tuple[ProcessInfo, ...]:
        """Look at the processes started since, or at all of the machine, and return those of this family."""
        everything = self._look()
        unclear: list[int] = []

        def has_token(pid: int, token: str) -> bool:
            answer = carries_token(pid, token)
            if answer is None and everything[pid].session:  # without a session: a thread of the kernel
                unclear.append(pid)
            return bool(answer)

        found = belonging(everything, self.origin, known=self._known, has_token=has_token)
        self._unclear = {pid: self._unclear.get(pid, 0) + 1 for pid in unclear}
        self._known |= {(seen.pid, seen.started) for seen in found}
        self._escaped |= {seen.pid for seen in found if seen.session != self.origin.leader}
        return found

    def _look(self) -> dict[int, ProcessInfo]:
        leader = self.origin.leader
        if self._held and leader is not None:
            return look_at_newer(leader, self._since)
        return look_at_all()

    def is_gone(self) -> bool:
        """Tell whether none of it lives any more; cheap as long as one does. To be asked again while it says no."""
        if any(is_there(pid, started) for pid, started in self._known):
            return False
        return not self.living() and all(times >= _LOOKS_AT_UNCLEAR for times in self._unclear.values())

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the command's group at once, and to each member outside of it."""
        leader = self.origin.leader
        if self._held and leader is not None:
            _signal_group(leader, number)  # before looking, which may fail
        living = self.living()
        if not self._held and leader is not None and any(seen.group == leader for seen in living):
            _signal_group(leader, number)
        for seen in living:
            if seen.group != leader and is_there(seen.pid, seen.started):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(seen.pid, number)


def _signal_group(group: int, number: signal.Signals) -> None:
    # PermissionError: another user's process (sudo), or on macOS a group of zombies only.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


class _Record(BaseModel):
    """One running command on disk. The engine that started it is its owner."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    token: str = Field(min_length=1)
    run: str
    node: str
    command: str
    machine: str
    owner: int = Field(gt=0)
    owner_started: float
    leader: int | None = Field(default=None, gt=1)
    started: float


@dataclass(frozen=True, slots=True)
class Leftover:
    """A process that outlived the engine that caused it.

    Attributes:
        pid: Its process id.
        started: Its start, see `ProcessInfo`.
        command: First word of the command it comes from (not always its own).
        run: Run the command belonged to.
        node: Node the command belonged to.
    """

    pid: int
    started: float
    command: str
    run: str
    node: str


@dataclass(frozen=True)
class ProcessRegistry:
    """The commands running now, on disk, so that they can be found after this process was killed.

    One small file a command: written before its start, removed at its end, so nothing is ever rewritten and several
    engines may share the directory. A file is judged only once its owner is dead, and only on its own machine and boot.

    Attributes:
        directory: Where the files are; made when needed.
        run: Written into the records.
        node: Written into the records.

    Source: PROC-01.
    """

    directory: Path
    run: str = field(default="", kw_only=True)
    node: str = field(default="", kw_only=True)
    _live: dict[str, ProcessGroup] = field(default_factory=dict, kw_only=True, repr=False, compare=False)
    _records: dict[str, _Record] = field(default_factory=dict, kw_only=True, repr=False, compare=False)

    def for_node(self, run: str, node: str) -> "ProcessRegistry":
        """Return the same registry with other names in what it records."""
        return replace(self, run=run, node=node)  # the live ones are shared

    def for_attempt(self, key: str) -> "ProcessRegistry":
        """Return the same registry with the names of an attempt, from its key `run/node/kind/attempt`."""
        run, _, rest = key.partition("/")
        return self.for_node(run, rest.rsplit("/", 2)[0])

    def expect(self, token: str, command: str) -> None:
        """Record a command that is about to start. Raises OSError where the directory cannot be written."""
        started = own_start(os.getpid())
        record = _Record(
            token=token,
            run=self.run,
            node=self.node,
            command=command,
            machine=machine(),
            owner=os.getpid(),
            owner_started=started,
            started=started,
        )
        try:
            self._append(token, record, os.O_CREAT)
        except FileNotFoundError:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._append(token, record, os.O_CREAT)
        self._records[token] = record

    def add(self, group: ProcessGroup) -> None:
        """Complete the record of a command that has started."""
        token = group.origin.token
        self._live[token] = group
        record = self._records.pop(token, None)
        if record is not None:
            update = {"leader": group.origin.leader, "started": group.origin.started}
            with suppress(OSError):  # the token that is recorded already is enough to find it
                self._append(token, record.model_copy(update=update))

    def remove(self, token: str, *, keep_file: bool = False) -> None:
        """Forget a command; `keep_file` where something of it still lives. To be called before its pid is freed."""
        self._live.pop(token, None)
        self._records.pop(token, None)
        if not keep_file:
            with suppress(OSError):  # a stale file does no harm: nothing of it will be found alive
                self._file(token).unlink(missing_ok=True)

    def kill_all_now(self) -> None:
        """Send SIGKILL to all that this process has running; for a signal handler: takes no lock, waits for nothing."""
        live = tuple(self._live.values())
        for group in live:
            if group.origin.leader is not None:
                _signal_group(group.origin.leader, signal.SIGKILL)
        for group in live:
            group.send(signal.SIGKILL)

    def find_leftovers(self) -> tuple[Leftover, ...]:
        """List what is still alive of commands whose engine is dead. Changes nothing."""
        return tuple(leftover for record in self._orphaned() for leftover in _leftovers(record, _group(record)))

    async def end_leftovers(self, *, grace_s: float = 2.0) -> tuple[Leftover, ...]:
        """End what `find_leftovers` lists: TERM, `grace_s` seconds, KILL. Returns what could not be ended."""
        records = {record.token: record for record in self._orphaned()}
        groups = {token: _group(record) for token, record in records.items()}
        rounds = [(signal.SIGTERM, grace_s), *[(signal.SIGKILL, KILL_ROUND_S)] * KILL_ROUNDS]
        for number, seconds in rounds:
            running = [group for group in groups.values() if not group.is_gone()]
            for group in running:
                group.send(number)
            await _until_gone(running, seconds)
        left = {token: _leftovers(records[token], group) for token, group in groups.items()}
        for token, found in left.items():
            self.remove(token, keep_file=bool(found))
        return tuple(leftover for found in left.values() for leftover in found)

    def _orphaned(self) -> list[_Record]:
        records = [_read(path) for path in sorted(self.directory.glob("*.jsonl"))]
        return [record for record in records if record is not None and _is_orphaned(record)]

    def _file(self, token: str) -> Path:
        return self.directory / f"{token}.jsonl"

    def _append(self, token: str, record: _Record, flags: int = 0) -> None:
        # One write call, which a kill does not cut; no fsync, since a power cut ends the children too.
        handle = os.open(self._file(token), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | flags, 0o666)
        try:
            os.write(handle, record.model_dump_json().encode() + b"\n")
        finally:
            os.close(handle)


ENCLOSING_REGISTRY: Final[ContextVar[Callable[[], ProcessRegistry] | None]] = ContextVar("luna_processes", default=None)
"""Gives the registry for commands that were given none: that of the attempt in whose task they are run."""


async def _until_gone(groups: list[ProcessGroup], seconds: float) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while loop.time() < deadline:
        if all(group.is_gone() for group in groups):
            return
        await asyncio.sleep(POLL_S)


def _read(path: Path) -> _Record | None:
    """Return the last whole line of a record; None when it has none (then its command was never started)."""
    record = None
    with suppress(OSError):
        for line in path.read_bytes().splitlines():
            with suppress(ValidationError):
                record = _Record.model_validate_json(line)
    return record if record is not None and record.token == path.stem else None


def _is_orphaned(record: _Record) -> bool:
    return record.machine == machine() and not is_there(record.owner, record.owner_started)


def _group(record: _Record) -> ProcessGroup:
    return ProcessGroup(Origin(record.token, record.leader, record.started))


def _leftovers(record: _Record, group: ProcessGroup) -> tuple[Leftover, ...]:
    return tuple(Leftover(seen.pid, seen.started, record.command, record.run, record.node) for seen in group.living())

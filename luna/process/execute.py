"""The one place where child processes are run and ended: whole process groups, within a bounded time.

Must never put a command through a shell, hand the environment's secrets on, or let a child's child outlive the call.
"""

import asyncio
import logging
import math
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from luna.errors import LunaError, WorkerConfigError
from luna.process.child import (
    Child,
    LineSplitter,
    OnOutput,
    child_environment,
    explain,
    marked,
    program_of,
    split_command,
    start,
)
from luna.process.group import ENCLOSING_REGISTRY, KILL_ROUND_S, KILL_ROUNDS, Origin, ProcessGroup, ProcessRegistry
from luna.process.table import POLL_S, Moment, look, moment, pipe_writers

__all__ = [
    "NotStartedError",
    "ProcessKind",
    "ProcessLimits",
    "ProcessRegistry",
    "ProcessResult",
    "Running",
    "child_environment",
    "run_process",
    "split_command",
]

ProcessKind = Literal["exited", "killed", "timeout", "inactive", "output_limit", "not_started"]
_SETTLE_S: Final = 0.25
"""How long what a command leaves behind may finish by itself after a normal end (`> >(tee log)`)."""
_FIRST_PAUSE_S: Final = 0.001
_log = logging.getLogger(__name__)


class NotStartedError(LunaError):
    """A command was not started: no such program, not executable, no working directory. The message says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """What one run of a command may use. None means no limit.

    Attributes:
        timeout_s: Seconds from start to end.
        inactivity_s: Seconds without a byte of output.
        grace_s: Seconds between TERM and KILL; 0 kills at once.
        output_bytes: Bytes kept of each stream (half head, half tail); more is counted only.
        stop_at_output_bytes: End the command when both streams together have passed this many bytes.
        memory_bytes: Address space of each of its processes. Linux only.
        cpu_s: Processor seconds of each of its processes; then it is killed by signal.

    Raises:
        WorkerConfigError: If a value is not positive (`grace_s`: negative), or not a number.
    """

    timeout_s: float | None
    inactivity_s: float | None = None
    grace_s: float = 2.0
    output_bytes: int = 65_536
    stop_at_output_bytes: int | None = None
    memory_bytes: int | None = None
    cpu_s: int | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if value is None or (name == "grace_s" and value == 0):
                continue
            if isinstance(value, bool) or not (value > 0 and math.isfinite(value)):
                raise WorkerConfigError(f"ProcessLimits.{name} is {value!r}; give a positive number.")
        if self.memory_bytes is not None and sys.platform != "linux":
            raise WorkerConfigError("ProcessLimits.memory_bytes can be enforced on Linux only; leave it out.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """How one command ended. No process of it is alive, except `leftovers`.

    Attributes:
        kind: exited: by itself, see `exit_code`. killed: by a signal that was not ours, or its status was lost (see
            `error`). timeout, inactive, output_limit: ended by us for this reason. not_started: see `error`.
        exit_code: Set when and only when it exited by itself.
        signal: The signal that its first process died of, if it did.
        stdout: What is kept of it, see `ProcessLimits.output_bytes`.
        stderr: Likewise.
        stdout_bytes: How many bytes there were.
        stderr_bytes: Likewise.
        seconds: From its start until nothing of it was left.
        leftovers: Pids that could not be ended, or that hold its output open and are not proven to come from it.
        escaped: Pids that came from it and had left its session (`setsid`); ended, unless in `leftovers` too.
        error: Why it was not started, or why its status is unknown; else empty.

    Raises:
        ValueError: On a combination that cannot be.
    """

    kind: ProcessKind
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    seconds: float
    leftovers: tuple[int, ...] = ()
    escaped: tuple[int, ...] = ()
    error: str = ""

    def __post_init__(self) -> None:
        if (self.kind == "exited") != (self.exit_code is not None):
            raise ValueError(f"kind {self.kind!r} with exit_code {self.exit_code!r}: exited, and only it, has one.")
        if (self.kind == "not_started" or (self.kind == "killed" and self.signal is None)) and not self.error:
            raise ValueError(f"kind {self.kind!r} without signal needs an error text.")


async def run_process(
    argv: Sequence[str],
    *,
    cwd: Path,
    limits: ProcessLimits,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    on_line: Callable[[bytes], None] | None = None,
    registry: ProcessRegistry | None = None,
) -> ProcessResult:
    """Run a command in a session of its own; when this returns or raises, all that came from it has been ended.

    Ended means TERM to the group and to every descendant outside of it, `grace_s`, KILL. That takes at most one
    second more than `grace_s`, also when cancelled again meanwhile or when somebody holds the output open.

    Args:
        argv: Program and arguments; no shell looks at them.
        cwd: Where it runs.
        limits: What it may use.
        stdin: Written to its standard input, which is then closed. It need not read it.
        env: Added to `child_environment`.
        on_line: Called in the event loop with each line of stdout, cut at `LINE_BYTES`. What it raises ends the command
            and is raised here.
        registry: Where to record it while it runs; None: where the attempt records that this is called in, if any.

    Raises:
        WorkerConfigError: If `argv` is empty, or the system is not POSIX.
        OSError: If the registry's directory cannot be written; then nothing was started.

    Source: S10, PROC-01, PROC-02.
    """
    begun = time.monotonic()
    try:
        run = Running.start(argv, cwd=cwd, limits=limits, env=env, registry=registry, with_stdin=bool(stdin))
    except NotStartedError as error:
        return ProcessResult(kind="not_started", seconds=time.monotonic() - begun, error=str(error))
    run.attach(_by_line(on_line) if on_line is not None else None, stdin=stdin)
    await run.to_its_end()
    return run.result()


def _by_line(on_line: Callable[[bytes], None]) -> OnOutput:
    splitter = LineSplitter(on_line)
    return lambda data: splitter.feed(data) if data else splitter.finish()


class Running:
    """A started command: watches it, ends all of it, says how it ended.

    Attributes:
        child: The command itself, for its pipes.
        closed: It has ended and everything of it is freed.
    """

    def __init__(
        self,
        popen: subprocess.Popen[bytes],
        token: str,
        limits: ProcessLimits,
        registry: ProcessRegistry | None,
        since: Moment | None,
    ) -> None:
        self._pid = popen.pid
        self._limits = limits
        self._registry = registry
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()
        self._seconds = 0.0
        self.child = Child(popen, keep_bytes=limits.output_bytes, wake_at_bytes=limits.stop_at_output_bytes)
        seen = None
        with suppress(OSError):  # out of file handles; the token is proof as well
            seen = look(popen.pid)
        origin = Origin(token, popen.pid, seen.started if seen is not None else 0.0)
        self._group = ProcessGroup(origin, held=True, since=since)
        self._kind: ProcessKind = "exited"
        self._ended = self._cancelled = False
        self.closed = False
        self._leftovers: tuple[int, ...] = ()

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: Path,
        limits: ProcessLimits,
        env: Mapping[str, str] | None,
        registry: ProcessRegistry | None,
        with_stdin: bool,
    ) -> "Running":
        """Start a command, recorded in the registry; `attach` comes next.

        Raises:
            NotStartedError: If it cannot be started.
            WorkerConfigError: If `argv` is empty, or the system is not POSIX.
            OSError: If the registry's directory cannot be written; then nothing was started.
        """
        if sys.platform == "win32":
            raise WorkerConfigError(
                "Commands need POSIX process groups, which Windows lacks; run under Linux, macOS or WSL."
            )
        if not argv:
            raise WorkerConfigError("argv is empty; give at least the program.")
        token = secrets.token_hex(16)
        if registry is None and (enclosing := ENCLOSING_REGISTRY.get()) is not None:
            registry = enclosing()
        if registry is not None:
            registry.expect(token, program_of(argv))
        since = moment()
        try:
            popen = start(
                argv,
                cwd=cwd,
                environment=marked(child_environment(env), token),
                with_stdin=with_stdin,
                memory_bytes=limits.memory_bytes,
                cpu_s=limits.cpu_s,
            )
        except (OSError, ValueError) as error:
            if registry is not None:
                registry.remove(token)
            raise NotStartedError(explain(error, argv[0], cwd)) from error
        return cls(popen, token, limits, registry, since)

    def attach(
        self,
        on_output: OnOutput | None,
        *,
        stdin: bytes | None = None,
        on_input: Callable[[], None] | None = None,
    ) -> None:
        """Begin to read and to write; `to_its_end` must follow. It is killed if this raises.

        Args:
            on_output: See `Child.attach`.
            stdin: All that it gets to read; None: `child` is given more.
            on_input: See `Child.attach`.
        """
        try:
            if self._registry is not None:
                self._registry.add(self._group)
            self.child.attach(on_output, on_input)
            if stdin is not None:
                self.child.write(stdin)
                self.child.finish_input()
        except BaseException:
            self.close()
            raise

    async def to_its_end(self) -> None:
        """Wait until it has exited or must be ended, and end all of it; bounded in time, also when cancelled."""
        try:
            self._kind = await self._watch()
            await self._end(by_itself=self._kind == "exited")
        except GeneratorExit:  # nothing can be awaited any more; closing kills
            raise
        except BaseException:
            await self._end(by_itself=False)
            self._raise_pending()
            raise
        finally:
            self.close()
        self._raise_pending()

    async def _watch(self) -> ProcessKind:
        """Wait until it has exited or must be ended; tell which."""
        child, limits = self.child, self._limits
        while True:
            if child.failure is not None:
                raise child.failure
            if child.exited:
                return "exited"
            if child.is_over_limit:
                return "output_limit"
            now = self._loop.time()
            until_timeout = math.inf if limits.timeout_s is None else self._begun + limits.timeout_s - now
            until_idle = math.inf if limits.inactivity_s is None else child.last_output + limits.inactivity_s - now
            if until_timeout <= 0:
                return "timeout"
            if until_idle <= 0:
                return "inactive"
            await child.wait(min(until_timeout, until_idle))

    async def _end(self, *, by_itself: bool) -> None:
        """End all of it; bounded in time. A cancellation meanwhile is kept for `_raise_pending`."""
        if self.closed:  # its pid may be somebody else's by now
            return
        if not await self._stop(by_itself=by_itself):
            self._leftovers = self._find_leftovers()
            _log.warning("Command with pid %d left processes that could not be ended: %s", self._pid, self._leftovers)
        self._ended = True

    async def _stop(self, *, by_itself: bool) -> bool:
        grace_s = self._limits.grace_s
        if by_itself and await self._gone_within(min(_SETTLE_S, grace_s)):
            return True
        self._send(signal.SIGTERM)
        if await self._gone_within(grace_s):
            return True
        for _ in range(KILL_ROUNDS):
            self._send(signal.SIGKILL)
            if await self._gone_within(KILL_ROUND_S):
                return True
        return False

    async def _gone_within(self, seconds: float) -> bool:
        deadline = self._loop.time() + seconds
        pause_s = _FIRST_PAUSE_S
        while True:
            with suppress(OSError):  # out of file handles: not known, so not gone
                if not self.child.open_pipes() and self._group.is_gone():
                    return True
            left = deadline - self._loop.time()
            if left <= 0:
                return False
            try:
                await self.child.wait(min(pause_s, left))
            except asyncio.CancelledError:
                self._cancelled = True
            pause_s = min(2 * pause_s, POLL_S)

    def _send(self, number: signal.Signals) -> None:
        with suppress(OSError):  # out of file handles: the group has got it
            self._group.send(number)

    def _find_leftovers(self) -> tuple[int, ...]:
        found: set[int] = set()
        with suppress(OSError):
            found.update(seen.pid for seen in self._group.living())
            for inode in self.child.open_pipes():
                found.update(pipe_writers(inode, since=self._group.origin.started))
        return tuple(sorted(found))

    def _raise_pending(self) -> None:
        """Raise what came up while it was being ended: a cancellation, or an error of `on_line`."""
        if self._cancelled:
            raise asyncio.CancelledError
        if self.child.failure is not None:
            raise self.child.failure

    def close(self) -> None:
        """Free everything at once; kills first where it has not been ended."""
        if self.closed:
            return
        self.closed = True
        self._seconds = self._loop.time() - self._begun
        if not self._ended:
            self._send(signal.SIGKILL)
        if self._registry is not None:
            self._registry.remove(self._group.origin.token, keep_file=bool(self._leftovers))
        self.child.close()

    def result(self) -> ProcessResult:
        """Say how it ended, once it is closed."""
        kind, status, error = self._kind, self.child.status, ""
        if kind == "exited" and (status is None or status < 0):
            kind = "killed"
            error = "" if status is not None else "Its exit status was lost; do not ignore or handle SIGCHLD elsewhere."
        out, err = self.child.output
        return ProcessResult(
            kind=kind,
            exit_code=status if kind == "exited" else None,
            signal=-status if status is not None and status < 0 else None,
            stdout=out.value(),
            stderr=err.value(),
            stdout_bytes=out.total,
            stderr_bytes=err.total,
            seconds=self._seconds,
            leftovers=self._leftovers,
            escaped=self._group.escaped,
            error=error,
        )

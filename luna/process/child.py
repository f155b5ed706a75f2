"""A child process: launched in a group of its own, fed and read without blocking, its output kept within bounds."""

import asyncio
import math
import os
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, TypeAlias

from luna.errors import WorkerConfigError
from luna.process.table import POLL_S, TOKEN_VARIABLE, look

LINE_BYTES: Final = 65_536
"""Longest line handed on; the rest of a longer one is left out."""


class KeptOutput:
    """The first and the last bytes of a stream, and how many there were.

    Args:
        limit: Bytes to keep, half of them from the end. At least 1.
    """

    def __init__(self, limit: int) -> None:
        self._tail_limit = limit // 2
        self._head_limit = limit - self._tail_limit
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    def value(self) -> bytes:
        """Return what is kept, with a line in the middle that says how many bytes were left out, if any were."""
        tail = self._tail[max(0, len(self._tail) - self._tail_limit) :]
        left_out = self.total - len(self._head) - len(tail)
        gap = b"\n[... %d bytes left out ...]\n" % left_out if left_out else b""
        return bytes(self._head + gap + tail)


class LineSplitter:
    """Hands each line on, without its line feed, as soon as it is whole.

    Args:
        on_line: Called with each line. What it raises goes through `feed` and `finish`.
    """

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._line = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._extend(part)
            self._hand_on()
        self._extend(rest)

    def finish(self) -> None:
        """Hand on a last line that has no line feed."""
        if self._line:
            self._hand_on()

    def _extend(self, part: bytes) -> None:
        self._line += part[: LINE_BYTES - len(self._line)]

    def _hand_on(self) -> None:
        line = bytes(self._line)
        self._line.clear()
        self._on_line(line)


if sys.platform != "win32":
    import resource

_INHERITED: Final = frozenset({"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "VIRTUAL_ENV"})


def split_command(text: str) -> list[str]:
    """Split `pytest -q "a b"` into its words as a POSIX shell would; nothing is expanded.

    Raises:
        WorkerConfigError: If there is no word, or a quote is left open.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise WorkerConfigError(f"Command {text!r} cannot be split into words: {error}. Close the quote.") from error
    if not words:
        raise WorkerConfigError(f"Command {text!r} is empty; give at least the program.")
    return words


def program_of(argv: Sequence[str]) -> str:
    """The program that a command is about: inside of a sandbox, not the sandbox's own."""
    if Path(argv[0]).name == "bwrap" and "--" in argv[:-1]:
        return argv[argv.index("--") + 1]
    return argv[0]


def child_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a child's environment: a few harmless variables of ours (so no API key), and those `given`."""
    inherited = {key: value for key, value in os.environ.items() if key in _INHERITED or key.startswith("LC_")}
    return inherited | dict(given or {})


def marked(environment: Mapping[str, str], token: str) -> dict[str, str]:
    """Add the token that all processes of a command are recognised by.

    When we are somebody's command ourselves, its token goes on to our children, so that it finds them too.
    """
    outer = os.environ.get(TOKEN_VARIABLE)
    return {**environment, TOKEN_VARIABLE: f"{outer}:{token}" if outer else token}


def start(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    with_stdin: bool,
    memory_bytes: int | None,
    cpu_s: int | None,
) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own, with a pipe for each stream.

    Raises:
        OSError: If it cannot be started; `explain` says why.
        ValueError: If a word or a variable holds what the system does not take (a NUL byte).
    """
    if not cwd.is_dir():
        raise NotADirectoryError(f"its working directory {str(cwd)!r} is missing or no directory.")
    limits = _limit_steps(memory_bytes, cpu_s)
    return subprocess.Popen(  # noqa: S603 - no shell; which commands may run is decided by who calls
        _limited(argv, limits, cwd, environment) if limits else list(argv),
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE if with_stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def explain(error: OSError | ValueError, program: str, cwd: Path) -> str:
    """Say in one sentence why a command did not start."""
    beginning = f"Command {program!r} was not started: "
    match error:
        case FileNotFoundError() if "/" in program and (cwd / program).exists():
            return f"{beginning}the interpreter that its first line names does not exist."
        case FileNotFoundError():
            return f"{beginning}there is no such program; check its spelling and PATH."
        case PermissionError():
            return f"{beginning}it is not executable for this user; check its mode (chmod +x)."
        case _:
            return f"{beginning}{error}"


def _limit_steps(memory_bytes: int | None, cpu_s: int | None) -> list[str]:
    steps: list[str] = []
    if memory_bytes is not None:
        steps.append(f"ulimit -v {_allowed(resource.RLIMIT_AS, memory_bytes) // 1024}")
    if cpu_s is not None:
        soft, hard = _allowed(resource.RLIMIT_CPU, cpu_s), _allowed(resource.RLIMIT_CPU, cpu_s + 1)
        steps += [f"ulimit -S -t {soft}", f"ulimit -H -t {hard}"]
    return steps


def _limited(argv: Sequence[str], steps: list[str], cwd: Path, environment: Mapping[str, str]) -> list[str]:
    """Put a fixed `ulimit … && exec` before a command: code of ours between fork and exec is not safe with threads."""
    program = argv[0] if "/" not in argv[0] else str(cwd.absolute() / argv[0])
    found = shutil.which(program, path=environment.get("PATH", os.defpath))
    if found is None:
        raise PermissionError if Path(program).exists() else FileNotFoundError
    return ["/bin/sh", "-c", " && ".join([*steps, 'exec "$0" "$@"']), found, *argv[1:]]


def _allowed(what: int, wanted: int) -> int:
    hard = resource.getrlimit(what)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


OnOutput: TypeAlias = Callable[[bytes], None]
"""Called with each piece of output as it comes, and with no bytes at its end."""

_CHUNK_BYTES: Final = 65_536
_PIPE_CHUNKS: Final = 17
"""So many chunks are more than a pipe holds."""


@dataclass(slots=True)
class _Stream:
    file: IO[bytes]
    kept: KeptOutput
    on_output: OnOutput | None = None
    paused: bool = False


class Child:
    """A process with its streams; to be made in a running event loop.

    Args:
        popen: Just started, with unbuffered pipes for stdout and stderr.
        keep_bytes: How much of each stream to keep.
        wake_at_bytes: `wait` returns early once both streams together have passed this many bytes.

    Attributes:
        exited: It has ended; its status is there after `close`.
        failure: What `on_output` raised.
        last_output: Loop time of the last byte, or of the start.
        status: Exit code, or a signal's number negated. None while it runs, or where somebody else took it.
    """

    def __init__(self, popen: subprocess.Popen[bytes], *, keep_bytes: int, wake_at_bytes: int | None) -> None:
        self._popen = popen
        self._loop = asyncio.get_running_loop()
        self._streams = [
            _Stream(file, KeptOutput(keep_bytes)) for file in (popen.stdout, popen.stderr) if file is not None
        ]
        self._wake_at_bytes = math.inf if wake_at_bytes is None else wake_at_bytes
        self._input = bytearray()
        self._is_input_complete = False
        self._on_input: Callable[[], None] | None = None
        self._exit_handle: int | None = None
        self._changed = asyncio.Event()
        self._closed = False
        self.exited = False
        self.failure: Exception | None = None
        self.last_output = self._loop.time()
        self.status: int | None = None

    @property
    def output(self) -> tuple[KeptOutput, KeptOutput]:
        """What is kept of stdout and stderr."""
        out, err = self._streams
        return out.kept, err.kept

    @property
    def is_over_limit(self) -> bool:
        """Tell whether more than `wake_at_bytes` have been written."""
        return sum(stream.kept.total for stream in self._streams) > self._wake_at_bytes

    @property
    def unwritten(self) -> int:
        """How many bytes it has been given to read and not taken yet."""
        return len(self._input)

    @property
    def is_input_open(self) -> bool:
        """Tell whether its standard input can still be written to."""
        return self._popen.stdin is not None and not self._popen.stdin.closed

    def attach(self, on_output: OnOutput | None = None, on_input: Callable[[], None] | None = None) -> None:
        """Begin to read and to wait for its exit.

        Args:
            on_output: For its standard output. What it raises ends up in `failure`.
            on_input: Called when it has taken some of its input, and when that is closed.
        """
        self._streams[0].on_output = on_output
        self._on_input = on_input
        for stream in self._streams:
            os.set_blocking(stream.file.fileno(), False)
            self._loop.add_reader(stream.file.fileno(), self._read, stream)
        if self._popen.stdin is not None:
            os.set_blocking(self._popen.stdin.fileno(), False)
        self._exit_handle = _exit_handle(self._popen.pid)
        if self._exit_handle is None:
            self._poll_exit()
        else:
            self._loop.add_reader(self._exit_handle, self._note_exit)

    def write(self, data: bytes) -> None:
        """Give it more to read; dropped when its input is closed."""
        file = self._popen.stdin
        if file is not None and not file.closed:
            self._input += data
            self._loop.add_writer(file.fileno(), self._write, file)

    def finish_input(self) -> None:
        """Close its standard input as soon as all that was given has been written."""
        self._is_input_complete = True
        if not self._input:
            self._close_stdin()

    def pause_output(self) -> None:
        """Leave its standard output in the pipe for now; what is there at its end is still read."""
        stream = self._streams[0]
        if not stream.file.closed and not stream.paused:
            stream.paused = True
            self._forget(self._loop.remove_reader, stream.file.fileno())

    def resume_output(self) -> None:
        """Read its standard output again."""
        stream = self._streams[0]
        if not stream.file.closed and stream.paused:
            stream.paused = False
            self._loop.add_reader(stream.file.fileno(), self._read, stream)

    def discard_output(self) -> None:
        """Hand no more of its standard output on; it is still read, so that it can go on to its end."""
        self._streams[0].on_output = None
        self.resume_output()

    async def wait(self, seconds: float) -> None:
        """Wait until something has changed: exit, an end of output, too much of it, a failure; or the time is over."""
        self._changed.clear()
        alarm = self._loop.call_later(seconds, self._changed.set) if seconds < math.inf else None
        try:
            await self._changed.wait()
        finally:
            if alarm is not None:
                alarm.cancel()

    def open_pipes(self) -> tuple[int, ...]:
        """Return the inodes of those output pipes that are read and that somebody may still write to."""
        files = [stream.file for stream in self._streams if not stream.paused]
        return tuple(os.fstat(file.fileno()).st_ino for file in files if not file.closed)

    def close(self) -> None:
        """Close all handles and take the status; does not wait for a process that is still alive."""
        self._closed = True
        for stream in self._streams:
            for _ in range(_PIPE_CHUNKS if stream.paused else 0):
                if not stream.file.closed:
                    self._read(stream)
            self._close_stream(stream)
        self._close_stdin()
        self._close_exit_handle()
        try:
            pid, status = os.waitpid(self._popen.pid, os.WNOHANG)
        except ChildProcessError:  # somebody else has waited for it, or SIGCHLD is ignored
            self._popen.returncode = 0  # not known; only keeps Popen off a pid that is no longer ours
            return
        if pid == 0:  # dying, or not to be ended
            threading.Thread(target=self._popen.wait, daemon=True).start()
            return
        self.status = self._popen.returncode = os.waitstatus_to_exitcode(status)

    def _read(self, stream: _Stream) -> None:
        try:
            data = os.read(stream.file.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return
        stream.kept.add(data)
        try:
            if stream.on_output is not None:
                stream.on_output(data)
        except Exception as error:  # noqa: BLE001 - run_process raises it; here the loop would only log it
            self.failure, stream.on_output = error, None
            self._changed.set()
        if not data:
            self._close_stream(stream)
            return
        self.last_output = self._loop.time()
        if self.is_over_limit:
            self._changed.set()

    def _close_stream(self, stream: _Stream) -> None:
        if not stream.file.closed:
            self._forget(self._loop.remove_reader, stream.file.fileno())
            stream.file.close()
            if not self._closed:  # or the loop may be closed too
                self._changed.set()

    def _write(self, file: IO[bytes]) -> None:
        try:
            del self._input[: os.write(file.fileno(), self._input[:_CHUNK_BYTES])]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it does not want the rest
            self._close_stdin()
            return
        if not self._input:
            self._loop.remove_writer(file.fileno())
            if self._is_input_complete:
                self._close_stdin()
                return
        self._tell_input()

    def _close_stdin(self) -> None:
        file = self._popen.stdin
        if file is not None and not file.closed:
            self._forget(self._loop.remove_writer, file.fileno())
            self._input.clear()
            file.close()
            self._tell_input()

    def _tell_input(self) -> None:
        if self._on_input is not None and not self._loop.is_closed():
            self._on_input()

    def _note_exit(self) -> None:
        self._close_exit_handle()
        self.exited = True
        self._changed.set()

    def _poll_exit(self) -> None:
        with suppress(OSError):  # out of file handles: look again later
            seen = look(self._popen.pid)
            if seen is None or not seen.alive:
                self._note_exit()
        if not self.exited and not self._closed:
            self._loop.call_later(POLL_S, self._poll_exit)

    def _close_exit_handle(self) -> None:
        if self._exit_handle is not None:
            self._forget(self._loop.remove_reader, self._exit_handle)
            os.close(self._exit_handle)
            self._exit_handle = None

    def _forget(self, remove: Callable[[int], bool], handle: int) -> None:
        if not self._loop.is_closed():
            remove(handle)


def _exit_handle(pid: int) -> int | None:
    """Return a handle that becomes readable when a child exits, without waiting for it; None where there is none."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:  # an old kernel, a sandbox, or no more file handles
        return None

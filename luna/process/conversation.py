"""A child process that one talks with for a while, over its standard input and output.

Has all the guarantees of `run_process`. Must never block on what the child writes, nor leave anything of it behind.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from luna.process.child import Child
from luna.process.execute import NotStartedError, ProcessLimits, ProcessRegistry, ProcessResult, Running
from luna.text import redact, strip_controls

__all__ = ["Conversation", "NotStartedError", "converse", "finish"]

_LINE_BYTES: Final = 16 << 20
_UNWRITTEN_BYTES: Final = 1 << 16
_CLOSING_S: Final = 0.5
"""How long it may take to end by itself once its standard input is closed, before TERM."""
_TAIL_BYTES: Final = 2_000


@asynccontextmanager
async def converse(
    argv: Sequence[str],
    *,
    cwd: Path,
    limits: ProcessLimits,
    env: Mapping[str, str] | None = None,
    registry: ProcessRegistry | None = None,
) -> AsyncGenerator["Conversation"]:
    """Start a command in a session of its own and talk with it; when this is left, all that came from it has ended.

    On leaving, its standard input is closed and it may end by itself for a moment (half a second, at most `grace_s`);
    then TERM to the group and to every descendant outside of it, `grace_s`, KILL. That is done in full however often
    it is cancelled meanwhile. All of it is ended, too, when the command has exited or a limit is passed; the reader is
    then at its end. Where nothing can be awaited (`GeneratorExit`: a generator around it is closed) it is killed at
    once.

    Args:
        argv: Program and arguments; no shell looks at them.
        cwd: Where it runs.
        limits: What it may use. `output_bytes` is for standard error; what is read here is not kept.
        env: Added to `child_environment`.
        registry: As for `run_process`.

    Raises:
        NotStartedError: If it cannot be started.
        WorkerConfigError: If `argv` is empty, or the system is not POSIX.
        OSError: If the registry's directory cannot be written; then nothing was started.

    Source: S10, PROC-01, PROC-02.
    """
    run = Running.start(argv, cwd=cwd, limits=limits, env=env, registry=registry, with_stdin=True)
    talk = Conversation(run, closing_s=min(_CLOSING_S, limits.grace_s))
    try:
        yield talk
    except GeneratorExit:
        talk.kill()
        raise
    except BaseException:
        await talk.end()
        raise
    await talk.end()


async def finish(task: "asyncio.Task[Any]") -> bool:
    """Cancel a task and wait for its end, however often we are cancelled meanwhile; tell whether we were.

    For a task that ends something in bounded time. What it raised is not looked at.
    """
    cancelled = False
    task.cancel()
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if not task.cancelled():
        task.exception()
    return cancelled


class Conversation:
    """What `converse` gives.

    Attributes:
        reader: Its standard output. Lines of up to 16 MiB; it is not read further ahead than twice that.
        writer: Its standard input. Closing it tells the command that nothing more comes.
    """

    def __init__(self, run: Running, *, closing_s: float) -> None:
        self._run = run
        self._closing_s = closing_s
        self._killed = False
        self._loop = asyncio.get_running_loop()
        pipes = _Pipes(run.child, self._loop)
        self.reader = asyncio.StreamReader(limit=_LINE_BYTES, loop=self._loop)
        self.reader.set_transport(pipes)
        run.attach(self._read, on_input=pipes.note_written)
        self.writer = asyncio.StreamWriter(pipes, pipes.protocol, None, self._loop)
        self._task = self._loop.create_task(run.to_its_end())
        # Also where somebody who could not be ended holds its output open there is nothing more to read.
        self._task.add_done_callback(lambda _: self._stop_reading())

    @property
    def ended(self) -> bool:
        """Whether all of it has ended."""
        return self._run.closed

    @property
    def result(self) -> ProcessResult | None:
        """How it ended; None until all of it has ended, and when it was killed because a generator was closed."""
        return self._run.result() if self._run.closed and not self._killed else None

    @property
    def stderr_tail(self) -> str:
        """The last 2,000 bytes it wrote to standard error, without secrets and controls."""
        _, err = self._run.child.output
        return redact(strip_controls(err.value()[-_TAIL_BYTES:].decode("utf-8", "replace"))).strip()

    async def wait(self, seconds: float) -> bool:
        """Wait at most so long until all of it has ended by itself; tell whether it has."""
        await asyncio.wait({self._task}, timeout=seconds)
        return self.ended

    async def end(self) -> None:
        """End all of it now; the same as leaving the context."""
        self._stop_reading()
        self.writer.close()
        cancelled = False
        try:
            await asyncio.wait({self._task}, timeout=self._closing_s)
        except asyncio.CancelledError:
            cancelled = True
        cancelled |= await finish(self._task)
        self._run.close()  # where somebody else had cancelled the task before it began
        if cancelled:
            raise asyncio.CancelledError

    def kill(self) -> None:
        """Kill it at once, without waiting for anything."""
        self._killed = True
        self._run.close()
        if not self._loop.is_closed():
            self._stop_reading()
            self._task.cancel()

    def _read(self, data: bytes) -> None:
        if data:
            self.reader.feed_data(data)
        else:
            self.reader.feed_eof()

    def _stop_reading(self) -> None:
        self._run.child.discard_output()
        self.reader.feed_eof()


class _Pipes(asyncio.Transport):
    """A child's standard input and output in the shape that asyncio's streams want.

    Args:
        child: Whose pipes.
        loop: The running one.

    Attributes:
        protocol: Makes `StreamWriter.drain` wait while too much is unwritten.
    """

    def __init__(self, child: Child, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._child = child
        self._paused = False
        self._is_closing = False
        self.protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader(loop=loop), loop=loop)

    def pause_reading(self) -> None:
        self._child.pause_output()

    def resume_reading(self) -> None:
        self._child.resume_output()

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._child.write(bytes(data))
        if not self._paused and self._child.unwritten > _UNWRITTEN_BYTES:
            self._paused = True
            self.protocol.pause_writing()

    def close(self) -> None:
        self._is_closing = True
        self._child.finish_input()

    def is_closing(self) -> bool:
        return self._is_closing or not self._child.is_input_open

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.close()

    def note_written(self) -> None:
        """The child has taken some of its input, or it is closed."""
        if not self._child.is_input_open:
            refused = BrokenPipeError("the command has closed its standard input, or has ended")
            self.protocol.connection_lost(None if self._is_closing else refused)
        elif self._paused and self._child.unwritten <= _UNWRITTEN_BYTES:
            self._paused = False
            self.protocol.resume_writing()

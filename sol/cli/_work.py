"""What commands do that work on a run: show it while it runs, take Ctrl-C over, end with its exit code."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Self

from rich.text import Text

from luna.errors import LunaError, ModelNotFoundError
from luna.process.group import ProcessRegistry
from luna.protocol import WorkerSpec
from sol.cli import _output
from sol.cli._common import BrokenRunError, Code
from sol.cli._output import (
    STDOUT,
    Shown,
    check_output,
    check_result_file,
    holder_of,
    node_of,
    require_store,
    somebody,
    where,
    write_results,
)
from sol.errors import ConflictError, SolError, TaskError, UsageError
from sol.run import Run
from sol.solver import Sol
from sol.task import Task, TaskFile, load_task
from sol.tree.codec import plain_event
from sol.tree.events import Asked, Event, RunStarted, Settled
from sol.tree.listeners import Listener
from sol.tree.node import Node, State
from sol.tree.values import plain
from sol.view import labels
from sol.view.live import LiveTree
from sol.view.terminal import headline, page_of

_NAMES = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM", signal.SIGHUP: "the end of its terminal"}
_SHOW_CURSOR = b"\x1b[?25h\n"


@dataclass(slots=True)
class Stops:
    """Takes signals over for as long as its context lasts. To be entered in the main thread, inside the event loop.

    These are plain signal handlers and not the loop's own: a worker that holds up the loop must not hold up the second
    Ctrl-C.

    Attributes:
        processes: What to kill at the second signal.
        say: Told that the run is being stopped.
        has_cursor: The live view is on: the cursor must come back.
        end: Ends the process without any further ado.
        asked: Name of the signal that came; "" while none has.
    """

    processes: ProcessRegistry
    say: Callable[[str], None] | None = None
    has_cursor: bool = False
    end: Callable[[int], object] = os._exit
    asked: str = ""
    _run: Run | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _before: dict[signal.Signals, Any] = field(default_factory=dict)

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        for number in _NAMES:
            self._before[number] = signal.signal(number, self._received)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    def watch(self, run: Run) -> None:
        """Name the run to stop; a signal that has come already stops it now."""
        self._run = run
        if self.asked:
            self._stop()

    def _received(self, number: int, _frame: FrameType | None) -> None:
        if self.asked:
            self._end_at_once()
        self.asked = _NAMES[signal.Signals(number)]
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        if self._run is not None:
            self._run.interrupt(f"Stopped by {self.asked}.")
            if self.say is not None:
                self.say("Stopping the workers; the run can be resumed. Ctrl-C again ends everything at once.")

    def _end_at_once(self) -> None:
        try:
            self.processes.kill_all_now()
            if self.has_cursor:
                os.write(2, _SHOW_CURSOR)
        finally:
            self.end(Code.INTERRUPTED)


_TOP = 1
"""Deepest level of nodes that get a line of their own where nothing can be drawn."""


class View(Listener):
    """What is shown of a run while it is at work: a live tree, a line now and then, JSON lines, or nothing.

    Attributes:
        draws: It is the live tree.
        gone: Whoever read the JSON lines has gone away; the run was stopped because of that.
    """

    def __init__(self, run: Run, sol: Sol, shown: Shown, stops: Stops) -> None:
        self._run = run
        self._sol = sol
        self._shown = shown
        self._stops = stops
        self._console = shown.console()
        speaks = not (shown.quiet or shown.as_json)
        self.draws = speaks and self._console.is_terminal and not self._console.is_dumb_terminal
        self.gone = False
        self._live = LiveTree(run.state, run.id, self._console, sol.clock, elapsed=self._elapsed)
        stops.say = self._say
        stops.has_cursor = self.draws

    def _elapsed(self) -> float:
        return self._run.session.elapsed_s if self._run.session is not None else 0.0

    def _say(self, text: str) -> None:
        if self.draws:
            self._live.note = text
        else:
            self._shown.say(text)

    def headline(self) -> Text:
        """The run in one line."""
        page = page_of(self._console, self._sol.clock.now())
        return headline(self._run.state, page, run_id=self._run.id, elapsed_s=self._elapsed())

    def on_event(self, event: Event) -> None:
        """Show an event. Never raises for what is wrong with the place where it is shown."""
        if isinstance(event.data, RunStarted) and not self._shown.quiet:
            said: Any = plain_event(event).get("warnings") or ()  # workflows have some
            for warning in said:
                self._warn(str(warning))
        if self._shown.as_json:
            self._print(_output.event_line(self._run.id, event))
        elif self.draws:
            self._live.on_event(event)
        elif isinstance(event.data, Settled | Asked):
            node = self._run.state.nodes.get(event.node)
            if node is not None and node.depth <= _TOP:
                state = event.data.state if isinstance(event.data, Settled) else ""
                self._shown.say(labels.settled_line(node, self._run.state.above(node), state=state))

    def _warn(self, text: str) -> None:
        """Say it on standard error even where events go to standard output."""
        with suppress(OSError):
            self._console.print(text, soft_wrap=True)

    def _print(self, line: str) -> None:
        if self.gone:
            return
        try:
            print(line, flush=True)
        except BrokenPipeError:
            self.gone = True
            _drop_stdout()
            self._run.interrupt("The reader of the events has gone away.")

    @asynccontextmanager
    async def shown(self) -> AsyncIterator[None]:
        """Show the run for as long as the context lasts."""
        async with self._live.shown() if self.draws else nullcontext():
            yield


def _drop_stdout() -> None:
    """Let nothing more go to a reader that is gone: what is buffered would fail once more when Python exits."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


STDIN = "-"
_TASK_FILES = (".yaml", ".yml")
_WITH_MODEL = frozenset({"model", "agent"})

Begin = Callable[[], Awaitable[Run]]


# --- the commands ----------------------------------------------------------------------------------------------------


def solve(sol: Sol, text: str, shown: Shown) -> int:
    """Solve a task given in words, as a file, or on standard input; the exit code."""
    _check(shown)
    task = read_task(text)
    if isinstance(sol.worker, str):
        task = _done_by_another(task)
    given = task.task if isinstance(task, TaskFile) else task
    workspace = Path(sol.workspace or (task.workspace if isinstance(task, TaskFile) else Path.cwd()))
    check_result_file(given.result_file, workspace)
    return _offering(sol, lambda: _work(sol, lambda: sol.start(task), shown))


def begin(sol: Sol, begin_run: Begin, shown: Shown) -> int:
    """Work on a run that is started in some other way, such as a workflow's; the exit code."""
    _check(shown)
    return _offering(sol, lambda: _work(sol, begin_run, shown))


def resume(sol: Sol, run_id: str, shown: Shown, *, accept_changes: bool) -> int:
    """Take a run up again; the exit code."""
    _check(shown)
    require_store(sol, run_id)
    return _offering(sol, lambda: _work(sol, lambda: sol.start_again(run_id, accept_changes=accept_changes), shown))


def answer(sol: Sol, run_id: str, name: str | None, text: str, shown: Shown, *, go_on: bool) -> int:
    """Answer a question, and let the run go on unless it is at work or this is not wanted; the exit code."""
    _check(shown)
    require_store(sol, run_id)
    if not text.strip():
        raise UsageError("The answer is empty. Say something that helps.")

    async def work() -> int:
        run = await sol.load(run_id)
        node = _asked_node(run, name)
        return await _ask(sol, run.id, {"kind": "answer", "node": node, "text": text}, shown, go_on=go_on)

    return _offering(sol, work)


@dataclass(frozen=True, slots=True, kw_only=True)
class New:
    """What is new about another try of a node. Source: S53."""

    note: str | None = None
    worker: str | None = None
    luna_model: str | None = None


def retry(sol: Sol, run_id: str, name: str, shown: Shown, *, new: New) -> int:
    """Try a node again, and let the run go on; the exit code."""
    _check(shown)
    require_store(sol, run_id)

    async def work() -> int:
        run = await sol.load(run_id)
        node = node_of(run, name)
        more = _what_is_new(run, node, new)
        return await _ask(sol, run.id, {"kind": "retry", "node": node.path, **more}, shown, go_on=True)

    return _offering(sol, work)


def _check(shown: Shown) -> None:
    if shown.as_json and shown.output == STDOUT:
        raise UsageError("--json and --output - would both write to standard output. Give a file, or leave one out.")
    check_output(shown.output)


def _offering(sol: Sol, work: Callable[[], Coroutine[Any, Any, int]]) -> int:
    """Work; where weights of a local model are missing, offer to fetch them and work then."""
    try:
        return asyncio.run(work())
    except ModelNotFoundError:
        from sol.cli.models import offer_weights  # noqa: PLC0415 - rarely needed

        if not offer_weights([name for name in (sol.sol_model, sol.luna_model) if isinstance(name, str)]):
            raise
    return asyncio.run(work())


# --- what was asked for ----------------------------------------------------------------------------------------------


def read_task(text: str) -> Task | TaskFile:
    """The task that an argument names: `-`, a file, or words.

    Raises:
        TaskError: If it cannot be used.
    """
    if text == STDIN:
        text = sys.stdin.read()
        if not text.strip():
            raise TaskError("There is no task on standard input. Write it there, or give it as an argument.")
    elif not text.strip():
        raise TaskError("The task is empty. Say what is to be done, or name a task file.")
    elif text.lower().endswith(_TASK_FILES) and "\n" not in text:
        return load_task(Path(text))
    elif _names_directory(text):
        raise TaskError(f"{text!r} is a directory. Name a task file in it, or say in words what is to be done.")
    return Task.make(text)


def _names_directory(text: str) -> bool:
    try:
        return Path(text).is_dir()
    except (OSError, ValueError):  # longer than a name may be, or not one at all
        return False


def _done_by_another(task: Task | TaskFile) -> Task | TaskFile:
    """The same task for the worker that the command line names."""
    if isinstance(task, TaskFile):
        return TaskFile(task.path, task.task.model_copy(update={"worker": None}), task.workspace)
    return task


def _named(run: Run, name: str) -> str:
    """A node in a message."""
    return f"{run.kind.noun.capitalize()} {name} of run {run.id}"


def _asked_node(run: Run, name: str | None) -> str:
    """Path of the node whose question is answered."""
    questions = run.questions
    if name is not None:
        node = node_of(run, name)
        if node.path not in questions:
            raise ConflictError(f"{_named(run, repr(name))} waits for no answer; it is {node.state}.")
        return node.path
    if not run.state.nodes:
        raise ConflictError(_output.UNRECORDED.format(run.id))
    if not questions:
        raise ConflictError(f"Run {run.id} waits for no answer; it is {run.status}.")
    if len(questions) > 1:
        listed = "; ".join(f"{labels.name_of(path)}: {labels.clean(text)}" for path, text in questions.items())
        raise UsageError(f"Run {run.id} has several questions. Name the node with --node. {listed}")
    return next(iter(questions))


def _what_is_new(run: Run, node: Node, new: New) -> dict[str, Any]:
    """Data of a request for another try.

    Raises:
        ConflictError: If the node has ended well.
        UsageError: If nothing is new about it, although the node was not merely interrupted.
        WorkerConfigError: If there is no such worker.

    Source: S53.
    """
    if node.state == State.SUCCESS:
        raise ConflictError(f"{_named(run, labels.name_of(node.path))} is solved; there is nothing to try again.")
    more: dict[str, Any] = {}
    if new.note and new.note.strip():
        more["note"] = new.note
    if new.worker or new.luna_model:
        spec = WorkerSpec(kind=new.worker) if new.worker else WorkerSpec.model_validate(plain(node.worker))
        if new.luna_model:
            if spec.kind not in _WITH_MODEL:
                raise UsageError(f"A worker of kind {spec.kind!r} uses no model. Leave --luna-model out.")
            spec = spec.model_copy(update={"options": {**spec.options, "model": new.luna_model}})
        from luna.workers.registry import make_worker  # noqa: PLC0415 - only where a worker is named

        make_worker(spec)
        more["worker"] = spec.model_dump(mode="json", exclude_defaults=True)
    if node.ended and not node.resumable and not more:
        raise UsageError(
            f"{_named(run, labels.name_of(node.path))} ended {node.state}, and the same attempt would end so again. "
            "Give it something new: --note TEXT, --worker KIND or --luna-model NAME."
        )
    return more


async def _ask(sol: Sol, run_id: str, request: dict[str, Any], shown: Shown, *, go_on: bool) -> int:
    """Ask the process that holds the run; where there is none, do it here, or only note it."""
    who = somebody()
    holder = await holder_of(sol, run_id)
    if holder is None and go_on:
        return await _work(sol, lambda: sol.start_again(run_id, ask={**request, "by": who}), shown)
    payload = {name: value for name, value in request.items() if name != "kind"}
    await sol.request(run_id, request["kind"], payload, by=who)
    done = f"passed on to {holder}" if holder is not None else f"noted; go on with: sol resume {run_id}{shown.again}"
    shown.say(done)
    return Code.SOLVED


# --- the work --------------------------------------------------------------------------------------------------------


async def _work(sol: Sol, begin: Begin, shown: Shown) -> int:
    """Work on a run until it comes to a halt, and tell about it; the exit code."""
    await _end_leftovers(sol, shown)
    with Stops(sol.processes) as stops:
        run = await begin()
        view = View(run, sol, shown, stops)
        run.listen(view)
        async with view.shown():
            stops.watch(run)
            await _halt(sol, run)
    code = _code(run, stops)
    if view.gone:
        return Code.NOT_SOLVED
    written = write_results(run, shown.output)
    if shown.as_json:
        print(_output.summary_line(run, code), flush=True)
        return code
    if run.solved and shown.output is None and (not written or sys.stdout.isatty()):
        _output.print_result(run)
    if not view.draws:
        shown.say(view.headline())
    applied = run.state.applied
    if shown.quiet and applied is not None and not applied.applied:  # a result that is elsewhere must not go unsaid
        shown.console().print(labels.clean(applied.note), soft_wrap=True)
    shown.say(*_output.notes(run, again=shown.again, written=written, where=where(sol)))
    return code


async def _halt(sol: Sol, run: Run) -> None:
    try:
        await run.wait()
    except (SolError, LunaError):
        raise
    except Exception as error:
        raise BrokenRunError(
            f"Sol itself broke: {type(error).__name__}: {error}. What was done is kept in {where(sol)}; "
            f"go on with: sol resume {run.id}. SOL_DEBUG=1 shows where it broke."
        ) from error


def _code(run: Run, stops: Stops) -> Code:
    if run.solved:
        return Code.SOLVED
    if stops.asked and run.status == "interrupted":
        return Code.INTERRUPTED
    return Code.WAITING if run.status == "waiting" else Code.NOT_SOLVED


async def _end_leftovers(sol: Sol, shown: Shown) -> None:
    """End processes of workers whose engine was killed before it could. Source: PROC-01."""
    found = sol.processes.find_leftovers()
    left = await sol.processes.end_leftovers()  # removes the records of what has ended, too
    if not found:
        return
    commands = ", ".join(sorted({f"{labels.clean(one.command)} of run {one.run}" for one in found}))
    failed = f"; {len(left)} could not be ended: pids {', '.join(str(one.pid) for one in left)}" if left else ""
    shown.say(f"ended what a killed run had left: {labels.number(len(found), 'worker process')} ({commands}){failed}")

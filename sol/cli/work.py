"""Let Lunas work on a run from the command line: start it or take it up, show it, stop it, tell how it ended."""

import asyncio
import getpass
import sys
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from luna.errors import LunaError, ModelNotFoundError
from luna.protocol import WorkerSpec
from luna.workers.registry import make_worker
from sol.cli import output
from sol.cli.failures import BrokenRunError, Code
from sol.cli.output import Shown
from sol.cli.places import holder_of, require_store, where
from sol.cli.results import STDOUT, check_output, check_result_file, write_results
from sol.cli.stops import Stops
from sol.cli.view import View
from sol.errors import ConflictError, NotFoundError, SolError, TaskError, UsageError
from sol.inspect import labels
from sol.run import Run
from sol.solver import Sol
from sol.task import Task, TaskFile, load_task
from sol.tree.node import Node, State
from sol.tree.values import plain

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
        from sol.cli.fetching import offer_weights  # noqa: PLC0415 - rarely needed

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


def node_of(run: Run, name: str) -> Node:
    """The node that a person names by its path.

    Raises:
        NotFoundError: If the run has none.
    """
    path = labels.path_of(name)
    if path not in run.tree:
        raise NotFoundError(
            f"Run {run.id} has no {run.kind.noun} {name!r}. `sol show {run.id} --all` lists all {run.kind.noun}s."
        )
    return run.tree[path]


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


def somebody() -> str:
    """Who asks, for the record."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a process of a user without a name
        return "the command line"


# --- the work --------------------------------------------------------------------------------------------------------


async def _work(sol: Sol, begin: Begin, shown: Shown) -> int:
    """Work on a run until it comes to a halt, and tell about it; the exit code."""
    await _end_leftovers(sol, shown)
    with Stops(sol.processes) as stops:
        run = await begin()
        view = View(run, sol, shown, stops)
        if run.session is not None:
            run.session.listeners.append(view.told)
        async with view.shown():
            stops.watch(run)
            await _halt(sol, run)
    code = _code(run, stops)
    if view.gone:
        return Code.NOT_SOLVED
    written = write_results(run, shown.output)
    if shown.as_json:
        print(output.summary_line(run, code), flush=True)
        return code
    if run.solved and shown.output is None and (not written or sys.stdout.isatty()):
        output.print_result(run)
    if not view.draws:
        shown.say(view.headline())
    landed = run.state.landed
    if shown.quiet and landed is not None and not landed.landed:  # a result that is elsewhere must not go unsaid
        shown.console().print(labels.clean(landed.note), soft_wrap=True)
    shown.say(*output.notes(run, again=shown.again, written=written, where=where(sol)))
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

"""A task as people give it: the seven fields and who is to do it, from a YAML file, a mapping or one sentence.

Also how a run on it is prepared, and how a resume notices that a file behind it has changed since.
"""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, cast

from pydantic import ValidationError, field_validator

from luna.inputs import InputError, file_ref, inside
from luna.protocol import Assignment, Text, WorkerSpec
from luna.workspaces import IsolationMode
from sol.core.decide import TreeProgram, TreeReading
from sol.core.split import vague
from sol.engine.kinds import Again, Options, Prepared, Settings
from sol.errors import ConflictError, SolError, StrategyError, TaskError, UsageError
from sol.strategy.catalog import read_strategy
from sol.strategy.schema import Strategy
from sol.strictyaml import Document, StrictYamlError, load_yaml, validate_model
from sol.tree.effects import Request
from sol.tree.events import TaskResumed, TaskStarted
from sol.tree.node import Tree
from sol.tree.values import AssignmentData, plain, read

if TYPE_CHECKING:
    from sol.dispatch.handlers import Handler

FIELDS = tuple(Assignment.model_fields)


class Task(Assignment):
    """A task for Sol.

    Attributes:
        worker: Which Luna does it and what it is split into; None: the one that `Sol` was given.
        strategy: Name or path of the strategy, used when `Sol` was given none.
        isolation: How the Lunas are kept apart, used when `Sol` was not told: `in_place` (not at all), `copy` (each
            attempt in a temporary copy of the workspace) or `worktree` (each in a git worktree on its own branch);
            accepted work is merged, and brought into the workspace at the end. None: `in_place`.
        result_file: Where to write the result as JSON, inside the workspace; None: nowhere.

    Source: S01, S26–S34.
    """

    worker: WorkerSpec | None = None
    strategy: Text | None = None
    isolation: IsolationMode | None = None
    result_file: Text | None = None

    @field_validator("worker", mode="before")
    @classmethod
    def _read_worker(cls, value: object) -> object:
        return value if value is None or isinstance(value, WorkerSpec) else WorkerSpec.parse(value)

    @classmethod
    def make(cls, value: "Task | Mapping[str, Any] | str") -> "Task":
        """A task from whatever a caller has: a task, a mapping with the seven fields, or one sentence.

        Raises:
            TaskError: If a field is missing or wrong, or the goal is too vague.
        """
        if isinstance(value, str):
            task = cls.from_text(value)
        elif isinstance(value, cls):
            task = value
        else:
            try:
                task = cls.model_validate(dict(value))
            except ValidationError as error:
                lines = [f"{'.'.join(map(str, one['loc'])) or 'task'}: {one['msg']}" for one in error.errors()]
                raise TaskError("The task cannot be used. " + "; ".join(lines)) from error
        reason = vague(task.goal)
        if reason is not None:
            raise TaskError(f"The task is too vague: {reason}.")
        return task

    @classmethod
    def from_text(cls, text: str) -> Self:
        """A task of one sentence, with the other fields filled in as little as possible.

        Raises:
            TaskError: If the text is blank.
        """
        if not text.strip():
            raise TaskError("The task is empty. Say what is to be done.")
        return cls.model_validate(
            {
                "goal": text,
                "context": "none",
                "inputs": "none",
                "constraints": "none",
                "expected_output": "The answer to the goal.",
                "success_criteria": ["The result does what the goal asks for, completely."],
                "stop_conditions": [
                    "Information or access that the goal needs is missing.",
                    "Two or more independent causes or unknowns are left that cannot be told apart within this task.",
                ],
            }
        )

    @property
    def assignment(self) -> dict[str, Any]:
        """The seven fields as JSON."""
        return self.model_dump(mode="json", include=set(FIELDS), exclude_defaults=True) | {
            "inputs": self.model_dump(mode="json", include={"inputs"})["inputs"],
            "constraints": list(self.constraints),
        }


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task file as loaded. `workspace`: the directory it stands in, which its paths are relative to."""

    path: Path
    task: Task
    workspace: Path


@dataclass(frozen=True, slots=True)
class GivenTask:
    """A task and the file it came from; None: from no file."""

    task: Task
    path: Path | None = None

    @property
    def directory(self) -> Path | None:
        """Where its file stands."""
        return self.path.resolve().parent if self.path else None

    @classmethod
    def of(cls, task: "Task | TaskFile | Mapping[str, Any] | str | Path") -> "GivenTask":
        """What a caller gave: a task or what makes one, or a task file or its path.

        Raises:
            TaskError: If it cannot be used.
        """
        if isinstance(task, Path):
            task = load_task(task)
        return cls(task.task, task.path) if isinstance(task, TaskFile) else cls(Task.make(task))


_FIELDS = frozenset({"goal", "success_criteria", "stop_conditions"})
"""Fields that a task has and a workflow has not."""


def load_task(path: Path) -> TaskFile:
    """Load and check a task file. A `json_schema` may be given as the path of a JSON or YAML file beside it.

    Raises:
        TaskError: If the file cannot be used; the message has file, line and column where there are any.
    """
    try:
        document = load_yaml(path.read_bytes(), source=str(path))
        if isinstance(document.value, dict) and not _FIELDS & document.value.keys() and "steps" in document.value:
            raise TaskError(f"{path} is a workflow, not a task. Run it: sol workflow run {path} --task '…'")
        document = replace(document, value=_with_schemas(document, path.parent))
        task = validate_model(document, Task)
    except StrictYamlError as error:
        raise TaskError(str(error)) from error
    except OSError as error:
        raise TaskError(f"{path}: cannot be read ({error.strerror}). Check the path.") from error
    reason = vague(task.goal)
    if reason is not None:
        raise TaskError(str(document.error(("goal",), reason, "name what is to be worked on")))
    return TaskFile(path, task, path.resolve().parent)


def _with_schemas(document: Document, directory: Path) -> Any:  # noqa: ANN401 - YAML data
    """The document's value with schema files read in."""
    value = document.value
    if not isinstance(value, dict):
        return value
    value = dict(value)
    expected = value.get("expected_output")
    if isinstance(expected, dict):
        value["expected_output"] = _with_schema(document, ("expected_output",), expected, directory)
    criteria = value.get("success_criteria")
    if isinstance(criteria, list):
        value["success_criteria"] = [
            _with_schema(document, ("success_criteria", number), one, directory) if isinstance(one, dict) else one
            for number, one in enumerate(criteria)
        ]
    return value


def _with_schema(
    document: Document, at: tuple[str | int, ...], mapping: dict[str, Any], directory: Path
) -> dict[str, Any]:
    name = mapping.get("json_schema")
    if not isinstance(name, str):
        return mapping
    where = (*at, "json_schema")
    try:
        file = inside(directory, name)
        schema = load_yaml(file.read_bytes(), source=str(file)).value
    except (OSError, InputError) as error:
        raise document.error(
            where, f"the schema {name!r} cannot be read: {error}", "give a file beside the task"
        ) from None
    return {**mapping, "json_schema": schema}


# --- runs on tasks ---------------------------------------------------------------------------------------------------


class TaskRuns:
    """Runs on tasks, as task trees. See `sol.engine.kinds.RunKind`."""

    name = "tree"
    noun = "node"
    reading = TreeReading()
    handlers: "Mapping[type[Request], Handler]" = MappingProxyType({})

    def takes(self, thing: object) -> bool:
        """Whether this is a task, or what makes one."""
        return isinstance(thing, Task | TaskFile | Mapping | str | Path)

    def prepare(self, settings: Settings, thing: object, options: Options, *, run: str) -> Prepared:  # noqa: ARG002
        """Read and check all that a run on a task needs.

        Raises:
            UsageError: If something of it cannot be used. Nothing was started.
        """
        _refuse(options)
        given = GivenTask.of(cast("Task | TaskFile | Mapping[str, Any] | str | Path", thing))
        task = given.task
        workspace = settings.workspace_of(given.directory)
        chosen = settings.strategy_of(task.strategy, workspace)
        strategy = chosen.strategy
        spec = settings.worker_of(task.worker)
        settings.require_worker(spec)
        if strategy.asks_judge and not settings.judges:
            raise StrategyError(
                f"Strategy {strategy.name!r} has ai(…) rules and needs a model that plans; "
                "give sol_model (--sol-model) or set SOL_MODEL."
            )
        assignment = read(AssignmentData, task.assignment)
        files = {"task": str(given.path.resolve())} if given.path else {}
        started = TaskStarted(
            **settings.started_with(workspace, spec),
            strategy=strategy.model_dump(mode="json"),
            assignment=assignment,
            inputs=input_hashes(assignment.inputs, workspace),
            result_file=task.result_file,
            files={**files, "strategy": chosen.file} if chosen.file else files,
            file_strategy=chosen.content,
        )
        return Prepared(
            program=TreeProgram(strategy),
            strategy=strategy,
            started=started,
            title=task.goal.splitlines()[0][:120],
            goal=task.goal,
            isolation=task.isolation or "in_place",
        )

    def again(self, settings: Settings, run: str, state: Tree, options: Options) -> Again:  # noqa: ARG002
        """Find out with what a run on a task goes on.

        Raises:
            ConflictError: If the task or the strategy has changed; the message has the differences.
        """
        _refuse(options)
        strategy, changed = recheck(state.task, accept_changes=options.accept_changes)
        strategy = settings.limits_again(strategy)
        resumed = TaskResumed(strategy=strategy.model_dump(mode="json"), changed_inputs=tuple(changed))
        return Again(program=TreeProgram(strategy), strategy=strategy, resumed=resumed, goal=state.root.assignment.goal)

    def as_stored(self, run: str, state: Tree, *, request: str) -> TreeProgram:  # noqa: ARG002 - the protocol
        """The program by the strategy that the run has."""
        return TreeProgram(Strategy.model_validate(state.config.strategy))


def _refuse(options: Options) -> None:
    for name in ("task", "max_steps", "definition"):
        if getattr(options, name):
            raise UsageError(f"{name} is for workflows; a run on a task has no use for it.")


_BLOCK = 1 << 20


def input_hashes(inputs: Mapping[str, Any], workspace: Path) -> dict[str, str]:
    """SHA-256 of every file that the inputs refer to, by its path inside the workspace."""
    return {name: _hash(inside(workspace, name)) for name in sorted(set(_files(inputs)))}


def _files(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    reference = file_ref(value)
    if reference is not None:
        yield reference.file
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _files(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _files(item)


def _hash(path: Path) -> str:
    digest = sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return digest.hexdigest()


def recheck(started: TaskStarted, *, accept_changes: bool) -> tuple[Strategy, list[str]]:
    """The strategy to go on with, and the input files that have changed since the run was started.

    What has no content of its own (comments, layout) is no change. Input files may change: unfinished nodes get the
    new text, and the run records it.

    Args:
        started: The run's first event.
        accept_changes: Go on with a changed strategy; a changed task is refused all the same (S01).

    Raises:
        ConflictError: If the task or the strategy has changed; the message has the differences.

    Source: case RES-03.
    """
    strategy = Strategy.model_validate(started.strategy)
    task_file, strategy_file = started.files.get("task"), started.files.get("strategy")
    if task_file:
        _require_same(
            f"The task file {task_file} has changed since the run was started",
            plain(started.assignment),
            _current(lambda: plain(read(AssignmentData, load_task(Path(task_file)).task.assignment))),
            "Start a new run for the new task, or restore the file",
        )
    if strategy_file:
        now = _current(lambda: read_strategy(Path(strategy_file)).model_dump(mode="json"))
        before = started.file_strategy
        if accept_changes and now is not None and now != before:
            strategy = Strategy.model_validate(now)
        else:
            _require_same(
                f"The strategy file {strategy_file} has changed since the run was started",
                before,
                now,
                "Restore it, or resume with --accept-changes to go on by the new one",
            )
    workspace = Path(started.workspace)
    return strategy, [name for name, digest in started.inputs.items() if _hash(inside(workspace, name)) != digest]


def _current(read: Any) -> Any:  # noqa: ANN401 - a file's content, or None when it is gone: what was stored then counts
    try:
        return read()
    except SolError:
        return None


def _require_same(what: str, before: Any, now: Any, remedy: str) -> None:  # noqa: ANN401 - JSON
    if now is None or before == now:
        return
    old, new = (json.dumps(x, indent=1, ensure_ascii=False, sort_keys=True).splitlines() for x in (before, now))
    diff = "\n".join(difflib.unified_diff(old, new, "then", "now", lineterm="", n=1))
    raise ConflictError(f"{what}. {remedy}.\n{diff}")

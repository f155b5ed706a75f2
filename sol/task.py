"""A task as people give it: the seven fields and who is to do it, from a YAML file, a mapping or one sentence."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError, field_validator

from luna.inputs import InputError, inside
from luna.protocol import Assignment, Text, WorkerSpec
from luna.workspaces import Isolation
from sol.core.vague import vague
from sol.errors import TaskError
from sol.strictyaml import Document, StrictYamlError, load_yaml, validate_model

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
    isolation: Isolation | None = None
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


def load_task(path: Path) -> TaskFile:
    """Load and check a task file. A `json_schema` may be given as the path of a JSON or YAML file beside it.

    Raises:
        TaskError: If the file cannot be used; the message has file, line and column where there are any.
    """
    try:
        document = load_yaml(path.read_bytes(), source=str(path))
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

"""All kinds of runs, by the name that is stored with each. One that is not asked for is not loaded.

Somebody else's kind is added by `register`.
"""

from sol.engine.kinds import RunKind
from sol.errors import NotFoundError, UsageError
from sol.journal import StoredRun

TASK = "tree"
WORKFLOW = "workflow"

_registered: dict[str, RunKind] = {}


def register(kind: RunKind) -> None:
    """Add a kind of run, or put another in its place."""
    _registered[kind.name] = kind


def kind_named(name: str) -> RunKind:
    """The kind of this name.

    Raises:
        NotFoundError: If there is none.
    """
    if name not in _registered:
        if name == TASK:
            from sol.task import TaskRuns  # noqa: PLC0415 - loaded when needed

            register(TaskRuns())
        elif name == WORKFLOW:
            from sol.workflow.machine.prepare import WorkflowRuns  # noqa: PLC0415 - as above

            register(WorkflowRuns())
        else:
            raise NotFoundError(f"There is no kind of run {name!r} here. The program that has it must register it.")
    return _registered[name]


def kind_of(run: StoredRun) -> RunKind:
    """The kind of a stored run. Task trees of the first version say nothing."""
    return kind_named(str(run.meta.get("kind") or TASK))


def kind_for(thing: object) -> RunKind:
    """The kind of run that a thing starts.

    Raises:
        UsageError: If nothing can be started with it.
    """
    for name in (TASK, *(set(_registered) - {TASK, WORKFLOW}), WORKFLOW):
        kind = kind_named(name)
        if kind.takes(thing):
            return kind
    raise UsageError(f"Nothing can be started with a {type(thing).__name__}. Give a task or a workflow.")

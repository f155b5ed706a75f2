"""How a workflow's run is started and resumed: what has to be read and checked first. Starts nothing."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from luna.protocol import WorkerSpec
from luna.workers.registry import known_kinds
from sol.engine.kinds import Again, Options, Prepared, Settings
from sol.errors import StrategyError, TaskError, UsageError
from sol.rules import Ai
from sol.strategy.catalog import load_strategy
from sol.strategy.schema import Strategy
from sol.tree.effects import Request
from sol.tree.values import plain
from sol.workflow.check import finding, require_sound
from sol.workflow.compose import unheeded
from sol.workflow.definition import Definition, DefinitionChangedError, Finding, Step, WorkflowError, suggest
from sol.workflow.events import KIND, ConfigChanges, WorkflowResumed, WorkflowStarted
from sol.workflow.linked import Workflow, changes
from sol.workflow.machine import MachineProgram, MachineReading, at_work
from sol.workflow.state import Machine, Where

if TYPE_CHECKING:
    from sol.dispatch.handlers import Handler

DEFAULT_STRATEGY = "binary"
DEEPEST = 10_000
"""Depth limit of a workflow that sets none: runs that solve its steps keep to that of their own strategy."""

REPORTS = "sol-reports"
GIVEN = "given"
"""Kind of a worker that was handed over as an object, so that it cannot be named."""


class WorkflowRuns:
    """Runs of workflows. See `sol.engine.kinds.RunKind`."""

    name = KIND
    noun = "step"
    reading = MachineReading()
    handlers: "Mapping[type[Request], Handler]" = MappingProxyType({})

    def takes(self, thing: object) -> bool:
        """Whether this is a workflow."""
        return isinstance(thing, Workflow)

    def prepare(self, settings: Settings, thing: object, options: Options, *, run: str) -> Prepared:
        """Check all that a run of a workflow needs.

        Raises:
            WorkflowError: If the workflow cannot be used. Nothing was started.
            UsageError: If the task or a setting cannot be used.
        """
        workflow, task = _workflow(thing), options.task
        if not task.strip():
            raise TaskError("The task is empty. Say what is to be done.")
        spec = settings.worker_of(None)
        warnings = ready(workflow, spec, judges=settings.judges)
        for used in _workers(workflow, spec):
            settings.require_worker(used)
        workspace = settings.workspace_of(None)
        default = load_strategy(DEFAULT_STRATEGY).with_limits(max_depth=DEEPEST, budget=None)
        strategy = settings.strategy_of(default, workspace).strategy
        limit = workflow.definition.max_steps if options.max_steps is None else options.max_steps
        started = WorkflowStarted(
            **settings.started_with(workspace, spec),
            strategy=strategy.model_dump(mode="json"),
            kind=KIND,
            name=workflow.name,
            file=str(workflow.file),
            program=workflow.root,
            task=task,
            max_steps=limit,
            interactive=options.interactive,
            report_dir=f"{REPORTS}/{run}",
            definition=workflow.fingerprint(),
            warnings=tuple(map(str, warnings)),
        )
        return Prepared(
            program=MachineProgram(workflow, strategy),
            strategy=strategy,
            started=started,
            title=f"{workflow.name}: {task.splitlines()[0]}"[:120],
            goal=_goal(workflow, task),
            meta={"name": workflow.name},
        )

    def again(self, settings: Settings, run: str, state: Machine, options: Options) -> Again:
        """Find out with what a run of a workflow goes on.

        Raises:
            DefinitionChangedError: If the workflow was changed and that is not accepted, or somebody's request comes
                first: it is about a step of the old one.
            WorkflowError: If the workflow cannot be used any more.
        """
        config = state.config
        given = options.definition
        workflow = Workflow.load(Path(config.file)) if given is None else _workflow(given)
        ready(workflow, WorkerSpec.model_validate(plain(config.worker)), judges=settings.judges)
        found = workflow.fingerprint()
        differing = tuple(changes(config.definition, found))
        if differing and (options.asked or not options.accept_changes):
            raise DefinitionChangedError(run, differing)
        strategy = settings.limits_again(Strategy.model_validate(config.strategy))
        update = ConfigChanges(
            definition=found,
            program=workflow.root,
            strategy=strategy.model_dump(mode="json"),
            max_steps=options.max_steps,
        )
        return Again(
            program=MachineProgram(workflow, strategy),
            strategy=strategy,
            resumed=WorkflowResumed(config=update, replay=bool(differing), changes=differing),
            goal=_goal(workflow, config.task),
        )

    def as_stored(self, run: str, state: Machine, *, request: str) -> MachineProgram:
        """The program for recording a request; cancelling ends everything, whatever has become of the files.

        Raises:
            WorkflowError: If the workflow cannot be read any more.
            DefinitionChangedError: If it does not have the steps any more that the run is at.
        """
        config = state.config
        file, strategy = Path(config.file), Strategy.model_validate(config.strategy)
        if request == "cancel":
            return MachineProgram(Workflow(file, config.program, {}, {}), strategy)
        workflow = Workflow.load(file)
        where = Where(state, workflow)
        try:
            for visit in at_work(state):
                where.step(visit)
        except LookupError as error:
            raise DefinitionChangedError(run, changes(config.definition, workflow.fingerprint())) from error
        return MachineProgram(workflow, strategy)


def _workflow(thing: object) -> Workflow:
    if not isinstance(thing, Workflow):
        raise UsageError(f"A {type(thing).__name__} is no workflow. Give what Workflow.load(path) returns.")
    return thing


def _goal(workflow: Workflow, task: str) -> str:
    return f"workflow {workflow.name}: {task}"


def _workers(workflow: Workflow, spec: WorkerSpec) -> list[WorkerSpec]:
    """All workers that its steps need, each once."""
    found: list[WorkerSpec] = []
    for definition in workflow.definitions.values():
        for step, _ in definition.every_step():
            used = step.worker or spec
            if not step.call and not step.parallel and used not in found:
                found.append(used)
    return found


# --- whether a workflow can be run with what this process has --------------------------------------------------------


def ready(workflow: Workflow, worker: WorkerSpec, *, judges: bool) -> list[Finding]:
    """Check that a workflow can be run: texts, a judge, strategies, kinds of workers; return its warnings.

    Args:
        workflow: What is to be run.
        worker: Who does the steps that name no worker.
        judges: Whether there is a model that can answer `ai()` rules.

    Raises:
        WorkflowError: If it cannot; nothing was started.
        UsageError: If there is no such worker.
    """
    known = known_kinds()
    if worker.kind not in {*known, GIVEN}:
        raise UsageError(f"There is no worker kind {worker.kind!r}; {suggest(worker.kind, known)}.")
    warnings = require_sound(workflow)
    errors = list(_lacking(workflow, judges=judges))
    if errors:
        raise WorkflowError(errors)
    return [*warnings, *(finding(workflow.definition, "warning", (), line) for line in unheeded(workflow, worker))]


def _lacking(workflow: Workflow, *, judges: bool) -> Iterator[Finding]:
    for definition in workflow.definitions.values():
        for step, _ in definition.every_step():
            yield from _texts(workflow, definition, step)
            yield from _strategy(definition, step)
            yield from _kind(definition, step)
            for index, rule in enumerate(step.rules):
                if isinstance(rule.rule.condition, Ai) and not judges:
                    message = (
                        f"step {step.name!r} has an ai() rule and no model judges; give --sol-model or set SOL_MODEL"
                    )
                    yield finding(definition, "error", (*step.path, "rules", index), message)


def _texts(workflow: Workflow, definition: Definition, step: Step) -> Iterator[Finding]:
    for facet in step.instruction:
        if not facet.param and workflow.text_of(facet) is None:
            message = (
                f"step {step.name!r}: no text found for the instruction {facet.name!r}; add its file, or write it out"
            )
            yield finding(definition, "error", step.path, message)


def _strategy(definition: Definition, step: Step) -> Iterator[Finding]:
    if isinstance(step.solve, str):
        try:
            load_strategy(step.solve)
        except StrategyError as error:
            yield finding(definition, "error", (*step.path, "solve"), str(error))


def _kind(definition: Definition, step: Step) -> Iterator[Finding]:
    known = (*known_kinds(), GIVEN)
    if step.worker is not None and step.worker.kind not in known:
        message = f"there is no worker kind {step.worker.kind!r}; {suggest(step.worker.kind, known)}"
        yield finding(definition, "error", (*step.path, "worker"), message)

"""Whether a sound program can be run with what this process has: texts, a judge, strategies, kinds of workers."""

from collections.abc import Iterator

from luna.protocol import WorkerSpec
from luna.workers.registry import known_kinds
from sol.errors import StrategyError, UsageError
from sol.rules import Ai
from sol.strategy.catalog import load_strategy
from sol.workflow.machine.check import finding, require_sound, suggest
from sol.workflow.machine.definition import Step, Workflow
from sol.workflow.machine.errors import Finding, WorkflowError
from sol.workflow.machine.program import Program
from sol.workflow.machine.tools import unheeded

GIVEN = "given"


def ready(program: Program, worker: WorkerSpec, *, judges: bool) -> list[Finding]:
    """Check that a program can be run; return its warnings.

    Args:
        program: What is to be run.
        worker: Who does the steps that name no worker.
        judges: Whether there is a model that can answer `ai()` rules.

    Raises:
        WorkflowError: If it cannot; nothing was started.
        UsageError: If there is no such worker.
    """
    known = known_kinds()
    if worker.kind not in {*known, GIVEN}:  # one handed over as an object cannot be named
        raise UsageError(f"There is no worker kind {worker.kind!r}; {suggest(worker.kind, known)}.")
    warnings = require_sound(program)
    errors = list(_lacking(program, judges=judges))
    if errors:
        raise WorkflowError(errors)
    root = program.workflow
    for line in unheeded(program, worker.model_dump(mode="json")):
        warnings.append(finding(root, "warning", (), line))
    return warnings


def _lacking(program: Program, *, judges: bool) -> Iterator[Finding]:
    for workflow in program.workflows.values():
        for step, _ in workflow.every_step():
            yield from _texts(program, workflow, step)
            yield from _strategy(workflow, step)
            yield from _kind(workflow, step)
            for index, rule in enumerate(step.rules):
                if isinstance(rule.rule.condition, Ai) and not judges:
                    message = (
                        f"step {step.name!r} has an ai() rule and no model judges; give --sol-model or set SOL_MODEL"
                    )
                    yield finding(workflow, "error", (*step.path, "rules", index), message)


def _texts(program: Program, workflow: Workflow, step: Step) -> Iterator[Finding]:
    for facet in step.instruction:
        if not facet.param and program.text_of(facet) is None:
            message = (
                f"step {step.name!r}: no text found for the instruction {facet.name!r}; add its file, or write it out"
            )
            yield finding(workflow, "error", step.path, message)


def _strategy(workflow: Workflow, step: Step) -> Iterator[Finding]:
    if isinstance(step.solve, str):
        try:
            load_strategy(step.solve)
        except StrategyError as error:
            yield finding(workflow, "error", (*step.path, "solve"), str(error))


def _kind(workflow: Workflow, step: Step) -> Iterator[Finding]:
    known = (*known_kinds(), GIVEN)
    if step.worker is not None and step.worker.kind not in known:
        message = f"there is no worker kind {step.worker.kind!r}; {suggest(step.worker.kind, known)}"
        yield finding(workflow, "error", (*step.path, "worker"), message)

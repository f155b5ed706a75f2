"""`sol workflow`: check, draw and run machine workflows. Says what happened; decides nothing."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sol.cli._common import BudgetText, Code, ModelOptions, RunArgument, WorkOptions, budget_of, takes_options
from sol.errors import UsageError

if TYPE_CHECKING:
    from luna.protocol import WorkerSpec
    from sol.run import Run
    from sol.workflow import Finding

app = typer.Typer(name="workflow", help="Check, draw and run workflows of steps and rules.", no_args_is_help=True)

MaxSteps = Annotated[
    int | None, typer.Option("--max-steps", metavar="N", min=0, help="Most steps, in place of the file's; 0: none.")
]


@app.command()
def check(
    *,
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Workflow files or names.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print findings as JSON.")] = False,
) -> None:
    """Check files: syntax, references, ways through them, rules that leave a gap."""
    from sol.workflow import Workflow, WorkflowError, check_workflow  # noqa: PLC0415 - not needed for help
    from sol.workflow.linked import find_workflow  # noqa: PLC0415

    found: list[Finding] = []
    good = 0
    paths = [find_workflow(name, Path.cwd()) for name in files]
    for path in paths:
        try:
            own = check_workflow(Workflow.load(path))
        except WorkflowError as error:
            own = list(error.findings)
        found += own
        good += all(one.level != "error" for one in own)
    if as_json:
        typer.echo(json.dumps({"files": len(paths), "good": good, "findings": [_finding(one) for one in found]}))
    else:
        for one in found:
            typer.echo(str(one))
        typer.echo(f"{good} of {len(paths)} files can be used, {_count(found, 'warning')}, {_count(found, 'error')}")
    if good < len(paths):
        raise typer.Exit(Code.USAGE)


def _count(found: "list[Finding]", level: str) -> str:
    number = sum(one.level == level for one in found)
    return f"{number} {level}{'' if number == 1 else 's'}"


def _finding(one: "Finding") -> dict[str, Any]:
    place = {"file": one.source, "line": one.position.line, "column": one.position.column}
    return {"level": one.level, **place, "message": one.message}


@app.command()
def graph(file: Annotated[str, typer.Argument(metavar="FILE", help="Workflow file or name.")]) -> None:
    """Print a workflow as a Mermaid diagram."""
    from sol.workflow import load_definition, to_mermaid  # noqa: PLC0415 - not needed for help
    from sol.workflow.linked import find_workflow  # noqa: PLC0415

    typer.echo(to_mermaid(load_definition(find_workflow(file, Path.cwd()))), nl=False)


@app.command("run")
@takes_options
def run_(
    *,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Workflow file or name.")],
    task: Annotated[str, typer.Option("--task", "-t", help="What is to be done.")],
    worker: Annotated[
        str | None,
        typer.Option(
            "--worker", metavar="KIND", help="Who does the steps: a kind, or a mapping such as '{kind: agent}'."
        ),
    ] = None,
    models: ModelOptions,
    max_steps: MaxSteps = None,
    interactive: Annotated[bool, typer.Option("--interactive", help="Somebody is there to answer.")] = False,
    work: WorkOptions,
) -> None:
    """Run a workflow on a task.

    Ctrl-C stops the workers and leaves a run that can be resumed (exit code 130); twice ends everything at once.
    """
    from sol.cli._work import begin  # noqa: PLC0415 - loads the engine
    from sol.workflow import Workflow  # noqa: PLC0415
    from sol.workflow.linked import find_workflow  # noqa: PLC0415

    sol = work.sol(worker=None if worker is None else _worker(worker), **models.settings())
    path = find_workflow(file, sol.home)

    async def begin_run() -> "Run":
        return await sol.start(Workflow.load(path), task=task, max_steps=max_steps, interactive=interactive)

    raise typer.Exit(begin(sol, begin_run, work.shown()))


@app.command()
@takes_options
def resume(
    *,
    run: RunArgument,
    max_steps: MaxSteps = None,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Go on although the workflow has changed since.")
    ] = False,
    budget: BudgetText = None,
    work: WorkOptions,
) -> None:
    """Take up a workflow's run again, as `sol resume` does, with more steps if it ran out of them."""
    from sol.cli._work import begin  # noqa: PLC0415 - loads the engine

    sol = work.sol(budget=budget_of(budget))

    async def begin_run() -> "Run":
        return await sol.start_again(run, accept_changes=accept_changes, max_steps=max_steps)

    raise typer.Exit(begin(sol, begin_run, work.shown()))


def _worker(text: str) -> "WorkerSpec":
    from luna.protocol import WorkerSpec  # noqa: PLC0415 - not needed for help
    from sol.strictyaml import load_yaml  # noqa: PLC0415

    if not text.lstrip().startswith("{"):
        return WorkerSpec.parse(text)
    try:
        return WorkerSpec.parse(load_yaml(text, source="--worker").value)
    except ValueError as error:
        raise UsageError(f"--worker {text!r} cannot be used: give a kind, or a mapping with kind.") from error

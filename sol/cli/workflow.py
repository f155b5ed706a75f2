"""`sol workflow`: check, draw and run machine workflows. Says what happened; decides nothing."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from luna.errors import LunaError
from sol.errors import ConflictError, NotFoundError, SolError, UsageError

if TYPE_CHECKING:
    from luna.protocol import WorkerSpec
    from sol.run import Run
    from sol.workflow.machine import Finding

app = typer.Typer(name="workflow", help="Check, draw and run workflows of steps and rules.", no_args_is_help=True)

SOLVED, NOT_SOLVED, USAGE, NOT_FOUND, CONFLICT, WAITING, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


@contextmanager
def _explained() -> Iterator[None]:
    """Turn errors into one message and an exit code."""
    try:
        yield
    except NotFoundError as error:
        _fail(error, NOT_FOUND)
    except ConflictError as error:
        _fail(error, CONFLICT)
    except (UsageError, LunaError) as error:
        _fail(error, USAGE)
    except SolError as error:
        _fail(error, NOT_SOLVED)


def _fail(error: Exception, code: int) -> NoReturn:
    typer.echo(str(error), err=True)
    raise typer.Exit(code) from error


@app.command()
def check(
    *,
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Workflow files or names.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print findings as JSON.")] = False,
) -> None:
    """Check files: syntax, references, ways through them, rules that leave a gap."""
    from sol.workflow.machine import WorkflowError, check_program, load_program  # noqa: PLC0415 - not needed for help
    from sol.workflow.machine.catalog import find_workflow  # noqa: PLC0415

    found: list[Finding] = []
    good = 0
    with _explained():
        paths = [find_workflow(name, Path.cwd()) for name in files]
    for path in paths:
        try:
            own = check_program(load_program(path))
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
        raise typer.Exit(USAGE)


def _count(found: "list[Finding]", level: str) -> str:
    number = sum(one.level == level for one in found)
    return f"{number} {level}{'' if number == 1 else 's'}"


def _finding(one: "Finding") -> dict[str, Any]:
    place = {"file": one.source, "line": one.position.line, "column": one.position.column}
    return {"level": one.level, **place, "message": one.message}


@app.command()
def graph(file: Annotated[str, typer.Argument(metavar="FILE", help="Workflow file or name.")]) -> None:
    """Print a workflow as a Mermaid diagram."""
    from sol.workflow.machine import load_workflow, to_mermaid  # noqa: PLC0415 - not needed for help
    from sol.workflow.machine.catalog import find_workflow  # noqa: PLC0415

    with _explained():
        typer.echo(to_mermaid(load_workflow(find_workflow(file, Path.cwd()))), nl=False)


@app.command("run")
def run_(  # noqa: PLR0913 - each is an option of the command line
    *,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Workflow file or name.")],
    task: Annotated[str, typer.Option("--task", "-t", help="What is to be done.")],
    worker: Annotated[
        str | None, typer.Option(help="Who does the steps: a kind, or a mapping such as '{kind: agent}'.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="Model for both, work and judging.")] = None,
    sol_model: Annotated[str | None, typer.Option(help="Model that answers ai() rules and plans.")] = None,
    luna_model: Annotated[str | None, typer.Option(help="Model that does the steps.")] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of an OpenAI-compatible server for both.")] = None,
    workspace: Annotated[Path | None, typer.Option(help="Directory to work in.")] = None,
    store: Annotated[str | None, typer.Option(help="URL of the journal.")] = None,
    max_steps: Annotated[int | None, typer.Option(min=0, help="Most steps, in place of the file's.")] = None,
    interactive: Annotated[bool, typer.Option("--interactive", help="Somebody is there to answer.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the outcome as JSON.")] = False,
) -> None:
    """Run a workflow on a task. Go on after an interruption with `sol resume RUN`."""
    from sol.workflow.machine import Options, WorkflowSol  # noqa: PLC0415 - loads the engine
    from sol.workflow.machine.catalog import find_workflow  # noqa: PLC0415

    with _explained():
        sol = WorkflowSol(
            worker=None if worker is None else _worker(worker),
            model=model,
            sol_model=sol_model,
            luna_model=luna_model,
            base_url=base_url,
            workspace=workspace,
            store=store,
        )
        options = Options(max_steps=max_steps, interactive=interactive)
        path = find_workflow(file, sol.home)
        code = _finished(lambda: sol.run_workflow(path, task, options), lambda: sol.last, as_json=as_json)
    raise typer.Exit(code)


def _worker(text: str) -> "WorkerSpec":
    from luna.protocol import WorkerSpec  # noqa: PLC0415 - not needed for help
    from sol.strictyaml import load_yaml  # noqa: PLC0415

    if not text.lstrip().startswith("{"):
        return WorkerSpec.parse(text)
    try:
        return WorkerSpec.parse(load_yaml(text, source="--worker").value)
    except ValueError as error:
        raise UsageError(f"--worker {text!r} cannot be used: give a kind, or a mapping with kind.") from error


def _finished(work: "Callable[[], Run]", last: "Callable[[], Run | None]", *, as_json: bool) -> int:
    """Do the work and tell how it ended; the exit code."""
    try:
        run = work()
    except KeyboardInterrupt:
        begun = last()
        if begun is not None:
            typer.echo(f"Interrupted. Go on with: sol resume {begun.id}", err=True)
        return INTERRUPTED
    _tell(run, as_json=as_json)
    if run.solved:
        return SOLVED
    return WAITING if run.status == "waiting" else NOT_SOLVED


def _tell(run: "Run", *, as_json: bool) -> None:
    warnings = run.state.config.get("warnings", [])
    if as_json:
        outcome = {
            "run": run.id,
            "status": run.status,
            "result": run.result,
            "reason": run.reason,
            "questions": run.questions,
            "steps": [
                {"step": node.path, "state": str(node.state), "verdict": getattr(node, "verdict", None)}
                for node in run.tree
                if node.path
            ],
            "report_dir": run.state.config["report_dir"],
            "warnings": warnings,
        }
        typer.echo(json.dumps(outcome, ensure_ascii=False))
        return
    for warning in warnings:
        typer.echo(warning, err=True)
    for node in run.tree:
        if node.path:
            verdict = getattr(node, "verdict", None)
            typer.echo(f"{'  ' * (node.depth - 1)}{node.path}: {node.state}" + (f", {verdict}" if verdict else ""))
    for path, question in run.questions.items():
        typer.echo(f'{path} asks: {question}\nAnswer with: sol answer {run.id} "…" --node "{path}"')
    if run.result is not None:
        typer.echo(run.result)
    typer.echo(f"Run {run.id}: {run.status}. {run.reason}".rstrip(), err=True)

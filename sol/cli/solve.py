"""`sol solve`, `resume`, `answer` and `retry`: the commands that let Lunas work. Only their options are here."""

from typing import Annotated

import typer

from sol.cli._common import (
    BudgetText,
    Concurrency,
    Isolated,
    MaxDepth,
    ModelOptions,
    RunArgument,
    SolModel,
    Strategy,
    WorkerKind,
    WorkOptions,
    budget_of,
    takes_options,
)


@takes_options
def solve(
    *,
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="The task in words, a task file (.yaml), or - for standard input.")
    ],
    strategy: Strategy = None,
    worker: WorkerKind = None,
    models: ModelOptions,
    max_depth: MaxDepth = None,
    isolation: Isolated = None,
    work: WorkOptions,
) -> None:
    """Solve a task.

    Ctrl-C stops the workers and leaves a run that can be resumed (exit code 130); twice ends everything at once.
    """
    from sol.cli._work import solve as do_solve  # noqa: PLC0415 - loads the engine

    settings = models.settings()
    sol = work.sol(strategy=strategy, worker=worker, max_depth=max_depth, isolation=isolation, **settings)
    raise typer.Exit(do_solve(sol, task, work.shown()))


@takes_options
def resume(
    *,
    run: RunArgument,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Go on although the strategy or workflow has changed since.")
    ] = False,
    budget: BudgetText = None,
    sol_model: SolModel = None,
    concurrency: Concurrency = None,
    work: WorkOptions,
) -> None:
    """Take up a stopped or killed run again.

    So too one that ran out of budget. What was accepted is not done again.
    """
    from sol.cli._work import resume as do_resume  # noqa: PLC0415 - loads the engine

    sol = work.sol(sol_model=sol_model, budget=budget_of(budget), concurrency=concurrency)
    raise typer.Exit(do_resume(sol, run, work.shown(), accept_changes=accept_changes))


@takes_options
def answer(
    *,
    run: RunArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The answer.")],
    node: Annotated[
        str | None, typer.Option("--node", metavar="PATH", help="Which question, where several wait.")
    ] = None,
    no_resume: Annotated[bool, typer.Option("--no-resume", help="Only note the answer; go on later.")] = False,
    work: WorkOptions,
) -> None:
    """Answer a run's question and let it go on."""
    from sol.cli._work import answer as do_answer  # noqa: PLC0415 - loads the engine

    raise typer.Exit(do_answer(work.sol(), run, node, text, work.shown(), go_on=not no_resume))


@takes_options
def retry(
    *,
    run: RunArgument,
    node: Annotated[str, typer.Argument(metavar="NODE", help="Path of the node, as sol show has it; . is the root.")],
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="What the next attempt must know.")] = None,
    worker: Annotated[str | None, typer.Option("--worker", metavar="KIND", help="Another Luna for this node.")] = None,
    luna_model: Annotated[
        str | None, typer.Option("--luna-model", metavar="NAME", help="Another model for this node.")
    ] = None,
    work: WorkOptions,
) -> None:
    """Try a node again, with something new about it.

    The node has ended without success; new is a note, another worker or another model. A node that was only
    interrupted needs nothing new.
    """
    from sol.cli._work import New  # noqa: PLC0415 - loads the engine
    from sol.cli._work import retry as do_retry  # noqa: PLC0415

    new = New(note=note, worker=worker, luna_model=luna_model)
    raise typer.Exit(do_retry(work.sol(), run, node, work.shown(), new=new))

"""`sol solve`, `resume`, `answer` and `retry`: the commands that let Lunas work. Only their options are here."""

from typing import Annotated

import typer

from sol.cli._common import (
    AsJson,
    BaseUrl,
    BudgetText,
    Concurrency,
    Isolated,
    LunaModel,
    MaxDepth,
    Model,
    NoColor,
    Output,
    Quiet,
    RunArgument,
    SolModel,
    Store,
    Strategy,
    WorkerKind,
    Workspace,
    budget_of,
    same_place,
)


def solve(  # noqa: PLR0913 - each is an option of the command line
    *,
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="The task in words, a task file (.yaml), or - for standard input.")
    ],
    strategy: Strategy = None,
    worker: WorkerKind = None,
    model: Model = None,
    sol_model: SolModel = None,
    luna_model: LunaModel = None,
    base_url: BaseUrl = None,
    workspace: Workspace = None,
    isolation: Isolated = None,
    store: Store = None,
    max_depth: MaxDepth = None,
    budget: BudgetText = None,
    concurrency: Concurrency = None,
    output: Output = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Solve a task.

    Ctrl-C stops the workers and leaves a run that can be resumed (exit code 130); twice ends everything at once.
    """
    from sol.cli._output import Shown  # noqa: PLC0415 - loads the engine
    from sol.cli._work import solve as do_solve  # noqa: PLC0415
    from sol.solver import Sol  # noqa: PLC0415

    sol = Sol(
        strategy=strategy,
        worker=worker,
        model=model,
        sol_model=sol_model,
        luna_model=luna_model,
        base_url=base_url,
        workspace=workspace,
        isolation=isolation,
        store=store,
        max_depth=max_depth,
        budget=budget_of(budget),
        concurrency=concurrency,
    )
    again = same_place(store, workspace)
    shown = Shown(output=output, as_json=as_json, quiet=quiet, no_color=no_color, again=again)
    raise typer.Exit(do_solve(sol, task, shown))


def resume(  # noqa: PLR0913 - each is an option of the command line
    *,
    run: RunArgument,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Go on although the strategy or workflow has changed since.")
    ] = False,
    budget: BudgetText = None,
    sol_model: SolModel = None,
    base_url: BaseUrl = None,
    concurrency: Concurrency = None,
    workspace: Workspace = None,
    store: Store = None,
    output: Output = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Take up a stopped or killed run again.

    So too one that ran out of budget. What was accepted is not done again.
    """
    from sol.cli._output import Shown  # noqa: PLC0415 - loads the engine
    from sol.cli._work import resume as do_resume  # noqa: PLC0415
    from sol.solver import Sol  # noqa: PLC0415

    sol = Sol(
        sol_model=sol_model,
        base_url=base_url,
        workspace=workspace,
        store=store,
        budget=budget_of(budget),
        concurrency=concurrency,
    )
    again = same_place(store, workspace)
    shown = Shown(output=output, as_json=as_json, quiet=quiet, no_color=no_color, again=again)
    raise typer.Exit(do_resume(sol, run, shown, accept_changes=accept_changes))


def answer(  # noqa: PLR0913 - each is an option of the command line
    *,
    run: RunArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The answer.")],
    node: Annotated[
        str | None, typer.Option("--node", metavar="PATH", help="Which question, where several wait.")
    ] = None,
    no_resume: Annotated[bool, typer.Option("--no-resume", help="Only note the answer; go on later.")] = False,
    base_url: BaseUrl = None,
    workspace: Workspace = None,
    store: Store = None,
    output: Output = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Answer a run's question and let it go on."""
    from sol.cli._output import Shown  # noqa: PLC0415 - loads the engine
    from sol.cli._work import answer as do_answer  # noqa: PLC0415
    from sol.solver import Sol  # noqa: PLC0415

    sol = Sol(base_url=base_url, workspace=workspace, store=store)
    again = same_place(store, workspace)
    shown = Shown(output=output, as_json=as_json, quiet=quiet, no_color=no_color, again=again)
    raise typer.Exit(do_answer(sol, run, node, text, shown, go_on=not no_resume))


def retry(  # noqa: PLR0913 - each is an option of the command line
    *,
    run: RunArgument,
    node: Annotated[str, typer.Argument(metavar="NODE", help="Path of the node, as sol show has it; . is the root.")],
    note: Annotated[str | None, typer.Option("--note", metavar="TEXT", help="What the next attempt must know.")] = None,
    worker: Annotated[str | None, typer.Option("--worker", metavar="KIND", help="Another Luna for this node.")] = None,
    luna_model: Annotated[
        str | None, typer.Option("--luna-model", metavar="NAME", help="Another model for this node.")
    ] = None,
    base_url: BaseUrl = None,
    workspace: Workspace = None,
    store: Store = None,
    output: Output = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Try a node again, with something new about it.

    The node has ended without success; new is a note, another worker or another model. A node that was only
    interrupted needs nothing new.
    """
    from sol.cli._output import Shown  # noqa: PLC0415 - loads the engine
    from sol.cli._work import New  # noqa: PLC0415
    from sol.cli._work import retry as do_retry  # noqa: PLC0415
    from sol.solver import Sol  # noqa: PLC0415

    sol = Sol(base_url=base_url, workspace=workspace, store=store)
    again = same_place(store, workspace)
    shown = Shown(output=output, as_json=as_json, quiet=quiet, no_color=no_color, again=again)
    raise typer.Exit(do_retry(sol, run, node, shown, new=New(note=note, worker=worker, luna_model=luna_model)))

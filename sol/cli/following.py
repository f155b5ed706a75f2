"""Follow a run that another process works on: the live tree, or a line for each node that ends. Changes nothing."""

import asyncio
from contextlib import AsyncExitStack

from rich.console import Console

from sol.cli.output import Shown
from sol.cli.places import holder, require_store
from sol.inspect.terminal import LiveTree, headline, page_of, settled_line
from sol.inspect.ui.follow import Followed
from sol.journal import Journal
from sol.solver import Sol

POLL_S = 0.5
"""Seconds between looks into the journal."""

_TOP = 1
"""Deepest level of nodes that get a line of their own where nothing can be drawn."""


def follow(sol: Sol, run_id: str, shown: Shown) -> str:
    """Show a run until no process works on it any more; return its whole id. Ctrl-C ends the looking, not the run.

    Raises:
        NotFoundError: If there is no such run.
    """
    require_store(sol, run_id)
    return asyncio.run(_follow(sol, run_id, shown.console(stderr=False)))


async def _follow(sol: Sol, run_id: str, console: Console) -> str:
    async with sol.open_journal() as journal, AsyncExitStack() as stack:
        followed = Followed(await journal.info(await journal.resolve(run_id)), sol.clock)
        await followed.catch_up(journal)
        live = LiveTree(followed.tree, followed.run_id, console, sol.clock, elapsed=lambda: _elapsed(followed))
        draws = console.is_terminal and not console.is_dumb_terminal
        if draws:
            await stack.enter_async_context(live.shown())
        told = {node.path for node in followed.tree.nodes.values() if node.ended}
        if not draws and holder(followed.stored, sol.clock.now()) is not None:
            page = page_of(console, sol.clock.now())
            first = headline(followed.tree, page, run_id=followed.run_id, elapsed_s=_elapsed(followed))
            console.print(first, soft_wrap=True)
        while holder(followed.stored, sol.clock.now()) is not None:
            await _wait(followed, journal, sol)
            live.activity = followed.activity
            if not draws:
                _tell(followed, console, told)
        return followed.run_id


async def _wait(followed: Followed, journal: Journal, sol: Sol) -> None:
    await sol.clock.sleep(POLL_S)
    await followed.catch_up(journal)


def _elapsed(followed: Followed) -> float:
    return float((followed.stored.summary or {}).get("elapsed_s", 0.0))


def _tell(followed: Followed, console: Console, told: set[str]) -> None:
    """Print a line for each node near the root that has ended since the last look."""
    nodes = followed.tree.nodes
    ended = [node for node in nodes.values() if node.ended and node.path not in told]
    told.update(node.path for node in ended)
    for node in sorted(ended, key=lambda node: (-node.depth, node.path)):
        if node.depth <= _TOP:
            line = settled_line(node, followed.tree.above(node))
            console.print(line, markup=False, highlight=False, soft_wrap=True)

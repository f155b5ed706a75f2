"""How the methods of workspaces do work on files: to its end though cancelled, and told in the words of workspaces.

Must never leave a thread behind that goes on changing files after its call has returned or raised.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from typing import Any, ParamSpec, TypeAlias, TypeVar

from luna.workspaces.protocol import WorkspaceError

P = ParamSpec("P")
T = TypeVar("T")
_Method: TypeAlias = Callable[P, Coroutine[Any, Any, T]]


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a thread; a cancellation waits for its end."""
    task = asyncio.create_task(asyncio.to_thread(function, *args, **kwargs))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([task])
        task.exception()  # it is told as cancelled, not as failed
        raise


def told(method: _Method[P, T]) -> _Method[P, T]:
    """Let a method raise `WorkspaceError` where the file system refuses."""

    @wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(*args, **kwargs)
        except OSError as error:
            raise WorkspaceError(
                f"The file system refuses what is needed for isolated workspaces: {error}. "
                "Make room or access for it and try again."
            ) from error

    return call

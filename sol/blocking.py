"""Run a coroutine to its end from code that cannot await, also where an event loop is running already (a notebook)."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

T = TypeVar("T")


def run_blocking(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run the coroutine that `make` makes and return its result.

    Inside a running event loop it runs on a loop of its own in another thread; the caller's loop stands still until it
    ends. KeyboardInterrupt cancels the coroutine, waits until it has cleaned up, and is raised.

    Source: case NB-01.
    """
    return _in_thread(make) if _loop_is_running() else asyncio.run(make())


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_thread(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    outcome: list[T] = []
    broken: list[BaseException] = []
    begun, ended = threading.Event(), threading.Event()
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = []

    async def main() -> T:
        task = asyncio.ensure_future(make())
        running.append((asyncio.get_running_loop(), task))
        begun.set()
        return await task

    def work() -> None:
        try:
            outcome.append(asyncio.run(main()))
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            broken.append(error)
        finally:
            begun.set()
            ended.set()

    threading.Thread(target=work, name="sol", daemon=True).start()
    # Not `join`: when that is interrupted, Python 3.11 takes the thread for ended, and a second one returns at once.
    try:
        ended.wait()
    except KeyboardInterrupt:
        begun.wait()
        for loop, task in running:
            with suppress(RuntimeError):  # it has just ended
                loop.call_soon_threadsafe(task.cancel)
        ended.wait()
        raise
    if broken:
        raise broken[0]
    return outcome[0]

"""What the engine needs of a dispatcher. Only types; `local` runs effects in this process."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from sol.tree.effects import Request
from sol.tree.events import Command, Event


@dataclass(frozen=True, slots=True)
class Effect:
    """A command with the request that belongs to it. `level`: levels of the depth limit that are used at its node."""

    command: Command
    request: Request
    level: int = 0


class Dispatcher(Protocol):
    """Runs effects. Every submitted effect brings exactly one outcome event, after any number of progress events."""

    def submit(self, effect: Effect) -> None:
        """Start an effect. Returns at once."""

    def cancel(self, key: tuple[str, str, int]) -> None:
        """Stop an effect; its outcome still comes. Does nothing when it is not running."""

    def wake(self) -> None:
        """Let a waiting `next` return at once, with what there is."""

    async def next(self, *, timeout_s: float | None) -> list[Event]:
        """What has arrived, oldest first; waits until there is anything, until `wake`, or for `timeout_s` seconds.

        Raises:
            Exception: Whatever broke the dispatcher itself. What goes wrong inside a worker is an outcome.
        """
        ...

    async def stop(self, *, cause: str, reason: str) -> list[Event]:
        """Stop everything that runs and return all outcomes not fetched yet; what was stopped as `interrupted`."""
        ...

    def release(self, checkouts: Iterable[str]) -> None:
        """Remove checkouts of Lunas that nothing needs any more. Returns at once."""

    async def close(self, *, result: str | None, ended: bool) -> None:
        """Let go of the run's checkouts.

        Args:
            result: Snapshot of the accepted result; None: there is none.
            ended: The run will not go on: remove what is part of the result, keep and list all other work.
        """

"""Loop monitors: whether a cycle of steps has been gone through often enough to be judged. Pure.

Source: R25.
"""

from collections.abc import Sequence

from sol.workflow.machine.definition import Monitor


def fired(monitors: Sequence[Monitor], history: Sequence[str], following: str) -> int | None:
    """The first monitor that fires when `following` is entered now; None if none does.

    A monitor fires when the newest steps, without those it ignores, are its cycle `threshold` times in a row, and the
    next step enters the cycle again.

    Args:
        monitors: In the order of the file.
        history: Steps entered since a monitor last fired, oldest first.
        following: The step that comes next.
    """
    for index, monitor in enumerate(monitors):
        if following != monitor.cycle[0]:
            continue
        seen = [step for step in history if step not in monitor.ignore]
        wanted = list(monitor.cycle) * monitor.threshold
        if seen[-len(wanted) :] == wanted:
            return index
    return None

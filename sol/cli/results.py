"""Write results as JSON, whole or not at all, and beside them what was set aside.

What cannot be written is refused before the work is done.
"""

import os
import sys
from pathlib import Path
from typing import Any

from luna.inputs import inside
from sol.cli.output import as_json, set_aside
from sol.errors import SolError, UsageError
from sol.run import Run
from sol.tree.events import TaskStarted

STDOUT = "-"


def check_output(output: str | None) -> None:
    """Find out before any work whether the result can be written there.

    Raises:
        UsageError: If not.
    """
    if output is None or output == STDOUT:
        return
    path = Path(output)
    if path.is_dir():
        raise UsageError(f"--output {output!r} is a directory. Give the name of a file.")
    if not path.parent.is_dir():
        raise UsageError(
            f"--output {output!r}: there is no directory {str(path.parent)!r}. Make it, or give another file."
        )
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"--output {output!r} cannot be written. Change its permissions, or give another file.")


def check_result_file(name: str | None, workspace: Path) -> None:
    """Find out before any work whether a task's result file is inside the workspace.

    Raises:
        InputError: If not.
    """
    if name is not None:
        inside(workspace, name)


def write_results(run: Run, output: str | None, *, only: bool = False) -> list[str]:
    """Write the result of a solved run wherever it is wanted; the files that were written.

    Args:
        run: The run.
        output: The file that the command line names, `-` for standard output; None: none.
        only: Leave the task's own result file alone.

    Raises:
        SolError: If a file cannot be written. The result stays in the journal.
    """
    if not run.solved:
        return []
    written: list[str] = []
    if output == STDOUT:
        sys.stdout.write(as_json(run.result, indent=2) + "\n")
        sys.stdout.flush()
    elif output is not None:
        written += _write_both(run, Path(output))
    started = run.state.started
    if isinstance(started, TaskStarted) and started.result_file and not only:
        path = inside(Path(started.workspace), started.result_file)
        if output in {None, STDOUT} or path != Path(str(output)).resolve():
            written += _write_both(run, path)
    return written


def _write_both(run: Run, path: Path) -> list[str]:
    """The result, and beside it what was set aside; an older list is removed where nothing was."""
    beside = path.with_suffix(".set-aside.json")
    left = set_aside(run)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, run.result)
        if left:
            write_json(beside, left)
            return [str(path), str(beside)]
        beside.unlink(missing_ok=True)
    except OSError as error:
        raise SolError(
            f"The result cannot be written to {str(path)!r}: {error.strerror}. It is kept: sol show {run.id} -o FILE"
        ) from error
    return [str(path)]


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 - JSON
    """Write a value as JSON; whoever reads the file meanwhile sees the old content or the new one, whole.

    Raises:
        OSError: If it cannot be written; the old content stays.
    """
    data = (as_json(value, indent=2) + "\n").encode("utf-8", "backslashreplace")
    path = path.resolve()
    if path.exists() and not path.is_file():  # a device or a pipe must not be replaced by a file
        path.write_bytes(data)
        return
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)

"""What a run was started with, so that a resume notices when a file behind it has changed since."""

import difflib
import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from luna.inputs import file_ref, inside
from sol.errors import ConflictError, SolError
from sol.strategy.catalog import read_strategy
from sol.strategy.schema import Strategy
from sol.task import load_task

_BLOCK = 1 << 20


def input_hashes(inputs: Mapping[str, Any], workspace: Path) -> dict[str, str]:
    """SHA-256 of every file that the inputs refer to, by its path inside the workspace."""
    return {name: _hash(inside(workspace, name)) for name in sorted(set(_files(inputs)))}


def _files(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    reference = file_ref(value)
    if reference is not None:
        yield reference.file
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _files(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _files(item)


def _hash(path: Path) -> str:
    digest = sha256()
    try:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    except OSError as error:
        return f"unreadable: {error.strerror}"
    return digest.hexdigest()


def recheck(started: Mapping[str, Any], *, accept_changes: bool) -> tuple[Strategy, list[str]]:
    """The strategy to go on with, and the input files that have changed since the run was started.

    What has no content of its own (comments, layout) is no change. Input files may change: unfinished nodes get the
    new text, and the run records it.

    Args:
        started: Data of the run's first event.
        accept_changes: Go on with a changed strategy; a changed task is refused all the same (S01).

    Raises:
        ConflictError: If the task or the strategy has changed; the message has the differences.

    Source: case RES-03.
    """
    strategy = Strategy.model_validate(started["strategy"])
    files = started.get("files") or {}
    if files.get("task"):
        _require_same(
            f"The task file {files['task']} has changed since the run was started",
            started["assignment"],
            _current(lambda: load_task(Path(files["task"])).task.assignment),
            "Start a new run for the new task, or restore the file",
        )
    if files.get("strategy"):
        now = _current(lambda: read_strategy(Path(files["strategy"])).model_dump(mode="json"))
        before = started["file_strategy"]
        if accept_changes and now is not None and now != before:
            strategy = Strategy.model_validate(now)
        else:
            _require_same(
                f"The strategy file {files['strategy']} has changed since the run was started",
                before,
                now,
                "Restore it, or resume with --accept-changes to go on by the new one",
            )
    hashes = started.get("inputs") or {}
    workspace = Path(started["workspace"])
    return strategy, [name for name, digest in hashes.items() if _hash(inside(workspace, name)) != digest]


def _current(read: Any) -> Any:  # noqa: ANN401 - a file's content, or None when it is gone: what was stored then counts
    try:
        return read()
    except SolError:
        return None


def _require_same(what: str, before: Any, now: Any, remedy: str) -> None:  # noqa: ANN401 - JSON
    if now is None or before == now:
        return
    old, new = (json.dumps(x, indent=1, ensure_ascii=False, sort_keys=True).splitlines() for x in (before, now))
    diff = "\n".join(difflib.unified_diff(old, new, "then", "now", lineterm="", n=1))
    raise ConflictError(f"{what}. {remedy}.\n{diff}")

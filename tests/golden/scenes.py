"""What the golden journals are of: settings, planners and Lunas of their runs, for `make.py` and for the tests.

Only what is needed to take a run up again is here; how each came to be is in `make.py`.
"""

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from luna.protocol import Assignment, Delivery, Report, Stuck, Success
from sol.tree.effects import Finding, IntegrateRequest, Judged, ReassessAnswer, ReassessRequest, Remedy, RuleRequest
from tests.support.editing import git, written
from tests.support.planners import ScriptedPlanner, split_into, whole

HERE = Path(__file__).parent
PLACEHOLDER = "{WORKSPACE}"
"""Stands in the dumps for the directory that a run worked in."""

HUT = "build the hut of wood"
WALLS, ROOF = "raise the walls of the hut", "frame the roof of the hut"
FUNCTION = {"kind": "function", "function": "golden_work:work"}
BOAT, DOOR, LAMP = "mend the boat", "mend the door of the boat", "mend the lamp of the boat"
BOAT_FILES = {"door.txt": "stuck\n", "lamp.txt": "dark\n", "log.txt": "monday\n"}
ITEMS = [1, 2, 3, 4]
HALVING = """
task=$(cat)
echo "$SOL_ATTEMPT" >> calls.txt
case $task in
  *'"items": [1, 2'* | *'"items": [3, 4'*) echo '{"status": "STUCK", "blocker": "too many at once"}' ;;
  *) echo '{"status": "SUCCESS", "summary": "done", "result": [7]}' ;;
esac
"""
COMMAND = {"kind": "command", "command": ["sh", "-c", HALVING], "output": "report"}


@dataclass
class Mender:
    """Changes files of a boat, each Luna in a place of its own.

    Attributes:
        clash: Both parts add a line to the same file, so that their merge is a conflict.
        waits: Whoever is to settle the conflict does not come to an end.
        calls: Keys of all deliveries.
    """

    clash: bool = False
    waits: bool = False
    calls: list[str] = field(default_factory=list)

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[Report]:
        """Work."""
        self.calls.append(delivery.key)
        what = assignment.goal.removeprefix("mend the ").removesuffix(" of the boat")
        if assignment.goal.startswith("Settle"):
            if self.waits:
                await asyncio.Event().wait()
            written(delivery.workspace, {"log.txt": "monday\ndoor\nlamp\n"})
            yield Success(summary="settled", result="settled")
        elif assignment.goal == BOAT:
            written(delivery.workspace, {"mess.txt": "screws\n"})
            yield Stuck(blocker="two things at once")
        else:
            written(delivery.workspace, {f"{what}.txt": "mended\n"})
            if self.clash:
                written(delivery.workspace, {"log.txt": f"monday\n{what}\n"})
            yield Success(summary="done", result=what)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A golden run.

    Attributes:
        kind: What its program is.
        strategy: File of the strategy.
        planner: Makes the planner; None: Sol's own without a model.
        worker: Specification of the Luna, or what makes one.
        more: Further settings of the `Sol`.
        repository: Its workspace is a git repository.
        bundled: That repository, as it was left, is kept beside the dump; needed only where the run goes on.
    """

    kind: Literal["tree", "workflow"] = "tree"
    strategy: str = "golden.yaml"
    planner: Callable[[], ScriptedPlanner] | None = None
    worker: dict[str, Any] | Callable[[], Mender] = field(default_factory=lambda: FUNCTION)
    more: dict[str, Any] = field(default_factory=dict)
    repository: bool = False
    bundled: bool = False

    def settings(self, workspace: Path) -> dict[str, Any]:
        """Settings for a `Sol` that works in the workspace and keeps its journal there."""
        own = self.worker() if callable(self.worker) else self.worker
        settings: dict[str, Any] = {"workspace": workspace, "worker": own, **self.more}
        if self.kind == "tree" or self.planner is not None:
            settings["strategy"] = str(workspace / self.strategy)
        if self.planner is not None:
            settings["planner"] = self.planner()
        return settings


def _hut_planner() -> ScriptedPlanner:
    restated = split_into(HUT, "sweep the floor of the hut")
    good = split_into("draw the hut on paper", WALLS, sequential=True)
    walls = split_into("cut the planks of the walls", ROOF)
    roof = split_into("cut the beams of the roof", "lay the shingles of the roof")
    return ScriptedPlanner({HUT: [restated, good], WALLS: walls, ROOF: roof}, answer=_not_something_else)


def _not_something_else(request: Any) -> Any:
    return Judged(holds=False, reason="it is what was asked for") if isinstance(request, RuleRequest) else None


def _two(first: str, second: str) -> Callable[[], ScriptedPlanner]:
    return lambda: ScriptedPlanner({HUT: split_into(first, second)})


def _deep_planner() -> ScriptedPlanner:
    def answer(request: Any) -> Any:
        if isinstance(request, IntegrateRequest):
            return whole({"verdict": "solved", "text": "walls and roof stand"})
        return None

    parts = split_into("stack the stones of the wall", "lay the shingles of the roof slowly")
    return ScriptedPlanner({"solve what is planned in deep.yaml": parts}, answer=answer)


def _boat_planner() -> ScriptedPlanner:
    return ScriptedPlanner({BOAT: split_into(DOOR, LAMP)})


def _helping_planner() -> ScriptedPlanner:
    """Redefines what cannot be split."""

    def answer(request: Any) -> Any:
        if isinstance(request, ReassessRequest):
            nails = "Use the short nails."
            return ReassessAnswer(Finding.INFORMATION_MISSING, Remedy.REDEFINE, "nobody said which", information=nails)
        return None

    return ScriptedPlanner({HUT: split_into("paint the door of the hut", "nail the sign to the hut")}, answer=answer)


_QUICK, _SLOW = "cut the planks of the walls", "lay the shingles of the roof slowly"
_HANGING = _two(_QUICK, "hang the door of the hut")
_SLOWLY = _two(_QUICK, _SLOW)

SCENES: dict[str, Scene] = {
    "tree-success": Scene(strategy="judged.yaml", planner=_hut_planner),
    "tree-failed": Scene(planner=_HANGING),
    "tree-retried": Scene(planner=_HANGING),
    "tree-waiting": Scene(planner=_two(_QUICK, "paint the door of the hut")),
    "tree-helped": Scene(planner=_helping_planner),
    "tree-exhausted": Scene(worker=COMMAND),
    "tree-timed": Scene(planner=_SLOWLY),
    "tree-interrupted": Scene(planner=_SLOWLY),
    "tree-killed": Scene(planner=_SLOWLY),
    "tree-late": Scene(planner=_SLOWLY),
    "isolated-landed": Scene(planner=_boat_planner, worker=Mender, more={"isolation": "worktree"}, repository=True),
    "isolated-killed": Scene(
        planner=_boat_planner,
        worker=lambda: Mender(clash=True),
        more={"isolation": "worktree"},
        repository=True,
        bundled=True,
    ),
    "workflow-success": Scene(kind="workflow"),
    "workflow-waiting": Scene(kind="workflow"),
    "workflow-limited": Scene(kind="workflow"),
    "workflow-aborted": Scene(kind="workflow"),
    "workflow-killed": Scene(kind="workflow"),
    "workflow-solved": Scene(kind="workflow", planner=_deep_planner),
    "workflow-solve-killed": Scene(kind="workflow", planner=_deep_planner),
}


# --- from text to a store and a workspace ----------------------------------------------------------------------------


def furnish(workspace: Path) -> Path:
    """The workspace with all files that runs need."""
    return Path(shutil.copytree(HERE / "files", workspace, dirs_exist_ok=True)).resolve()


def dump_of(name: str) -> str:
    """The text of a golden journal."""
    return (HERE / f"{name}.sql").read_text(encoding="utf-8")


def restore(name: str, workspace: Path) -> Path:
    """Put a golden journal and the files of its runs into an empty directory; the workspace."""
    workspace.mkdir(parents=True, exist_ok=True)
    if SCENES[name].bundled:
        git(workspace, "init", "-q", "-b", "main")
        git(workspace, "fetch", "-q", "--update-head-ok", str(HERE / f"{name}.bundle"), "+refs/*:refs/*")
        git(workspace, "reset", "-q", "--hard", "main")
    workspace = furnish(workspace) if not SCENES[name].repository else workspace.resolve()
    store = workspace / ".sol" / "runs.db"
    store.parent.mkdir()
    (store.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    with sqlite3.connect(store) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(dump_of(name).replace(PLACEHOLDER, str(workspace)))
    connection.close()
    return workspace

"""Real workflow files of two generations: they load or are refused for a right reason, and the early ones run."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from luna.protocol import Assignment, Success
from luna.testing import ScriptedWorker
from sol.journal import MemoryJournal
from sol.solver import Sol
from sol.workflow import (
    Finding,
    NotAWorkflowError,
    Workflow,
    WorkflowError,
    check_workflow,
)
from sol.workflow.definition import Definition, Step
from sol.workflow.fields import ABORT, COMPLETE

FILES = Path(__file__).resolve().parents[3].parent / "shared" / "conformance"
EARLY = sorted(FILES.glob("takt-early/**/workflows/*.yaml"))
ALL = sorted(FILES.glob("takt-*/**/*.yaml"))

REASONS = {
    "anchor &": "anchors are refused (W03)",
    "nothing may follow": "all(…) && when(…) is no condition (R17)",
    "steps without a worker": "steps without a worker are not offered",
}

pytestmark = pytest.mark.skipif(not ALL, reason="the real files (../shared/conformance) are not here")


@pytest.mark.req("R26", "R17")
def test_real_files_load_or_are_refused_for_a_right_reason(capsys: pytest.CaptureFixture[str]) -> None:
    counts: Counter[str] = Counter()
    for path in ALL:
        found, sort = outcome(path)
        errors = [str(one) for one in found if one.level == "error"]
        assert all(re.match(rf"{re.escape(str(path))}:[0-9]+:[0-9]+: error: ", one) for one in errors)
        if sort == "loaded":
            assert errors == []
        elif sort is NotAWorkflowError:
            assert path.parent.name != "workflows"
            sort = "no workflow"
        else:
            sort = f"refused: {next(word for key, word in REASONS.items() if key in errors[0])}"
        counts[str(sort)] += 1
    with capsys.disabled():
        print(f"\nreal workflow files: {', '.join(f'{count} {word}' for word, count in sorted(counts.items()))}")
    assert counts == {
        "loaded": 49,
        "no workflow": 6,
        "refused: anchors are refused (W03)": 8,
        "refused: all(…) && when(…) is no condition (R17)": 3,
        "refused: steps without a worker are not offered": 1,
    }


def outcome(path: Path) -> tuple[Sequence[Finding], object]:
    try:
        return check_workflow(Workflow.load(path)), "loaded"
    except WorkflowError as error:
        return error.findings, type(error)


def ways(definition: Definition, end: str) -> Iterator[dict[str, int]]:
    """For each step the rule that leads towards an end, if there is a way."""
    towards: dict[str, int] = {}
    known = {end}
    while True:
        new = {
            step.name: index
            for step in definition.steps
            if step.name not in towards
            for index, rule in reversed(list(enumerate(step.rules)))
            if rule.rule.next in known
        }
        if not new:
            break
        towards |= new
        known |= set(new)
    if definition.initial_step in towards:
        yield towards


def answers(definition: Definition, towards: dict[str, int]) -> Any:
    """A worker's script: it takes the rule that leads towards the end."""
    inner: dict[str, tuple[Step, Step]] = {c.name: (c, s) for s in definition.steps for c in s.parallel}

    def script(assignment: Assignment) -> Success:
        tags = re.findall(r"\[([^\]]+):([0-9]+)\] if: (.*)", assignment.expected_output.description)
        name = tags[0][0].lower()
        if name in inner:
            wanted = inner[name][1].rules[towards[inner[name][1].name]].rule.condition.targets[0]  # type: ignore[union-attr]  # aggregates all
            number = next(n for _, n, label in tags if label == wanted)
        else:
            number = tags[towards[name]][1]
        return Success(summary="", result=f"done\n[{name.upper()}:{number}]")

    return script


async def run_to(path: Path, end: str, workspace: Path) -> tuple[Any, ScriptedWorker] | None:
    definition = Workflow.load(path).definition
    for towards in ways(definition, end):
        worker = ScriptedWorker(answers(definition, towards))
        sol = Sol(worker=worker, store=MemoryJournal(), workspace=workspace)
        return await sol.asolve(Workflow.load(path), task="explain {x!r} and {{ 7*7 }}"), worker
    return None


@pytest.mark.req("R26")
@pytest.mark.parametrize("path", EARLY, ids=lambda path: path.stem)
async def test_early_workflows_run_to_complete(path: Path, tmp_path: Path) -> None:
    done = await run_to(path, COMPLETE, tmp_path)
    assert done is not None
    run, worker = done
    assert run.status == "success"
    visits = [visit for visit in run.state.nodes.values() if visit.path and not run.state.within(visit)]
    assert sum(worker.calls.values()) == len(visits)
    reports = {report.name for visit in visits for report in _step(path, visit).reports}
    written = tmp_path / run.state.config.report_dir
    assert {file.name for file in written.glob("*")} == reports


def _step(path: Path, visit: Any) -> Step:
    steps = {step.name: step for step, _ in Workflow.load(path).definition.every_step()}
    return steps[visit.step]


@pytest.mark.req("R26")
@pytest.mark.parametrize("path", EARLY, ids=lambda path: path.stem)
async def test_early_workflows_run_to_abort(path: Path, tmp_path: Path) -> None:
    done = await run_to(path, ABORT, tmp_path)
    if done is None:
        # A file without a way to ABORT ends otherwise than well only by its step limit.
        assert path.stem == "magi"
        definition = Workflow.load(path).definition
        worker = ScriptedWorker(answers(definition, next(ways(definition, COMPLETE))))
        sol = Sol(worker=worker, store=MemoryJournal(), workspace=tmp_path)
        run = await sol.asolve(Workflow.load(path), task="decide", max_steps=2)
        assert (run.status, sum(worker.calls.values())) == ("exhausted", 2)
        return
    assert (done[0].status, done[0].state.root.kind) == ("failed", "aborted")

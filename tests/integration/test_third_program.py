"""A program that the engine has never heard of: run, killed, resumed, drawn, asked for what it cannot do."""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from sol import Sol
from sol import run as run_module
from sol.errors import ConflictError, NotFoundError
from tests.support.processes import until
from tests.support.relay import Relays, Words

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys
from pathlib import Path
from sol import Sol
from sol import run as run_module
from tests.support.relay import Relays, Words

run_module.register(Relays())
Sol(worker=print, workspace=Path(sys.argv[1])).solve(Words(("on", "two…", "three")))
"""


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_registered", dict(run_module._registered))
    run_module.register(Relays())


def test_third_program_runs_and_is_drawn(tmp_path: Path) -> None:
    run = Sol(worker=print, workspace=tmp_path).solve(Words(("on", "your", "marks")))
    assert (run.status, run.kind.noun) == ("success", "runner")
    assert [node.result for node in run.tree] == ["ON", "YOUR", "MARKS"]
    first, second, third = (node.path for node in run.tree)
    assert not second.startswith(third[:1]) or not third.startswith(second)
    assert set(run.tree.to_networkx().edges) == {(first, second), (second, third)}
    for drawing in (run.tree.to_mermaid(), run.tree.to_dot()):
        assert "damaged" not in drawing
        assert drawing.count("-->") + drawing.count("->") >= 2
    assert {span.kind for span in run.tree.timeline()} == {"shout"}
    assert [event.type for event in run.history()].count("passed") == 2


async def test_third_program_is_killed_and_resumed_without_doing_anything_twice(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", PROGRAM, str(tmp_path), env=environment)
    await until((tmp_path / "waiting").exists, 60)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    run = await Sol(worker=print, workspace=tmp_path).aresume("latest")
    assert (run.status, [node.result for node in run.tree]) == ("success", ["ON", "TWO…", "THREE"])
    keys = [line.split()[0].split("/", 1)[1] for line in (tmp_path / "shouted").read_text().splitlines()]
    paths = [node.path for node in run.tree]
    once, again = f"{paths[1]}/shout/1", f"{paths[1]}/shout/1"
    assert keys == ["/shout/1", once, again, f"{paths[2]}/shout/1"], "only what was cut off is done again, by its key"


async def test_what_a_third_program_cannot_do_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sol = Sol(worker=print, workspace=tmp_path)
    run = await sol.asolve(Words(("on",)))
    with pytest.raises(ConflictError, match=r"Runner 'root' of run .* is success"):
        await sol.request(run.id, "retry", {"node": ""}, by="ann")
    with pytest.raises(NotFoundError, match="no runner 'nobody'"):
        await sol.request(run.id, "cancel", {"node": "nobody"}, by="ann")
    with pytest.raises(ConflictError, match="nothing to resume"):
        await sol.aresume(run.id)
    monkeypatch.delitem(run_module._registered, Relays.name)
    with pytest.raises(NotFoundError, match="no kind of run 'relay'"):
        await sol.load(run.id)
    assert json.loads(json.dumps(run.result)) == "ON"

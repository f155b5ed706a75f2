import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from luna.process import group as group_module
from luna.process.group import Leftover, Origin, ProcessGroup, ProcessRegistry, belonging
from luna.process.table import TOKEN_VARIABLE, ProcessInfo, look

ORIGIN = Origin("token", leader=100, started=50.0)


def process(pid: int, *, parent: int = 1, session: int = 7, started: float = 60.0, alive: bool = True) -> ProcessInfo:
    return ProcessInfo(pid, parent, session, session, started, alive)


def pick(
    *seen: ProcessInfo,
    origin: Origin = ORIGIN,
    marked: frozenset[int] = frozenset(),
    known: frozenset[tuple[int, float]] = frozenset(),
) -> set[int]:
    everything = {one.pid: one for one in seen}
    found = belonging(
        everything,
        origin,
        known=known,
        has_token=lambda pid, token: token == "token" and pid in marked,
    )
    return {one.pid for one in found}


def test_session_of_the_living_leader_is_ours() -> None:
    assert pick(process(100, session=100, started=50.0), process(101, session=100), process(102)) == {100, 101}


def test_session_outlives_its_leader() -> None:
    assert pick(process(101, session=100)) == {101}
    assert pick(process(100, session=100, started=50.0, alive=False), process(101, session=100)) == {101}


@pytest.mark.case("PROC-01")
def test_reused_leader_pid_makes_the_session_somebody_elses() -> None:
    assert pick(process(100, session=100, started=70.0), process(101, session=100, started=71.0)) == set()


def test_member_older_than_the_command_is_not_ours() -> None:
    assert pick(process(101, session=100, started=49.0)) == set()


def test_marked_process_is_ours_in_any_session_and_so_are_its_children() -> None:
    tree = (process(200), process(201, parent=200), process(202, parent=201, session=9), process(203))
    assert pick(*tree, marked=frozenset({200})) == {200, 201, 202}


def test_known_process_is_ours_by_pid_and_start() -> None:
    assert pick(process(300), process(301), known=frozenset({(300, 60.0), (301, 61.0)})) == {300}


def test_own_process_is_never_ours() -> None:
    assert pick(process(os.getpid(), session=100)) == set()


def test_origin_without_leader_is_found_by_its_mark_only() -> None:
    origin = Origin("token", leader=None, started=0.0)
    assert pick(process(100, session=100), process(101), origin=origin, marked=frozenset({101})) == {101}


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    child = subprocess.Popen(["sleep", "60"], start_new_session=True, env={"PATH": os.environ["PATH"]})
    yield child
    child.kill()
    child.wait()


def test_family_is_gone_only_when_what_is_not_clear_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    recent = process(200, session=200)
    monkeypatch.setattr(group_module, "look_at_all", lambda: {200: recent, 2: process(2, session=0)})
    monkeypatch.setattr(group_module, "carries_token", lambda pid, token: None)
    group = ProcessGroup(ORIGIN)
    assert [group.is_gone() for _ in range(4)] == [False, False, True, True]
    monkeypatch.setattr(group_module, "carries_token", lambda pid, token: pid == 200)
    assert not group.is_gone()
    assert group.escaped == (200,)


class DeadEngine:
    """Writes the records of an engine that is no longer there, by the registry's own means."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.directory = directory
        self._patch = monkeypatch

    def left(self, token: str, *, leader: int | None, started: float) -> None:
        registry = ProcessRegistry(self.directory).for_node("run-1", "01")
        with self._patch.context() as patch:
            patch.setattr(os, "getpid", lambda: 2**22 + 1)
            registry.expect(token, "sleep")
            if leader is not None:
                registry.add(ProcessGroup(Origin(token, leader, started)))


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DeadEngine:
    return DeadEngine(tmp_path / "processes", monkeypatch)


def started_of(child: "subprocess.Popen[bytes]") -> float:
    seen = look(child.pid)
    assert seen is not None
    return seen.started


@pytest.mark.case("PROC-01")
async def test_leftover_of_a_dead_engine_is_reported_and_ended(
    engine: DeadEngine, sleeper: "subprocess.Popen[bytes]"
) -> None:
    engine.left("a", leader=sleeper.pid, started=started_of(sleeper))
    registry = ProcessRegistry(engine.directory)
    assert registry.find_leftovers() == (Leftover(sleeper.pid, started_of(sleeper), "sleep", "run-1", "01"),)
    assert await registry.end_leftovers(grace_s=5) == ()
    assert sleeper.wait() == -signal.SIGTERM
    assert list(engine.directory.iterdir()) == []


@pytest.mark.case("PROC-01")
def test_leftover_that_ignores_term_is_killed(engine: DeadEngine) -> None:
    stubborn = subprocess.Popen(
        ["sh", "-c", "trap '' TERM; echo ready; sleep 60"], start_new_session=True, stdout=subprocess.PIPE
    )
    assert stubborn.stdout is not None
    stubborn.stdout.readline()
    engine.left("a", leader=stubborn.pid, started=started_of(stubborn))
    assert asyncio.run(ProcessRegistry(engine.directory).end_leftovers(grace_s=0.1)) == ()
    assert stubborn.wait() == -signal.SIGKILL
    stubborn.stdout.close()


@pytest.mark.case("PROC-01")
async def test_reused_pid_is_neither_reported_nor_ended(engine: DeadEngine, sleeper: "subprocess.Popen[bytes]") -> None:
    engine.left("a", leader=sleeper.pid, started=started_of(sleeper) - 1)
    registry = ProcessRegistry(engine.directory)
    assert registry.find_leftovers() == ()
    assert await registry.end_leftovers(grace_s=0) == ()
    assert sleeper.poll() is None
    assert list(engine.directory.iterdir()) == []


async def test_unkillable_leftover_stays_recorded(
    engine: DeadEngine, sleeper: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "killpg", refuse)
    engine.left("a", leader=sleeper.pid, started=started_of(sleeper))
    registry = ProcessRegistry(engine.directory)
    assert [left.pid for left in await registry.end_leftovers(grace_s=0)] == [sleeper.pid]
    assert [left.pid for left in registry.find_leftovers()] == [sleeper.pid]


def test_command_of_a_living_engine_is_no_leftover(tmp_path: Path, sleeper: "subprocess.Popen[bytes]") -> None:
    registry = ProcessRegistry(tmp_path)
    registry.expect("a", "sleep")
    registry.add(ProcessGroup(Origin("a", sleeper.pid, started_of(sleeper))))
    assert ProcessRegistry(tmp_path).find_leftovers() == ()
    registry.remove("a")
    assert list(tmp_path.iterdir()) == []


def test_record_of_another_machine_is_left_alone(
    engine: DeadEngine, sleeper: "subprocess.Popen[bytes]", monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.left("a", leader=sleeper.pid, started=started_of(sleeper))
    monkeypatch.setattr(group_module, "machine", lambda: "elsewhere")
    registry = ProcessRegistry(engine.directory)
    assert asyncio.run(registry.end_leftovers(grace_s=0)) == ()
    assert len(list(engine.directory.iterdir())) == 1


def test_torn_and_foreign_records_do_no_harm(engine: DeadEngine, sleeper: "subprocess.Popen[bytes]") -> None:
    engine.left("a", leader=sleeper.pid, started=started_of(sleeper))
    (path,) = engine.directory.iterdir()
    path.write_bytes(path.read_bytes() + b'{"token": "a", "lea')
    (engine.directory / "empty.jsonl").write_bytes(b"")
    (engine.directory / "renamed.jsonl").write_bytes(path.read_bytes())
    (engine.directory / "every.jsonl").write_bytes(path.read_bytes().replace(b'"leader":', b'"leader":-'))
    assert [left.pid for left in ProcessRegistry(engine.directory).find_leftovers()] == [sleeper.pid]


def test_command_killed_before_its_pid_was_recorded_is_found_by_its_mark(engine: DeadEngine) -> None:
    environment = os.environ | {TOKEN_VARIABLE: "outer:a"}
    with subprocess.Popen(["sleep", "60"], env=environment) as child:
        engine.left("a", leader=None, started=0.0)
        assert [left.pid for left in ProcessRegistry(engine.directory).find_leftovers()] == [child.pid]
        assert asyncio.run(ProcessRegistry(engine.directory).end_leftovers(grace_s=5)) == ()
        assert child.wait() == -signal.SIGTERM


def test_registry_without_directory_has_nothing(tmp_path: Path) -> None:
    assert ProcessRegistry(tmp_path / "none").find_leftovers() == ()


def test_registry_add_survives_a_record_that_is_gone(tmp_path: Path, sleeper: "subprocess.Popen[bytes]") -> None:
    registry = ProcessRegistry(tmp_path)
    registry.add(ProcessGroup(Origin("a", sleeper.pid, started_of(sleeper)), held=True))
    registry.kill_all_now()
    assert sleeper.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("key", "run", "node"), [("run-1/01/attempt/2", "run-1", "01"), ("run-1//attempt/1", "run-1", ""), ("", "", "")]
)
def test_registry_of_an_attempt_has_the_names_in_its_key(tmp_path: Path, key: str, run: str, node: str) -> None:
    own = ProcessRegistry(tmp_path).for_attempt(key)
    assert (own.run, own.node) == (run, node)

import os
import pickle
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from luna.errors import ModelError, ModelNotFoundError
from luna.models import llama as engine_module
from luna.models.llama import (
    Engine,
    EngineSettings,
    PromptTooLongError,
    close_engines,
    default_threads,
    engine_for,
)
from tests.unit.luna.models.conftest import FakeEngine, spoken

SETTINGS = EngineSettings(path=Path("/w/tiny.gguf"), n_ctx=512, slots=1, threads=1)
TWO_SLOTS = EngineSettings(path=Path("/w/tiny.gguf"), n_ctx=512, slots=2, threads=1)


class Gate:
    """A script that begins an answer and goes on when it is told; says how many have begun."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.go = threading.Event()

    def __call__(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        chunks = spoken("slow")
        yield next(chunks)
        self.begun.release()
        self.go.wait(10)
        yield from chunks

    def wait_begun(self) -> None:
        assert self.begun.acquire(timeout=10)


def test_engine_answers_and_loads_once(fake_engine: FakeEngine) -> None:
    engine = engine_for(SETTINGS)
    answers = [engine.submit({"messages": []}).future.result(10) for _ in range(3)]
    assert [answer.text for answer in answers] == ["yes"] * 3
    assert (answers[0].finish_reason, answers[0].prompt_tokens, answers[0].cached_tokens) == ("stop", 7, 5)
    assert answers[0].answer_tokens == 3
    (params,) = fake_engine.loads
    assert (params.model.path, params.n_ctx, params.n_parallel) == ("/w/tiny.gguf", 512, 1)
    assert params.verbosity == -1
    assert len(params.api_keys[0]) > 30


def test_engine_context_is_for_each_slot(fake_engine: FakeEngine) -> None:
    engine_for(TWO_SLOTS).submit({}).future.result(10)
    assert fake_engine.loads[0].n_ctx == 1024


def test_engine_is_shared_by_equal_settings(fake_engine: FakeEngine) -> None:
    assert engine_for(SETTINGS) is engine_for(EngineSettings(path=Path("/w/tiny.gguf"), n_ctx=512, slots=1, threads=1))
    assert engine_for(SETTINGS) is not engine_for(TWO_SLOTS)


@pytest.mark.parametrize("slots", [1, 2])
def test_engine_works_on_as_many_as_it_has_slots(slots: int, fake_engine: FakeEngine) -> None:
    gate = Gate()
    fake_engine.script = gate
    engine = engine_for(SETTINGS if slots == 1 else TWO_SLOTS)
    calls = [engine.submit({"n": n}) for n in range(4)]
    for _ in range(slots):
        gate.wait_begun()
    assert sorted(body["n"] for body in fake_engine.bodies) == list(range(slots))
    gate.go.set()
    assert {call.future.result(10).text for call in calls} == {"slow"}
    assert len(fake_engine.bodies) == 4
    assert len(fake_engine.loads) == 1


def test_stopped_request_frees_its_slot(fake_engine: FakeEngine) -> None:
    gate = Gate()
    fake_engine.script = gate
    engine = engine_for(SETTINGS)
    first = engine.submit({})
    gate.wait_begun()
    first.stop()
    gate.go.set()
    with pytest.raises(ModelError, match="stopped before its answer was complete"):
        first.future.result(10)
    assert fake_engine.stops == 1
    assert engine.submit({}).future.result(10).text == "slow"


def test_stopped_request_that_waits_never_reaches_the_engine(fake_engine: FakeEngine) -> None:
    gate = Gate()
    fake_engine.script = gate
    engine = engine_for(SETTINGS)
    first, second, third = (engine.submit({"n": n}) for n in range(3))
    gate.wait_begun()
    second.stop()
    gate.go.set()
    with pytest.raises(CancelledError):
        second.future.result(10)
    assert [first.future.result(10).text, third.future.result(10).text] == ["slow", "slow"]
    assert [body["n"] for body in fake_engine.bodies] == [0, 2]


def test_cut_off_answer_keeps_its_reason(fake_engine: FakeEngine) -> None:
    fake_engine.script = lambda _: spoken("cu", "length")
    assert engine_for(SETTINGS).submit({}).future.result(10).finish_reason == "length"


def test_prompt_that_is_too_long_is_told_with_both_sizes(fake_engine: FakeEngine) -> None:
    error = {"type": "exceed_context_size_error", "message": "m", "n_prompt_tokens": 900, "n_ctx": 512}
    fake_engine.script = lambda _: iter([{"error": error}])
    with pytest.raises(PromptTooLongError, match=r"900 tokens.*512") as hit:
        engine_for(SETTINGS).submit({}).future.result(10)
    copy = pickle.loads(pickle.dumps(hit.value))
    assert (copy.prompt_tokens, copy.context_tokens, str(copy)) == (900, 512, str(hit.value))


def test_refusal_is_a_model_error_with_the_message(fake_engine: FakeEngine) -> None:
    fake_engine.script = lambda _: iter([{"error": {"type": "invalid_request_error", "message": "bad role"}}])
    with pytest.raises(ModelError, match="refused the request: bad role"):
        engine_for(SETTINGS).submit({}).future.result(10)


def test_engine_exception_is_a_model_error_and_does_no_harm(fake_engine: FakeEngine) -> None:
    def broken(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        raise ValueError("unrecognized type strange")

    fake_engine.script = broken
    with pytest.raises(ModelError, match="unrecognized type strange"):
        engine_for(SETTINGS).submit({}).future.result(10)
    fake_engine.script = lambda _: spoken("again")
    assert engine_for(SETTINGS).submit({}).future.result(10).text == "again"


def test_file_that_cannot_be_loaded_is_told_and_tried_again(fake_engine: FakeEngine) -> None:
    fake_engine.fail_load = True
    with pytest.raises(ModelError, match=r"tiny\.gguf cannot be loaded.*SOL_LOCAL_VERBOSE"):
        engine_for(SETTINGS).submit({}).future.result(10)
    fake_engine.fail_load = False
    assert engine_for(SETTINGS).submit({}).future.result(10).text == "yes"


def test_missing_engine_package_is_told(fake_engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(ModelNotFoundError, match=r"pip install 'sol-luna\[local\]'"):
        engine_for(SETTINGS).submit({}).future.result(10)


def test_verbose_setting_lets_the_engine_talk(fake_engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOL_LOCAL_VERBOSE", "1")
    engine_for(SETTINGS).submit({}).future.result(10)
    assert fake_engine.loads[0].verbosity > 0


def test_close_stops_what_runs_and_refuses_what_waits(fake_engine: FakeEngine) -> None:
    gate = Gate()
    fake_engine.script = gate
    engine = engine_for(SETTINGS)
    running, waiting = engine.submit({}), engine.submit({})
    gate.wait_begun()
    closer = threading.Thread(target=close_engines)
    closer.start()
    gate.go.set()
    closer.join(10)
    for call in (running, waiting):
        with pytest.raises(ModelError):
            call.future.result(10)
    with pytest.raises(ModelError, match="was closed"):
        engine.submit({})
    assert len(fake_engine.bodies) == 1
    engine.close()
    assert engine_for(SETTINGS) is not engine


def test_close_of_an_unused_engine_does_nothing(fake_engine: FakeEngine) -> None:
    Engine(SETTINGS).close()
    assert fake_engine.loads == []


def test_close_leaves_the_weights_while_a_request_will_not_end(
    fake_engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_module, "CLOSE_TIMEOUT_S", 0.01)
    gate = Gate()
    fake_engine.script = gate
    engine = engine_for(SETTINGS)
    call = engine.submit({})
    gate.wait_begun()
    engine.close()
    assert not call.future.done()
    gate.go.set()
    with pytest.raises(ModelError):
        call.future.result(10)
    for thread in threading.enumerate():
        if thread.name == "sol-local-model":
            thread.join(10)


@pytest.mark.parametrize(
    ("cores", "affinity", "threads"), [(2, 2, 1), (1, 1, 1), (4, 4, 3), (64, 64, 8), (64, 2, 1), (None, 4, 3)]
)
def test_threads_leave_one_core_over(
    cores: int | None, affinity: int, threads: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engine_module.psutil, "cpu_count", lambda logical: cores)
    monkeypatch.setattr(os, "cpu_count", lambda: 16)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(affinity)), raising=False)
    monkeypatch.setattr(engine_module, "_CGROUP_QUOTA", tmp_path / "absent")
    assert default_threads({}) == threads


@pytest.mark.parametrize(("quota", "threads"), [("150000 100000", 1), ("400000 100000", 3), ("max 100000", 7)])
def test_threads_respect_a_containers_limit(
    quota: str, threads: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engine_module.psutil, "cpu_count", lambda logical: 8)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    monkeypatch.setattr(engine_module, "_CGROUP_QUOTA", tmp_path / "cpu.max")
    assert default_threads({}) == threads


def test_threads_setting_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    assert default_threads({"SOL_LOCAL_THREADS": "12"}) == 12
    monkeypatch.setenv("SOL_LOCAL_THREADS", "5")
    assert default_threads() == 5


@pytest.mark.parametrize("setting", ["0", "-1", "two", "1.5"])
def test_threads_setting_that_is_no_count_is_refused(setting: str) -> None:
    with pytest.raises(ModelError, match="SOL_LOCAL_THREADS is"):
        default_threads({"SOL_LOCAL_THREADS": setting})

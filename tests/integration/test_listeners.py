"""Whoever looks on at a run: what a listener hears, in which order, and that none can end a run."""

from collections.abc import Callable

import pytest

from sol import Sol
from sol.tree.events import Command, Event
from sol.tree.listeners import Listener
from tests.support.runs import task


class Recorder(Listener):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_event(self, event: Event) -> None:
        self.heard.append(event.type)

    def on_effect(self, command: Command) -> None:
        self.heard.append(f"effect {command.kind} of {command.node or 'the root'}")

    def on_end(self, error: BaseException | None) -> None:
        self.heard.append(f"end, {error!r}")


class Failing(Listener):
    """Fails whatever it hears, and counts."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def on_event(self, event: Event) -> None:
        self.calls.append("event")
        raise RuntimeError("not today")

    def on_effect(self, command: Command) -> None:
        self.calls.append("effect")
        raise RuntimeError("not today")

    def on_end(self, error: BaseException | None) -> None:
        self.calls.append("end")
        raise RuntimeError("not today")


async def test_listener_hears_events_effects_and_the_end(sol: Callable[..., Sol]) -> None:
    recorder = Recorder()
    run = await sol(lambda inputs: "done").start(task())
    run.listen(recorder)
    await run.wait()
    assert [one for one in recorder.heard if one.startswith(("effect", "end"))] == [
        "effect attempt of the root",
        "effect judge of the root",
        "end, None",
    ]
    assert recorder.heard[0] == "run_started"
    assert recorder.heard[-2:] == ["run_status", "end, None"]
    assert recorder.heard.index("started") < recorder.heard.index("effect attempt of the root")
    assert recorder.heard.index("effect attempt of the root") < recorder.heard.index("reported")


async def test_listener_that_fails_hears_nothing_more_but_the_end(
    sol: Callable[..., Sol], caplog: pytest.LogCaptureFixture
) -> None:
    failing, after = Failing(), Recorder()
    run = await sol(lambda inputs: "done").start(task())
    run.listen(failing)
    run.listen(after)
    await run.wait()
    assert run.solved
    assert failing.calls == ["event", "end"]
    assert after.heard[-1] == "end, None"
    assert caplog.text.count("failed and is told nothing more") == 2


async def test_listener_of_a_run_that_nobody_works_on_hears_nothing(sol: Callable[..., Sol]) -> None:
    one = sol(lambda inputs: "done")
    done = await one.asolve(task())
    recorder = Recorder()
    (await one.load(done.id)).listen(recorder)
    assert recorder.heard == []

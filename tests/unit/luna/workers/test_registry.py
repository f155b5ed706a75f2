"""Kinds of workers by name."""

import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from luna.errors import WorkerConfigError
from luna.process.execute import ProcessRegistry
from luna.protocol import WorkerSpec
from luna.testing import ScriptedWorker
from luna.workers import registry
from luna.workers.command import CommandWorker
from luna.workers.function import FunctionWorker
from luna.workers.registry import WorkerSettings, known_kinds, make, make_worker, spec_of


class Theirs(ScriptedWorker):
    """Somebody else's kind."""

    def __init__(self, options: dict[str, Any], settings: WorkerSettings) -> None:
        super().__init__({})
        self.options, self.settings = options, settings


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    """Entry points that other packages seem to have; the environment of the tests has none."""
    points: list[EntryPoint] = []

    def entry_points(*, group: str) -> Sequence[EntryPoint]:
        return [point for point in points if point.group == group]

    monkeypatch.setattr(registry, "entry_points", entry_points)
    return points


def point(name: str, attribute: str, *, module: str = __name__, package: str = "theirs") -> EntryPoint:
    made = EntryPoint(name, f"{module}:{attribute}", registry.ENTRY_POINT_GROUP)
    vars(made)["dist"] = SimpleNamespace(name=package)
    return made


def test_built_in_kinds_are_made() -> None:
    assert isinstance(make_worker(WorkerSpec.parse({"kind": "function", "function": "math:sqrt"})), FunctionWorker)
    assert isinstance(make_worker(WorkerSpec.parse({"kind": "command", "command": "true"})), CommandWorker)
    assert {"agent", "command", "function", "model"} <= set(known_kinds())


def test_unknown_kind_is_refused_with_what_there_is(installed: list[EntryPoint]) -> None:
    with pytest.raises(WorkerConfigError) as caught:
        make_worker(WorkerSpec(kind="comand"))
    assert str(caught.value) == (
        "there is no worker kind 'comand'; did you mean 'command'? known are acp, agent, command, function, model"
    )
    with pytest.raises(WorkerConfigError, match=r"'zzz'; known are acp"):
        make_worker(WorkerSpec(kind="zzz"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"command": "true", "timeout": 3},
            r"worker 'command' has no option 'timeout'; its options are command, cpu_s, env,",
        ),
        ({}, "worker 'command' needs the option 'command'"),
        ({"comand": "true"}, "worker 'command' has no option 'comand'; its options are command,"),
        ({"command": "true", "timeout_s": -1}, "worker 'command': option 'timeout_s' is -1: Input should be greater"),
        ({"command": []}, "option 'command' is"),
        ({"command": "true", "env": ["A=B"]}, "option 'env' is"),
        ({"command": "true", "ok_exit_codes": [256]}, "option 'ok_exit_codes' is"),
        ({"command": "sh 'open"}, "Close the quote"),
        ({"command": "true", "env": "A"}, "option 'env' is 'A': Input should be a list"),
        ({"command": "true", "input": "none", "input_name": "a"}, "do not go together: .*'a' needs input: json"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkerConfigError, match=message):
        make_worker(WorkerSpec(kind="command", options=options))


def test_kinds_of_other_packages_are_made(installed: list[EntryPoint], tmp_path: Any) -> None:
    installed.append(point("theirs", "Theirs"))
    settings = WorkerSettings(processes=ProcessRegistry(tmp_path))
    worker = make_worker(WorkerSpec.parse({"kind": "theirs", "a": 1}), settings=settings)
    assert type(worker).__name__ == "Theirs"
    assert vars(worker)["options"] == {"a": 1}
    assert vars(worker)["settings"] is settings
    assert "theirs" in known_kinds()


def test_kinds_of_other_packages_do_not_replace_ours(installed: list[EntryPoint]) -> None:
    installed.append(point("function", "Theirs"))
    assert isinstance(make_worker(WorkerSpec.parse({"kind": "function", "function": "math:sqrt"})), FunctionWorker)


def test_two_packages_with_one_kind_are_refused(installed: list[EntryPoint]) -> None:
    installed.extend([point("theirs", "Theirs", package="one"), point("theirs", "Theirs", package="two")])
    with pytest.raises(WorkerConfigError, match=r"'theirs' comes from several packages \(one, two\)"):
        make_worker(WorkerSpec(kind="theirs"))


@pytest.mark.parametrize(("attribute", "module"), [("gone", "json"), ("gone", "no_such_module")])
def test_a_broken_package_is_named(installed: list[EntryPoint], attribute: str, module: str) -> None:
    installed.append(point("theirs", attribute, module=module))
    with pytest.raises(WorkerConfigError, match="worker kind 'theirs' cannot be imported"):
        make_worker(WorkerSpec(kind="theirs"))


def test_what_is_no_worker_is_refused(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("theirs", "builtins:dict", registry.ENTRY_POINT_GROUP))
    with pytest.raises(WorkerConfigError, match="made a dict, which has no run method"):
        make_worker(WorkerSpec(kind="theirs"))


def test_nothing_heavy_is_imported_for_a_command() -> None:
    source = """
import sys
from luna.protocol import WorkerSpec
from luna.workers.registry import make_worker
assert "luna.workers.command" not in sys.modules
make_worker(WorkerSpec.parse({"kind": "command", "command": "true"}))
assert not {"langchain", "langchain_core", "langgraph", "luna.workers.model"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", source], check=True, timeout=60)


def test_what_is_no_factory_is_refused(installed: list[EntryPoint]) -> None:
    installed.append(EntryPoint("theirs", "math:pi", registry.ENTRY_POINT_GROUP))
    with pytest.raises(WorkerConfigError, match=r"names 3\.14\d+, which is no factory"):
        make_worker(WorkerSpec(kind="theirs"))


@pytest.mark.parametrize("given", [3, {"knd": "function"}, {"kind": "function", "options": 4}, object()])
def test_what_is_no_worker_is_refused_with_what_is_one(given: Any, tmp_path: Path) -> None:
    with pytest.raises(WorkerConfigError, match="give a kind, a mapping with kind and options, an object with a run"):
        make(spec_of(None, given), given, processes=ProcessRegistry(tmp_path), base_url=None)

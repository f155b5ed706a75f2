"""Fakes for tests of programs that use Luna: a scripted worker, chat model and server, a fake clock, a contract suite.

Loaded one by one on first use: the contract suite needs pytest, the chat model and the server need langchain-core.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from luna.testing.contract import WorkerContract
    from luna.testing.fakes import FakeClock, Pause, ScriptedChatModel, ScriptedWorker
    from luna.testing.wire import ScriptedServer
    from luna.testing.wire_format import CutStream, Hang, HttpError, Malformed, RateLimited

__all__ = [
    "CutStream",
    "FakeClock",
    "Hang",
    "HttpError",
    "Malformed",
    "Pause",
    "RateLimited",
    "ScriptedChatModel",
    "ScriptedServer",
    "ScriptedWorker",
    "WorkerContract",
]

_WHERE = {
    "CutStream": "wire_format",
    "FakeClock": "fakes",
    "Hang": "wire_format",
    "HttpError": "wire_format",
    "Malformed": "wire_format",
    "Pause": "fakes",
    "RateLimited": "wire_format",
    "ScriptedChatModel": "fakes",
    "ScriptedServer": "wire",
    "ScriptedWorker": "fakes",
    "WorkerContract": "contract",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401 - whatever is asked for
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)

"""The worker contract over the kinds that call chat models."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from luna.protocol import Worker
from luna.testing import ScriptedChatModel, WorkerContract
from luna.testing.fakes import calls
from luna.workers.agent import AgentOptions, AgentWorker
from luna.workers.agent import create as create_agent_worker
from luna.workers.model import ModelOptions, ModelWorker
from luna.workers.model import create as create_model_worker
from luna.workers.shared import WorkerSettings


class SilentChatModel(ScriptedChatModel):
    """Never answers."""

    async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
        await asyncio.Event().wait()


class TestModelWorker(WorkerContract):
    def finishing_worker(self, tmp_path: Path) -> Worker:
        return self.worker(ScriptedChatModel(lambda _: "7"))

    def endless_worker(self, tmp_path: Path) -> Worker:
        return self.worker(SilentChatModel([]))

    def unknown_option(self) -> Callable[[], object]:
        return lambda: create_model_worker({"no_such": 1})

    def worker(self, model: ScriptedChatModel) -> Worker:
        return ModelWorker(ModelOptions(model="scripted"), resolve=lambda name, **given: model)


class TestAgentWorker(WorkerContract):
    def finishing_worker(self, tmp_path: Path) -> Worker:
        return self.worker(
            ScriptedChatModel(
                lambda messages: calls(
                    ("ReportSuccess", {"summary": "counted", "result": 7})
                    if len(messages) > 2
                    else ("record_progress", {"stage": "solution"}),
                    text="counting",
                )
            )
        )

    def endless_worker(self, tmp_path: Path) -> Worker:
        return self.worker(ScriptedChatModel(lambda _: calls(("run_command", {"argv": ["sleep", "600"]}))))

    def unknown_option(self) -> Callable[[], object]:
        return lambda: create_agent_worker({"no_such": 1}, settings=WorkerSettings())

    def worker(self, model: ScriptedChatModel) -> Worker:
        options = AgentOptions(model="scripted")
        return AgentWorker(options, settings=WorkerSettings(), resolve=lambda name, **given: model)


@pytest.mark.slow
class TestAgentWithEverything(TestAgentWorker):
    """With a server of tools, reviews of calls, and little context."""

    def worker(self, model: ScriptedChatModel) -> Worker:
        options = {
            "model": "scripted",
            "max_context_tokens": 4_000,
            "approve": {"tools": ["write_file"]},
            "mcp": {"time": {"command": [sys.executable, "-m", "mcp_server_time", "--local-timezone=UTC"]}},
        }
        settings = WorkerSettings()
        return AgentWorker(AgentOptions.model_validate(options), settings=settings, resolve=lambda name, **given: model)


class TestSilentAgent(TestAgentWorker):
    def endless_worker(self, tmp_path: Path) -> Worker:
        return self.worker(SilentChatModel([]))

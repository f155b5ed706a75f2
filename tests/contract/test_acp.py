"""The worker contract over coding agents that speak ACP, with an agent built with the protocol's own package."""

from collections.abc import Callable
from pathlib import Path

from luna.protocol import Worker
from luna.testing import WorkerContract
from tests.support.acp_runs import DONE, worker


class TestAcpWorker(WorkerContract):
    settle_s = 2.0

    def finishing_worker(self, tmp_path: Path) -> Worker:
        made: Worker = worker([{"child": 600}, {"noise": 300_000}, {"say": "I begin."}, DONE])
        return made

    def endless_worker(self, tmp_path: Path) -> Worker:
        made: Worker = worker([{"child": 600}, {"wait": "ever"}])
        return made

    def unknown_option(self) -> Callable[[], object]:
        return lambda: worker(options={"no_such": 1})

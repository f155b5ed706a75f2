"""`sol ui` as a real process: who can reach it, and how it ends."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import psutil
import pytest

from sol import Sol
from tests.support.pages import a_sol
from tests.support.runs import task

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="uses signals")]

END_S = 10
"""How long it may take to end on a busy machine; it does not wait for anything."""


@contextmanager
def a_process(directory: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`sol ui` at work, and the address it printed."""
    command = [sys.executable, "-c", "from sol.cli import main; main()", "ui", *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SOL_", "COV_"))}
    with subprocess.Popen(
        command, cwd=directory, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            yield process, line.removeprefix("Open ").strip()
        finally:
            process.kill()


@pytest.fixture
async def run_id(tmp_path: Path) -> str:
    sol: Sol = a_sol(tmp_path, store=None)
    return (await sol.asolve(task("build the wall"))).id


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_it_although_a_page_is_open(tmp_path: Path, run_id: str, number: signal.Signals) -> None:
    with a_process(tmp_path, "latest") as (process, address):
        assert re.fullmatch(rf"http://127\.0\.0\.1:\d+/run/{run_id}\?token=[\w-]{{32}}", address)
        home = address.partition("/run/")[0]
        with httpx.Client(base_url=home) as client:
            assert client.get("/").status_code == 403
            assert client.get(address).status_code == 200
            with client.stream("GET", f"/api/runs/{run_id}/events", timeout=END_S) as stream:
                lines = stream.iter_lines()
                assert next(lines) == "event: changed"
                process.send_signal(number)
                out, err = process.communicate(timeout=END_S)
        assert out == ""
        assert "Traceback" not in err
        assert process.returncode == (0 if number == signal.SIGINT else -signal.SIGTERM)


def test_only_this_machine_can_reach_it(tmp_path: Path, run_id: str) -> None:
    with a_process(tmp_path) as (process, _):
        listening = [one for one in psutil.Process(process.pid).net_connections() if one.status == psutil.CONN_LISTEN]
        assert [one.laddr.ip for one in listening] == ["127.0.0.1"]


def test_chosen_port_is_used(tmp_path: Path, run_id: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with a_process(tmp_path, "--port", str(port)) as (_, address):
        assert address.startswith(f"http://127.0.0.1:{port}/?token=")

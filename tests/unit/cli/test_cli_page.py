"""`sol show --html` and `sol ui`, up to where the server begins."""

import asyncio
import json
import re
import socket
from importlib.util import find_spec
from typing import Any

import pytest

from sol.cli import runs
from sol.ui.server import Service
from tests.support.cli import CommandLine


def test_show_html_writes_the_page(sol: CommandLine) -> None:
    sol("solve", sol.task())
    ended = sol("show", "latest", "--html", "page.html")
    assert (ended.code, ended.out, ended.err) == (0, "", "written: page.html\n")
    text = (sol.directory / "page.html").read_text()
    data = json.loads(re.findall(r'id="data">(.*?)</script>', text)[0])
    assert (data["about"]["id"], len(data["rows"])) == (sol.run_id(), 7)


def test_show_html_of_no_run_is_not_found(sol: CommandLine) -> None:
    ended = sol("show", "nope", "--html", "page.html")
    assert ended.code == 3
    assert not (sol.directory / "page.html").exists()


def test_show_html_says_where_it_cannot_write(sol: CommandLine) -> None:
    sol("solve", sol.task())
    ended = sol("show", "--html", "missing/page.html")
    assert ended.code == 2
    assert "Cannot write the page to 'missing/page.html'" in ended.err


def test_ui_names_the_extra_that_is_missing(sol: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "find_spec", lambda name: None if name == "uvicorn" else find_spec(name))
    ended = sol("ui")
    assert ended.code == 2
    assert "sol ui needs uvicorn. Install it with: pip install 'sol-luna[ui]'" in ended.err


def test_ui_says_that_a_port_is_taken(sol: CommandLine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = sol("ui", "--port", str(taken.getsockname()[1]))
    assert ended.code == 2
    assert "cannot be used" in ended.err


def test_ui_of_no_run_is_not_found(sol: CommandLine) -> None:
    assert sol("ui", "nope").code == 3
    sol("solve", sol.task())
    assert sol("ui", "nope").code == 3


@pytest.mark.parametrize("named", [True, False])
def test_ui_tells_the_address_and_ends_without_a_fault(
    sol: CommandLine, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    served: list[tuple[Service, dict[str, Any]]] = []

    async def serve(service: Service, **how: Any) -> None:
        served.append((service, how))
        how["tell"]("http://127.0.0.1:1/?token=t")
        await asyncio.sleep(0)
        raise KeyboardInterrupt

    monkeypatch.setattr("sol.ui.server.serve", serve)
    sol("solve", sol.task())
    run_id = sol.run_id()
    ended = sol("ui", *([run_id[:4]] if named else []), "--port", "0", "--workspace", ".")
    assert (ended.code, ended.out) == (0, "Open http://127.0.0.1:1/?token=t\n")
    assert "Ctrl-C ends it" in ended.err
    (service, how) = served[0]
    assert how["path"] == (f"/run/{run_id}" if named else "/")
    assert (service.where, service.again, service.exists()) == (".sol/runs.db", " --workspace .", True)

import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from luna.errors import WeightsError
from luna.models.fetch import HubSource
from luna.models.known import LocalModel
from tests.unit.luna.models.conftest import SLICES, WheelIndex

WHOLE = b"".join(SLICES)


class Hub(ThreadingHTTPServer):
    """A hub on loopback. Its attributes say how it answers; `requests` are (path, range) pairs."""

    content = WHOLE
    ranges = True
    announced: int | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str | None]] = []

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        wanted = self.headers["Range"]
        self.server.requests.append((self.path, wanted))
        if self.path == "/moved":
            self.send_response(200)
        elif "tiny.gguf" not in self.path:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.server.ranges else 0
        body = self.server.content[start:]
        if self.path != "/moved":
            self.send_response(206 if start else 200)
        length = len(body) if self.server.announced is None else self.server.announced
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Be quiet."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def partial(tmp_path: Path) -> Path:
    return tmp_path / "tiny.partial"


def extend(hub: Hub, index: WheelIndex, partial: Path) -> list[int]:
    seen: list[int] = []
    HubSource(hub.endpoint + "/").extend(partial, index.model, report=seen.append)
    return seen


def test_hub_gives_the_whole_file(hub: Hub, index: WheelIndex, partial: Path) -> None:
    assert extend(hub, index, partial)[-1] == len(WHOLE)
    assert partial.read_bytes() == WHOLE
    assert hub.requests == [("/nobody/tiny/resolve/main/tiny.gguf", None)]


def test_hub_continues_where_an_earlier_try_stopped(hub: Hub, index: WheelIndex, partial: Path) -> None:
    partial.write_bytes(WHOLE[:5])
    extend(hub, index, partial)
    assert partial.read_bytes() == WHOLE
    assert hub.requests[0][1] == "bytes=5-"


def test_hub_without_ranges_starts_over(hub: Hub, index: WheelIndex, partial: Path) -> None:
    hub.ranges = False
    partial.write_bytes(b"other")
    extend(hub, index, partial)
    assert partial.read_bytes() == WHOLE


def test_hub_that_sends_too_much_is_stopped(hub: Hub, index: WheelIndex, partial: Path) -> None:
    hub.content = WHOLE + b"!"
    with pytest.raises(WeightsError, match="more than the expected 21 bytes"):
        extend(hub, index, partial)


@pytest.mark.parametrize("announced", [None, len(WHOLE)])
def test_hub_that_stops_early_is_told_and_keeps_what_came(
    announced: int | None, hub: Hub, index: WheelIndex, partial: Path
) -> None:
    hub.content, hub.announced = WHOLE[:8], announced
    with pytest.raises(WeightsError, match=r"8 of 21 bytes|IncompleteRead"):
        extend(hub, index, partial)
    assert partial.stat().st_size <= 8


def test_hub_without_the_file_is_told(hub: Hub, index: WheelIndex, partial: Path) -> None:
    with pytest.raises(WeightsError, match=r"resolve/main/other\.bin: HTTP Error 404"):
        HubSource(f"{hub.endpoint}/not-there").extend(partial, _renamed(index), report=lambda _: None)


def _renamed(index: WheelIndex) -> LocalModel:
    return replace(index.model, hub_file="other.bin")


def test_hub_that_cannot_be_reached_is_told(index: WheelIndex, partial: Path) -> None:
    with pytest.raises(WeightsError, match="refused"):
        HubSource("http://127.0.0.1:9").extend(partial, index.model, report=lambda _: None)


def test_hub_address_of_another_scheme_is_refused(index: WheelIndex, partial: Path) -> None:
    with pytest.raises(WeightsError, match="HF_ENDPOINT"):
        HubSource("file:///etc").extend(partial, index.model, report=lambda _: None)

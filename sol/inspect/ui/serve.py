"""Run the server until Ctrl-C, on this machine only."""

import secrets
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn

from sol.errors import UsageError
from sol.inspect.ui.app import Service, make_app
from sol.inspect.ui.guard import Secrets

HOST = "127.0.0.1"
_END_S = 1
"""Seconds that answers in progress have to end."""


async def serve(service: Service, *, port: int, path: str, tell: Callable[[str], None]) -> None:
    """Serve until a signal comes, or the service is to stop.

    Args:
        service: What to serve.
        port: Where; 0: any free port.
        path: Page that the address leads to.
        tell: Told the address, with its token, once it can be opened.

    Raises:
        UsageError: If the port cannot be had.
        KeyboardInterrupt: After Ctrl-C, when the server has ended.
    """
    listening = _listen(port)
    port = listening.getsockname()[1]
    known = Secrets(token=secrets.token_urlsafe(24), post=secrets.token_urlsafe(24))
    config = uvicorn.Config(
        make_app(service, known, port=port),
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=_END_S,
    )
    tell(f"http://{HOST}:{port}{path}?token={known.token}")
    await _Server(config, service).serve(sockets=[listening])


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen(64)
    except (OSError, OverflowError) as error:
        listening.close()
        raise UsageError(f"Port {port} cannot be used: {error}. Give another --port, or leave it out.") from error
    return listening


class _Server(uvicorn.Server):
    """A server that ends when its service is to, or when a signal comes; endless answers end with it."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def on_tick(self, counter: int) -> bool:
        """Whether to end; asked ten times a second."""
        return await super().on_tick(counter) or self._service.stopping.is_set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come."""
        self._service.stopping.set()
        super().handle_exit(sig, frame)

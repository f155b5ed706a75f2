"""The page of a run, live: requests are answered, events streamed, cancellations and answers taken."""

import asyncio
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from luna.text import redact, strip_controls
from sol.errors import ConflictError, NotFoundError, SolError, UsageError
from sol.journal import Journal, StoredRun
from sol.page.data import About
from sol.page.render import about_run, render_live
from sol.solver import Sol
from sol.ui.follow import Followed
from sol.ui.guard import Guard, Secrets

POLL_S: Final = 0.5
"""Seconds between looks for new events."""

ALIVE_S: Final = 10.0
"""Seconds after which something is sent although nothing happened: so that a browser that has gone away is noticed."""

RUNS: Final = 200
"""Most runs that are listed."""

KEPT: Final = 8
"""Most runs that are kept in memory, those looked at last."""

MAX_BODY_BYTES: Final = 1_000_000
_SHARE = 10
"""Working out what has changed may take one part in so many of the time."""


@dataclass(slots=True, kw_only=True)
class Service:
    """What the server works with.

    Attributes:
        sol: Whose runs.
        by: Who asks, for the record.
        where: Where the runs are kept, in words.
        again: Options that a proposed command needs to find the runs; "" or with a space in front.
        exists: Whether there is a store yet. Looking makes none.
        poll_s: Seconds between looks for new events.
        stopping: Set when the server ends, so that open streams do.
    """

    sol: Sol
    by: str
    where: str = ""
    again: str = ""
    exists: Callable[[], bool] = lambda: True
    poll_s: float = POLL_S
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    _followed: dict[str, Followed] = field(default_factory=dict)

    async def runs(self) -> list[dict[str, Any]]:
        """The newest runs."""
        if not self.exists():
            return []
        async with self.sol.open_journal() as journal:
            found = await journal.list(limit=RUNS)
        now = self.sol.clock.now()
        return [_run(one, now) for one in found]

    def require_store(self) -> None:
        """Do nothing if there is a store.

        Raises:
            NotFoundError: Otherwise.
        """
        if not self.exists():
            raise NotFoundError(f"There are no runs yet: {self.where} does not exist.")

    async def follow(self, journal: Journal, run_id: str) -> Followed:
        """A run, up to now.

        Raises:
            NotFoundError: If there is no such run.
        """
        found = self._followed.pop(run_id, None) or Followed(await journal.info(run_id), self.sol.clock)
        self._followed[run_id] = found
        while len(self._followed) > KEPT:
            del self._followed[next(iter(self._followed))]
        await found.catch_up(journal)
        return found

    async def stream(self, run_id: str, after: int, generation: int) -> AsyncIterator[str]:
        """Server-sent events: what has changed since the event numbered `after`, for as long as anybody listens."""
        loop = asyncio.get_running_loop()
        told: Mapping[str, Any] = {}
        sent_at = loop.time()
        async with self.sol.open_journal() as journal:
            followed = await self.follow(journal, run_id)
            while not self.stopping.is_set():
                began = loop.time()
                await followed.catch_up(journal)
                if followed.generation != generation:
                    yield _message("reload", {}, followed.mark())
                    return
                known = _lasting(followed.about)
                if followed.seq > after or known != told:
                    yield _message("changed", followed.changes(after), followed.mark())
                    after, told, sent_at = followed.seq, known, loop.time()
                elif loop.time() - sent_at >= ALIVE_S:
                    yield ": still here\n\n"
                    sent_at = loop.time()
                with suppress(TimeoutError):
                    pause = max(self.poll_s, _SHARE * (loop.time() - began))
                    await asyncio.wait_for(self.stopping.wait(), pause)


def _lasting(about: About) -> dict[str, Any]:
    """What of it is news by itself, although no event tells it."""
    return {"status": about.status, "held": about.held_by}


def _message(kind: str, data: Mapping[str, Any], mark: Mapping[str, int]) -> str:
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return f"event: {kind}\nid: {mark['generation']}.{mark['seq']}\ndata: {text}\n\n"


def _run(stored: StoredRun, now: float) -> dict[str, Any]:
    about, summary = about_run(stored, now=now), stored.summary or {}
    return {
        "id": stored.id,
        "status": about.status,
        "title": strip_controls(stored.title),
        "age": now - stored.created_t,
        "elapsed": about.elapsed_s,
        **{name: summary.get(name, 0) for name in ("nodes", "calls", "tokens", "cost")},
    }


# --- the application -------------------------------------------------------------------------------------------------


def make_app(service: Service, secrets: Secrets, *, port: int) -> ASGIApp:
    """The whole server, guarded.

    Args:
        service: What it works with.
        secrets: What a browser must show.
        port: The port it is reached at.
    """
    at = _Addresses(service, render_live({"post": secrets.post}))
    one = "/api/runs/{run}"
    routes = [
        Route("/", at.page),
        Route("/run/{run}", at.page),
        Route("/api/runs", at.runs),
        Route(one, at.overview),
        Route(f"{one}/history", at.history),
        Route(f"{one}/events", at.events),
        Route(f"{one}/answer", at.answer, methods=["POST"]),
        Route(f"{one}/cancel", at.cancel, methods=["POST"]),
    ]
    return Guard(
        Starlette(routes=routes, exception_handlers={SolError: _explain, Exception: _broken}), secrets, port=port
    )


@dataclass(frozen=True, slots=True)
class _Addresses:
    """What is at each address."""

    service: Service
    shell: str

    async def page(self, _request: Request) -> Response:
        return HTMLResponse(self.shell)

    async def runs(self, _request: Request) -> Response:
        return _json({"where": self.service.where, "runs": await self.service.runs()})

    async def overview(self, request: Request) -> Response:
        async with self._followed(request) as (followed, _):
            return _json(followed.overview())

    async def history(self, request: Request) -> Response:
        path = request.query_params.get("node", "")
        async with self._followed(request) as (followed, journal):
            found = await followed.history(journal, path)
        if found is None:
            raise NotFoundError(f"Run {followed.run_id} has no node {path!r}.")
        return _json(found)

    async def events(self, request: Request) -> Response:
        generation, after = _mark_of(request)
        async with self._followed(request) as (followed, _):  # what is wrong is told before the stream begins
            stream = self.service.stream(followed.run_id, after, generation)
        return StreamingResponse(stream, media_type="text/event-stream")

    async def answer(self, request: Request) -> Response:
        return await _ask(self.service, request, "answer", "text")

    async def cancel(self, request: Request) -> Response:
        return await _ask(self.service, request, "cancel", "reason")

    @asynccontextmanager
    async def _followed(self, request: Request) -> AsyncIterator[tuple[Followed, Journal]]:
        self.service.require_store()
        async with self.service.sol.open_journal() as journal:
            yield await self.service.follow(journal, request.path_params["run"]), journal


def _json(value: object) -> Response:
    """A JSON answer; Starlette's own cannot hold half a surrogate pair."""
    return Response(json.dumps(value, separators=(",", ":")), media_type="application/json")


def _mark_of(request: Request) -> tuple[int, int]:
    """Generation and number of the last event that the page knows: what the browser says, or else the address."""
    generation, _, seq = request.headers.get("last-event-id", "").partition(".")
    if not seq:
        generation, seq = request.query_params.get("generation", "0"), request.query_params.get("after", "0")
    try:
        return int(generation), int(seq)
    except ValueError:
        raise UsageError(f"{generation!r} and {seq!r} name no event. Load the page anew.") from None


async def _ask(service: Service, request: Request, kind: str, words: str) -> Response:
    """Ask something of a run, as its command line does."""
    service.require_store()
    run_id = request.path_params["run"]
    asked = await _body(request)
    payload = {name: asked.get(name, "") for name in ("node", words)}
    if not all(isinstance(value, str) for value in payload.values()):
        raise UsageError(f"node and {words} must be texts, not {asked!r:.200}.")
    if kind == "answer" and not payload[words].strip():
        raise UsageError("The answer is empty. Write one.")
    outcome = await service.sol.request(run_id, kind, payload, by=service.by)
    if outcome == "posted":
        return JSONResponse({"said": "Passed on to the process that works on the run."})
    said = "Cancelled." if kind == "cancel" else f"Noted. Go on with: sol resume {run_id}{service.again}"
    return JSONResponse({"said": said})


async def _body(request: Request) -> dict[str, Any]:
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > MAX_BODY_BYTES:
            raise UsageError(f"The text is longer than {MAX_BODY_BYTES:,} bytes. Shorten it.")
    try:
        asked = json.loads(found)
    except ValueError as error:
        raise UsageError(f"The request is no JSON: {error}.") from error
    if not isinstance(asked, dict):
        raise UsageError(f"The request must be a JSON object, not {asked!r:.200}.")
    return asked


async def _explain(_request: Request, error: Exception) -> Response:
    match error:
        case NotFoundError():
            code = 404
        case ConflictError():
            code = 409
        case UsageError():
            code = 400
        case _:
            code = 500
    return JSONResponse({"error": redact(strip_controls(str(error)))}, status_code=code)


async def _broken(_request: Request, error: Exception) -> Response:
    """What is wrong with Sol itself; the server shows where in its terminal."""
    return JSONResponse(
        {"error": f"Sol itself is broken: {type(error).__name__}. Its terminal says more."}, status_code=500
    )


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

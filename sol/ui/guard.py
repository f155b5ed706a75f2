"""Who may talk to the server: whoever knows its token, from this machine, and no other page in their browser.

Every request passes here first. Knows nothing of runs.
"""

import hmac
import re
from dataclasses import dataclass
from html import escape
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POST_HEADER: Final = "X-Sol-Token"
_SAFE = frozenset({"GET", "HEAD"})
_RUN_PAGE = re.compile(r"/run/[a-z0-9_-]{1,64}")
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a browser must show.

    Attributes:
        token: Stands in the address that is printed; becomes the cookie.
        post: Stands in the page, which other pages cannot read; requests that change something carry it.
    """

    token: str
    post: str


class Guard:
    """Lets requests through to `app` that are allowed; answers all others itself.

    Args:
        app: What is guarded.
        secrets: What a browser must show.
        port: The server's port. Requests for another host are refused: a name that an attacker owns may lead here too.
    """

    def __init__(self, app: ASGIApp, secrets: Secrets, *, port: int) -> None:
        self._app = app
        self._secrets = secrets
        self._hosts = frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))
        self._cookie = f"sol_ui_{port}"  # browsers do not tell ports apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise RuntimeError(f"This server answers no {scope['type']!r} requests.")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        refused = self._refused(scope)
        await (refused if refused is not None else self._app)(scope, receive, send_with_headers)

    def _refused(self, scope: Scope) -> Response | None:
        """The answer to a request that goes no further; None when it may."""
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return _no(f"This server is not {headers.get('host')!r}. Use the address that sol ui printed.")
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if given and scope["method"] == "GET":
            return self._enter(given[0], scope["path"])
        if not _same(_cookie(headers, self._cookie), self._secrets.token):
            return _no("Open the address that sol ui printed; it has the token.")
        if scope["method"] in _SAFE:
            return None
        if not _same(headers.get(POST_HEADER, ""), self._secrets.post):
            return _no(f"The header {POST_HEADER} is missing or wrong. Load the page anew.")
        if "origin" in headers and headers["origin"].lower() not in {f"http://{host}" for host in self._hosts}:
            return _no(f"Nothing is taken from the page {headers['origin']!r}.")
        return None

    def _enter(self, token: str, path: str) -> Response:
        if not _same(token, self._secrets.token):
            return _no("The token is wrong. Open the address that sol ui printed last.")
        target = path if _RUN_PAGE.fullmatch(path) else "/"
        # Not a redirect: after one that a page elsewhere has led to, the browser would hold the strict cookie back.
        # With an icon of its own, or else the browser asks for one.
        icon = '<link rel="icon" href="data:,">'
        answer = HTMLResponse(f'<!doctype html>{icon}<meta http-equiv="refresh" content="0;url={escape(target)}">')
        answer.set_cookie(self._cookie, self._secrets.token, httponly=True, samesite="strict", path="/")
        return answer


def _no(words: str) -> Response:
    return JSONResponse({"error": words}, status_code=403)


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode(), wanted.encode())


def _cookie(headers: Headers, name: str) -> str:
    """A cookie's value; other programs of this machine may have left odd ones beside it."""
    for part in headers.get("cookie", "").split(";"):
        found, _, value = part.strip().partition("=")
        if found == name:
            return value
    return ""

"""Who may talk to the server."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.responses import HTMLResponse

from sol.ui.guard import POST_HEADER, Guard, Secrets
from sol.ui.server import Service, make_app
from tests.support.pages import a_sol

PORT = 8123
HOME = f"http://127.0.0.1:{PORT}"
SECRETS = Secrets(token="the-token", post="the-post-token")
COOKIE = f"sol_ui_{PORT}"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = make_app(Service(sol=a_sol(tmp_path), by="test"), SECRETS, port=PORT)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url=HOME) as found:
        yield found


def known(client: httpx.AsyncClient) -> httpx.AsyncClient:
    client.cookies.set(COOKIE, SECRETS.token)
    return client


@pytest.mark.parametrize("path", ["/", "/run/x", "/api/runs", "/api/runs/x", "/api/runs/x/events", "/nowhere"])
async def test_nothing_is_given_without_the_token(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 403
    assert "the-post-token" not in answer.text


@pytest.mark.parametrize("path", ["/?token=wrong", "/?token=", "/?token=the-token-and-more", "/?token=%C3%A9"])
async def test_wrong_token_is_refused(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


async def test_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_have(client: httpx.AsyncClient) -> None:
    answer = await client.get("/?token=the-token")
    assert answer.status_code == 200
    cookie = answer.headers["set-cookie"].lower()
    assert cookie.startswith(f"{COOKIE}=the-token;")
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert 'content="0;url=/"' in answer.text
    assert (await client.get("/")).status_code == 200


@pytest.mark.parametrize(
    ("path", "target"),
    [("/run/abc", "/run/abc"), ("//evil.example", "/"), ("/run/abc/../..//evil", "/"), ('/run/"><script>', "/")],
)
async def test_token_leads_only_to_pages_of_this_server(client: httpx.AsyncClient, path: str, target: str) -> None:
    answer = await client.get(f"{HOME}{path}", params={"token": "the-token"})
    assert f'content="0;url={target}"' in answer.text


@pytest.mark.parametrize("host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", ""])
async def test_other_hosts_are_refused_even_with_the_token(client: httpx.AsyncClient, host: str) -> None:
    for path in ("/", "/?token=the-token"):
        answer = await known(client).get(path, headers={"Host": host})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", [f"localhost:{PORT}", f"[::1]:{PORT}", f"LocalHost:{PORT}"])
async def test_other_names_of_this_machine_are_accepted(client: httpx.AsyncClient, host: str) -> None:
    answer = await client.get("/", headers={"Host": host, "Cookie": f"{COOKIE}=the-token"})
    assert answer.status_code == 200


@pytest.mark.parametrize("cookie", [f"{COOKIE}=wrong", f"{COOKIE}=", "sol_ui_1=the-token", "=;=;", "a=b\x01"])
async def test_other_cookies_are_refused(client: httpx.AsyncClient, cookie: str) -> None:
    assert (await client.get("/", headers={"Cookie": cookie})).status_code == 403


@pytest.mark.parametrize("others", ["a,b=c; ", "odd; =x; ", ""])
async def test_cookies_of_other_programs_do_not_matter(client: httpx.AsyncClient, others: str) -> None:
    assert (await client.get("/", headers={"Cookie": f"{others}{COOKIE}=the-token"})).status_code == 200


async def test_nothing_but_http_is_answered() -> None:
    guard = Guard(HTMLResponse(""), SECRETS, port=PORT)
    with pytest.raises(RuntimeError, match="no 'websocket' requests"):
        await guard({"type": "websocket"}, None, None)  # type: ignore[arg-type]  # neither is asked


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {POST_HEADER: "wrong"},
        {POST_HEADER: "the-token"},
        {POST_HEADER: "the-post-token", "Origin": "http://evil.example"},
        {POST_HEADER: "the-post-token", "Origin": "http://127.0.0.1:1"},
        {POST_HEADER: "the-post-token", "Origin": "null"},
    ],
)
async def test_cookie_alone_changes_nothing(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    answer = await known(client).post("/api/runs/x/cancel", json={"node": ""}, headers=headers)
    assert answer.status_code == 403


async def test_request_with_both_goes_through(client: httpx.AsyncClient) -> None:
    headers = {POST_HEADER: SECRETS.post, "Origin": HOME}
    assert (await known(client).post("/api/runs/x/cancel", json={"node": ""}, headers=headers)).status_code == 404
    assert (await known(client).put("/api/runs/x/cancel", headers=headers)).status_code == 405


async def test_every_answer_keeps_to_itself(client: httpx.AsyncClient) -> None:
    for answer in (await client.get("/"), await known(client).get("/"), await known(client).get("/api/runs")):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert not [name for name in answer.headers if name.startswith("access-control")]

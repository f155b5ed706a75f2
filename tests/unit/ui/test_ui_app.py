"""What the server tells of runs, and what it asks of them."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from luna.protocol import Stuck, StuckKind, Success
from luna.testing import ScriptedWorker
from sol import Sol
from sol.journal import Lease, MemoryJournal, NewRecord, RunInfo, this_process
from sol.page.data import EVENTS
from sol.run import WORKFLOW, Run
from sol.ui.follow import Followed
from sol.ui.guard import POST_HEADER, Secrets
from sol.ui.server import MAX_BODY_BYTES, Service, make_app
from tests.support.core import assignment_of
from tests.support.pages import a_sol, builder
from tests.support.runs import task

SECRETS = Secrets(token="the-token", post="the-post-token")
POST = {POST_HEADER: SECRETS.post}


def asking(answered: Any = "ok") -> ScriptedWorker:
    """Asks a person first."""
    before: list[int] = []

    def script(_: Any) -> Any:
        before.append(1)
        if len(before) == 1:
            return Stuck(kind=StuckKind.NEEDS_HUMAN, blocker="two colours", question="red or blue?")
        return Success(summary="done", result=answered)

    return ScriptedWorker(script)


def client_of(service: Service) -> httpx.AsyncClient:
    app = make_app(service, SECRETS, port=80)
    cookies = {"sol_ui_80": SECRETS.token}
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:80", cookies=cookies, headers={"Host": "127.0.0.1:80"}
    )


@asynccontextmanager
async def served(sol: Sol, **more: Any) -> AsyncIterator[tuple[httpx.AsyncClient, Service]]:
    service = Service(sol=sol, by="somebody", where="a store", again=" --store X", poll_s=0.005, **more)
    async with client_of(service) as client:
        yield client, service


async def told(stream: AsyncIterator[str], kind: str, until: Any = lambda data: True) -> dict[str, Any]:
    """The next message of a kind, from a stream of server-sent events, that a condition holds for."""
    async for text in stream:
        fields = dict(line.split(": ", 1) for line in text.strip().splitlines() if not line.startswith(":"))
        if fields.get("event") == kind:
            data: dict[str, Any] = json.loads(fields["data"]) | {"id": fields["id"]}
            if until(data):
                return data
    pytest.fail(f"the stream ended without {kind}")


async def test_runs_are_listed_the_newest_first(tmp_path: Path) -> None:
    sol = a_sol(tmp_path)
    first, second = await sol.asolve(task("lay")), await sol.asolve(task("build the wall"))
    async with served(sol) as (client, _):
        found = (await client.get("/api/runs")).json()
    assert found["where"] == "a store"
    assert [(run["id"], run["status"], run["title"], run["nodes"]) for run in found["runs"]] == [
        (second.id, "success", "build the wall", 5),
        (first.id, "success", "lay", 1),
    ]


async def test_looking_makes_no_store(tmp_path: Path) -> None:
    sol = a_sol(tmp_path, store=f"sqlite:///{tmp_path / 'none.db'}")
    async with served(sol, exists=lambda: False) as (client, _):
        assert (await client.get("/api/runs")).json()["runs"] == []
        for path in ("", "/history", "/events"):
            answer = await client.get(f"/api/runs/x{path}")
            assert (answer.status_code, "no runs yet" in answer.json()["error"]) == (404, True)
        assert (await client.post("/api/runs/x/cancel", json={}, headers=POST)).status_code == 404
    assert not (tmp_path / "none.db").exists()


async def test_overview_is_what_a_file_would_hold(tmp_path: Path) -> None:
    sol = a_sol(tmp_path)
    run = await sol.asolve(task("build the wall"))
    async with served(sol) as (client, _):
        found = (await client.get(f"/api/runs/{run.id}")).json()
    assert (found["about"]["status"], len(found["rows"]), found["generation"]) == ("success", 5, 0)
    assert found["seq"] > 20
    assert any(critical for *_, critical in found["spans"])


async def test_history_is_told_of_any_node(tmp_path: Path) -> None:
    sol = a_sol(tmp_path)
    run = await sol.asolve(task("build the wall"))
    async with served(sol) as (client, _):
        found = (await client.get(f"/api/runs/{run.id}/history", params={"node": "01"})).json()
        assert ["Goal", "the upper rows", ""] in dict(found["sections"])["Assignment"]
        assert {one[1] for one in found["events"]} >= {"created", "started", "reported", "settled"}
        missing = await client.get(f"/api/runs/{run.id}/history", params={"node": "zz"})
        assert (missing.status_code, "no node 'zz'" in missing.json()["error"]) == (404, True)


async def test_unknown_run_is_not_found(tmp_path: Path) -> None:
    async with served(a_sol(tmp_path)) as (client, _):
        for path in ("", "/history", "/events"):
            assert (await client.get(f"/api/runs/nope{path}")).status_code == 404


async def test_odd_place_to_begin_from_is_refused(tmp_path: Path) -> None:
    sol = a_sol(tmp_path)
    run = await sol.asolve(task("lay"))
    async with served(sol) as (client, _):
        answer = await client.get(f"/api/runs/{run.id}/events?after=x")
        assert (answer.status_code, "name no event" in answer.json()["error"]) == (400, True)


async def test_fault_of_the_server_is_told_without_its_words(tmp_path: Path) -> None:
    class Broken(MemoryJournal):
        async def list(self, **_: Any) -> Any:
            raise RuntimeError("a secret")

    async with served(a_sol(tmp_path, store=Broken())) as (client, _):
        answer = await client.get("/api/runs")
        assert answer.status_code == 500
        assert "RuntimeError" in answer.json()["error"]
        assert "secret" not in answer.text


# --- following -------------------------------------------------------------------------------------------------------


async def test_stream_tells_what_has_changed_until_the_run_ends(tmp_path: Path) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    def held(_: Any) -> Any:
        begun.set()
        return [go_on, Success(summary="done", result=1)]

    sol = a_sol(tmp_path, builder(bricks=held))
    run = await sol.start(task("build the wall"))
    async with served(sol) as (client, service):
        await begun.wait()
        before = (await client.get(f"/api/runs/{run.id}")).json()
        assert before["about"]["heldBy"]
        async with aclosing(service.stream(run.id, before["seq"], 0)) as stream:
            go_on.set()
            end = await told(stream, "changed", lambda data: data["about"]["status"] == "success")
    rows = {row[0]: row for row in end["rows"]}
    assert rows[0][3] == "success"
    assert end["critical"]
    assert end["id"] == f"0.{end['id'].partition('.')[2]}"
    assert (await run.wait()).solved


async def test_stream_goes_on_after_the_last_event_that_the_page_had(tmp_path: Path) -> None:
    sol = a_sol(tmp_path)
    run = await sol.asolve(task("build the wall"))
    async with served(sol) as (_, service):
        async with aclosing(service.stream(run.id, 0, 0)) as stream:
            everything = await told(stream, "changed")
        last = int(everything["id"].partition(".")[2])
        async with aclosing(service.stream(run.id, last - 1, 0)) as stream:
            end = await told(stream, "changed")
        assert len(everything["rows"]) == 5
        assert [row[0] for row in end["rows"]] == [0]
        assert everything["spans"][0][:4] == [0, 0, "attempt", 1]


async def test_stream_shows_that_nobody_is_at_work_any_more(tmp_path: Path) -> None:
    journal = MemoryJournal()
    lease = await journal.create(RunInfo(id="r1", created_t=1.0, title="t", meta={}), this_process("a"))
    await start(journal, lease)
    service = Service(sol=a_sol(tmp_path, store=journal), by="somebody", poll_s=0.005)
    async with aclosing(service.stream("r1", 0, 0)) as stream:
        assert (await told(stream, "changed"))["about"]["status"] == "running"
        await journal.release(lease)
        assert (await told(stream, "changed"))["about"]["status"] == "killed"


async def test_stream_ends_with_the_server_and_says_meanwhile_that_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sol.ui.server.ALIVE_S", 0.0)
    sol = a_sol(tmp_path)
    run = await sol.asolve(task("lay"))
    async with served(sol) as (_, service):
        found = []
        async for text in service.stream(run.id, 0, 0):
            found.append(text)
            if text.startswith(":"):
                service.stopping.set()
        assert found[-1] == ": still here\n\n"


async def test_page_of_an_older_tree_is_told_to_begin_anew(tmp_path: Path) -> None:
    sol = a_sol(tmp_path)
    run = await sol.asolve(task("lay"))
    async with served(sol) as (client, service):
        async with aclosing(service.stream(run.id, 0, 7)) as stream:
            assert (await told(stream, "reload"))["id"].startswith("0.")
        service.stopping.set()
        headers = {"Last-Event-ID": "7.3"}
        answer = await client.get(f"/api/runs/{run.id}/events?after=0&generation=0", headers=headers)
        assert answer.headers["content-type"].startswith("text/event-stream")


async def test_only_the_runs_looked_at_last_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sol.ui.server.KEPT", 2)
    sol = a_sol(tmp_path)
    runs = [await sol.asolve(task("lay")) for _ in range(3)]
    async with served(sol) as (client, service):
        for one in runs:
            assert (await client.get(f"/api/runs/{one.id}")).status_code == 200
        assert list(service._followed) == [one.id for one in runs[1:]]


async def start(journal: MemoryJournal, lease: Lease, **more: Any) -> None:
    data = {"assignment": assignment_of("lay"), "worker": {"kind": "function"}, "strategy": {}} | more
    created = ["created", "", {"assignment": assignment_of("lay")}]
    then = b"" if more else json.dumps([created]).encode()
    await journal.append(lease, [row(1.0, "run_started", "", data, then)], status="running")


def row(t: float, kind: str, node: str, data: dict[str, Any], then: bytes = b"") -> NewRecord:
    return NewRecord(t, kind, node, json.dumps(data).encode(), then)


async def test_history_of_a_busy_node_reads_only_what_it_tells(tmp_path: Path) -> None:
    journal = MemoryJournal()
    lease = await journal.create(RunInfo(id="r1", created_t=1.0, title="t", meta={}), this_process("a"))
    await start(journal, lease)
    await journal.append(lease, [row(2.0, "stopped", "", {"n": n}) for n in range(EVENTS)])
    sol = a_sol(tmp_path, store=journal)
    followed = Followed(await journal.info("r1"), sol.clock)
    found = await followed.history(journal, "")
    assert found is not None
    assert (len(found["events"]), found["leftOut"]) == (EVENTS, 2)
    assert found["events"][-1][3] == f'{{"n": {EVENTS - 1}}}'


REVIEW = {"file": "review.yaml", "max_steps": 5, "interactive": False, "report_dir": "r", "definition": {}}
"""What else the start of a workflow says."""


async def test_workflow_that_is_walked_through_anew_begins_a_new_tree(tmp_path: Path) -> None:
    journal = MemoryJournal()
    info = RunInfo(id="w1", created_t=1.0, title="t", meta={"kind": WORKFLOW})
    lease = await journal.create(info, this_process("a"))
    await start(journal, lease, kind=WORKFLOW, name="review", task="look", program="p", **REVIEW)
    visit = {"step": "plan", "up": "", "frame": "", "n": 1, "iteration": 1}
    await journal.append(lease, [row(2.0, "created", "plan", visit)])
    followed = Followed(await journal.info("w1"), a_sol(tmp_path).clock)
    await followed.catch_up(journal)
    assert [row[1] for row in followed.overview()["rows"]] == [[""], "plan"]
    assert followed.overview()["about"]["workflow"] == "review"
    await journal.append(lease, [row(3.0, "resumed", "", {"replay": True})])
    await followed.catch_up(journal)
    assert followed.generation == 1
    assert len(followed.overview()["rows"]) == 1


# --- asking ----------------------------------------------------------------------------------------------------------


async def waiting(tmp_path: Path) -> tuple[Sol, Run]:
    sol = a_sol(tmp_path, asking())
    run = await sol.asolve(task("lay"))
    assert run.status == "waiting"
    return sol, run


async def test_answer_is_noted_where_nobody_works_on_the_run(tmp_path: Path) -> None:
    sol, run = await waiting(tmp_path)
    async with served(sol) as (client, _):
        answer = await client.post(f"/api/runs/{run.id}/answer", json={"node": "", "text": "red"}, headers=POST)
        assert answer.json() == {"said": f"Noted. Go on with: sol resume {run.id} --store X"}
    run = await sol.aresume(run.id)
    assert run.solved
    assert run.tree.root.notes == ("Answer to “red or blue?”: red",)


async def test_cancel_reaches_the_process_at_work(tmp_path: Path) -> None:
    begun = asyncio.Event()

    def held(_: Any) -> Any:
        begun.set()
        return [asyncio.Event()]

    sol = a_sol(tmp_path, builder(rows=held))
    run = await sol.start(task("build the wall"))
    await begun.wait()
    async with served(sol) as (client, _):
        answer = await client.post(f"/api/runs/{run.id}/cancel", json={"node": "", "reason": "rain"}, headers=POST)
        assert answer.json() == {"said": "Passed on to the process that works on the run."}
    await run.wait()
    assert (run.status, run.reason) == ("cancelled", "rain")


async def test_cancel_is_carried_out_where_nobody_works_on_the_run(tmp_path: Path) -> None:
    sol, run = await waiting(tmp_path)
    async with served(sol) as (client, _):
        answer = await client.post(f"/api/runs/{run.id}/cancel", json={"node": ""}, headers=POST)
        assert answer.json() == {"said": "Cancelled."}
    assert (await sol.load(run.id)).status == "cancelled"


@pytest.mark.parametrize(
    ("kind", "body", "code", "words"),
    [
        ("answer", b'{"node": "", "text": " "}', 400, "is empty"),
        ("answer", b'{"node": 3, "text": "x"}', 400, "must be texts"),
        ("answer", b"[1]", 400, "must be a JSON object"),
        ("answer", b"{", 400, "is no JSON"),
        ("answer", b"\xff", 400, "is no JSON"),
        ("answer", b"x" * (MAX_BODY_BYTES + 1), 400, "is longer than"),
        ("answer", b'{"node": "zz", "text": "x"}', 404, "has no node"),
        ("cancel", b'{"node": "zz"}', 404, "has no node"),
    ],
)
async def test_what_cannot_be_asked_is_explained(tmp_path: Path, kind: str, body: bytes, code: int, words: str) -> None:
    sol, run = await waiting(tmp_path)
    async with served(sol) as (client, _):
        answer = await client.post(f"/api/runs/{run.id}/{kind}", content=body, headers=POST)
    assert answer.status_code == code
    assert words in answer.json()["error"]
    assert (await sol.load(run.id)).status == "waiting"


async def test_answer_to_no_question_is_a_conflict(tmp_path: Path) -> None:
    sol = a_sol(tmp_path)
    run = await sol.asolve(task("lay"))
    async with served(sol) as (client, _):
        answer = await client.post(f"/api/runs/{run.id}/answer", json={"node": "", "text": "x"}, headers=POST)
    assert answer.status_code == 409

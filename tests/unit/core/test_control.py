"""Cancel, interrupt, resume, retry, budgets: what people and limits may ask, and what stays as it was."""

from typing import Any

import pytest
from msgspec import structs

from sol.core.decide import may_retry
from sol.engine.step import given_up, unwanted
from sol.strategy.schema import Budget
from sol.tree.events import Event, EventType
from sol.tree.fold import fold
from sol.tree.node import State
from sol.tree.values import Cause
from tests.support.core import Scenario, assignment_of, failed, reassessed, reread, stuck, success


def two_parts(*, sequential: bool = False, **options: Any) -> Scenario:
    """A run whose root was split in two, with whatever can run running."""
    run = Scenario(**options)
    run.reports(stuck())
    run.splits("find red", "find blue", sequential=sequential)
    return run


def spent(run: Scenario, path: str, tokens: int) -> list[Event]:
    event = {"type": "spent", "usage": {"tokens": tokens}}
    data = {"kind": "attempt", "n": 1, "event": event, "usage": {"tokens": tokens}}
    return run.takes(EventType.PROGRESSED, path, data)


def kept(run: Scenario, path: str, key: str, value: Any) -> list[Event]:
    event = {"type": "partial", "key": key, "value": value}
    return run.takes(EventType.PROGRESSED, path, {"kind": "attempt", "n": 1, "event": event})


# --- cancel ---


def test_cancelled_node_ends_with_all_below_it_and_its_siblings_go_on() -> None:
    run = two_parts()
    run.reports(stuck(), "0")
    run.splits("look up", "look down", path="0")
    run.cancel("0")
    assert run.states == {"": "split", "0": "cancelled", "1": "running", "00": "cancelled", "01": "cancelled"}
    assert [command.node for command in unwanted(run.tree)] == ["00", "01"]
    run.solves("1")
    assert (run.status, run[""].kind) == ("cancelled", "cancelled")
    assert run[""].reason == "Part 0 is cancelled: Cancelled on request."


def test_cancelled_run_has_only_ended_nodes_at_once() -> None:
    run = two_parts(concurrency=1)
    run.cancel()
    assert set(run.states.values()) == {"cancelled"}
    assert run.status == "cancelled"
    assert not run.tree.queue
    assert run.cancel() == []


# --- interrupt and resume ---


@pytest.mark.case("CANC-01")
def test_interrupted_attempts_are_cancelled_with_their_parts_and_taken_up_again_from_there() -> None:
    run = two_parts()
    for path in ("0", "1"):
        kept(run, path, "1", ["red"])
    run.interrupt()
    assert run.status == "interrupted"
    assert run.states == {"": "split", "0": "cancelled", "1": "cancelled"}
    assert (run["0"].kind, run["0"].reason, run["0"].partial) == ("interrupt", "stopped", {"1": ["red"]})
    run.resume()
    assert run.doing == ["0:attempt", "1:attempt"]
    assert run.asked("0").partial == {"1": ["red"]}
    assert run.tree.inflight["0", "attempt", 2].cause == Cause("resumed")


def test_interrupted_root_makes_the_run_interrupted_not_cancelled() -> None:
    run = Scenario()
    run.interrupt()
    assert (run.status, str(run[""].state), run[""].paused) == ("interrupted", "cancelled", True)
    run.cancel()
    assert (run.status, run[""].paused) == ("cancelled", False)


def test_outcome_that_comes_with_the_interruption_counts_and_nothing_follows_for_the_parent_yet() -> None:
    run = two_parts()
    done = run.outcome(EventType.REPORTED, "0", report=failed(), usage={"calls": 1})
    stopped = run.outcome(EventType.INTERRUPTED, "1", cause="interrupt", reason="stopped")
    run.send(done, stopped, stopping=True)
    assert run.states == {"": "split", "0": "failed", "1": "cancelled"}
    run.resume()
    assert run.doing == ["1:attempt"]
    run.solves("1")
    assert run.doing == [":split"]


@pytest.mark.parametrize("kind", ["split", "judge", "integrate", "reassess", "atomic", "review", "check", "rule"])
def test_every_interrupted_effect_is_taken_up_where_it_was(kind: str) -> None:
    run = _doing(kind)
    command = next(iter(run.tree.inflight.values()))
    before = run.asked()
    run.interrupt()
    assert run.status == "interrupted"
    assert State.RUNNING not in run.states.values()
    run.resume()
    assert run.doing == [f":{kind}"]
    again = next(iter(run.tree.inflight.values()))
    assert (again.n, again.cause) == (command.n + 1, structs.replace(command.cause, new="resumed"))
    assert run.asked() == before


def _doing(kind: str) -> Scenario:
    """A run whose root is at an effect of this kind."""
    if kind == "atomic":
        return Scenario(attempt="auto")
    if kind == "rule":
        base = {name: list(rules) for name, rules in Scenario().strategy.rules.items()}
        run = Scenario(rules={**base, "report": [{"condition": 'ai("so?")', "next": "split"}]})
        run.reports(stuck())
        return run
    if kind == "check":
        run = Scenario(assignment=assignment_of(success_criteria=[{"command": "true"}]))
        run.reports(success())
        return run
    run = Scenario(max_depth=0 if kind == "reassess" else 5)
    run.reports(success() if kind == "judge" else stuck())
    if kind in {"review", "integrate"}:
        goals = ("find red", "find blue")
        run.splits(*(f"first part of {run[''].assignment.goal}", "find it") if kind == "review" else goals)
    if kind == "integrate":
        run.solves("0")
        run.solves("1")
    return run


def test_resume_touches_nothing_that_was_accepted() -> None:
    run = two_parts()
    run.solves("0")
    run.interrupt()
    run.resume()
    assert run.doing == ["1:attempt"]
    assert run["0"].counts["attempt"] == 1


@pytest.mark.req("S51")
@pytest.mark.case("RATE-01")
def test_lost_attempt_is_neither_stuck_nor_split_and_can_be_resumed() -> None:
    run = two_parts(sequential=True)
    run.lose("0")
    assert run.states == {"": "blocked", "0": "failed", "1": "blocked"}
    assert (run["0"].kind, run["0"].resumable, run[""].kind, run[""].resumable) == ("rate_limit", True) * 2
    assert (run.status, run[""].counts) == ("blocked", {"attempt": 1, "split": 1})
    run.resume()
    assert run.states == {"": "split", "0": "running", "1": "pending"}
    run.solves("0")
    run.solves("1")
    assert run.doing == [":integrate"]


def test_question_survives_the_end_of_a_budget() -> None:
    run = two_parts()
    run.reports(stuck(question="which lamp?"), "0")
    run.takes(EventType.BUDGET_HIT, "", {"what": "seconds", "limit": 5.0})
    assert set(run.states.values()) == {"exhausted"}
    run.send(run.outcome(EventType.LOST, "1", lost="cancelled", reason="stopped"))
    run.resume()
    assert (str(run["0"].state), run["0"].question) == ("waiting", "which lamp?")
    assert run.doing == ["1:attempt"]


def test_killed_process_leaves_effects_that_are_submitted_again_with_the_same_key() -> None:
    run = two_parts()
    run.tree = fold(reread(run.transitions))
    run.resume()
    assert run.doing == ["0:attempt", "1:attempt"]
    assert [command.n for command in run.tree.inflight.values()] == [1, 1]


def test_abandoned_effects_of_a_killed_process_are_closed_and_charged() -> None:
    run = two_parts(budget={"per_call": {"tokens": 30}})
    run.cancel("0")
    run.tree = fold(reread(run.transitions))
    assert [event.node for event in given_up(run.tree)] == ["0"]
    run.resume()
    assert run.doing == ["1:attempt"]
    assert (run["0"].spent.tokens, run["0"].spent.unreported) == (30, 1)
    assert str(run["0"].state) == "cancelled"


def test_cancelled_part_stays_cancelled_through_a_resume() -> None:
    run = two_parts()
    run.lose("0")
    run.cancel("0")
    run.interrupt()
    run.resume()
    assert run.states["1"] == "running"


def test_part_whose_predecessor_was_accepted_meanwhile_goes_on_when_it_is_reopened() -> None:
    for report, states in ((success(), ("success", "running")), (failed(), ("failed", "blocked"))):
        run = two_parts(sequential=True, sol="rules")
        run.takes(EventType.BUDGET_HIT, "", {"what": "seconds", "limit": 5.0})
        run.send(run.outcome(EventType.LOST, "0", lost="cancelled", reason="stopped"))
        run.retry("0")
        run.reports(report, "0")
        assert run.states["1"] == "exhausted"
        run.resume()
        assert (run.states["0"], run.states["1"]) == states


# --- retry ---


@pytest.mark.req("S53")
def test_retry_reopens_the_way_up_and_the_siblings_that_were_blocked() -> None:
    run = two_parts(sequential=True, max_replans=0)
    run.reports(failed(), "0")
    run.answers(reassessed())
    assert run.states == {"": "failed", "0": "failed", "1": "blocked"}
    run.retry("0", note="there are bricks now")
    assert run.states == {"": "split", "0": "running", "1": "pending"}
    assert run.tree.inflight["0", "attempt", 2].cause == Cause("information")
    assert "New: there are bricks now" in run.asked("0").assignment.context
    run.solves("0")
    assert run.doing == ["1:attempt"]


@pytest.mark.req("S53")
def test_retry_always_brings_something_new() -> None:
    run = Scenario(max_depth=0)
    run.reports(stuck())
    run.answers(reassessed())
    run.retry()
    assert "asked for another one" in run.asked().assignment.context
    run.reports(stuck())
    run.answers(reassessed())
    run.retry(worker={"kind": "command", "options": {"command": "sort"}})
    assert run.tree.inflight["", "attempt", 3].cause == Cause("approach")
    assert run.asked().worker.kind == "command"


@pytest.mark.req("S53")
def test_blocked_cousins_are_reopened_when_their_predecessor_is() -> None:
    run = two_parts(sequential=True, max_replans=0)
    run.reports(stuck(), "0")
    run.splits("look up", "look down", path="0")
    run.reports(failed(), "00")
    run.solves("01")
    run.answers(reassessed(), "0")
    assert run.states["1"] == "blocked"
    run.answers(reassessed())
    run.retry("00")
    assert run.states == {"": "split", "0": "split", "1": "pending", "00": "running", "01": "success"}


@pytest.mark.parametrize(
    "why", ["running", "accepted", "superseded", "parent accepted", "parent busy", "predecessor not accepted"]
)
def test_retry_is_refused_where_nothing_could_come_of_it(why: str) -> None:
    run = two_parts(sequential=why == "predecessor not accepted")
    path = "0"
    match why:
        case "accepted":
            run.solves("0")
        case "superseded":
            run.reports(failed(), "0")
            run.solves("1")
            run.splits("find green", "find grey")
        case "parent accepted":
            run = Scenario("isolate", sol="rules")
            run.reports(failed("exit"))
            run.splits("find red", "find blue")
            run.reports(failed("exit"), "0")
            run.answers({"cannot": "one item"}, "0")
            run.answers(reassessed(), "0")
            run.reports(success(), "1")
            run.answers({"result": 1, "summary": "", "checks": {}, "open": []})
            assert run.states == {"": "success", "0": "skipped", "1": "success"}
        case "parent busy":
            run.reports(failed(), "0")
            run.solves("1")
        case "predecessor not accepted":
            path = "1"
            run.reports(failed(), "0")
        case _:
            pass
    assert not may_retry(run.tree, run[path])
    assert run.retry(path) == []


# --- budgets ---


@pytest.mark.req("S13")
def test_calls_are_reserved_before_they_start_and_never_passed() -> None:
    run = Scenario(budget={"calls": 3}, concurrency=4)
    run.reports(stuck())
    run.splits("find red", "find blue")
    assert run.doing == ["0:attempt"]
    assert run.states["1"] == "pending"
    run.reports(failed(), "0", usage={"calls": 1})
    assert run.states == {"": "exhausted", "0": "failed", "1": "exhausted"}
    assert (run.tree.spent.calls, run["1"].kind, run["1"].resumable) == (3, "budget", True)
    assert "budget of 3 calls is used up" in run["1"].reason
    run.strategy = run.strategy.with_limits(max_depth=None, budget={"calls": 9})
    run.resume()
    assert run.doing == ["1:attempt"]


@pytest.mark.req("S13")
@pytest.mark.parametrize("calls", [0, 1])
def test_zero_calls_means_none(calls: int) -> None:
    run = Scenario(budget={"calls": calls})
    assert run.doing == [":attempt"][:calls]
    assert run.status == ("exhausted" if calls == 0 else "running")


@pytest.mark.req("S13")
@pytest.mark.case("COST-01")
def test_declared_maximum_is_reserved_while_calls_are_in_flight() -> None:
    run = Scenario(
        attempt="never",
        arity=6,
        max_replans=0,
        max_depth=1,
        concurrency=6,
        budget={"tokens": 100, "per_call": {"tokens": 30}},
    )
    run.splits(*(f"sort box {n}" for n in range(6)), usage={"calls": 1, "tokens": 0})
    assert run.doing == ["0:attempt", "1:attempt", "2:attempt"]
    for path in ("0", "1", "2"):
        run.reports(failed(), path, usage={"calls": 1, "tokens": 30})
    assert run.doing == []
    assert [str(run[str(n)].state) for n in range(6)] == ["failed"] * 3 + ["exhausted"] * 3
    assert run.tree.spent.tokens == sum(node.spent.tokens for node in run.tree.nodes.values()) == 90
    assert (run.tree.reserved.tokens, run.tree.reserved.calls) == (0, 0)


@pytest.mark.req("S13")
@pytest.mark.case("CANC-01")
def test_budget_passed_on_the_way_ends_everything_open_with_its_parts_kept() -> None:
    run = two_parts(budget={"tokens": 100})
    kept(run, "0", "1", ["red"])
    spent(run, "1", 101)
    assert set(run.states.values()) == {"exhausted"}
    assert run["0"].partial == {"1": ["red"]}
    assert "budget of 100 tokens is used up" in run["0"].reason
    assert spent(run, "0", 1)[0].type == EventType.PROGRESSED
    assert run.types().count("budget_hit") == 1


@pytest.mark.req("S13")
def test_limits_are_only_ever_narrowed_for_a_child_run() -> None:
    strategy = Scenario(max_depth=3, budget={"calls": 5, "cost": 2.0}).strategy
    inner = strategy.narrowed(max_depth=99, budget=Budget(calls=9, cost=1.0, tokens=7))
    assert (inner.max_depth, inner.budget.calls, inner.budget.cost, inner.budget.tokens) == (3, 5, 1.0, 7)
    assert strategy.narrowed(max_depth=1).max_depth == 1


def test_cost_budget_stops_like_tokens() -> None:
    run = Scenario(budget={"cost": 0.5, "per_call": {"cost": 0.3}})
    run.reports(stuck(), usage={"calls": 1, "cost": 0.3})
    assert (run.status, run[""].kind) == ("exhausted", "budget")


def test_checks_and_planning_by_rule_cost_no_call() -> None:
    run = Scenario(sol="rules", budget={"calls": 1})
    run.reports(stuck())
    assert run.doing == [":split"]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_concurrency_is_never_passed(limit: int) -> None:
    run = Scenario(attempt="never", arity=4, max_replans=1, concurrency=limit)
    run.splits("find red", "find blue", "find green", "find grey")
    assert len(run.doing) == min(limit, 4)
    assert len(run.tree.queue) == 4 - min(limit, 4)
    assert run.replayed() == run.tree


def test_status_is_waiting_while_only_questions_are_left() -> None:
    run = two_parts()
    run.reports(stuck(question="which lamp?"), "0")
    assert run.status == "running"
    run.solves("1")
    assert run.status == "waiting"
    run.send(stopping=True)
    assert run.status == "waiting"

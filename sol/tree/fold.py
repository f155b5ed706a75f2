"""Fold events into the tree. The only writer of `Tree` and `Node`; decides nothing, so replay equals the live run."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sol.tree.events import Command, Event, EventType
from sol.tree.node import NOTHING, Node, State, Tree


def fold(events: Iterable[Event], tree: Tree | None = None) -> Tree:
    """The tree that these events make, from scratch or on top of an existing one (which is changed)."""
    tree = Tree() if tree is None else tree
    for event in events:
        apply(tree, event)
    return tree


def apply(tree: Tree, event: Event) -> None:
    """Write one event into the tree."""
    _APPLY[event.type](tree, event)


def _run_started(tree: Tree, event: Event) -> None:
    tree.config = dict(event.data)
    tree.status = "running"


def _run_status(tree: Tree, event: Event) -> None:
    tree.status = event.data["status"]


def _resumed(tree: Tree, event: Event) -> None:
    tree.status = "running"
    tree.over = ""
    if event.data.get("strategy"):
        tree.config["strategy"] = event.data["strategy"]


def _created(tree: Tree, event: Event) -> None:
    """A child's event holds only the fields in which its assignment differs from its parent's."""
    data = event.data
    above = tree.nodes[event.node[:-1]] if event.node else None
    assignment = data["assignment"] if above is None else above.assignment | data["assignment"]
    worker = tree.config["worker"] if above is None else above.worker
    node = Node(path=event.node, assignment=assignment, worker=data.get("worker") or worker)
    node.after = data.get("after", "")
    node.restates = data.get("restates", False)
    node.portion = data.get("portion", False)
    tree.nodes[event.node] = node
    if above is not None:
        above.children = (*above.children, event.node)


def _command(event: Event) -> Command:
    data = event.data
    return Command(event.node, data["kind"], data["n"], data.get("because") or {}, data.get("reserve") or {})


def _queued(tree: Tree, event: Event) -> None:
    command = _command(event)
    tree.queue.append(command)
    node = tree.nodes[event.node]
    node.counts[command.kind] = command.n
    if node.state == State.RUNNING:
        node.state = State.PENDING


def _started(tree: Tree, event: Event) -> None:
    command = _command(event)
    if tree.queue and tree.queue[0].key == command.key:
        tree.queue.popleft()
    tree.inflight[command.key] = command
    _reserve(tree, command, 1)
    node = tree.nodes[event.node]
    node.counts[command.kind] = command.n
    node.because = command.because
    node.redo = ""
    if command.kind == "attempt" or not node.since:
        node.since = event.t
    if command.kind == "attempt":
        node.state = State.RUNNING
        node.report, node.checks, node.integration, node.result, node.generation = None, (), None, None, ()
        node.refusals, node.deciding, node.judgements, node.snapshot = 0, None, NOTHING, ""
    elif node.state in {State.PENDING, State.WAITING}:
        node.state = State.RUNNING


def _dropped(tree: Tree, event: Event) -> None:
    keys = {(kind, n) for kind, n in event.data["keys"]}
    for command in [c for c in tree.queue if c.node == event.node and (c.kind, c.n) in keys]:
        tree.queue.remove(command)


def _reserve(tree: Tree, command: Command, sign: int) -> None:
    if command.reserve:
        tree.reserved.calls += sign * command.reserve.get("calls", 0)
        tree.reserved.tokens += sign * command.reserve.get("tokens", 0)
        tree.reserved.cost += sign * command.reserve.get("cost", 0.0)


def _close(tree: Tree, event: Event) -> Node:
    """An effect has an outcome: free its reservation, book what it used."""
    data = event.data
    command = tree.inflight.pop((event.node, data["kind"], data["n"]), None)
    if command is not None:
        tree.abandoned.discard(command.key)
        _reserve(tree, command, -1)
    node = tree.nodes[event.node]
    _book(tree, node, data)
    return node


def _book(tree: Tree, node: Node, data: Mapping[str, Any]) -> None:
    usage: Mapping[str, Any] = data.get("usage") or {}
    for account in (tree.spent, node.spent):
        account.calls += usage.get("calls", 0)
        account.tokens += usage.get("tokens", 0)
        account.cost += usage.get("cost", 0.0)
        account.seconds += data.get("seconds", 0.0)
        account.unreported += 0 if usage.get("reported", True) else 1


def _progressed(tree: Tree, event: Event) -> None:
    node = tree.nodes[event.node]
    progress = event.data["event"]
    if progress["type"] == "partial":
        node.partial = {**node.partial, progress["key"]: progress["value"]}
    _book(tree, node, event.data)


def _reported(tree: Tree, event: Event) -> None:
    node = _close(tree, event)
    node.report = event.data["report"]
    if node.report.get("status") == "SUCCESS":
        node.result = node.report.get("result")
        node.snapshot = event.data.get("snapshot", "")


def _checked(tree: Tree, event: Event) -> None:
    node = _close(tree, event)
    node.checks = tuple(event.data["results"])
    node.unchecked = not any(check["ok"] is not None for check in node.checks)


def _answer(tree: Tree, event: Event) -> None:
    node = _close(tree, event)
    data = event.data
    match data["kind"]:
        case "judge":
            _judged(node, data["answer"]["verdicts"])
        case "integrate" if "result" in data["answer"]:
            node.integration = data["answer"]
            node.result = data["answer"]["result"]
            node.snapshot = data.get("snapshot") or node.merged
        case "merge":
            _merged(node, data["answer"])
        case "land":
            tree.landed = data["answer"]
        case "reassess":
            node.reassessment = {**data["answer"], "trigger": node.because.get("trigger", "")}
        case "rule" if node.deciding:
            node.judgements = {**node.judgements, node.because["rule"]: data["answer"]}
        case _:
            pass


def _merged(node: Node, answer: dict[str, Any]) -> None:
    """The work of parts was merged, wholly or up to a conflict; or nobody could settle that, which ends integration."""
    if "checks" in answer:
        node.integration, node.result, node.merging = answer, None, NOTHING
    elif answer["conflict"] is not None:
        node.merging = {**answer, "merged": [*node.merging.get("merged", ()), *answer["merged"]]}
    else:
        node.merged, node.merging = answer["snapshot"], NOTHING


def _judged(node: Node, verdicts: list[dict[str, Any]]) -> None:
    answers = iter(verdicts)
    node.checks = tuple(
        check | {"ok": answer["holds"], "detail": answer["reason"]}
        if check["ok"] is None and check["kind"] in {"ai", "text"} and (answer := next(answers, None)) is not None
        else check
        for check in node.checks
    )
    node.unchecked = not any(check["ok"] is not None for check in node.checks)


def _lost(tree: Tree, event: Event) -> None:
    node = _close(tree, event)
    node.redo = event.data["kind"]


def _late(tree: Tree, event: Event) -> None:
    """What came too late changes no state; but work that has come home is there whatever the run was told meanwhile."""
    _close(tree, event)
    if event.data["kind"] == "land" and "answer" in event.data:
        tree.landed = event.data["answer"]


def _interrupted(tree: Tree, event: Event) -> None:
    """An effect in flight was stopped so that the run can go on later."""
    data = event.data
    node = _close(tree, event)
    node.redo = data["kind"]
    if data["kind"] == "attempt":
        node.state = State.CANCELLED
        node.kind, node.reason, node.resumable = data["cause"], data["reason"], True
    elif node.state == State.RUNNING:
        node.state = State.PENDING


def _decided(tree: Tree, event: Event) -> None:
    node = tree.nodes[event.node]
    if event.data.get("wait"):
        node.deciding = {"section": event.data["section"], "labels": event.data["labels"]}
        return
    node.deciding = None
    node.judgements = NOTHING
    node.decisions = (*node.decisions, event.data)


def _refused(tree: Tree, event: Event) -> None:
    node = tree.nodes[event.node]
    node.refusals += 1
    if event.data.get("goals"):
        node.tried = (*node.tried, tuple(event.data["goals"]))


def _split(tree: Tree, event: Event) -> None:
    node = tree.nodes[event.node]
    data = event.data
    node.state = State.SPLIT
    node.generation = tuple(data["children"])
    node.how, node.dimension, node.sequential = data["how"], data["dimension"], data["sequential"]
    node.splits += 1
    node.refusals = 0
    node.tried = (*node.tried, tuple(data["goals"]))
    node.checks, node.integration, node.result, node.snapshot, node.merging = (), None, None, "", NOTHING


def _asked(tree: Tree, event: Event) -> None:
    node = tree.nodes[event.node]
    node.state = State.WAITING
    node.question = event.data["question"]


def _answered(tree: Tree, event: Event) -> None:
    node = tree.nodes[event.node]
    node.notes = (*node.notes, f"Answer to “{node.question}”: {event.data['text']}")
    node.answers = {**node.answers, node.question: event.data["text"]}
    node.question = ""
    node.state = State.PENDING
    tree.status = "running"


def _redefined(tree: Tree, event: Event) -> None:
    node = tree.nodes[event.node]
    node.redefined += 1
    if event.data.get("goal"):
        node.assignment = node.assignment | {"goal": event.data["goal"]}
    node.partial = NOTHING  # what is new may concern the parts stored so far
    node.notes = (*node.notes, event.data["information"])
    node.state = State.PENDING


def _reopened(tree: Tree, event: Event) -> None:
    node = tree.nodes[event.node]
    node.state = State(event.data["state"])
    node.kind, node.reason, node.resumable, node.redo = "", "", False, ""
    if node.state == State.PENDING:
        node.generation = ()
    tree.status = "running"
    tree.over = ""
    if event.data.get("note"):
        node.notes = (*node.notes, event.data["note"])
    if event.data.get("worker"):
        node.worker = event.data["worker"]


def _settled(tree: Tree, event: Event) -> None:
    node = tree.nodes[event.node]
    data = event.data
    node.state = State(data["state"])
    node.kind, node.reason = data.get("kind", ""), data.get("reason", "")
    node.resumable = data.get("resumable", False)
    node.redo = data.get("redo", node.redo if node.resumable else "")
    node.because = data.get("because", node.because)
    if not node.resumable:
        node.question = ""
    tree.abandoned.update(key for key in tree.inflight if key[0] == event.node)


def _analysed(tree: Tree, event: Event) -> None:
    node = tree.nodes[event.node]
    node.stuck = event.data["blocker"]
    if event.data.get("open") is not None:
        node.open_sets = (*node.open_sets, tuple(event.data["open"]))


def _budget_hit(tree: Tree, event: Event) -> None:
    tree.over = event.data["what"]


def _nothing(tree: Tree, event: Event) -> None:
    """Recorded for people; changes nothing by itself."""


_APPLY: dict[EventType, Callable[[Tree, Event], None]] = {
    EventType.RUN_STARTED: _run_started,
    EventType.RUN_STATUS: _run_status,
    EventType.RESUMED: _resumed,
    EventType.CANCEL_REQUESTED: _nothing,
    EventType.INTERRUPTED: _interrupted,
    EventType.ANSWERED: _answered,
    EventType.RETRY_REQUESTED: _nothing,
    EventType.BUDGET_HIT: _budget_hit,
    EventType.PROGRESSED: _progressed,
    EventType.REPORTED: _reported,
    EventType.CHECKED: _checked,
    EventType.ANSWER: _answer,
    EventType.LOST: _lost,
    EventType.LATE: _late,
    EventType.CREATED: _created,
    EventType.QUEUED: _queued,
    EventType.STARTED: _started,
    EventType.DROPPED: _dropped,
    EventType.STOPPED: _nothing,
    EventType.ANALYSED: _analysed,
    EventType.DECIDED: _decided,
    EventType.REFUSED: _refused,
    EventType.SPLIT: _split,
    EventType.ASKED: _asked,
    EventType.REDEFINED: _redefined,
    EventType.REOPENED: _reopened,
    EventType.SETTLED: _settled,
}

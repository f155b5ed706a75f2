"""Fold events into a run's state: what all programs share, and the task tree. The only writer of `RunState` and `Node`.

Decides nothing, so replay equals the live run.
"""

from collections.abc import Callable, Iterable

from msgspec import structs

from sol.errors import StoreError
from sol.tree import events as e
from sol.tree.effects import ApplyAnswer, IntegrateAnswer, JudgeAnswer, Judged, Kind, MergeAnswer, ReassessAnswer
from sol.tree.events import ByClass, Command, Event
from sol.tree.node import NO_JUDGEMENTS, AnyState, Node, State, TaskNode, Tree
from sol.tree.values import JUDGED, NOTHING, AssignmentData, CheckResult, Usage


def fold(events: Iterable[Event], tree: Tree | None = None) -> Tree:
    """The task tree that these events make, from scratch or on top of an existing one (which is changed)."""
    tree = Tree() if tree is None else tree
    for event in events:
        apply_task(tree, event)
    return tree


def apply_task(tree: Tree, event: Event) -> None:
    """Write one event into a task tree."""
    data = event.data
    common, own = _COMMON[type(data)], _TASK[type(data)]
    if common is not None:
        common(tree, event, data)
    if own is not None:
        own(tree, event, data)


def apply_common(state: AnyState, event: Event) -> None:
    """Write one event into a state as far as it means the same in every program."""
    common = _COMMON[type(event.data)]
    if common is not None:
        common(state, event, event.data)


# --- every program ---------------------------------------------------------------------------------------------------


def _run_started(state: AnyState, _event: Event, data: e.RunStarted) -> None:
    state.started = data
    state.status = "running"


def _run_status(state: AnyState, _event: Event, data: e.RunStatus) -> None:
    state.status = data.status


def _resumed(state: AnyState, _event: Event, data: e.Resumed) -> None:
    state.status = "running"
    state.over = ""
    if data.strategy and state.started is not None:
        state.started = structs.replace(state.started, strategy=data.strategy)


def _queued(state: AnyState, event: Event, data: e.Queued) -> None:
    state.queue.append(Command(event.node, data.kind, data.n, data.cause))
    node = state.nodes[event.node]
    node.counts[data.kind] = data.n
    if node.state == State.RUNNING:
        node.state = State.PENDING


def _started(state: AnyState, event: Event, data: e.Started) -> None:
    key = (event.node, data.kind, data.n)
    command = Command(*key, data.cause, data.reserve)
    queue = state.queue
    node = state.nodes[event.node]
    if queue and queue[0].key == key:
        queue.popleft()
    elif node.counts.get(data.kind) == data.n:  # it has waited, and passed others
        _unqueue(state, lambda one: one.key == key)
    state.inflight[key] = command
    _reserve(state, data.reserve, 1)
    node.counts[data.kind] = data.n
    node.cause = data.cause
    node.redo = ""
    is_attempt = data.kind == Kind.ATTEMPT
    if is_attempt or not node.since:
        node.since = event.t
    if is_attempt:
        node.state = State.RUNNING
        node.report, node.checks, node.result = None, (), None
        node.deciding, node.judgements, node.snapshot = None, NO_JUDGEMENTS, ""
    elif node.state in {State.PENDING, State.WAITING}:
        node.state = State.RUNNING


def _dropped(state: AnyState, event: Event, data: e.Dropped) -> None:
    keys = set(data.keys)
    _unqueue(state, lambda one: one.node == event.node and (one.kind, one.n) in keys)


def _unqueue(state: AnyState, which: Callable[[Command], bool]) -> None:
    for command in [one for one in state.queue if which(one)]:
        state.queue.remove(command)


def _reserve(state: AnyState, reserve: Usage | None, sign: int) -> None:
    if reserve is not None:
        state.reserved.calls += sign * reserve.calls
        state.reserved.tokens += sign * reserve.tokens
        state.reserved.cost += sign * reserve.cost


def _close(state: AnyState, event: Event, data: e.Outcome) -> Node:
    """An effect has an outcome: free its reservation, book what it used."""
    key = (event.node, data.kind, data.n)
    command = state.inflight.pop(key, None)
    if command is not None:
        state.abandoned.discard(key)
        _reserve(state, command.reserve, -1)
    node = state.nodes[event.node]
    _book(state, node, data.usage, data.seconds)
    return node


def _book(state: AnyState, node: Node, usage: Usage | None, seconds: float) -> None:
    run, own = state.spent, node.spent
    run.seconds += seconds
    own.seconds += seconds
    if usage is None:
        return
    run.calls += usage.calls
    own.calls += usage.calls
    if usage.tokens:
        run.tokens += usage.tokens
        own.tokens += usage.tokens
    if usage.cost:
        run.cost += usage.cost
        own.cost += usage.cost
    if not usage.reported:
        run.unreported += 1
        own.unreported += 1


def _progressed(state: AnyState, event: Event, data: e.Progressed) -> None:
    node = state.nodes[event.node]
    if data.event.type == "partial":
        node.partial = {**node.partial, data.event.key: data.event.value}
    _book(state, node, data.usage, 0.0)


def _reported(state: AnyState, event: Event, data: e.Reported) -> None:
    node = _close(state, event, data)
    node.report = data.report
    if data.report.status == "SUCCESS":
        node.result = data.report.result
        node.snapshot = data.snapshot


def _checked(state: AnyState, event: Event, data: e.Checked) -> None:
    node = _close(state, event, data)
    _set_checks(node, data.results)


def _set_checks(node: Node, checks: tuple[CheckResult, ...]) -> None:
    node.checks = checks
    node.unchecked = all(check.ok is None for check in checks)


def _answer(state: AnyState, event: Event, data: e.Answer) -> None:
    node = _close(state, event, data)
    match data.answer:
        case JudgeAnswer(verdicts):
            answers = iter(verdicts)
            _set_checks(node, tuple(_judged(check, answers) for check in node.checks))
        case ApplyAnswer() as applied:
            state.applied = applied
        case Judged() as judged if data.kind == Kind.RULE and node.deciding is not None:
            node.judgements = {**node.judgements, node.cause.rule: judged}
        case _:
            pass


def _judged(check: CheckResult, answers: Iterable[Judged]) -> CheckResult:
    """A check with the next answer, if it is one that only words can answer."""
    if check.ok is not None or check.kind not in JUDGED:
        return check
    answer = next(iter(answers), None)
    return check if answer is None else structs.replace(check, ok=answer.holds, detail=answer.reason)


def _lost(state: AnyState, event: Event, data: e.Lost) -> None:
    node = _close(state, event, data)
    node.redo = data.kind


def _late(state: AnyState, event: Event, data: e.Late) -> None:
    """What came too late changes no state; but work that has come home is there whatever the run was told meanwhile."""
    _close(state, event, data.outcome)
    if isinstance(data.outcome, e.Answer) and isinstance(data.outcome.answer, ApplyAnswer):
        state.applied = data.outcome.answer


def _interrupted(state: AnyState, event: Event, data: e.Interrupted) -> None:
    """An effect in flight was stopped so that the run can go on later."""
    node = _close(state, event, data)
    node.redo = data.kind
    if data.kind == Kind.ATTEMPT:
        node.state = State.CANCELLED
        node.kind, node.reason, node.resumable = data.cause, data.reason, True
    elif node.state == State.RUNNING:
        node.state = State.PENDING


def _answered(state: AnyState, event: Event, data: e.Answered) -> None:
    node = state.nodes[event.node]
    node.notes = (*node.notes, f"Answer to “{node.question}”: {data.text}")
    node.answers = {**node.answers, node.question: data.text}
    node.question = ""
    node.state = State.PENDING
    state.status = "running"


def _budget_hit(state: AnyState, _event: Event, data: e.BudgetHit) -> None:
    state.over = data.what


def _decided(state: AnyState, event: Event, data: e.Decided) -> None:
    node = state.nodes[event.node]
    if data.wait:
        node.deciding = data
        return
    node.deciding = None
    node.judgements = NO_JUDGEMENTS
    node.decisions = (*node.decisions, data)


def _asked(state: AnyState, event: Event, data: e.Asked) -> None:
    node = state.nodes[event.node]
    node.state = State.WAITING
    node.question = data.question


def _reopened(state: AnyState, event: Event, data: e.Reopened) -> None:
    node = state.nodes[event.node]
    node.state = State(data.state)
    node.kind, node.reason, node.resumable, node.redo = "", "", False, ""
    state.status = "running"
    state.over = ""
    if data.note:
        node.notes = (*node.notes, data.note)
    if data.worker is not None:
        node.worker = data.worker


def _settled(state: AnyState, event: Event, data: e.Settled) -> None:
    node = state.nodes[event.node]
    node.state = State(data.state)
    node.kind, node.reason, node.resumable = data.kind, data.reason, data.resumable
    if data.redo is not None:
        node.redo = data.redo
    elif not data.resumable:
        node.redo = ""
    if data.cause is not None:
        node.cause = data.cause
    if not data.resumable:
        node.question = ""
    if state.inflight:
        own = [(event.node, kind, number) for kind, n in node.counts.items() for number in range(1, n + 1)]
        state.abandoned.update(key for key in own if key in state.inflight)


# --- task trees ------------------------------------------------------------------------------------------------------


def _created(tree: Tree, event: Event, data: e.Created) -> None:
    """A child's event holds only the fields in which its assignment differs from its parent's."""
    path = event.node
    above = tree.nodes[path[:-1] if data.parent is None else data.parent] if path else None
    node = TaskNode(
        path=path,
        parent="" if above is None else above.path,
        depth=0 if above is None else above.depth + 1,
        assignment=changed(None if above is None else above.assignment, data.assignment),
        worker=data.worker or (tree.config.worker if above is None else above.worker),
        after=data.after,
        restates=data.restates,
        portion=data.portion,
    )
    tree.nodes[path] = node
    if above is not None:
        above.children = (*above.children, path)


def changed(before: AssignmentData | None, changes: e.AssignmentChanges) -> AssignmentData:
    """An assignment with changes carried out; without one before, what the changes make.

    Raises:
        StoreError: If a field is in neither.
    """
    given = structs.astuple(changes)
    if before is not None:
        given = tuple(was if now is None else now for now, was in zip(given, structs.astuple(before), strict=True))
    elif None in given:
        raise StoreError("The journal's first task lacks a field. It is damaged; restore it from a copy.")
    return AssignmentData(*given)


def _task_started(tree: Tree, event: Event, data: e.Started) -> None:
    if data.kind == Kind.ATTEMPT:
        node = tree.nodes[event.node]
        node.integration, node.current_children, node.refusals = None, (), 0


def _task_answer(tree: Tree, event: Event, data: e.Answer) -> None:
    node = tree.nodes[event.node]
    match data.answer:
        case IntegrateAnswer() as whole if data.kind == Kind.MERGE:  # nobody could settle a conflict
            node.integration, node.result, node.merging = whole, None, None
        case IntegrateAnswer() as whole:
            node.integration, node.result, node.snapshot = whole, whole.result, data.snapshot or node.merged
        case MergeAnswer(conflict=None) as merge:
            node.merged, node.merging = merge.snapshot, None
        case MergeAnswer() as merge:
            before = node.merging.merged if node.merging is not None else ()
            node.merging = structs.replace(merge, merged=(*before, *merge.merged))
        case ReassessAnswer() as answer:
            node.reassessment, node.trigger = answer, node.cause.trigger
        case _:
            pass


def _refused(tree: Tree, event: Event, data: e.Refused) -> None:
    node = tree.nodes[event.node]
    node.refusals += 1
    if data.goals:
        node.tried = (*node.tried, data.goals)


def _split(tree: Tree, event: Event, data: e.Split) -> None:
    node = tree.nodes[event.node]
    node.state = State.SPLIT
    node.current_children = data.children
    node.how, node.dimension, node.sequential = data.how, data.dimension, data.sequential
    node.splits += 1
    node.refusals = 0
    node.tried = (*node.tried, data.goals)
    node.checks, node.integration, node.result, node.snapshot, node.merging = (), None, None, "", None


def _redefined(tree: Tree, event: Event, data: e.Redefined) -> None:
    node = tree.nodes[event.node]
    node.redefined += 1
    if data.goal:
        node.assignment = structs.replace(node.assignment, goal=data.goal)
    node.partial = NOTHING  # what is new may concern the parts stored so far
    node.notes = (*node.notes, data.information)
    node.state = State.PENDING


def _task_reopened(tree: Tree, event: Event, _data: e.Reopened) -> None:
    node = tree.nodes[event.node]
    if node.state == State.PENDING:
        node.current_children = ()


def _analysed(tree: Tree, event: Event, data: e.Analysed) -> None:
    node = tree.nodes[event.node]
    node.stuck = data.blocker
    if data.open is not None:
        node.open_sets = (*node.open_sets, data.open)


# --- which event is folded by what -----------------------------------------------------------------------------------

_COMMON: ByClass[Callable[..., None]] = ByClass(
    {
        e.RunStarted: _run_started,
        e.RunStatus: _run_status,
        e.Resumed: _resumed,
        e.Queued: _queued,
        e.Started: _started,
        e.Dropped: _dropped,
        e.Progressed: _progressed,
        e.Reported: _reported,
        e.Checked: _checked,
        e.Answer: _answer,
        e.Lost: _lost,
        e.Late: _late,
        e.Interrupted: _interrupted,
        e.Answered: _answered,
        e.BudgetHit: _budget_hit,
        e.Decided: _decided,
        e.Asked: _asked,
        e.Reopened: _reopened,
        e.Settled: _settled,
    }
)

_TASK: ByClass[Callable[..., None]] = ByClass(
    {
        e.Created: _created,
        e.Started: _task_started,
        e.Answer: _task_answer,
        e.Refused: _refused,
        e.Split: _split,
        e.Redefined: _redefined,
        e.Reopened: _task_reopened,
        e.Analysed: _analysed,
    }
)

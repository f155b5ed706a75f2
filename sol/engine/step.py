"""How a run takes facts, whatever its program: one after the other, each followed to its end. Pure, the same on replay.

Also which wanted command starts next (concurrency, and budgets with reservation before the start), and what limits and
the end of a process mean for effects in flight.
"""

from collections.abc import Iterable

from msgspec import Struct, structs

from sol.engine.program import Limits, Program, Reaction, S
from sol.tree import events as e
from sol.tree.events import Command, Event
from sol.tree.node import AnyState, State
from sol.tree.values import NO_CAUSE, Cause, Usage

Transition = list[Event]
"""A fact and all that was decided because of it, commands that it let start included: one record of the journal."""


class StepResult(Struct, frozen=True):
    """What one step did: transitions to commit, in order, and the commands that they started."""

    transitions: list[Transition]
    commands: list[Command]

    @property
    def events(self) -> list[Event]:
        """All events, in order."""
        return [event for transition in self.transitions for event in transition]


def take(
    program: Program[S], state: S, incoming: Iterable[Event], *, stopping: bool = False, now: float = 0.0
) -> StepResult:
    """Fold facts in one by one, each with all that follows from it, then start what the limits allow.

    The state is changed; nothing else is. Commands may be run once the transitions are committed.

    Args:
        program: Says what follows from what.
        state: The state so far.
        incoming: New facts, oldest first. What no longer means anything is ignored; outcomes of effects whose node has
            ended since they started are recorded as late and change no state.
        stopping: The run is being interrupted: start nothing.
        now: Seconds since the epoch; the time of all events of the step.
    """
    turn = _Turn(program, state, now)
    for fact in incoming:
        for one in (*program.before(state, fact), fact):
            received = _received(program, state, one)
            if received is not None:
                turn.begin()
                turn.follow([received])
    while not stopping and (admitted := admit(program, state)):
        turn.follow(admitted)
    status = _status(state, stopping=stopping)
    if status is not None:
        turn.follow([Event("", e.RunStatus(status))])
    return turn.step()


class _Turn:
    """The transitions of one step in the making. What begins no transition of its own belongs to the newest one."""

    __slots__ = ("_now", "_program", "_started", "_state", "_transitions")

    def __init__(self, program: Program[S], state: S, now: float) -> None:
        self._program: Program[S] = program
        self._state = state
        self._now = now
        self._transitions: list[Transition] = []
        self._started: list[tuple[str, str, int]] = []

    def begin(self) -> None:
        self._transitions.append([])

    def follow(self, facts: Iterable[Event]) -> None:
        """Fold facts in, and whatever is decided because of them, until nothing follows any more.

        One fact is followed to its end before the next is looked at: no decision is made on a state that another
        decision, made but not folded in yet, is about to change.
        """
        if not self._transitions:
            self.begin()
        program, state, now, transition = self._program, self._state, self._now, self._transitions[-1]
        apply, decide = program.apply, program.decide
        work = list(facts)
        for event in work:  # which grows meanwhile
            event.t = now
            apply(state, event)
            reaction = decide(state, event)
            if reaction.events:
                work.extend(reaction.events)
            if reaction.commands:
                work.extend(Event(one.node, e.Queued(one.kind, one.n, one.cause)) for one in reaction.commands)
            data = event.data
            if type(data) is e.Started:
                self._started.append((event.node, data.kind, data.n))
            elif type(data) is e.Progressed and not state.over:
                work.extend(_passed(state, program.limits))
        transition.extend(work)

    def step(self) -> StepResult:
        started = set(self._started)
        # A command that starts in the step that wants it is never seen waiting: its queueing needs no record.
        transitions = [
            [one for one in transition if type(one.data) is not e.Queued or _key(one.node, one.data) not in started]
            for transition in self._transitions
        ]
        inflight = self._state.inflight
        return StepResult(
            [one for one in transitions if one], [inflight[key] for key in self._started if key in inflight]
        )


def _key(node: str, data: e.EffectPayload) -> tuple[str, str, int]:
    return (node, data.kind, data.n)


def _passed(state: AnyState, limits: Limits) -> list[Event]:
    """The event that says which budget what was spent has gone beyond, if any. Source: S13."""
    for name, limit in limits.accounts:
        if getattr(state.spent, name) > limit:
            return [Event("", e.BudgetHit(name, limit))]
    return []


def _received(program: Program[S], state: S, event: Event) -> Event | None:
    """The fact as it counts now: itself, a late one, or None when it means nothing any more."""
    node = state.nodes.get(event.node)
    match event.data:
        case e.Outcome() as data:
            key = _key(event.node, data)
            if key not in state.inflight:
                return None
            return late(event) if key in state.abandoned else event
        case e.RunStarted():
            return None if state.nodes else event
        case e.Resumed():
            return event if state.nodes else None
        case e.BudgetHit():
            return event if state.nodes and not state.over else None
        case e.Progressed() as data:
            return event if _key(event.node, data) in state.inflight else None
        case e.Answered() if node is not None:
            return event if node.state == State.WAITING else None
        case e.CancelRequested() if node is not None:
            return None if node.ended and not node.paused else event
        case e.RetryRequested() if node is not None:
            return event if program.may_retry(state, event.node) else None
        case _:
            return None


def _status(state: AnyState, *, stopping: bool) -> str | None:
    """The run's new status when nothing that counts is in flight or about to start; None when it has not changed."""
    if len(state.inflight) > len(state.abandoned) or (state.queue and not stopping) or "" not in state.nodes:
        return None
    root = state.root
    if root.ended and not root.paused:
        status = str(root.state)
    elif not state.queue and _only_questions(state):
        status = "waiting"
    else:
        status = "interrupted"
    return None if status == state.status else status


def _only_questions(state: AnyState) -> bool:
    """Whether answers from people are all that the run needs to go on."""
    asked = any(node.state == State.WAITING for node in state.nodes.values())
    return asked and not any(node.paused or (node.redo and not node.ended) for node in state.nodes.values())


# --- what starts -----------------------------------------------------------------------------------------------------


def admit(program: Program[S], state: S) -> list[Event]:
    """Events that start the next queued command, or end its node for lack of budget; empty: nothing can start.

    A command that the program does not let start yet is passed over. One that the budget does not allow yet waits while
    others in flight may still free what they reserved.

    Source: S13.
    """
    limits = program.limits
    if not state.queue or len(state.inflight) >= limits.concurrency:
        return []
    command = state.queue[0]
    if not program.may_start(state, command):
        passed = next((one for one in state.queue if program.may_start(state, one)), None)
        if passed is None:
            return []
        command = passed
    reserve = limits.reserve if program.costs(state, command) else None
    short = None if reserve is None else _short(state, reserve, limits)
    if short is None:
        return [Event(command.node, e.Started(command.kind, command.n, command.cause, reserve))]
    if any(other.reserve for other in state.inflight.values()):
        return []
    ended = e.Settled(
        State.EXHAUSTED, kind="budget", reason=short, resumable=True, redo=command.kind, cause=command.cause
    )
    return [Event(command.node, e.Dropped(((command.kind, command.n),))), Event(command.node, ended)]


def _short(state: AnyState, reserve: Usage, limits: Limits) -> str | None:
    """Which budget does not allow this effect now, as a sentence; None when all do."""
    for name, limit in limits.accounts:
        spent, held, need = getattr(state.spent, name), getattr(state.reserved, name), getattr(reserve, name)
        if spent + held + need > limit or (not need and spent >= limit):
            return f"The budget of {limit:g} {name} is used up: {spent:g} spent, {need:g} more needed."
    return None


def unwanted(state: AnyState) -> list[Command]:
    """Effects in flight whose node has ended since they started: to be stopped; what they still bring is late."""
    return [state.inflight[key] for key in state.inflight if key in state.abandoned] if state.abandoned else []


# --- what ends -------------------------------------------------------------------------------------------------------


def close(state: AnyState, path: str, ended: State, *, kind: str, reason: str, resumable: bool, out: Reaction) -> None:
    """End a node and everything below it that has not ended yet."""
    live = {command.node: command for command in (*reversed(state.queue), *running(state))}
    queued: dict[str, list[tuple[str, int]]] = {}
    for command in state.queue:
        queued.setdefault(command.node, []).append((command.kind, command.n))
    for node in state.subtree(path):
        if node.ended and not (node.paused and not resumable):
            continue
        if node.path in queued:
            out.event(node.path, e.Dropped(tuple(queued[node.path])))
        wanted = live.get(node.path) if resumable else None
        redo: str | None = None if wanted is None else wanted.kind
        cause: Cause | None = None if wanted is None else wanted.cause
        out.event(node.path, e.Settled(ended, kind, reason, resumable, redo, cause))


def running(state: AnyState) -> list[Command]:
    """Effects in flight that still count."""
    return [command for command in state.inflight.values() if command.key not in state.abandoned]


def on_budget_hit(state: AnyState, hit: e.BudgetHit, out: Reaction) -> None:
    """A budget was passed while effects were in flight: everything still open ends as exhausted, and can be resumed."""
    reason = f"The budget of {hit.limit:g} {hit.what} is used up."
    close(state, "", State.EXHAUSTED, kind="budget", reason=reason, resumable=True, out=out)


def given_up(state: AnyState) -> list[Event]:
    """The outcomes of all abandoned effects when the process that ran them is known to be gone."""
    gone = "The process that ran it has ended."
    return [
        Event(
            command.node,
            e.Lost(
                kind=command.kind,
                n=command.n,
                usage=unknown_usage(command),
                lost="killed",
                reason=gone,
            ),
        )
        for command in state.inflight.values()
        if command.key in state.abandoned
    ]


def late(event: Event) -> Event:
    """What came after its node had ended: kept, booked, and without any effect. Source: case PAR-04."""
    return Event(event.node, e.Late(event.data)) if isinstance(event.data, e.Outcome) else event


def unknown_usage(command: Command) -> Usage:
    """What an effect is charged that cannot say any more what it used: all that was reserved for it."""
    held = command.reserve
    return Usage() if held is None else Usage(calls=held.calls, tokens=held.tokens, cost=held.cost, reported=False)


def reopened_cause(before: Cause, data: e.Reopened) -> Cause:
    """Why the effect of a reopened node is wanted again. Source: S53."""
    new = "information" if data.note else "approach" if data.worker is not None else "resumed"
    kept = before if data.redo == data.was else NO_CAUSE
    return structs.replace(kept, new=new)

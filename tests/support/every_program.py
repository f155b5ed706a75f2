"""One run of every kind in every situation, for the tests of what looks at runs: its state, events and journal rows.

Made without a clock, a journal or a worker: the engine's step takes the facts in that are written down here.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from sol import Sol, Task
from sol._prepare import Lent, workers_of
from sol.engine.kinds import Options, Prepared, RunKind
from sol.engine.program import AnyProgram
from sol.engine.step import take
from sol.journal import Journal, Lease, NewRecord, Record, RunInfo, StoredRun
from sol.journal.in_memory import MemoryJournal
from sol.journal.owner import this_process
from sol.run import kind_for, register
from sol.tree import effects as f
from sol.tree.events import Answer, Checked, Command, Event, Outcome, Reported
from sol.tree.node import AnyState
from sol.tree.values import CheckResult, ReportData
from tests.support.countdown import COUNT, Countdown, Countdowns, Counted, CountRequest
from tests.support.planners import ScriptedPlanner, split_into, whole

RUN = "brick7"
SITUATIONS = ("success", "failed", "waiting", "killed")
KINDS = ("tree", "workflow", "countdown")
BEGAN = 1_000.0
HERE = Path(__file__).parent

STEPS = ("plan", "facts", "style", "look", "last")
"""Steps of the workflow that a worker does."""

Respond: TypeAlias = Callable[[Command, f.Request], Outcome | None]
"""The outcome of an effect, given its command and its request; None: its process is killed before it has one."""


@dataclass(frozen=True)
class Case:
    """A run.

    Attributes:
        kind: What there is to its kind of run.
        situation: One of `SITUATIONS`.
        state: The fold of its events; not to be changed.
        transitions: Its events, one list for each row of the journal.
        titles: Title of each node, by path; what is drawn of it.
    """

    kind: RunKind
    situation: str
    state: AnyState
    transitions: tuple[tuple[Event, ...], ...] = field(repr=False)

    @property
    def events(self) -> list[Event]:
        """All events, oldest first."""
        return [event for transition in self.transitions for event in transition]

    @property
    def titles(self) -> dict[str, str]:
        return {path: node.title for path, node in self.state.nodes.items()}

    @property
    def edges(self) -> set[tuple[str, str]]:
        """Pairs of a node above and one below."""
        return {(node.parent, path) for path, node in self.state.nodes.items() if path}

    @property
    def new_records(self) -> list[NewRecord]:
        """Rows to append to a journal."""
        encode = self.kind.reading.codec.encode
        return [NewRecord(one[0].t, *encode(one)) for one in self.transitions]

    @property
    def records(self) -> list[Record]:
        """Rows as a journal gives them."""
        return [Record(n, *_fields(one)) for n, one in enumerate(self.new_records, start=1)]

    async def journal(self, records: Sequence[NewRecord] | None = None) -> tuple[Journal, StoredRun, Lease]:
        """A journal with the run in it, or with these rows of it; nobody works on the run."""
        journal = MemoryJournal()
        await journal.open()
        info = RunInfo(id=RUN, created_t=BEGAN, title="a run", meta={"kind": self.kind.name})
        lease = await journal.create(info, this_process("token"))
        rows = self.new_records if records is None else list(records)
        await journal.append(lease, rows, status=self.state.status)
        await journal.release(lease)
        return journal, await journal.info(RUN), lease

    def __str__(self) -> str:
        return f"{self.kind.name}-{self.situation}"


def _fields(one: NewRecord) -> tuple[float, str, str, bytes, bytes]:
    return one.t, one.type, one.node, one.data, one.then


def every_case() -> Iterator[Any]:
    """A pytest parameter for each kind in each situation."""
    import pytest

    for kind in KINDS:
        for situation in SITUATIONS:
            yield pytest.param((kind, situation), id=f"{kind}-{situation}")


@cache
def case(kind: str, situation: str) -> Case:
    """The run of a kind in a situation; made once."""
    thing, options, respond = _MAKERS[kind](situation)
    runs = kind_for(thing)
    prepared = _prepared(runs, thing, options)
    state = prepared.program.empty()
    transitions = tuple(_run(prepared.program, state, Event("", prepared.started), respond))
    return Case(runs, situation, state, transitions)


def _prepared(runs: RunKind, thing: object, options: Options) -> Prepared:
    sol = Sol(workspace=HERE, worker=_worker, planner=ScriptedPlanner(), store=MemoryJournal())
    return runs.prepare(Lent(sol, workers_of(sol)), thing, options, run=RUN)


def _worker(_assignment: Any) -> Any:
    raise AssertionError("nobody works here")


def _run(program: AnyProgram, state: AnyState, started: Event, respond: Respond) -> Iterator[tuple[Event, ...]]:
    """Take the start in, then one outcome after the other, a second apart."""
    now, arrived = BEGAN, [started]
    open_: list[tuple[Command, f.Request]] = []
    while True:
        step = take(program, state, arrived, now=now)
        yield from map(tuple, step.transitions)
        open_ += [(command, program.request(state, command)) for command in step.commands]
        arrived = []
        while open_ and not arrived:
            command, request = open_.pop(0)
            outcome = respond(command, request)
            arrived = [] if outcome is None else [Event(command.node, outcome)]
        if not arrived:
            return
        now += 1.0


# --- the three kinds -------------------------------------------------------------------------------------------------

WALL = "build the wall"
_SPLITS = {
    WALL: split_into("lay the bricks", "paint the bricks", sequential=True),
    "lay the bricks": split_into("the lower rows", "the upper rows"),
}


def _tree(situation: str) -> tuple[object, Options, Respond]:
    ends = {
        "success": ReportData("SUCCESS", summary="done", result="painted"),
        "failed": ReportData("FAILED", kind="premise", reason="there is no paint"),
        "waiting": ReportData("STUCK", kind="needs_human", blocker="two colours", question="Which colour?"),
        "killed": None,
    }

    def respond(command: Command, request: f.Request) -> Outcome | None:
        common: dict[str, Any] = {"kind": command.kind, "n": command.n, "seconds": 0.5}
        match request:
            case f.AttemptRequest(assignment=assignment):
                goal = assignment.goal
                report: ReportData | None = ReportData("SUCCESS", summary="done", result={"goal": goal})
                if goal in _SPLITS:
                    report = ReportData("STUCK", kind="other", blocker=f"{goal} is more than one thing")
                elif goal == "paint the bricks":
                    report = ends[situation]
                return None if report is None else Reported(**common, report=report)
            case f.CheckRequest():
                return Checked(**common, results=(CheckResult("a check", "command", ok=True),))
            case f.JudgeRequest(questions=questions):
                answer: f.AnswerValue = f.JudgeAnswer(tuple(f.Judged(holds=True, reason="seen") for _ in questions))
            case f.SplitRequest(assignment=assignment) if assignment.goal in _SPLITS and command.n == 1:
                answer = _SPLITS[assignment.goal]
            case f.SplitRequest():
                answer = f.CannotSplit("one piece")
            case f.IntegrateRequest(parts=parts):
                answer = whole({part.path: part.result for part in parts})
            case f.ReassessRequest():
                answer = f.ReassessAnswer(f.Finding.GOAL_IMPOSSIBLE, f.Remedy.GIVE_UP, "as it is")
            case _:
                answer = f.Judged(holds=True, reason="seen")
        return Answer(**common, answer=answer)

    return Task.make(WALL), Options(), respond


def _workflow(situation: str) -> tuple[object, Options, Respond]:
    from sol.workflow import Workflow

    last = {"success": 1, "failed": 2, "waiting": 3}

    def respond(command: Command, request: f.Request) -> Outcome | None:
        common: dict[str, Any] = {"kind": command.kind, "n": command.n, "seconds": 0.5}
        assert isinstance(request, f.AttemptRequest)
        step = next(name for name in STEPS if name in command.node.rpartition("/")[2])
        if step == "last" and situation == "killed":
            return None
        rule = last[situation] if step == "last" else 1
        return Reported(**common, report=ReportData("SUCCESS", summary="done", result=f"well. [{step.upper()}:{rule}]"))

    workflow = Workflow.load(HERE / "files" / "every.yaml")
    return workflow, Options(task=WALL, interactive=True), respond


def _countdown(situation: str) -> tuple[object, Options, Respond]:
    register(Countdowns())

    def respond(command: Command, request: f.Request) -> Outcome | None:
        assert isinstance(request, CountRequest)
        if situation == "killed" and request.number == 1:
            return None
        answer: Any = Counted(request.number - 1)
        return Answer(kind=COUNT, n=command.n, seconds=0.5, answer=answer)

    where = 1 if situation == "waiting" else -1
    thing = Countdown(2, asks_at=where, fails_at=1 if situation == "failed" else -1)
    return thing, Options(), respond


_MAKERS: dict[str, Callable[[str], tuple[object, Options, Respond]]] = {
    "tree": _tree,
    "workflow": _workflow,
    "countdown": _countdown,
}

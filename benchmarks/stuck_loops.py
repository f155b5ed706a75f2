"""All ways of being stuck, for benchmarks/stuck.py: each with the right kinds of alarm, and when one is due."""

import random
import uuid
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import cycle, islice

from stuck_work import PHRASES, TOPICS, Luna

from luna.monitor import MonitorSettings
from luna.protocol import Action, Compacted, Note, Progress, Said, Stage, StuckKind, Waiting

GENERAL = frozenset([StuckKind.NO_PROGRESS, StuckKind.NO_NEW_EVIDENCE, StuckKind.SAME_HYPOTHESIS])
"""Right whatever a Luna is stuck in, as long as nothing new comes of it."""
ERRORS = (
    "no such tool: frobnicate",
    "ModuleNotFoundError: No module named 'ledger'",
    "HTTP 403: forbidden",
    "permission denied: ./deploy.sh",
    "connection refused: db:5432",
    "Traceback (most recent call last):\n  File 'run.py', line 3, in <module>\nKeyError: 'total'",
)


@dataclass(frozen=True)
class Limits:
    """The settings that count, and which stream of its kind it is."""

    settings: MonitorSettings
    number: int

    @property
    def repeat(self) -> int:
        """The same action with the same result, so many times."""
        return self.settings.repeat_limit or 0

    @property
    def patience(self) -> int:
        """Actions without anything new."""
        return self.settings.patience or 0

    @property
    def period(self) -> int:
        """Every period from 2 to half the window takes its turn."""
        return 2 + self.number % (self.settings.window // 2 - 1)

    def rounds(self, limit: int) -> int:
        """Items until a cycle of this period is due."""
        return self.period + max(self.period, limit - 1)


def exact_repeat(luna: Luna, limits: Limits) -> None:
    """The same action with the same result."""
    for same in [luna.look()] * limits.repeat:
        luna.do(same)


def actions_in_a_cycle(luna: Luna, limits: Limits) -> None:
    """A few actions round and round."""
    loop = [luna.look() for _ in range(limits.period)]
    for action in islice(cycle(loop), limits.rounds(limits.repeat)):
        luna.do(action)


def cycle_with_noise(luna: Luna, limits: Limits) -> None:
    """Round and round; the results tell other times, addresses, ids or seconds."""
    rng = luna.rng
    noises: list[Callable[[], str]] = [
        lambda: f"2026-03-0{rng.randint(1, 9)} 1{rng.randint(0, 9)}:{rng.randint(10, 59)}:{rng.randint(10, 59)} done",
        lambda: f"<object at 0x7f{rng.randrange(16**8):08x}>",
        lambda: f"request {uuid.UUID(int=rng.getrandbits(128))}",
        lambda: f"1 failed, 3 passed in {luna.seconds()}",
    ]
    loop = [(luna.look(), rng.choice(noises)) for _ in range(limits.period)]
    for action, noise in islice(cycle(loop), limits.rounds(limits.repeat)):
        luna.do(action.model_copy(update={"observation": f"{action.observation}\n{noise()}"}))


def cycle_with_events_between(luna: Luna, limits: Limits) -> None:
    """Round and round, with heartbeats, logs and ever new words in between."""
    loop = [luna.look() for _ in range(limits.period)]
    for action in islice(cycle(loop), limits.rounds(limits.repeat)):
        for _ in range(luna.rng.randint(0, 3)):
            luna.emit(Note(text=luna.rng.choice(("heartbeat", "running", f"log {luna.number()}"))))
        luna.emit(Said(text=luna.prose(1)))
        luna.do(action)


def same_error(luna: Luna, limits: Limits) -> None:
    """The same error, with starts and heartbeats in between."""
    error = luna.rng.choice(ERRORS)
    action = luna.look().model_copy(update={"observation": error, "error": True})
    for _ in range(limits.settings.error_limit or 0):
        luna.emit(Note(text=f"start {luna.number()}"))
        luna.emit(Note(text="running"))
        luna.do(action)
        luna.emit(Note(text="heartbeat"))


def same_error_other_arguments(luna: Luna, limits: Limits) -> None:
    """The same error whatever it tries."""
    error = luna.rng.choice(ERRORS)
    for _ in range(limits.settings.error_limit or 0):
        luna.do(luna.look().model_copy(update={"observation": error, "error": True}))


def error_naming_its_argument(luna: Luna, limits: Limits) -> None:
    """Guesses: each error names another thing that is not there."""
    for _ in range(limits.patience):
        file = luna.file()
        gone = f"error: No such file: {file}"
        luna.do(Action(name="read_file", arguments={"path": file}, observation=gone, error=True))


def monologue(luna: Luna, limits: Limits) -> None:
    """The same words turn after turn, whatever the tools return."""
    words = luna.rng.choice((*PHRASES, luna.prose(3)))
    for _ in range(limits.settings.text_limit or 0):
        luna.emit(Said(text=words))
        luna.due()
        for _ in range(luna.rng.randint(1, 2)):
            luna.do(luna.look())


def texts_in_a_cycle(luna: Luna, limits: Limits) -> None:
    """A few texts taking turns, whatever the tools return."""
    texts = [luna.prose(2) for _ in range(limits.period)]
    for text in islice(cycle(texts), limits.rounds(limits.settings.text_limit or 0)):
        luna.emit(Said(text=text))
        luna.due()
        luna.do(luna.look())


def loop_inside_a_reply(luna: Luna, limits: Limits) -> None:
    """One reply runs away: a word, a sentence or a paragraph over and over."""
    unit = luna.rng.choice((luna.pick(1)[0] + " ", luna.prose(1) + "\n", luna.prose(5) + "\n\n", luna.code(3) + "\n"))
    count = max(10, (limits.settings.text_run or 0) // len(unit) + 1) + luna.rng.randint(1, 50)
    end = luna.rng.choice(("", '{"status": "SUCCESS"}'))
    luna.emit(Said(text=f"{luna.prose(4)}\n{unit * count}{end}"))
    luna.due()


def hypothesis_restated(luna: Luna, limits: Limits) -> None:
    """Ever new actions, ever the same hypothesis."""
    guess = Progress(stage=Stage.HYPOTHESIS, evidence=luna.prose(1))
    luna.emit(guess)
    luna.begin()
    for _ in range(limits.patience):
        luna.do(luna.look())
        luna.due()
        luna.emit(guess)


def wandering(luna: Luna, limits: Limits) -> None:
    """Ever new actions; it has said where it stands before, and does not rise."""
    luna.emit(Progress(stage=Stage.UNKNOWN, evidence=luna.prose(1)))
    luna.begin()
    for _ in range(limits.patience):
        luna.do(luna.look())


def ladder_up_and_down(luna: Luna, limits: Limits) -> None:
    """Hypothesis, evidence, unknown, hypothesis again, and the same evidence each time."""
    stages = (Stage.HYPOTHESIS, Stage.EVIDENCE, Stage.ROOT_CAUSE, Stage.UNKNOWN)
    ladder = [Progress(stage=stage, evidence=luna.prose(1)) for stage in stages]
    for event in ladder:
        luna.do(luna.look())
        luna.emit(event)
    luna.begin()
    for event in islice(cycle(ladder), limits.patience):
        luna.do(luna.look())
        luna.due()
        luna.emit(event)


def fix_breaks_elsewhere(luna: Luna, limits: Limits) -> None:
    """Repairing one test breaks the other, and back."""
    a, b = luna.file(), luna.file()
    luna.do(luna.test(a))
    luna.do(luna.test(b, failing="it"))
    for good, bad in islice(cycle([(b, a), (a, b)]), limits.settings.break_limit or 0):
        luna.do(luna.edit())
        luna.do(luna.test(good))
        luna.do(luna.test(bad, failing=f"it_{luna.number()}"))


def several_causes(luna: Luna, limits: Limits) -> None:
    """Two or three failures of one test take turns, whatever is changed."""
    test = luna.file()
    causes = luna.pick(luna.rng.choice((2, 3)))
    for cause in islice(cycle(causes), len(causes) + 2):
        luna.do(luna.edit())
        luna.do(luna.test(test, failing=cause))


def outside_the_workspace(luna: Luna, limits: Limits) -> None:
    """Goes where it has no business."""
    luna.do(luna.edit(luna.rng.choice(("/etc/hosts", "../other/app.py", "~/.profile", "src/../../secrets.env"))))


def excluded_path(luna: Luna, limits: Limits) -> None:
    """Changes what the constraints exclude, or what is not among what they allow."""
    place, words = luna.rng.choice(
        (
            ("legacy/", "Do not touch legacy/."),
            ("vendor/lib/", "Never change files under vendor/lib."),
            ("docs/", "Don't edit `docs`, it is generated."),
            ("tools/", "Only change files under src, lib, app and tests."),
            ("migrations/", "Repair it without editing migrations/*.py."),
        )
    )
    luna.constrain(words)
    luna.do(luna.edit(f"{place}{luna.pick(1)[0]}.py"))


def excluded_topic(luna: Luna, limits: Limits) -> None:
    """Works on, or looks for, what the constraints exclude."""
    about = luna.rng.choice(TOPICS[luna.other].split())
    if luna.rng.random() < 0.5:
        luna.constrain(luna.rng.choice(("Do not work on {}.", "Stay away from the {} code.")).format(about))
        luna.do(luna.edit(f"src/{about}/{luna.pick(1)[0]}.py"))
    else:
        luna.constrain(luna.rng.choice(("Do not research {}.", "Nothing about {}, please.")).format(about))
        query = f"{luna.pick(1)[0]} {about} overview"
        luna.do(Action(name="search_web", arguments={"query": query}, observation=luna.prose(3)))


def drift(luna: Luna, limits: Limits) -> None:
    """Another matter altogether; some even report that they get on with it."""
    words = TOPICS[luna.other].split()
    for n in range(limits.settings.drift_limit or 0):
        if luna.reports and n % 3 == 0:
            luna.emit(Progress(stage=Stage.EVIDENCE, evidence=luna.prose(1, words)))
        a, b = luna.rng.sample(words, 2)
        address = f"https://{a}.example/{b}/{luna.number()}"
        luna.do(Action(name="open_page", arguments={"url": address}, observation=luna.prose(10, words)))


def reads_again_after_each_summary(luna: Luna, limits: Limits) -> None:
    """Summarise, read the same files again, summarise."""
    files = [luna.look() for _ in range(luna.rng.randint(1, 6))]
    for action in files:
        luna.do(action)
        luna.get_on()
    luna.news()
    luna.begin()
    luna.emit(Compacted(before_tokens=90_000, after_tokens=luna.rng.randint(9_000, 40_000)))
    for _ in range((limits.settings.thrash_limit or 0) - 1):
        for action in files:
            luna.do(action)
        if not luna.reports and len(files) > 1:
            luna.do(luna.look())
        luna.emit(Compacted(before_tokens=90_000, after_tokens=luna.rng.randint(9_000, 40_000)))


def summaries_that_free_nothing(luna: Luna, limits: Limits) -> None:
    """The context is as full as before."""
    known = luna.look()
    luna.do(known)
    luna.begin()
    for _ in range(2):
        luna.emit(Compacted(before_tokens=90_000, after_tokens=luna.rng.randint(82_000, 95_000)))
        luna.due()
        luna.do(known)


def polling_undeclared(luna: Luna, limits: Limits) -> None:
    """Asks for a job's state again and again, without having said so."""
    job = f"job-{luna.number()}"
    for _ in range(limits.repeat):
        luna.do(Action(name="job_status", arguments={"job": job}, observation="RUNNING"))


def polling_overdue(luna: Luna, limits: Limits) -> None:
    """Goes on polling when the deadline it gave is over, or faster than it said."""
    job = f"job-{luna.number()}"
    poll = Action(name="job_status", arguments={"job": job}, observation="RUNNING")
    interval = luna.rng.uniform(20, 90)
    luna.emit(Waiting(what=job, deadline_s=10 * interval, interval_s=interval))
    for _ in range(luna.rng.randint(2, 8)):
        luna.do(poll, after_s=interval)
    if luna.rng.random() < 0.5:
        luna.now += 10 * interval
    luna.begin()
    for _ in range(limits.repeat):
        luna.do(poll, after_s=interval / 4)


def all_steps(luna: Luna, limits: Limits) -> None:
    """Always finds something new, and never ends."""
    while sum(isinstance(event, Action) for event, _ in luna.stream.events) < (limits.settings.max_steps or 0):
        luna.get_on()
        luna.do(luna.look())
    luna.due()


def all_tokens(luna: Luna, limits: Limits) -> None:
    """Always finds something new, at a price."""
    luna.stream.settings = {"max_tokens": 150_000}
    luna.work(160)


def cycle_longer_than_the_window(luna: Luna, limits: Limits) -> None:
    """Round and round, too long a round to be recognised."""
    length = luna.rng.randint(limits.settings.window // 2 + 1, 2 * limits.settings.window)
    loop = [luna.look() for _ in range(length)]
    for action in islice(cycle(loop), limits.settings.max_steps or 0):
        luna.do(action)


def cycle_with_a_counter(luna: Luna, limits: Limits) -> None:
    """Round and round; a number in the results counts up."""
    loop = [luna.look() for _ in range(luna.rng.randint(1, 2 * limits.settings.window))]
    for n, action in enumerate(islice(cycle(loop), limits.settings.max_steps or 0)):
        luna.do(action.model_copy(update={"observation": f"{action.observation}\nrequest {n}"}))


def hypothesis_in_other_words(luna: Luna, limits: Limits) -> None:
    """The same hypothesis, said differently each time."""
    a, b = luna.pick(2)
    ways = ("I think", "Probably", "My guess:", "It seems that", "Maybe", "As I see it,", "It looks as if", "Still:")
    for n in range(limits.settings.max_steps or 0):
        if n % 3 == 0:
            said = f"{luna.rng.choice(ways)} the {a} {luna.rng.choice(('breaks', 'spoils', 'damages'))} the {b}"
            luna.emit(Progress(stage=Stage.HYPOTHESIS, evidence=f"{said} {luna.rng.choice(('', 'again', 'there'))}"))
        luna.do(luna.look())


@dataclass(frozen=True)
class Loop:
    """A way of being stuck.

    Attributes:
        make: How it goes.
        named: The kinds of alarm that name it.
        also: Other kinds that are right.
        reports: Whether the Luna reports its progress; None: half of them do.
        work: Of which kind the task is; None: any.
        before: Most actions of honest work before it.
    """

    make: Callable[[Luna, Limits], None]
    named: AbstractSet[StuckKind]
    also: AbstractSet[StuckKind] = GENERAL
    reports: bool | None = None
    work: str | None = None
    before: int = 25


K = StuckKind
LOOPS = (
    Loop(exact_repeat, {K.REPETITION}),
    Loop(actions_in_a_cycle, {K.REPETITION}),
    Loop(cycle_with_noise, {K.REPETITION}),
    Loop(cycle_with_events_between, {K.REPETITION}),
    Loop(same_error, {K.SAME_ERROR, K.REPETITION}),
    Loop(same_error_other_arguments, {K.SAME_ERROR}),
    Loop(error_naming_its_argument, {K.NO_PROGRESS}),
    Loop(monologue, {K.TEXT_LOOP}),
    Loop(texts_in_a_cycle, {K.TEXT_LOOP}),
    Loop(loop_inside_a_reply, {K.TEXT_LOOP}),
    Loop(hypothesis_restated, {K.SAME_HYPOTHESIS}, reports=True),
    Loop(wandering, {K.NO_PROGRESS}, reports=True),
    Loop(ladder_up_and_down, {K.NO_NEW_EVIDENCE, K.SAME_HYPOTHESIS}, reports=True),
    Loop(fix_breaks_elsewhere, {K.FIX_BREAKS_ELSEWHERE}, work="coding"),
    Loop(several_causes, {K.SEVERAL_CAUSES}, work="coding"),
    Loop(outside_the_workspace, {K.SCOPE}, also=set()),
    Loop(excluded_path, {K.SCOPE}, also=set()),
    Loop(excluded_topic, {K.SCOPE}, also=set()),
    Loop(drift, {K.DRIFT}, also=set()),
    Loop(reads_again_after_each_summary, {K.CONTEXT_THRASH}, also=GENERAL | {K.REPETITION}),
    Loop(summaries_that_free_nothing, {K.CONTEXT_THRASH}),
    Loop(polling_undeclared, {K.REPETITION}),
    Loop(polling_overdue, {K.REPETITION}),
    Loop(all_steps, {K.STEP_LIMIT}, also=set(), before=0),
    Loop(all_tokens, {K.STEP_LIMIT}, also=set(), before=0),
)
BEYOND = (
    Loop(cycle_longer_than_the_window, {K.STEP_LIMIT}),
    Loop(cycle_with_a_counter, {K.STEP_LIMIT}),
    Loop(hypothesis_in_other_words, {K.STEP_LIMIT}, reports=True),
)
"""What no detector claims to recognise: patience or the step limit must end it."""


def stuck_luna(rng: random.Random, loop: Loop, limits: Limits) -> Luna:
    """Make a Luna that works honestly for a while, and is stuck then."""
    luna = Luna(rng, reports=loop.reports, kind=loop.work)
    luna.work(rng.randint(0, loop.before))
    luna.news()
    luna.begin()
    loop.make(luna, limits)
    luna.stream.named = loop.named
    luna.stream.kinds = loop.named | loop.also
    if not luna.stream.due:
        luna.due()
    return luna

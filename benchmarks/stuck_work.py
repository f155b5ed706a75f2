"""A made-up Luna for benchmarks/stuck.py: what a coding, a research or a data worker does and gets to see.

Knows nothing of the detectors; only the vocabulary of `luna.protocol`.
"""

import random
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from luna.protocol import Action, Assignment, Note, Progress, ProgressEvent, Said, Spent, Stage, StuckKind, Usage

TOPICS = {
    "invoices": """invoice importer decimal comma amount currency ledger supplier column locale rounding total payment
        customer discount receipt balance account credit quarter vendor statement refund""",
    "login": """login session cookie token browser redirect password expiry refresh logout header signature cache user
        identity certificate callback consent captcha username policy device""",
    "energy": """energy solar turbine storage battery grid voltage demand peak tariff megawatt inverter panel offshore
        capacity outage frequency transmission meter household heating carbon""",
    "medicine": """patient trial dosage placebo symptom vaccine antibody clinic therapy cohort relapse tumour insulin
        adverse hospital screening diagnosis surgery nurse protein genome infection""",
    "shipping": """parcel carrier warehouse pallet customs container harbour freight courier route manifest tracking
        delivery depot weight stamp barcode vessel insurance driver truck forklift""",
    "astronomy": """telescope galaxy redshift spectrum orbit comet nebula pulsar mirror exposure star planet eclipse
        magnitude supernova dwarf cluster parallax survey photon lens observatory""",
    "cooking": """recipe oven flour butter yeast dough simmer garlic onion sauce knife roast spice vinegar pastry whisk
        broth saffron lentil marinade skillet chutney""",
    "music": """melody chord tempo rhythm violin chorus octave harmony score bass drummer orchestra sonata tenor lyric
        album concert piano soprano cello festival studio""",
}
GLUE = """the a this that which after before about there their these with from into between under while because since
    should could would also only most other than when where still again often never first last each both some many
    very more less another however although during""".split()
COMMON = """people company water market early strong percent region building season morning group public
    local century member doctor village winter window letter language machine board service level effect
    measure growth quality price road animal history model method weather colour picture history island
    forest paper metal glass bridge engine""".split()
VERBS = "shows uses needs returns changes depends moves reports holds drops keeps checks names follows lacks".split()
PHRASES = (
    "Let me take a look.",
    "Now I will check the next one.",
    "Good. Next step.",
    "Let me verify that.",
    "I see.",
    "Thanks, that helps. Let me go on.",
    "Let me continue.",
    "Okay.",
)
KINDS = ("coding", "research", "data")


@dataclass
class Stream:
    """What one Luna does.

    Attributes:
        kinds: Of alarm that are right; empty: none is.
        named: Those of them that name what is wrong, where the others say only that nothing comes of it.
        onset: Number of events before it is stuck.
        due: Number of events by which an alarm must have come.
    """

    assignment: Assignment
    events: list[tuple[ProgressEvent, float]] = field(default_factory=list)
    kinds: AbstractSet[StuckKind] = frozenset()
    named: AbstractSet[StuckKind] = frozenset()
    onset: int = 0
    due: int = 0
    settings: dict[str, int] = field(default_factory=dict)


class Luna:
    """Acts, and writes down what it does. Half of all Lunas report their progress (`reports`), half never do."""

    def __init__(self, rng: random.Random, *, reports: bool | None = None, kind: str | None = None) -> None:
        self.rng = rng
        self.reports = rng.random() < 0.5 if reports is None else reports
        self.kind = kind or rng.choice(KINDS)
        self.topic, self.other = rng.sample(sorted(TOPICS), 2)
        self.words = TOPICS[self.topic].split()
        self.count = 0
        self.idle = 0
        self.now = 0.0
        self.stages = [Stage.HYPOTHESIS, Stage.EVIDENCE, Stage.ROOT_CAUSE, Stage.SOLUTION, Stage.VERIFIED]
        self.stream = Stream(self._assignment())

    def constrain(self, constraint: str) -> None:
        """Give the task one more constraint."""
        given = self.stream.assignment
        self.stream.assignment = given.model_copy(update={"constraints": (*given.constraints, constraint)})

    def _assignment(self) -> Assignment:
        a, b, c, d = self.pick(4)
        goal = {
            "coding": f"Repair the {a} {b} of the {self.topic} service: the {c} is wrong when a {d} is empty.",
            "research": f"Find out how the {a} of a {b} depends on its {c}, with sources on {self.topic}.",
            "data": f"Clean the {self.topic} table: every {a} has a {b}, and the {c} adds up for each {d}.",
        }[self.kind]
        return Assignment.model_validate(
            {
                "goal": goal,
                "context": f"The {a} was last changed for the {d}.",
                "inputs": {"about": f"{self.topic}: {b} and {c}"},
                "constraints": ["Keep the changes small."],
                "expected_output": "The change or the answer, with what shows that it is right.",
                "success_criteria": [f"The {c} is right."],
                "stop_conditions": ["A source cannot be reached."],
            }
        )

    # --- words -------------------------------------------------------------------------------------------------------

    def pick(self, count: int) -> list[str]:
        """Different words of the topic."""
        return self.rng.sample(self.words, count)

    def number(self) -> int:
        """A number never given before."""
        self.count += 1
        return self.count

    def prose(self, sentences: int, words: list[str] | None = None) -> str:
        """Sentences of the topic's words, or others."""
        rng, words = self.rng, words or self.words
        return " ".join(
            f"{rng.choice(GLUE).capitalize()} {rng.choice(words)} {rng.choice(VERBS)} {rng.choice(GLUE)} "
            f"{rng.choice(words)} {rng.choice(GLUE)} {rng.choice(COMMON)} {rng.choice(GLUE)} {rng.choice(words)}."
            for _ in range(sentences)
        )

    def code(self, lines: int) -> str:
        """Lines of a program."""
        rng = self.rng
        return "\n".join(
            rng.choice(
                (
                    "def {0}_{1}({2}):",
                    "    return {0}.{1}({2})",
                    "    if {0} is None:",
                    "    self.{0} = {1}[{2!r}]",
                    "import {0}",
                )
            ).format(*self.pick(3))
            for _ in range(lines)
        )

    def seconds(self) -> str:
        """How long a program says that it took."""
        return f"{self.rng.uniform(0.05, 9):.2f}s"

    def file(self, suffix: str = "") -> str:
        """A file not named before."""
        a, b = self.pick(2)
        return f"{self.rng.choice(('src', 'lib', 'app', 'tests'))}/{a}/{b}_{self.number()}{suffix or self.suffix}"

    @property
    def suffix(self) -> str:
        """Of the files it works on."""
        return {"coding": ".py", "research": ".md", "data": ".csv"}[self.kind]

    # --- doing -------------------------------------------------------------------------------------------------------

    def emit(self, event: ProgressEvent, *, after_s: float | None = None) -> None:
        """Write an event down, some seconds after the last one."""
        self.now += self.rng.uniform(1, 40) if after_s is None else after_s
        self.stream.events.append((event, self.now))

    def do(self, action: Action, *, after_s: float | None = None) -> None:
        """Write an action down, as an agent's: what the call cost comes first, sometimes with a note."""
        self.emit(Spent(usage=Usage(calls=1, tokens=self.rng.randint(300, 4_000))), after_s=after_s)
        if self.rng.random() < 0.2:
            self.emit(Note(text="running"), after_s=0)
        self.emit(action, after_s=0)
        self.idle += 1

    def look(self) -> Action:
        """An action that finds something new, and changes nothing."""
        a, b = self.pick(2)
        n = self.number()
        if self.kind == "research":
            if self.rng.random() < 0.4:
                hits = "\n".join(f"{k}. {self.prose(1)} https://{a}.example/{n}-{k}" for k in range(1, 5))
                return Action(name="search_web", arguments={"query": f"{a} {b} {n}"}, observation=hits)
            return Action(name="open_page", arguments={"url": f"https://{a}.example/{n}"}, observation=self.prose(12))
        if self.kind == "data" and self.rng.random() < 0.5:
            rows = "\n".join(f"{a}-{self.rng.randint(1, 9_999)},{self.rng.random():.4f}" for _ in range(5))
            query = f"select {a}, {b} from {self.topic} where id > {n} limit 5"
            return Action(name="query", arguments={"sql": query}, observation=f"{a},{b}\n{rows}")
        if self.rng.random() < 0.3:
            hits = "\n".join(f"{self.file()}:{k}: {self.code(1)}" for k in range(1, 4))
            return Action(name="search_files", arguments={"pattern": f"{a}_{n}"}, observation=hits)
        return self.read(self.file())

    def read(self, file: str) -> Action:
        """Read a file; the same one has the same text only if the action is kept."""
        text = self.code(15) if self.kind == "coding" else self.prose(8)
        return Action(name="read_file", arguments={"path": file}, observation=text, paths=(file,))

    def edit(self, file: str | None = None) -> Action:
        """A change not made before."""
        file = file or self.file()
        old, new = f"{self.code(1)}  # {self.number()}", self.code(2)
        return Action(
            name="edit_file", arguments={"path": file, "old": old, "new": new}, observation="edited", paths=(file,)
        )

    def run(self, command: str, observation: str, *, error: bool = False) -> Action:
        """Run a command."""
        return Action(name="run_command", arguments={"command": command}, observation=observation, error=error)

    def test(self, of: str, failing: str = "", passed: int = 3) -> Action:
        """Run tests; `failing`: what fails, "" for nothing."""
        head = "..F.    [100%]\n" if len(of) % 2 else f"collected {passed} items\n\n{of} ..F.\n"
        if not failing:
            return self.run(f"pytest -q {of}", f"{head}\n{passed} passed in {self.seconds()}")
        told = f"{head}FAILED {of}::test_{failing}\n1 failed, {passed} passed in {self.seconds()}"
        return self.run(f"pytest -q {of}", told, error=True)

    def news(self) -> None:
        """Report new evidence, sometimes a rise. Lunas that never report do nothing."""
        self.idle = 0
        if not self.reports:
            return
        if self.stages and self.rng.random() < 0.15:
            self.emit(Progress(stage=self.stages.pop(0), evidence=f"{self.prose(1)} ({self.number()})"))
        else:
            stage = self.rng.choice((Stage.UNKNOWN, Stage.HYPOTHESIS, Stage.EVIDENCE))
            self.emit(Progress(stage=stage, evidence=f"{self.prose(1)} ({self.number()})"))

    def get_on(self) -> None:
        """Report before the default patience ends."""
        if self.idle >= self.rng.randint(2, 4):
            self.news()

    def step(self, action: Action) -> None:
        """An action of honest work: what was found before is reported in time."""
        self.get_on()
        self.do(action)

    def work(self, actions: int) -> None:
        """Honest work: something new is found or changed by every action, and reported in time."""
        for _ in range(actions):
            if self.rng.random() < 0.3:
                self.emit(Said(text=f"Now the {' and the '.join(self.pick(2))} of {self.file()}."))
            self.step(self.edit() if self.kind != "research" and self.rng.random() < 0.25 else self.look())

    # --- being stuck -------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """From here on it is stuck."""
        self.stream.onset = len(self.stream.events)

    def due(self) -> None:
        """The last event is the one at which it must have been noticed."""
        self.stream.due = len(self.stream.events)

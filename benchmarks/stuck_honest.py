"""All kinds of honest work, for benchmarks/stuck.py: no alarm is right for any of it."""

from collections.abc import Callable

from stuck_work import PHRASES, TOPICS, Luna

from luna.protocol import Action, Compacted, Partial, Said, Waiting


def investigation(luna: Luna) -> None:
    """Long, with new evidence or new results all the time."""
    luna.work(luna.rng.randint(40, 190))


def reading_many_files(luna: Luna) -> None:
    """Reads and searches; some searches find nothing."""
    for n in range(luna.rng.randint(30, 150)):
        if n % 7 == 6:
            pattern = f"{luna.pick(1)[0]}_{luna.number()}"
            luna.step(Action(name="search_files", arguments={"pattern": pattern}, observation="nothing found"))
        luna.step(luna.read(luna.file()))


def edit_and_test(luna: Luna) -> None:
    """One test after the other made to pass; what fails changes, at times only at the second go."""
    test = luna.file()
    for left in range(luna.rng.randint(5, 30), 0, -1):
        failing = f"{luna.pick(1)[0]}_{left}"
        for _ in range(luna.rng.randint(1, 2)):
            luna.step(luna.edit())
            luna.step(luna.test(test, failing=failing, passed=40 - left))
    luna.step(luna.edit())
    luna.step(luna.test(test, passed=40))


def one_failure_many_ideas(luna: Luna) -> None:
    """A test goes on failing in the same way; each idea comes from something read before."""
    test, failing = luna.file(), luna.pick(1)[0]
    for _ in range(luna.rng.randint(5, 15)):
        for _ in range(luna.rng.randint(1, 3)):
            luna.step(luna.look())
        luna.step(luna.edit())
        luna.step(luna.test(test, failing=failing))
    luna.step(luna.edit())
    luna.step(luna.test(test))


def tests_at_length(luna: Luna) -> None:
    """The tests of one file after another, nearly all pass."""
    for _ in range(luna.rng.randint(20, 120)):
        test = luna.file()
        if luna.rng.random() < 0.1:
            luna.step(luna.test(test, failing=luna.pick(1)[0]))
            luna.step(luna.edit())
            luna.news()
        luna.step(luna.test(test, passed=luna.rng.randint(1, 4)))


def flaky_command(luna: Luna) -> None:
    """Now and then a command fails twice in the same way, then goes through."""
    for _ in range(luna.rng.randint(3, 8)):
        luna.work(luna.rng.randint(1, 10))
        luna.news()
        host = luna.pick(1)[0]
        command = f"curl -s https://{host}.example/{luna.number()}"
        for _ in range(2):
            luna.step(luna.run(command, f"curl: (6) could not resolve host: {host}.example", error=True))
        luna.step(luna.run(command, luna.prose(4)))
        luna.news()


def failures_on_the_way(luna: Luna) -> None:
    """Looks for things that are not there, in different places, and goes on."""
    for _ in range(luna.rng.randint(5, 20)):
        luna.news()
        for _ in range(luna.rng.randint(1, 3)):
            file = luna.file()
            gone = f"error: No such file: {file}"
            luna.step(Action(name="read_file", arguments={"path": file}, observation=gone, error=True))
        luna.step(luna.look())


def declared_polling(luna: Luna) -> None:
    """Waits for a job as it said, few or many times, and goes on with what comes of it."""
    for _ in range(luna.rng.randint(1, 3)):
        luna.work(luna.rng.randint(1, 15))
        job, interval = f"job-{luna.number()}", luna.rng.uniform(5, 120)
        polls = luna.rng.randint(3, 50)
        luna.news()
        luna.emit(Waiting(what=job, deadline_s=(polls + 2) * interval * 1.2, interval_s=interval))
        for _ in range(polls):
            state = Action(name="job_status", arguments={"job": job}, observation=f"{job} is RUNNING")
            luna.do(state, after_s=interval * luna.rng.uniform(1, 1.2))
        done = f"{job} is DONE: {luna.prose(2)}"
        luna.do(Action(name="job_status", arguments={"job": job}, observation=done), after_s=interval)
        luna.news()


def reading_a_file_again(luna: Luna) -> None:
    """Comes back to one or two files now and then."""
    core = [luna.read(luna.file()) for _ in range(luna.rng.randint(1, 2))]
    for _ in range(luna.rng.randint(4, 12)):
        luna.news()
        for action in core:
            luna.step(action)
        luna.news()
        luna.work(luna.rng.randint(2, 10))


def changes_without_a_word(luna: Luna) -> None:
    """Changes one file after another; each tool answers the same."""
    luna.reports = False
    for _ in range(luna.rng.randint(20, 180)):
        luna.step(luna.edit())


def commands_without_output(luna: Luna) -> None:
    """Several commands in a row that succeed without a word."""
    for _ in range(luna.rng.randint(5, 20)):
        for _ in range(luna.rng.randint(1, 8)):
            luna.step(luna.run(f"{luna.rng.choice(('mkdir -p', 'git add', 'chmod +x', 'touch'))} {luna.file()}", ""))
        luna.step(luna.look())


def batch(luna: Luna) -> None:
    """Hundreds of similar items, each with its own result; some Lunas hand each one over as a finished part."""
    for n in range(luna.rng.randint(100, 190)):
        item = f"{luna.topic}-{luna.number()}"
        value = f"{luna.pick(1)[0]} {luna.rng.randint(1, 10**9)}"
        luna.step(Action(name="classify", arguments={"item": item}, observation=f"{item}: {value}"))
        if luna.reports and n % 3 == 0:
            luna.emit(Partial(key=item, value=value))


def summaries_with_progress(luna: Luna) -> None:
    """The context is summarised; a few files are read again, and the work goes on."""
    core = [luna.read(luna.file()) for _ in range(luna.rng.randint(1, 3))]
    for _ in range(luna.rng.randint(3, 10)):
        for action in core:
            luna.step(action)
        luna.news()
        luna.work(luna.rng.randint(8, 14))
        luna.news()
        luna.emit(Compacted(before_tokens=90_000, after_tokens=luna.rng.randint(8_000, 40_000)))


def polite_phrases(luna: Luna) -> None:
    """Says one of a few stock phrases, or something of its own, at each turn."""
    for _ in range(luna.rng.randint(20, 120)):
        own = luna.rng.random() < 0.5
        luna.emit(Said(text=luna.prose(1) if own else luna.rng.choice(PHRASES)))
        luna.step(luna.edit() if luna.rng.random() < 0.3 else luna.look())


def phrase_before_each_change(luna: Luna) -> None:
    """The same phrase before each of many changes."""
    for _ in range(luna.rng.randint(20, 80)):
        luna.emit(Said(text="Now the next file."))
        luna.step(luna.edit())


def tables_and_lists(luna: Luna) -> None:
    """Long replies with tables and lists, whose rows look alike."""
    rng = luna.rng
    for _ in range(rng.randint(2, 6)):
        luna.work(rng.randint(1, 5))
        names = [f"{a} {b}" for a in luna.words for b in luna.words[:8]]
        rows = [f"| {name} | {rng.choice(('yes', 'no'))} | {rng.randint(0, 9)} | ok |" for name in names]
        table = "\n".join(["| what | seen | count | state |", "| --- | --- | --- | --- |", *rows])
        points = "\n".join(f"- [x] {name}: checked, nothing to do" for name in names)
        luna.emit(Said(text=f"{luna.prose(2)}\n\n{rng.choice((table, points))}\n{'=' * 120}\n{luna.prose(1)}"))


def code_with_repeated_lines(luna: Luna) -> None:
    """Replies with code in which lines or blocks stand many times."""
    rng = luna.rng
    for _ in range(rng.randint(2, 6)):
        luna.work(rng.randint(1, 5))
        zeros = "    [0, 0, 0, 0, 0, 0, 0, 0],\n" * rng.randint(8, 40)
        cases = "".join(f"    def test_{n}(self):\n        self.check({n})\n\n" for n in range(rng.randint(10, 60)))
        closing = "        </div>\n" * rng.randint(5, 12)
        luna.emit(Said(text=f"```\ngrid = [\n{zeros}]\n\nclass Test:\n{cases}{closing}```\n{luna.prose(1)}"))


def near_the_constraints(luna: Luna) -> None:
    """Reads what it must not change, and names what it must not work on."""
    about = luna.rng.choice(TOPICS[luna.other].split())
    luna.constrain("Do not change files under legacy/.")
    luna.constrain(f"Do not work on {about}.")
    luna.constrain("Only change files under src, lib, app and tests.")
    for _ in range(luna.rng.randint(5, 30)):
        luna.work(luna.rng.randint(1, 3))
        luna.news()
        luna.step(luna.read(f"legacy/{about}_{luna.number()}.py"))
        pattern = f"import {about} {luna.number()}"
        luna.step(Action(name="search_files", arguments={"pattern": pattern}, observation=luna.code(3)))


def side_step(luna: Luna) -> None:
    """Reads some pages about another matter, and comes back."""
    words = TOPICS[luna.other].split()
    for _ in range(luna.rng.randint(2, 6)):
        luna.work(luna.rng.randint(5, 15))
        for _ in range(luna.rng.randint(2, 6)):
            address = f"https://{luna.rng.choice(words)}.example/{luna.number()}"
            luna.step(Action(name="open_page", arguments={"url": address}, observation=luna.prose(8, words)))
        luna.step(luna.look())


def broken_and_repaired(luna: Luna) -> None:
    """A fix breaks another test once; that is repaired, too."""
    for _ in range(luna.rng.randint(1, 3)):
        luna.work(luna.rng.randint(2, 10))
        luna.news()
        a, b = luna.file(), luna.file()
        luna.step(luna.test(a))
        luna.step(luna.test(b, failing=luna.pick(1)[0]))
        luna.step(luna.edit())
        luna.step(luna.test(b))
        luna.news()
        luna.step(luna.test(a, failing=luna.pick(1)[0]))
        luna.step(luna.edit())
        luna.step(luna.test(a))
        luna.step(luna.test(b))
        luna.news()


HONEST: tuple[Callable[[Luna], None], ...] = (
    investigation,
    reading_many_files,
    edit_and_test,
    one_failure_many_ideas,
    tests_at_length,
    flaky_command,
    failures_on_the_way,
    declared_polling,
    reading_a_file_again,
    changes_without_a_word,
    commands_without_output,
    batch,
    summaries_with_progress,
    polite_phrases,
    phrase_before_each_change,
    tables_and_lists,
    code_with_repeated_lines,
    near_the_constraints,
    side_step,
    broken_and_repaired,
)

"""A run that was killed before its task was recorded: it has an id and nothing else."""

import asyncio
from pathlib import Path

import pytest

from sol.journal import Owner, RunInfo, SqlJournal, default_url
from tests.support.cli import CommandLine

SAID = "Run lost was killed before its task was recorded; start it anew."


@pytest.fixture
def lost(sol: CommandLine) -> CommandLine:
    """The command line, where there is such a run."""

    async def make() -> None:
        async with SqlJournal(default_url(Path.cwd())) as journal:
            info = RunInfo(id="lost", created_t=1.0, title="A title", meta={"kind": "tree"})
            await journal.release(await journal.create(info, Owner("here", 1, 1.0, "token")))

    Path(".sol").mkdir(exist_ok=True)
    asyncio.run(make())
    return sol


def test_unrecorded_run_is_shown_as_what_it_is(lost: CommandLine) -> None:
    ended = lost("show", "lost")
    assert (ended.code, ended.out.splitlines()[-1]) == (0, SAID)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("show", "lost", "--node", "."), 3),
        (("answer", "lost", "blue"), 4),
        (("cancel", "lost"), 3),
        (("retry", "lost", "."), 3),
        (("resume", "lost"), 4),
    ],
)
def test_unrecorded_run_cannot_be_asked_for_anything(lost: CommandLine, arguments: tuple[str, ...], code: int) -> None:
    ended = lost(*arguments)
    assert (ended.code, ended.err) == (code, f"error: {SAID}\n")

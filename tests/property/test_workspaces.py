"""Whatever two or three parts do to the same files: each change is in what is merged, or told as a conflict."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from luna.workspaces import Side
from tests.support.gitspaces import BOTH, Area, Kind, git, make_area, read, write
from tests.support.programs import with_git

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="processes need POSIX"), with_git]

NAMES = ("a", "b", "d/c")
LINES = 7
BASE = {name: "".join(f"{name} {n}\n" for n in range(LINES)) for name in NAMES}

changed_lines = st.sets(st.integers(0, LINES - 1), min_size=1, max_size=2)
change = st.one_of(changed_lines, st.just("delete"), st.just("program"))
"""What a part does to a file: lines that it changes, or the file is deleted or made a program."""
part = st.tuples(
    st.dictionaries(st.sampled_from(NAMES), change, max_size=2),
    st.sets(st.sampled_from(["new", "d/new", "a/new"]), max_size=1),
)


def line_of(label: str, name: str, number: int) -> str:
    return f"{label} changed {name} {number}\n"


def apply(checkout: Path, label: str, changes: Mapping[str, object], new: set[str]) -> None:
    for name, what in changes.items():
        path = checkout / name
        if what == "delete":
            path.unlink()
        elif what == "program":
            path.chmod(0o755)
        elif isinstance(what, set):
            lines = path.read_text().splitlines(keepends=True)
            path.write_text("".join(line_of(label, name, n) if n in what else line for n, line in enumerate(lines)))
    for name in new:
        if (checkout / name).parent.is_file():
            (checkout / name).parent.unlink()
        write(checkout, {name: f"{label} made {name}\n"})


def lost(label: str, before: dict[str, str], own: dict[str, str], merged: dict[str, str]) -> list[str]:
    """What a part has changed and a merge does not have; files have lines that nobody else writes."""
    found = []
    for name in before.keys() | own.keys():
        if name not in own:
            found += [name] * (name in merged)
        elif before.get(name) != own[name]:
            mine = [line for line in own[name].splitlines() if line.startswith(f"{label} ")]
            found += [line for line in mine if line not in merged.get(name, "")]
            found += [name] * (own[name].startswith("x ") and not merged.get(name, "").startswith("x "))
    return found


async def check(area: Area, parts: list[tuple[dict[str, object], set[str]]]) -> None:
    workspaces = area.workspaces()
    base = await workspaces.begin()
    sides: list[Side] = []
    own: dict[str, dict[str, str]] = {}
    for number, (changes, new) in enumerate(parts):
        label = f"part{number}"
        checkout = await workspaces.checkout(label, base=base)
        apply(checkout, label, changes, new)
        own[label] = read(checkout)
        sides.append(Side(label, await workspaces.keep(label, message=label)))
        await workspaces.drop(label)
    merge = await workspaces.merge("all", base=base, sides=sides, message="m")
    done = sides[: len(merge.merged)]
    assert merge.merged == tuple(side.label for side in done)
    whole = await workspaces.checkout("whole", base=merge.snapshot)
    for side in done:
        assert lost(side.label, BASE, own[side.label], read(whole)) == []
    if merge.conflict is None:
        assert len(done) == len(sides)
    else:
        assert merge.conflict.side == sides[len(done)]
        assert merge.conflict.files
        theirs = own[merge.conflict.side.label]
        for file in merge.conflict.files:
            assert file.theirs is None or file.theirs in {text.removeprefix("x ") for text in theirs.values()}
            assert file.ours is None or file.ours in {text.removeprefix("x ") for text in read(whole).values()}
            assert file.ours != file.theirs or file.ours is None
    await workspaces.finish(result=None)
    for snapshot in (base, merge.snapshot, *(side.snapshot for side in sides)):
        if snapshot != base or area.kind == "worktree":
            assert git(area.repository(), "for-each-ref", f"--contains={snapshot}")


@pytest.mark.req("S25", "S60")
@pytest.mark.parametrize("kind", BOTH)
@given(parts=st.lists(part, min_size=2, max_size=3))
@settings(max_examples=15)
def test_every_change_is_merged_or_told(kind: Kind, parts: list[tuple[dict[str, object], set[str]]]) -> None:
    with TemporaryDirectory() as directory:
        asyncio.run(check(make_area(kind, Path(directory).resolve(), BASE), parts))

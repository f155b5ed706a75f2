"""A Luna that changes files, and repositories for it to work in."""

import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from luna.protocol import Assignment, Delivery, Success

Files = Mapping[str, str]


def git(directory: Path, *words: str) -> str:
    """What a git command prints."""
    command = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", *words]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout.strip()


def written(directory: Path, files: Files) -> Path:
    """The directory with these files in it."""
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def repository(directory: Path, files: Files) -> Path:
    """A repository on branch main with one commit of these files."""
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "-q", "-b", "main")
    written(directory, files)
    git(directory, "add", "-A")
    git(directory, "commit", "-q", "-m", "begin")
    return directory


def read(directory: Path) -> dict[str, str]:
    """All files below a directory but hidden ones, by name."""
    paths = [path.relative_to(directory) for path in directory.rglob("*") if path.is_file()]
    return {
        path.as_posix(): (directory / path).read_text()
        for path in sorted(paths)
        if not any(part.startswith(".") for part in path.parts)
    }


@dataclass
class Editor:
    """Writes files and reports, as a function of the assignment says.

    Attributes:
        script: Given the assignment and what the workspace holds, what to write, and the report; None: success.
        calls: How often each goal was worked on.
        saw: What the workspace held at the beginning, newest attempt of each goal.
        at: Where that was.
        given: The newest assignment of each goal.
    """

    script: Callable[[Assignment, dict[str, str]], tuple[Files, Any]]
    calls: Counter[str] = field(default_factory=Counter)
    saw: dict[str, dict[str, str]] = field(default_factory=dict)
    at: dict[str, Path] = field(default_factory=dict)
    given: dict[str, Assignment] = field(default_factory=dict)

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[Any]:
        """Work."""
        goal = assignment.goal
        self.calls[goal] += 1
        self.saw[goal], self.at[goal], self.given[goal] = read(delivery.workspace), delivery.workspace, assignment
        files, report = self.script(assignment, self.saw[goal])
        written(delivery.workspace, files)
        yield report or Success(summary="done", result=goal)

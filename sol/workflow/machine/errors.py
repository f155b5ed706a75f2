"""What can go wrong with machine workflows before anything runs.

UsageError
└── WorkflowError          a file that cannot be used; has the findings
    └── NotAWorkflowError  a YAML file of another sort
ConflictError
└── DefinitionChangedError a run whose definition is not the one it was started with
"""

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sol.errors import ConflictError, UsageError
from sol.strictyaml import Position

Level = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found in a definition: an error (it does not run) or a warning. `source` is the file."""

    level: Level
    position: Position
    message: str
    source: str = ""

    def __str__(self) -> str:
        return f"{self.source}:{self.position.line}:{self.position.column}: {self.level}: {self.message}"


class WorkflowError(UsageError):
    """A workflow cannot be used. Raised before any worker is started; `findings` holds every error found."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        super().__init__("\n".join(map(str, findings)))
        self.findings = tuple(findings)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.findings,))


class NotAWorkflowError(WorkflowError):
    """The file is YAML and no workflow: it has no list of steps."""


class DefinitionChangedError(ConflictError):
    """The definition differs from the one that the run was started with; `changes` says in what. Nothing was changed.

    Source: RES-03.
    """

    def __init__(self, run: str, changes: Sequence[str]) -> None:
        listed = "\n".join(f"  {change}" for change in changes)
        super().__init__(
            f"The workflow of run {run!r} was changed since the run began:\n{listed}\n"
            "Accept the changes (--accept-changes) to keep the results of unchanged steps and run the others, "
            "or put the old definition back."
        )
        self.run = run
        self.changes = tuple(changes)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.run, self.changes))


def suggest(name: str, known: Collection[str]) -> str:
    """What to do about an unknown name."""
    folded = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f"did you mean {folded[near[0]]!r}?" if near else f"known: {', '.join(known)}"

"""Checks that walk through a workflow, for the rows about the workflow runtime."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.unit.rules.conformance_row import Check
from tests.unit.workflow.walk import LOOP, PARALLEL, messages, walk

Table = Mapping[str, Sequence[Any]]
PLAIN_LOOP = LOOP.split("loop_monitors")[0]
ROUNDS: Table = {"review": [2, 2, 1], "fix": [1], "monitor-1": [1]}
ASK = """
name: ask
steps:
  - name: plan
    instruction: plan
    rules:
      - {condition: ask, next: other, requires_user_input: true, interactive_only: true}
      - {condition: done, next: COMPLETE}
      - {condition: unclear, next: ABORT}
  - {name: other, instruction: x, rules: [{condition: a, next: COMPLETE}]}
"""
ERRORS = PARALLEL.replace(
    '- {condition: any("needs_fix"), next: fix}',
    '- {condition: any("needs_fix"), next: fix}\n      - {condition: any("error"), next: fix}',
)


def ends(text: str, table: Table, expected: str, **options: Any) -> Check:
    """The run ends with this status, or for this reason."""

    def check() -> None:
        done = walk(text, table, **options)
        assert expected in {done.status, done.machine.root.kind}

    return check


def goes(text: str, table: Table, *steps: str, **options: Any) -> Check:
    """The run makes these visits, in this order; sub-steps are not listed."""

    def check() -> None:
        done = walk(text, table, **options)
        assert [path for path in done.steps if not done.machine.nodes[path].inner] == list(steps)

    return check


def fires(text: str, table: Table, *, times: int, **options: Any) -> Check:
    """So many judges of monitors are visited."""

    def check() -> None:
        done = walk(text, table, **options)
        assert sum(visit.monitor >= 0 for visit in done.machine.nodes.values()) == times

    return check


def says(text: str, message: str, level: str = "error") -> Check:
    """Reading or checking says this."""

    def check() -> None:
        assert any(message in one for one in messages(text, level)), messages(text)

    return check

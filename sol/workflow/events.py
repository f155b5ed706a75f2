"""Events that only machine workflows have, or say more of; and the codec of their journals.

The spelling of types and fields is what journals hold: it never changes.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from sol.tree.codec import Codec
from sol.tree.events import Decided, EventType, Payload, Resumed, RunStarted, Settled
from sol.tree.values import Json, WorkerData

KIND: Final = "workflow"
"""Marks runs of workflows in the journal."""

Fingerprint: TypeAlias = Mapping[str, Mapping[str, Mapping[str, str]]]
"""Hashes of all that matters in a workflow and those it calls, by key, step and field."""


class WorkflowStarted(RunStarted, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """A run of a workflow was started.

    Attributes:
        kind: `workflow`.
        name: Of the workflow.
        file: Where it was read from, absolute.
        program: Key of its definition.
        task: What it is run on.
        max_steps: Most steps; None: no limit.
        interactive: Somebody is there to answer: rules with `interactive_only` count.
        report_dir: Where report files go, relative to the workspace.
        definition: What it was when it was started.
        warnings: About the workflow, one line each.
    """

    kind: str
    name: str
    file: str
    program: str
    task: str
    max_steps: int | None
    interactive: bool = False
    report_dir: str
    definition: Fingerprint
    warnings: tuple[str, ...] = ()


class ConfigChanges(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a resume changes of what a run was started with; None: nothing."""

    definition: Fingerprint | None = None
    program: str | None = None
    strategy: Mapping[str, Json] | None = None
    max_steps: int | None = None


class WorkflowResumed(Resumed, frozen=True, omit_defaults=True, gc=False):
    """A run of a workflow was taken up again.

    Attributes:
        config: What is different from now on.
        replay: Walk through the workflow again with the results of unchanged steps. Source: RES-03.
        changes: What has changed in the definition, one line each.
    """

    config: ConfigChanges = ConfigChanges()
    replay: bool = False
    changes: tuple[str, ...] = ()


class StepCreated(Payload, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """A step, a sub-step or the judge of a monitor is visited; the fields are those of `Visit`.

    Attributes:
        parent: Path of the visit above.
        parallel: It has sub-steps.
        calls: Key of the workflow that does it; "" for none.
        reused: An earlier walk left a report that is still good.
    """

    TYPE = EventType.CREATED
    step: str
    parent: str = msgspec.field(name="up")
    frame: str
    n: int
    iteration: int
    content: str = ""
    inner: bool = False
    parallel: bool = False
    calls: str = ""
    reused: bool = False
    stale: bool = False
    monitor: int = -1
    proposed: str = ""
    worker: WorkerData | None = None


class CallEnded(Payload, frozen=True, gc=False):
    """The workflow that a step called has come to its end: with which word, and the answer of its last step."""

    TYPE = EventType.ANALYSED
    ended: str
    text: str


class StepDecided(Decided, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """The rules of a step were gone through.

    Attributes:
        verdict: Condition of the rule that held, or the end of a called workflow; None: undetermined.
        returns: What the called workflow answers by that rule.
        text: Answers of the sub-steps, of a parallel step.
    """

    verdict: str | None = None
    returns: str = ""
    text: str = ""


class StepSettled(Settled, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """A step, or with the root the workflow, has ended.

    Attributes:
        pending: Step that the limit kept out.
        result: Of the run.
    """

    pending: str = ""
    result: Json = None


CODEC: Final = Codec((WorkflowStarted, WorkflowResumed, StepCreated, CallEnded, StepDecided, StepSettled))
"""Writes and reads the events of workflows' runs."""

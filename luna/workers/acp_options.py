"""What a worker of kind `acp` can be told. Imports no part of the protocol's package."""

from typing import Annotated

from pydantic import Field, StrictBool, StrictStr

from luna.protocol import Text
from luna.sandbox import ConfinementOptions
from luna.workers.acp_policy import Permissions

_Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class AcpOptions(ConfinementOptions):
    """Options of the kind `acp`, beside those of its sandbox and its limits.

    Of `grace_s`, half is for ending its turn when it is cancelled, half between SIGTERM and being killed.

    Attributes:
        command: What starts the agent as an ACP server on its standard streams: `opencode acp`. An argument list, or
            one string that is split by shell-like rules. No shell runs it.
        model: Model to choose, by the agent's own id; None: the agent's choice.
        mode: Session mode to choose, by the agent's own id; None: the agent's choice.
        config: Further config options of the agent to set, from id to value. Each is checked against what the agent
            offers; a wrong one is refused before the task begins, with what there is.
        permissions: What the agent gets when it asks, which is all that Luna can grant or refuse: agents ask before
            what their own settings say, many before everything but reading, some before nothing. Nobody is asked.
            reject: nothing. allow_reads: to read and search files of the workspace. allow_edits: to change, move and
            delete them too, but nothing in `.git`, `.hg` and `.sol`. allow: everything (commands, fetching) that names
            no file outside of the workspace. Put a sandbox round the agent where that matters.
        timeout_s: Seconds until it is ended as STUCK; None: no limit.
        inactivity_s: Seconds without a byte of output until then; None: no limit.
        start_s: Seconds that it may take to open a session.
        env: Names of variables it gets from our environment, beside the harmless ones: where it finds its key.
    """

    command: Annotated[tuple[str, ...], Field(min_length=1)] | Text
    model: Text | None = None
    mode: Text | None = None
    config: dict[str, StrictBool | StrictStr] = Field(default_factory=dict)
    permissions: Permissions = "allow_edits"
    timeout_s: float | None = Field(default=1800.0, gt=0, allow_inf_nan=False)
    inactivity_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    start_s: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    env: tuple[_Variable, ...] = ()

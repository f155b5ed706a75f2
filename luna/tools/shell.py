"""Commands in the workspace, as an agent may run them: an argument list, no shell, bounded in time and output."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from luna.callables import in_thread
from luna.errors import WorkerConfigError
from luna.process import ProcessRegistry, ProcessResult, run_process
from luna.sandbox import Confinement, ConfinementOptions
from luna.tools.files import Outcome

OUTPUT_BYTES = 8_000
TIMEOUT_S = 120.0


class ShellTools:
    """Runs commands with the workspace as their directory.

    Without a sandbox, what a command itself does is not confined: allow the tool only where that is acceptable.

    Args:
        workspace: Where commands run.
        timeout_s: Seconds after which a command and all that it started are ended.
        processes: Where running commands are recorded; None: nowhere.
        confinement: Sandbox and limits; None: neither. Its `warning` is the caller's to pass on.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        timeout_s: float = TIMEOUT_S,
        processes: ProcessRegistry | None = None,
        confinement: Confinement | None = None,
    ) -> None:
        self._workspace = workspace
        self._processes = processes
        self._confinement = confinement or Confinement(ConfinementOptions())
        self._limits = self._confinement.limits(timeout_s=timeout_s, output_bytes=OUTPUT_BYTES)

    async def run_command(self, argv: Sequence[str]) -> Outcome:
        """Run a program with its arguments, each as one item: ["pytest", "-q"]. No shell: no pipes, no wildcards."""
        confinement = self._confinement
        try:
            command = await in_thread(partial(confinement.confine, argv, self._workspace), name="sandbox")
            result = await run_process(
                command.argv, cwd=command.cwd, limits=self._limits, env=command.env, registry=self._processes
            )
        except WorkerConfigError as error:
            return Outcome(f"error: {error}", error=True)
        if reason := command.not_started(result):
            return Outcome(f"error: {reason}", error=True)
        return Outcome(_told(result, confinement.limit_reached(result)), error=result.exit_code != 0)


def _told(result: ProcessResult, limit: str) -> str:
    match result.kind:
        case "exited":
            head = f"exit code {result.exit_code}"
        case "not_started":
            head = result.error
        case "killed" if result.signal is not None:
            head = f"killed by signal {result.signal}"
        case kind:
            head = f"ended: {kind} {result.error}".strip()
    if limit:
        head = f"{head}, {limit}"
    parts = [("stdout", result.stdout), ("stderr", result.stderr)]
    texts = [f"{name}:\n{data.decode('utf-8', 'replace')}" for name, data in parts if data]
    return "\n".join([head, *texts])

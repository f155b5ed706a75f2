"""Commands in the workspace, as an agent may run them: an argument list, no shell, bounded in time and output."""

from collections.abc import Sequence
from pathlib import Path

from luna.errors import WorkerConfigError
from luna.process import ProcessLimits, ProcessRegistry, ProcessResult, run_process
from luna.tools.files import Outcome

OUTPUT_BYTES = 8_000
TIMEOUT_S = 120.0


class ShellTools:
    """Runs commands with the workspace as their directory.

    What a command itself does is not confined: allow the tool only where that is acceptable.

    Args:
        workspace: Where commands run.
        timeout_s: Seconds after which a command and all that it started are ended.
        processes: Where running commands are recorded; None: nowhere.
    """

    def __init__(
        self, workspace: Path, *, timeout_s: float = TIMEOUT_S, processes: ProcessRegistry | None = None
    ) -> None:
        self._workspace = workspace
        self._processes = processes
        self._limits = ProcessLimits(timeout_s=timeout_s, output_bytes=OUTPUT_BYTES)

    async def run_command(self, argv: Sequence[str]) -> Outcome:
        """Run a program with its arguments, each as one item: ["pytest", "-q"]. No shell: no pipes, no wildcards."""
        try:
            result = await run_process(list(argv), cwd=self._workspace, limits=self._limits, registry=self._processes)
        except WorkerConfigError as error:
            return Outcome(f"error: {error}", error=True)
        return Outcome(_told(result), error=result.exit_code != 0)


def _told(result: ProcessResult) -> str:
    match result.kind:
        case "exited":
            head = f"exit code {result.exit_code}"
        case "not_started":
            head = result.error
        case "killed" if result.signal is not None:
            head = f"killed by signal {result.signal}"
        case kind:
            head = f"ended: {kind} {result.error}".strip()
    parts = [("stdout", result.stdout), ("stderr", result.stderr)]
    texts = [f"{name}:\n{data.decode('utf-8', 'replace')}" for name, data in parts if data]
    return "\n".join([head, *texts])

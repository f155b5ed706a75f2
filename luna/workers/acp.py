"""The worker that is a coding agent which speaks the Agent Client Protocol (ACP).

Imports no part of the protocol's package before one is made, so that it can say how to install it.
"""

from collections.abc import Mapping
from importlib import import_module

from pydantic import JsonValue

from luna.errors import WorkerConfigError
from luna.protocol import Worker
from luna.workers.acp_options import AcpOptions
from luna.workers.shared import WorkerSettings, read_options


def create(options: Mapping[str, JsonValue], *, settings: WorkerSettings) -> Worker:
    """Make the worker of kind `acp`.

    Raises:
        WorkerConfigError: If an option is unknown or wrong, the protocol's package is missing, or a sandbox is required
            and cannot be had.
    """
    read = read_options("acp", AcpOptions, options)
    try:
        module = import_module("luna.workers.acp_worker")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "acp":
            raise
        raise WorkerConfigError(
            "worker 'acp' needs the package agent-client-protocol, which is not installed: pip install 'sol-luna[acp]'"
        ) from error
    worker: Worker = module.AcpWorker(read, settings=settings)
    return worker

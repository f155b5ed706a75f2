"""What a step's tool and permission settings mean for the worker that does it.

Only a worker of kind `agent` can honour them; for others they are named in a warning.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import structs

from luna.protocol import WorkerSpec
from sol.tree.values import Json, WorkerData, read
from sol.workflow.machine.definition import Step
from sol.workflow.machine.workflow import Workflow

AGENT: Final = "agent"

_ALL: Final = ("list_files", "read_file", "search_files", "write_file", "edit_file", "run_command")
_TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "read": ("read_file", "list_files"),
    "glob": ("list_files",),
    "grep": ("search_files",),
    "ls": ("list_files",),
    "edit": ("edit_file",),
    "multiedit": ("edit_file",),
    "write": ("write_file",),
    "bash": ("run_command",),
} | {name: (name,) for name in _ALL}
"""Names of tools in real files, and the tools here that do the same."""

_READ_ONLY: Final = frozenset({"readonly", "read-only", "plan"})
_WRITING: Final = frozenset({"write_file", "edit_file"})
_MCP: Final = "mcp__"
"""How real files begin the name of a server's tool, `mcp__server__tool`, or of all of them, `mcp__server`."""


def worker_data(spec: WorkerSpec) -> WorkerData:
    """A worker's specification as it is stored."""
    return read(WorkerData, spec.model_dump(mode="json", exclude_defaults=True))


def worker_for(step: Step, worker: WorkerData) -> WorkerData:
    """The worker's specification, narrowed to what the step allows; never widened."""
    if worker.kind != AGENT:
        return worker
    options = dict(worker.options)
    own = _names(options.get("tools"))
    allowed = set(_ALL if own is None else own)
    if step.allowed_tools is not None:
        allowed &= {tool for name in step.allowed_tools for tool in _TOOLS.get(name.lower(), ())}
    if step.permission_mode.lower() in _READ_ONLY:
        allowed -= {*_WRITING, "run_command"}
    if step.edit is False:
        allowed -= _WRITING
    servers = _servers(step, options.pop("mcp", None))
    if servers:
        options["mcp"] = servers
    if own is not None or allowed != set(_ALL):
        options["tools"] = [tool for tool in _ALL if tool in allowed]
    return structs.replace(worker, options=options)


def _names(value: Json) -> list[str] | None:
    """A list of names; None where there is none."""
    return [str(name) for name in value] if isinstance(value, list | tuple) else None


def _servers(step: Step, servers: Json) -> dict[str, Json]:
    """The MCP servers that a step may use. What their tools do is not known here, so none may be only looking on."""
    if step.permission_mode.lower() in _READ_ONLY or not isinstance(servers, Mapping):
        return {}
    if step.allowed_tools is None:
        return dict(servers)
    names = [name.removeprefix(_MCP).partition("__") for name in step.allowed_tools if name.startswith(_MCP)]
    kept: dict[str, Json] = {}
    for server, settings in servers.items():
        tools = [tool for name, _, tool in names if name == server]
        if not tools or not isinstance(settings, Mapping):
            continue
        own = _names(settings.get("tools"))
        allowed = own if "" in tools else [tool for tool in tools if own is None or tool in own]
        kept[server] = settings if allowed == own else {**settings, "tools": allowed}
    return kept


def unheeded(workflow: Workflow, worker: WorkerSpec) -> Iterator[str]:
    """What steps say about tools and permissions that their workers cannot honour, one line for each field."""
    steps: dict[tuple[str, str], list[str]] = {}
    unknown: set[str] = set()
    for definition in workflow.definitions.values():
        for step, _ in definition.every_step():
            kind = (step.worker or worker).kind
            if kind == AGENT:
                unknown |= {
                    name
                    for name in step.allowed_tools or ()
                    if name.lower() not in _TOOLS and not name.startswith(_MCP)
                }
                continue
            for field in ("allowed_tools", "permission_mode"):
                if getattr(step, field):
                    steps.setdefault((field, kind), []).append(step.name)
    for (field, kind), names in steps.items():
        yield f"{field} of {', '.join(names)}: a worker of kind {kind!r} cannot honour it"
    if unknown:
        yield f"allowed_tools: there are no tools like {', '.join(sorted(unknown))} here"

"""What a step's Luna is asked: its template filled once, what it may use, what it must report."""

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Final

from msgspec import structs

from luna.protocol import WorkerSpec
from luna.text import clip
from sol.rules import Label, format_tag, needs_status_tag, print_condition
from sol.tree.effects import AttemptRequest, FileRequest, Kind, Request, RuleRequest, SolveRequest
from sol.tree.events import Command
from sol.tree.values import AssignmentData, Cause, CriterionData, ExpectedData, Json, WorkerData
from sol.workflow.definition import Facet, Step, StepRule
from sol.workflow.linked import Workflow
from sol.workflow.state import Visit, Where

NAMES: Final = (
    "task",
    "previous_response",
    "iteration",
    "max_iterations",
    "max_steps",
    "step_iteration",
    "user_inputs",
    "report_dir",
    "cycle_count",
)
"""Names that stand for something, in `{braces}`."""

_KNOWN = re.compile(rf"\{{({'|'.join(NAMES)})\}}")
_ANY = re.compile(r"\{\{?\s*([A-Za-z_][\w.]*)\s*\}?\}")


def render(template: str, values: Mapping[str, str]) -> str:
    """Put values in for the names that have one; other text stays as it is, braces too.

    Source: TPL-01, TPL-02.
    """
    return _KNOWN.sub(lambda found: values.get(found[1], found[0]), template)


def placed(template: str) -> frozenset[str]:
    """Names of the placeholders that a template has."""
    return frozenset(_KNOWN.findall(template))


def suspects(template: str) -> list[tuple[str, str]]:
    """Placeholders that are none, but nearly: as written, and what was probably meant. Source: TPL-02."""
    found: dict[str, str] = {}
    for match in _ANY.finditer(template):
        name = match[1].rpartition(".")[2]
        if _KNOWN.fullmatch(match[0]):
            continue
        near = difflib.get_close_matches(name.lower(), NAMES, n=1, cutoff=0.8)
        if near:
            found[match[0]] = f"{{{near[0]}}}"
    return list(found.items())


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


MATERIAL_BYTES: Final = 200_000
"""Most bytes of an earlier answer that a step is given."""

_CRITERIA: Final = (CriterionData(text="The answer does what the goal asks, in the form that is expected."),)
_STOP: Final = ("Something that only a person can decide or give is missing: say what it is.",)


def request(where: Where, command: Command) -> Request:
    """All that the effect of a command needs."""
    visit = where.machine.nodes[command.node]
    step = where.step(visit)
    if command.kind == Kind.FILE:
        return _report_files(where, visit)
    assignment = compose(where, visit, command.cause)
    match command.kind:
        case Kind.RULE:
            return RuleRequest(assignment, command.cause.question, _material(where, visit))
        case Kind.SOLVE:
            strategy = step.solve if isinstance(step.solve, str) else None
            resumed = command.cause.new == "resumed"
            return SolveRequest(assignment, worker_for(step, visit.worker), strategy, resumed)
        case _:
            return AttemptRequest(assignment, worker_for(step, visit.worker), visit.partial, command.cause)


def _material(where: Where, visit: Visit) -> dict[str, Json]:
    """What the judge of an `ai()` rule is shown."""
    return {
        "step": where.step(visit).name,
        "answer": _clipped(visit.text or _texts_below(where, visit)),
        "children": [{"step": one.step, "verdict": one.verdict} for one in where.machine.within(visit)],
    }


def _report_files(where: Where, visit: Visit) -> FileRequest:
    """What to keep of a step's answer: the texts it named for the files, else the answer itself for each."""
    named = visit.result.get("reports") if isinstance(visit.result, Mapping) else None
    texts = named if isinstance(named, Mapping) else {}
    return FileRequest(
        directory=where.machine.config.report_dir,
        texts={
            report.name: text if isinstance(text := texts.get(report.name), str) else visit.text
            for report in where.step(visit).reports
        },
        known=dict(where.machine.files),
    )


def compose(where: Where, visit: Visit, cause: Cause) -> AssignmentData:
    """The assignment of a visit. Source: S26–S33, R13, TPL-01."""
    step = where.step(visit)
    values = placeholders(where, visit)
    template = _instruction(where, visit)
    used = placed(template)
    given = {name: values[name] for name in ("task", "previous_response", "user_inputs") if name not in used}
    return AssignmentData(
        goal=render(template, values).strip() or f"Do the step {step.name!r}.",
        context="\n\n".join(_context(where, visit, cause)),
        inputs={name: text for name, text in given.items() if text},
        constraints=tuple(_constraints(where, visit)),
        expected_output=ExpectedData(_expected(where, visit)),
        success_criteria=_CRITERIA,
        stop_conditions=_STOP,
    )


def placeholders(where: Where, visit: Visit) -> dict[str, str]:
    """What each placeholder stands for in this visit. Source: TPL-01, TPL-02."""
    machine, step = where.machine, where.step(visit)
    limit = machine.config.max_steps
    most = "no limit" if limit is None else str(limit)
    frame = machine.frames[visit.frame]
    monitors = where.definition(visit.frame).monitors
    return {
        "task": machine.config.task,
        "previous_response": _clipped(frame.previous) if step.pass_previous_response else "",
        "iteration": str(visit.iteration),
        "max_iterations": most,
        "max_steps": most,
        "step_iteration": str(visit.n),
        "user_inputs": "\n\n".join(machine.inputs),
        "report_dir": machine.config.report_dir,
        "cycle_count": str(monitors[visit.monitor].threshold) if visit.monitor >= 0 else "0",
    }


def _instruction(where: Where, visit: Visit) -> str:
    texts = _texts(where, visit, where.step(visit).instruction)
    return "\n\n---\n\n".join(texts)


def _texts(where: Where, visit: Visit, facets: tuple[Facet, ...]) -> list[str]:
    frame = where.machine.frames[visit.frame]
    return where.workflow.read(facets, frame.key, where.args(visit.frame))


def _texts_below(where: Where, visit: Visit) -> str:
    return "\n\n".join(f"## {one.step}\n{one.text}" for one in where.machine.within(visit))


def _clipped(text: str) -> str:
    return clip(text, limit_bytes=MATERIAL_BYTES).text


def _context(where: Where, visit: Visit, cause: Cause) -> list[str]:
    limit = where.machine.config.max_steps
    of = "" if limit is None else f" of at most {limit}"
    name = where.definition(visit.frame).name
    if visit.monitor >= 0:
        cycle = " > ".join(where.definition(visit.frame).monitors[visit.monitor].cycle)
        lines = [f"Workflow {name!r} goes round in a cycle: {cycle}. Judge whether that is worth going on."]
    else:
        lines = [f"Step {visit.step!r} of the workflow {name!r}, visit {visit.n} of it, step {visit.iteration}{of}."]
    lines += [f"Knowledge:\n{text.strip()}" for text in _texts(where, visit, where.step(visit).knowledge)]
    lines += [f"New: {note}" for note in visit.notes]
    if cause.what == "tag":
        lines.append(
            "New: your answer had no status tag that chooses a rule. Answer again, with one. It was:\n"
            + _clipped(cause.answer)
        )
    return lines


def _constraints(where: Where, visit: Visit) -> list[str]:
    step = where.step(visit)
    found = [f"Work in this role:\n{text.strip()}" for text in _texts(where, visit, step.persona)]
    found += [f"Keep to this policy:\n{text.strip()}" for text in _texts(where, visit, step.policy)]
    found += list(step.quality_gates)
    if step.edit is False:
        found.append("Change no files; report what you find.")
    return found


def _expected(where: Where, visit: Visit) -> str:
    step = where.step(visit)
    parts = ["A text in Markdown."]
    directory = where.machine.config.report_dir
    for report in step.reports:
        parts.append(f"It is kept as the report file {directory}/{report.name}, unless you write that file yourself.")
        if report.format is not None:
            parts += [f"Form of {report.name}:\n{text.strip()}" for text in _texts(where, visit, (report.format,))]
    rules = where.rules(visit)
    if not step.parallel and needs_status_tag([one.rule for one in rules]):
        parts.append(_tags(step, rules))
    return "\n\n".join(parts)


def _tags(step: Step, rules: tuple[StepRule, ...]) -> str:
    """Which tag to end with, by the rules that are labels. Source: R13, R15."""
    lines = ["End with exactly one of these tags, on a line of its own:"]
    for number, one in enumerate(rules, start=1):
        if isinstance(one.rule.condition, Label):
            lines.append(f"- {format_tag(step.tag, number)} if: {print_condition(one.rule.condition)}")
            if one.appendix:
                lines.append(f"  and before it, in this form:\n{one.appendix.rstrip()}")
    return "\n".join(lines)

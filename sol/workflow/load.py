"""Workflow files and the notes they refer to, read strictly. Paths stay inside the file's folder."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from luna.protocol import WorkerSpec
from sol.rules import UNUSED_NEXT, ConditionSyntaxError, parse_rule
from sol.strictyaml import Document, Position, StrictYamlError, YamlPath, load_yaml, validate_model
from sol.workflow.definition import (
    DEFAULT_MAX_STEPS,
    Definition,
    Facet,
    Finding,
    Library,
    Monitor,
    NotAWorkflowError,
    Param,
    ReportFile,
    Step,
    StepRule,
    WorkflowError,
)
from sol.workflow.fields import (
    NOT_OFFERED,
    RULE_FIELDS,
    ContractFields,
    JudgeFields,
    MonitorFields,
    ParallelFields,
    ReportFields,
    StepFields,
    WorkflowFields,
    strip_known,
)

_WITHOUT_WORKER = "steps without a worker are not offered; give the step a worker of kind `function` or `command`"
_CHOSEN = "sub-steps chosen at run time are not offered; list them under `parallel`"


@dataclass(slots=True)
class Notes:
    """What was found while reading: errors and warnings, with their places."""

    document: Document
    found: list[Finding] = field(default_factory=list)

    def error(self, position: Position, message: str) -> None:
        """Note something that keeps the workflow from running."""
        self.found.append(Finding("error", position, message, self.document.source))

    def warning(self, position: Position, message: str) -> None:
        """Note something that is probably not meant so."""
        self.found.append(Finding("warning", position, message, self.document.source))

    def errors(self) -> list[Finding]:
        """What keeps the workflow from running."""
        return [one for one in self.found if one.level == "error"]

    def stripped(self) -> dict[str, Any]:
        """A copy of the document without the fields that are known and not acted on; each is noted once a name."""
        value: dict[str, Any] = copy.deepcopy(self.document.value)
        seen: dict[str, list[YamlPath]] = {}
        self._strip(value, "workflow", (), seen)
        if isinstance(value.get("subworkflow"), dict):
            self._strip(value["subworkflow"], "subworkflow", ("subworkflow",), seen)
        for index, step in enumerate(value["steps"]):
            self._strip_step(step, ("steps", index), seen)
        for index, monitor in enumerate(_items(value.get("loop_monitors"))):
            if isinstance(monitor, dict) and isinstance(monitor.get("judge"), dict):
                self._strip(monitor["judge"], "judge", ("loop_monitors", index, "judge"), seen)
        for name, paths in seen.items():
            times = f" ({len(paths)} times)" if len(paths) > 1 else ""
            self.warning(self.document.key_at(paths[0]), f"field {name!r} is known, but not acted on{times}")
        return value

    def _strip(self, value: dict[str, Any], level: str, path: YamlPath, seen: dict[str, list[YamlPath]]) -> None:
        for name in strip_known(value, level):
            seen.setdefault(name, []).append((*path, name))

    def _strip_step(self, step: object, path: YamlPath, seen: dict[str, list[YamlPath]]) -> None:
        if not isinstance(step, dict):
            return
        self._strip(step, "step", path, seen)
        self._refuse_not_offered(step, path)
        contracts = step.get("output_contracts")
        reports = contracts.get("report") if isinstance(contracts, dict) else None
        for index, report in enumerate(_items(reports)):
            if isinstance(report, dict):
                self._strip(report, "report", (*path, "output_contracts", "report", index), seen)
        if isinstance(step.get("report"), dict):
            self._strip(step["report"], "report", (*path, "report"), seen)
        parallel = step.get("parallel")
        below: YamlPath = (*path, "parallel")
        if isinstance(parallel, dict):
            for name in ("pool", "selection"):
                if parallel.pop(name, None) is not None:
                    self.error(self.document.key_at((*below, name)), f"field {name!r}: {_CHOSEN}")
            below, parallel = (*below, "fixed"), parallel.get("fixed")
        for index, child in enumerate(_items(parallel)):
            self._strip_step(child, (*below, index), seen)

    def _refuse_not_offered(self, step: dict[str, Any], path: YamlPath) -> None:
        system = False
        for name in ("mode", "kind"):
            if step.get(name) == "system":
                del step[name]
                system = True
        if system:
            self.error(self.document.key_at(path), f"step {step.get('name')!r}: {_WITHOUT_WORKER}")
        for name, why in NOT_OFFERED.items():
            if step.pop(name, None) is not None and not (system and name in {"system_inputs", "effects"}):
                self.error(self.document.key_at((*path, name)), f"field {name!r}: {why}")


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def load_definition(path: Path) -> Definition:
    """Read the definition of a file.

    Raises:
        NotAWorkflowError: If it is YAML of another sort.
        WorkflowError: If it cannot be read; one finding for each problem, with file, line and column.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise WorkflowError(
            [Finding("error", Position(1, 1), f"cannot be read ({error.strerror})", str(path))]
        ) from None
    return parse_definition(text, source=str(path), directory=path.resolve().parent)


def parse_definition(text: str | bytes, *, source: str, directory: Path) -> Definition:
    """Read a definition from a text; files it names are looked for from `directory`.

    Raises:
        NotAWorkflowError: If it is YAML of another sort.
        WorkflowError: If it cannot be read; one finding for each problem, with file, line and column.
    """
    try:
        document = load_yaml(text, source=source)
        if not isinstance(document.value, dict) or not isinstance(document.value.get("steps"), list):
            is_task = isinstance(document.value, dict) and "goal" in document.value
            hint = f"this is a task; run it: sol solve {source}" if is_task else "a workflow has name, steps and rules"
            message = f"not a workflow: it has no list of steps; {hint}"
            raise NotAWorkflowError([Finding("error", Position(1, 1), message, source)])
        notes = Notes(document)
        fields = validate_model(replace(document, value=notes.stripped()), WorkflowFields)
    except StrictYamlError as error:
        raise WorkflowError(
            [Finding("error", one.position, f"{one.what}; {one.remedy}", source) for one in error.problems]
        ) from error
    return _Reader(document, fields, directory, notes).definition()


class _Reader:
    """Turns the fields of one file into a `Definition`."""

    def __init__(self, document: Document, fields: WorkflowFields, directory: Path, notes: Notes) -> None:
        self._document = document
        self._fields = fields
        self._notes = notes
        self._library = Library(
            directory,
            {
                "persona": fields.personas,
                "instruction": fields.instructions,
                "policy": fields.policies,
                "knowledge": fields.knowledge,
                "report_format": fields.report_formats,
            },
        )

    def definition(self) -> Definition:
        fields = self._fields
        if not fields.steps:
            raise WorkflowError(
                [Finding("error", self._document.at(("steps",)), "steps is empty", self._document.source)]
            )
        self._unique_names()
        steps = tuple(self._step(step, ("steps", index)) for index, step in enumerate(fields.steps))
        monitors = tuple(self._monitor(one, ("loop_monitors", i)) for i, one in enumerate(fields.loop_monitors))
        offers = fields.subworkflow
        params = {
            name: Param(kind=param.facet_kind, default=self._default(param.facet_kind, param.default))
            for name, param in (offers.params.items() if offers else ())
        }
        self._missing_texts([*steps, *(child for step in steps for child in step.parallel)], monitors)
        if errors := self._notes.errors():
            raise WorkflowError(errors)
        return Definition(
            name=fields.name,
            description=fields.description.strip(),
            source=Path(self._document.source),
            initial_step=fields.initial_step or fields.steps[0].name,
            max_steps=self._max_steps(),
            steps=steps,
            monitors=monitors,
            returns=offers.returns if offers else (),
            params=params,
            document=self._document,
            notes=tuple(self._notes.found),
        )

    def _default(self, kind: Any, value: str | tuple[str, ...] | None) -> tuple[Facet, ...] | None:  # noqa: ANN401 - literal
        return None if value is None else self._library.facets(kind, value)

    def _unique_names(self) -> None:
        """Names are unique over steps and sub-steps, as tags and results go by them. Source: YAML-02."""
        seen: dict[str, int] = {}
        for path, name in self._names():
            key = name.casefold()
            line = self._document.at(path).line
            if key in seen:
                what = f"step name {name!r} on line {line} is already used on line {seen[key]}; give each its own"
                self._notes.error(self._document.at(path), what)
            seen.setdefault(key, line)

    def _names(self) -> list[tuple[YamlPath, str]]:
        found: list[tuple[YamlPath, str]] = []
        for index, step in enumerate(self._fields.steps):
            found.append((("steps", index, "name"), step.name))
            found += [((*path, "name"), child.name) for child, path in _children(step, ("steps", index))]
        return found

    def _max_steps(self) -> int | None:
        fields = self._fields
        if fields.max_steps is not None and fields.max_iterations is not None:
            self._notes.warning(
                self._document.key_at(("max_iterations",)), "max_iterations is an alias of max_steps, which is given"
            )
        limit = fields.max_steps if fields.max_steps is not None else fields.max_iterations
        return DEFAULT_MAX_STEPS if limit is None else None if limit == "infinite" else limit

    def _step(self, fields: StepFields, path: YamlPath) -> Step:
        facets = self._library.facets
        step = Step(
            name=fields.name,
            path=path,
            tag=fields.name,
            persona=facets("persona", fields.persona if fields.persona is not None else fields.agent),
            instruction=self._instruction(fields, path),
            policy=facets("policy", fields.policy),
            knowledge=facets("knowledge", fields.knowledge),
            edit=fields.edit,
            permission_mode=fields.permission_mode or fields.required_permission_mode or "",
            allowed_tools=fields.allowed_tools,
            pass_previous_response=fields.pass_previous_response,
            reports=self._reports(fields, path),
            quality_gates=fields.quality_gates,
            rules=self._rules(fields.rules, path, next_required=self._needs_next(path)),
            parallel=tuple(self._step(child, below) for child, below in _children(fields, path)),
            concurrency=fields.concurrency,
            call=fields.call or "",
            args={name: self._argument(name, value) for name, value in fields.args.items()},
            worker=self._worker(fields.worker, path),
            solve=fields.solve,
        )
        self._one_way(step, fields)
        return step

    def _argument(self, name: str, value: Any) -> tuple[Facet, ...]:  # noqa: ANN401 - a field of any facet kind
        kind = next((kind for kind in ("persona", "instruction", "policy") if kind in name), "knowledge")
        return self._library.facets(kind, value)  # type: ignore[arg-type]  # one of the literals above

    def _one_way(self, step: Step, fields: StepFields) -> None:
        """A step is done in one way only: by a worker, by its sub-steps, or by another workflow."""
        at = self._document.at(step.path)
        if fields.parallel is not None and not step.parallel:
            self._notes.error(at, f"step {step.name!r}: parallel is empty; give it sub-steps, or remove it")
        ways = [name for name in ("call", "parallel", "solve") if getattr(step, name)]
        if len(ways) > 1:
            self._notes.error(at, f"step {step.name!r} has {' and '.join(ways)}; keep one of them")
        if (fields.kind == "workflow_call") != bool(step.call) and (fields.kind is not None):
            self._notes.error(at, f"step {step.name!r}: kind workflow_call and call belong together; give both or none")
        if step.args and not step.call:
            self._notes.error(self._document.key_at((*step.path, "args")), "args are for steps with call; remove them")
        if not ways and not step.instruction and not step.persona:
            self._notes.error(at, f"step {step.name!r} says nothing to do; give it an instruction")

    @staticmethod
    def _needs_next(path: YamlPath) -> bool:
        return "parallel" not in path

    def _instruction(self, fields: StepFields | JudgeFields, path: YamlPath) -> tuple[Facet, ...]:
        if fields.instruction_template is not None:
            if fields.instruction is not None:
                message = "instruction_template is an alias of instruction, which is given; keep one of them"
                self._notes.error(self._document.key_at((*path, "instruction_template")), message)
            text = fields.instruction_template
            if text.endswith(".md"):
                return self._library.facets("instruction", text)
            return (Facet("instruction", text.strip().partition("\n")[0][:60], text),)
        return self._library.facets("instruction", fields.instruction)

    def _reports(self, fields: StepFields, path: YamlPath) -> tuple[ReportFile, ...]:
        found: list[ReportFile] = []
        contracts: ContractFields | None = fields.output_contracts
        for one in (*_listed(fields.report), *(contracts.report if contracts else ())):
            if isinstance(one, ReportFields):
                shape = None if one.format is None else self._library.facet("report_format", one.format)
                found.append(ReportFile(name=one.name, format=shape))
            else:
                found.append(ReportFile(name=one))
        for report in found:
            name = PurePosixPath(report.name)
            if name.is_absolute() or ".." in name.parts or "\\" in report.name or not name.name:
                where = (*path, "report") if _listed(fields.report) else (*path, "output_contracts")
                message = f"report file {report.name!r} leaves the report directory; give a plain file name"
                self._notes.error(self._document.at(where), message)
        return tuple(found)

    def _rules(self, rules: tuple[dict[str, Any], ...], path: YamlPath, *, next_required: bool) -> tuple[StepRule, ...]:
        found = []
        for index, mapping in enumerate(rules):
            rule = self._rule(mapping, (*path, "rules", index), next_required=next_required)
            if rule is not None:
                found.append(rule)
        return tuple(found)

    def _rule(self, mapping: Mapping[str, Any], path: YamlPath, *, next_required: bool) -> StepRule | None:
        document = self._document
        places = {name: self._text_position((*path, name)) for name in mapping}
        at = document.at(path)
        returns = mapping.get("return")
        try:
            rule = parse_rule(
                mapping,
                position=(at.line, at.column),
                field_positions=places,
                extra_fields=RULE_FIELDS,
                next_required=next_required and returns is None,
            )
        except ConditionSyntaxError as error:
            self._notes.error(Position(error.line, error.column), f"{error.problem}, in {error.value!r}. {error.hint}")
            return None
        for name, kind in (
            ("return", str),
            ("appendix", str),
            ("requires_user_input", bool),
            ("interactive_only", bool),
        ):
            if name in mapping and not isinstance(mapping[name], kind):
                word = "a text" if kind is str else "true or false"
                self._notes.error(document.at((*path, name)), f"{name} must be {word}, not {mapping[name]!r}")
                return None
        if returns is not None and rule.next != UNUSED_NEXT:
            self._notes.error(document.key_at((*path, "return")), "a rule has next and return; keep one of them")
        return StepRule(
            rule=rule,
            returns=returns or "",
            asks=mapping.get("requires_user_input", False),
            interactive_only=mapping.get("interactive_only", False),
            appendix=mapping.get("appendix", ""),
        )

    def _text_position(self, path: YamlPath) -> tuple[int, int]:
        """Where the text of a scalar begins: behind its quote, if it has one."""
        at = self._document.at(path)
        quoted = self._document.raw(path) is None
        return (at.line, at.column + 1) if quoted else (at.line, at.column)

    def _worker(self, value: str | dict[str, Any] | None, path: YamlPath) -> WorkerSpec | None:
        if value is None:
            return None
        try:
            return WorkerSpec.parse(value)
        except ValueError:
            message = f"worker {value!r} needs a kind; write worker: {{kind: agent, …}}"
            self._notes.error(self._document.at((*path, "worker")), message)
            return None

    def _monitor(self, fields: MonitorFields, path: YamlPath) -> Monitor:
        judge, below = fields.judge, (*path, "judge")
        number = int(path[1]) + 1
        return Monitor(
            cycle=fields.cycle,
            threshold=fields.threshold,
            ignore=frozenset(fields.ignore_steps),
            judge=Step(
                name=f"monitor-{number}",
                path=below,
                tag="judge",
                persona=self._library.facets("persona", judge.persona if judge.persona is not None else judge.agent),
                instruction=self._instruction(judge, below),
                edit=False,
                rules=self._rules(judge.rules, below, next_required=True),
                worker=self._worker(judge.worker, below),
            ),
        )

    def _missing_texts(self, steps: list[Step], monitors: tuple[Monitor, ...]) -> None:
        """One warning for each kind of text that is not there. Source: R26."""
        missing: dict[str, dict[str, Position]] = {}
        for step in (*steps, *(monitor.judge for monitor in monitors)):
            for facet in step.facets:
                if facet.text is None and not facet.param:
                    names = missing.setdefault(facet.kind, {})
                    names.setdefault(facet.name, self._document.at(step.path))
        for kind, names in missing.items():
            listed = ", ".join(names)
            word = kind.replace("_", " ")
            self._notes.warning(next(iter(names.values())), f"no text found for {word}: {listed}; {_remedy(kind)}")


def _remedy(kind: str) -> str:
    if kind == "instruction":
        return "the workflow runs once there is a file of that name, or the caller gives the text"
    return "put a file of that name beside the workflow; until then the name itself is handed on"


def _children(fields: StepFields, path: YamlPath) -> list[tuple[StepFields, YamlPath]]:
    parallel = fields.parallel
    if isinstance(parallel, ParallelFields):
        return [(child, (*path, "parallel", "fixed", index)) for index, child in enumerate(parallel.fixed)]
    return [(child, (*path, "parallel", index)) for index, child in enumerate(parallel or ())]


def _listed(report: Any) -> tuple[str | ReportFields, ...]:  # noqa: ANN401 - the forms that a field may have
    """The forms of `report` as one list: a name, a mapping, names, or titles with names."""
    if isinstance(report, str | ReportFields):
        return (report,)
    return tuple(name for one in report for name in ((one,) if isinstance(one, str) else one.values()))

"""A definition looked at before it runs: what cannot work, and its picture in Mermaid."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from sol.rules import Ai, Otherwise, RuleListError, When, check_rules, lint_rules, possible_verdicts, print_condition
from sol.strictyaml import YamlPath
from sol.workflow.compose import suspects
from sol.workflow.definition import Definition, Finding, Level, Monitor, Step, StepRule, WorkflowError, suggest
from sol.workflow.fields import ABORT, COMPLETE, ENDS
from sol.workflow.linked import Workflow

_ENDS = {COMPLETE: "done([COMPLETE])", ABORT: "abort([ABORT])"}


def to_mermaid(definition: Definition) -> str:
    """Draw a definition: steps as boxes, sub-steps within theirs, rules as arrows, loop monitors as dashed ones."""
    ids = {step.name: f"s{index}" for index, step in enumerate(definition.steps)}
    lines = ["flowchart TD"]
    for step in definition.steps:
        lines += [f"    {line}" for line in _box(step, ids[step.name])]
    lines += [f"    {shape}" for name, shape in _ENDS.items() if name in _reached(definition)]
    lines += [f"    r{index}([return {_text(name)}])" for index, name in enumerate(definition.returns)]
    if definition.initial_step in ids:
        lines += ["    start((start))", f"    start --> {ids[definition.initial_step]}"]
    for step in definition.steps:
        for rule in step.rules:
            lines.append(f"    {ids[step.name]} -- {_quoted(_label(rule))} --> {_target(definition, ids, rule)}")
    for index, monitor in enumerate(definition.monitors):
        cycle = " > ".join(monitor.cycle)
        lines.append(f"    m{index}{{{{{_quoted(f'{monitor.threshold} times: {cycle}')}}}}}")
        for rule in monitor.judge.rules:
            lines.append(f"    m{index} -. {_quoted(_label(rule))} .-> {_target(definition, ids, rule)}")
    return "\n".join(lines) + "\n"


def _box(step: Step, key: str) -> Iterator[str]:
    if not step.parallel:
        shape = f"[[{_quoted(f'{step.name}: {step.call}')}]]" if step.call else f"[{_quoted(step.name)}]"
        yield key + shape
        return
    yield f"subgraph {key}[{_quoted(step.name)}]"
    for index, child in enumerate(step.parallel):
        yield f"    {key}_{index}[{_quoted(child.name)}]"
    yield "end"


def _reached(definition: Definition) -> set[str]:
    steps = (*definition.steps, *(monitor.judge for monitor in definition.monitors))
    return {rule.rule.next for step in steps for rule in step.rules}


def _target(definition: Definition, ids: dict[str, str], rule: StepRule) -> str:
    if rule.returns in definition.returns:
        return f"r{definition.returns.index(rule.returns)}"
    name = rule.rule.next
    return ids.get(name) or _ENDS.get(name, f"unknown[{_quoted(name)}]").partition("(")[0]


def _label(rule: StepRule) -> str:
    text = print_condition(rule.rule.condition)
    return f"{text} if {print_condition(rule.rule.guard)}" if rule.rule.guard else text


def _quoted(text: str) -> str:
    return f'"{_text(text)}"'


def _text(text: str) -> str:
    """Text with all but letters, digits and harmless signs as character codes."""
    return "".join(char if char.isalnum() or char in " -_.,:/" else f"#{ord(char)};" for char in text)


ERROR_LABEL: Final = "error"
"""Verdict of a sub-step that failed. A parent with a rule for it goes on; without one it fails."""

_RESULT = "{{ result."


def check(definition: Definition) -> list[Finding]:
    """All findings about one file, in the order of the file: those from reading it, and those of this module.

    Source: R07, R16, R17, R21, R25, R26.
    """
    found = [
        *definition.notes,
        *_References(definition).findings(),
        *_rules(definition),
        *_ways(definition),
        *_texts(definition),
    ]
    return sorted(found, key=lambda one: (one.position.line, one.position.column))


def check_workflow(workflow: Workflow) -> list[Finding]:
    """All findings about a workflow and those it calls, and about how they fit together."""
    found = [one for definition in workflow.definitions.values() for one in check(definition)]
    for key, definition in workflow.definitions.items():
        for step, _ in definition.every_step():
            if step.call:
                found += _calls(definition, step, workflow.definitions[workflow.calls[key, step.call]])
    return found


def require_sound(workflow: Workflow) -> list[Finding]:
    """Check a workflow with all that it calls; return its warnings.

    Raises:
        WorkflowError: If there are errors.
    """
    found = check_workflow(workflow)
    errors = [one for one in found if one.level == "error"]
    if errors:
        raise WorkflowError(errors)
    return found


def finding(definition: Definition, level: Level, path: YamlPath, message: str) -> Finding:
    """A finding at a place of the document."""
    return Finding(level, definition.document.at(path), message, str(definition.source))


class _References:
    """Names that must exist."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._names = [step.name for step in definition.steps]
        self._inner = {child.name for step in definition.steps for child in step.parallel}

    def findings(self) -> Iterator[Finding]:
        definition = self._definition
        if definition.initial_step not in self._names:
            yield self._unknown(("initial_step",), "initial_step", definition.initial_step, ends=False)
        for step in definition.steps:
            if not step.rules:
                message = f"step {step.name!r} has no rules, so nothing can follow it; add a rule with next: {COMPLETE}"
                yield finding(definition, "error", step.path, message)
            yield from self._next(step)
        for index, monitor in enumerate(definition.monitors):
            yield from self._monitor(monitor, ("loop_monitors", index))

    def _next(self, step: Step) -> Iterator[Finding]:
        for index, rule in enumerate(step.rules):
            path = (*step.path, "rules", index)
            if rule.returns:
                yield from self._returns(rule, path)
            elif rule.rule.next not in self._names and rule.rule.next not in ENDS:
                yield self._unknown((*path, "next"), "next", rule.rule.next)

    def _returns(self, rule: StepRule, path: YamlPath) -> Iterator[Finding]:
        if rule.returns in ENDS:
            message = f"return: {rule.returns} is written next: {rule.returns}"
            yield finding(self._definition, "error", (*path, "return"), message)
        elif rule.returns not in self._definition.returns:
            message = f"return {rule.returns!r} is not declared; list it in subworkflow.returns"
            yield finding(self._definition, "error", (*path, "return"), message)

    def _monitor(self, monitor: Monitor, path: YamlPath) -> Iterator[Finding]:
        for index, name in enumerate(monitor.cycle):
            if name not in self._names:
                yield self._unknown((*path, "cycle", index), "cycle", name, ends=False)
        for name in sorted(monitor.ignore):
            if name in monitor.cycle:
                message = f"step {name!r} is in the cycle and ignored; remove it from one of them"
                yield finding(self._definition, "error", (*path, "ignore_steps"), message)
            elif name not in self._names:
                yield self._unknown((*path, "ignore_steps"), "ignore_steps", name, ends=False)
        yield from self._next(monitor.judge)

    def _unknown(self, path: YamlPath, field: str, name: str, *, ends: bool = True) -> Finding:
        if name in self._inner:
            message = f"{field}: {name!r} is a sub-step, which only runs within its step; name the step"
            return finding(self._definition, "error", path, message)
        known = [*self._names, *([COMPLETE, ABORT] if ends else [])]
        return finding(self._definition, "error", path, f"{field}: there is no step {name!r}; {suggest(name, known)}")


def _rules(definition: Definition) -> Iterator[Finding]:
    """What the rule engine says about each list of rules."""
    for step, children in definition.every_step():
        rules = [one.rule for one in step.rules]
        try:
            check_rules(rules, step=step.name, children=children)
        except RuleListError as error:
            yield finding(definition, "error", (*step.path, "rules", error.rule_index, "condition"), str(error))
            continue
        verdicts = [_verdicts_of(child, rules=step.rules) for child in step.parallel]
        for warned in lint_rules(rules, step=step.name, children=verdicts):
            path = (*step.path, "rules") if warned.rule_index is None else (*step.path, "rules", warned.rule_index)
            yield finding(definition, "warning", path, warned.message)
        for index, rule in enumerate(rules):
            for part in (rule.guard, rule.condition):
                if isinstance(part, When | Otherwise) and part.value and not part.value.startswith(_RESULT):
                    message = f"{part.value} is nothing that a step knows; refer to its own result: {_RESULT}name }}}}"
                    yield finding(definition, "error", (*step.path, "rules", index), message)


def _verdicts_of(child: Step, *, rules: Sequence[StepRule]) -> Collection[str | None] | None:
    """Verdicts that a sub-step can have; a failed one counts only where the parent has a rule for it."""
    if child.call and not child.rules:
        return None
    verdicts = possible_verdicts([one.rule for one in child.rules])
    return (*verdicts, ERROR_LABEL) if takes_errors(rules) else verdicts


def takes_errors(rules: Sequence[StepRule]) -> bool:
    """Whether a parallel step has a rule for sub-steps that failed."""
    return any(ERROR_LABEL in _targets(one) for one in rules)


def _targets(rule: StepRule) -> tuple[str, ...]:
    condition = rule.rule.condition
    return getattr(condition, "targets", ()) or tuple(filter(None, (getattr(condition, "target", ""),)))


def _ways(definition: Definition) -> Iterator[Finding]:
    """Steps that nothing leads to, and workflows that cannot end well or at all."""
    after = {step.name: _targets_of(definition, step) for step in definition.steps}
    if definition.initial_step not in after:
        return
    reached: set[str] = set()
    todo = [definition.initial_step]
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo.extend(after.get(name, ()))
    for step in definition.steps:
        if step.name not in reached:
            message = f"step {step.name!r} is never reached; lead a rule's next to it, or remove it"
            yield finding(definition, "warning", step.path, message)
    returns = any(rule.returns for step in definition.steps if step.name in reached for rule in step.rules)
    if COMPLETE not in reached and not returns:
        message = f"no way leads to {COMPLETE}; give a rule next: {COMPLETE}"
        yield finding(definition, "warning", ("steps",), message)
    if definition.max_steps is None and _has_cycle(after):
        message = "max_steps is infinite and steps lead back to earlier ones, so a run may never end; give a number"
        yield finding(definition, "warning", ("max_steps",), message)


def _targets_of(definition: Definition, step: Step) -> set[str]:
    own = {rule.rule.next for rule in step.rules if not rule.returns}
    for monitor in definition.monitors:
        if step.name in monitor.cycle:
            own |= {rule.rule.next for rule in monitor.judge.rules if not rule.returns}
    return own


def _has_cycle(after: dict[str, set[str]]) -> bool:
    """Whether some step can come round to itself: peel off steps that nothing open leads to."""
    open_ = {name: {target for target in targets if target in after} for name, targets in after.items()}
    while True:
        ends = [name for name, targets in open_.items() if not targets]
        if not ends:
            return bool(open_)
        for name in ends:
            del open_[name]
        for targets in open_.values():
            targets.difference_update(ends)


def _texts(definition: Definition) -> Iterator[Finding]:
    """Placeholders that are none, and parameters that the workflow does not have."""
    for step, _ in definition.every_step():
        for facet in step.facets:
            if facet.param and facet.param not in definition.params:
                message = (
                    f"there is no parameter {facet.param!r}; {suggest(facet.param, [*definition.params] or ['none'])}"
                )
                yield finding(definition, "error", step.path, message)
        for facet in step.instruction:
            for written, meant in suspects(facet.text or ""):
                message = f"step {step.name!r}: {written} is no placeholder and stays as it is; did you mean {meant}?"
                yield finding(definition, "warning", step.path, message)


def _calls(definition: Definition, step: Step, called: Definition) -> Iterator[Finding]:
    """How a step and the workflow that it calls fit together."""
    ends = {COMPLETE, ABORT, *called.returns}
    for index, rule in enumerate(step.rules):
        text = rule.rule.verdict
        if not isinstance(rule.rule.condition, Ai) and text not in ends and not rule.rule.guard:
            message = f"step {step.name!r}: {step.call} never ends with {text!r}; {suggest(text, sorted(ends))}"
            yield finding(definition, "warning", (*step.path, "rules", index, "condition"), message)
    for name in step.args:
        if name not in called.params:
            known = sorted(called.params)
            message = f"{step.call} has no parameter {name!r}; {suggest(name, known) if known else 'remove it'}"
            yield finding(definition, "error", (*step.path, "args", name), message)
    for name, param in called.params.items():
        if param.default is None and name not in step.args:
            message = f"step {step.name!r}: {step.call} needs the argument {name!r}; add it to args"
            yield finding(definition, "error", step.path, message)

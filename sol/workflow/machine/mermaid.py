"""A workflow as a Mermaid state diagram. Labels come from files, so everything special in them is written as codes."""

from collections.abc import Iterator

from sol.rules import print_condition
from sol.workflow.machine.definition import Definition, Step, StepRule
from sol.workflow.machine.fields import ABORT, COMPLETE

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

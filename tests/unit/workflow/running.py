"""Workflows and workers for tests that run the whole engine."""

import re
from pathlib import Path
from typing import Any

from luna.protocol import Assignment, Stuck, Success
from sol.journal import MemoryJournal
from sol.solver import Sol
from sol.workflow import Workflow

ONE = """
name: one
steps:
  - name: plan
    persona: |
      You plan.
      Briefly.
    knowledge: some things that are known
    edit: false
    quality_gates: [every file is named]
    instruction: |
      Plan this: {task}
      Before: {previous_response}. Step {iteration}/{max_iterations}, visit {step_iteration}, in {report_dir}. {unknown}
    report: {name: plan.md, format: "# Plan of all"}
    rules:
      - {condition: ready, next: do, appendix: "Files: {list}"}
      - {condition: unclear, next: ABORT}
  - name: do
    instruction: Do it.
    rules: [{condition: done, next: COMPLETE}]
"""


def file(directory: Path, text: str, name: str = "w.yaml") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def loaded(directory: Path, text: str) -> Workflow:
    return Workflow.load(file(directory, text))


def first_tag(assignment: Assignment) -> str:
    found = re.search(r"\[[^\]]+:[0-9]+\]", assignment.expected_output.description)
    return found[0] if found else ""


def agreeing(assignment: Assignment) -> Success:
    return Success(summary="", result=f"{assignment.goal.splitlines()[0]} {first_tag(assignment)}")


def sol_of(directory: Path, worker: Any, **options: Any) -> Sol:
    return Sol(worker=worker, store=MemoryJournal(), workspace=directory, **options)


def asking(assignment: Assignment) -> Success | Stuck:
    if "user_inputs" not in assignment.inputs:
        return Stuck(blocker="two of them", question="Which one?")
    return Success(summary="", result=f"{assignment.inputs['user_inputs']} [S:1]")


ASK = "name: ask\nsteps:\n  - {name: s, instruction: choose one, rules: [{condition: chosen, next: COMPLETE}]}\n"


PAR = """
name: par
steps:
  - name: both
    parallel:
      - {name: a, instruction: do a, rules: [{condition: ok}]}
      - {name: b, instruction: do b, rules: [{condition: ok}]}
    rules: [{condition: all("ok"), next: last}]
  - {name: last, instruction: the last, rules: [{condition: ok, next: COMPLETE}]}
"""


ABC = """
name: abc
steps:
  - {name: a, instruction: do a, rules: [{condition: ok, next: b}]}
  - {name: b, instruction: do b, rules: [{condition: ok, next: c}]}
  - {name: c, instruction: do c, knowledge: facts, rules: [{condition: ok, next: COMPLETE}]}
"""

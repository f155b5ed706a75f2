"""How many files a run goes through: calls that cross files of sol and luna, from the command line to the result.

One task that a function does at once, and one workflow of two steps, are run in this process, twice each; the second
time is traced (`sys.setprofile`, in threads too), so that imports count for nothing. A hop is a pair of functions in
two files of which the first calls the second, however often it does.

Example: `python benchmarks/hops.py --list`
"""

import argparse
import contextlib
import io
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from common import ROOT, show

from sol.cli import main as sol

TASK = """\
goal: Say done
context: none
inputs: none
constraints: none
expected_output: The word done.
success_criteria: [It says done.]
stop_conditions: [There is nothing to say.]
worker: {kind: function, function: "work:work"}
"""
WORKFLOW = """\
name: two-steps
steps:
  - name: first
    instruction: Do {task}
    rules: [{condition: done, next: second}]
  - name: second
    instruction: Check it
    rules: [{condition: done, next: COMPLETE}]
"""
WORK = """\
def work(inputs):
    return "done"


def step(inputs):
    return "[FIRST:1] [SECOND:1]"
"""
COMMANDS = {
    "task": ["solve", "task.yaml", "--store", "sqlite:///task.db"],
    "workflow": [
        *("workflow", "run", "flow.yaml", "--task", "a thing", "--store", "sqlite:///flow.db"),
        *("--worker", "{kind: function, function: 'work:step'}"),
    ],
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="list the files, by how often they are crossed into")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as directory, contextlib.chdir(directory):
        sys.path.insert(0, directory)
        Path("task.yaml").write_text(TASK)
        Path("flow.yaml").write_text(WORKFLOW)
        Path("work.py").write_text(WORK)
        for name, command in COMMANDS.items():
            run(command)
            trace = Trace()
            with trace:
                run(command)
            found |= {f"{name}: files": len(trace.files), f"{name}: hops": len(trace.hops)}
            if options.list:
                for file, count in Counter(callee[0] for _, callee in trace.hops).most_common():
                    print(f"{name:>9} {count:>4} {file}")
    show(found, options)


def run(command: list[str]) -> None:
    """Run a command in this process, without what it prints."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        try:
            sol(command)
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"{command} ended with {ended.code}: {said.getvalue()}") from None


Function = tuple[str, str]


class Trace:
    """Traces the calls of all threads while its context lasts.

    Attributes:
        files: Those of sol and luna in which something was called.
        hops: Caller and callee, each with its file, where the files differ.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.hops: set[tuple[Function, Function]] = set()
        self._names: dict[str, str | None] = {}

    def __enter__(self) -> None:
        threading.setprofile(self._look)
        sys.setprofile(self._look)

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _look(self, frame: FrameType, event: str, _argument: object) -> None:
        if event != "call" or (callee := self._of(frame)) is None:
            return
        self.files.add(callee[0])
        caller = next((one for one in map(self._of, _above(frame)) if one is not None), None)
        if caller is not None and caller[0] != callee[0]:
            self.hops.add((caller, callee))

    def _of(self, frame: FrameType) -> Function | None:
        path = frame.f_code.co_filename
        if path not in self._names:
            name = os.path.relpath(path, ROOT)
            self._names[path] = name if name.startswith(("sol/", "luna/")) else None
        file = self._names[path]
        return None if file is None or frame.f_code.co_name == "<module>" else (file, frame.f_code.co_qualname)


def _above(frame: FrameType) -> Iterator[FrameType]:
    above = frame.f_back
    while above is not None:
        yield above
        above = above.f_back


if __name__ == "__main__":
    main()

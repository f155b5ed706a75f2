"""What is found while a workflow file is read: errors, warnings, and fields that are known but change nothing here.

Works on the loaded document; it must not read files.
"""

import copy
from dataclasses import dataclass, field
from typing import Any

from sol.strictyaml import Document, Position, YamlPath
from sol.workflow.machine.errors import Finding
from sol.workflow.machine.fields import NOT_OFFERED, strip_known

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

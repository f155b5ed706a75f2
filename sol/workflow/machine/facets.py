"""Texts that a workflow names: roles, instructions, policies, knowledge and report formats, written in or in files.

Reads Markdown files beside the workflow; it must not interpret what they say.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from sol.workflow.machine.fields import FacetField, ParamRef

FacetKind = Literal["persona", "instruction", "policy", "knowledge", "report_format"]

FOLDERS: Final[Mapping[FacetKind, tuple[str, ...]]] = {
    "persona": ("personas", "agents"),
    "instruction": ("instructions",),
    "policy": ("policies",),
    "knowledge": ("knowledge",),
    "report_format": ("report-formats", "output-contracts"),
}
"""Where a text given by name alone is looked for: beside the workflow, one folder up, and there in `facets`."""

MAX_BYTES: Final = 256 * 1024
"""The largest text file taken."""

_SUFFIXES = (".md", ".txt")


@dataclass(frozen=True, slots=True)
class Facet:
    """A text that a step uses.

    Attributes:
        kind: What it is for.
        name: As the file gives it, or the beginning of a text written in.
        text: The text; None while it is not known: a file that is not there, or a parameter.
        param: Name of the parameter that stands for it; "" for none.
    """

    kind: FacetKind
    name: str
    text: str | None
    param: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """Finds texts for one workflow file: `sections` are its own maps from name to path."""

    directory: Path
    sections: Mapping[FacetKind, Mapping[str, str]]

    def facets(self, kind: FacetKind, value: FacetField | None) -> tuple[Facet, ...]:
        """The texts that a field names, in its order."""
        if value is None:
            return ()
        if isinstance(value, ParamRef):
            return (Facet(kind, value.param, None, value.param),)
        names = (value,) if isinstance(value, str) else value
        return tuple(self.facet(kind, name) for name in names)

    def facet(self, kind: FacetKind, name: str) -> Facet:
        """One text: from a section, from a file, or what is written; `text` is None if a file is missing."""
        path = self.sections.get(kind, {}).get(name)
        if path is not None:
            return Facet(kind, name, self._read(self.directory / path))
        if "\n" in name or (" " in name and not name.endswith(_SUFFIXES)):
            return Facet(kind, name.strip().partition("\n")[0][:60], name)
        if name.endswith(_SUFFIXES):
            return Facet(kind, name, self._read(self.directory / name))
        return Facet(kind, name, self._by_name(kind, name))

    def _by_name(self, kind: FacetKind, name: str) -> str | None:
        if "/" in name or name.startswith("."):
            return None
        above = self.directory.parent
        for root in (self.directory, above, above / "facets"):
            for folder in FOLDERS[kind]:
                text = self._read(root / folder / f"{name}.md")
                if text is not None:
                    return text
        return None

    def _read(self, path: Path) -> str | None:
        try:
            if path.suffix not in _SUFFIXES or not path.is_file() or path.stat().st_size > MAX_BYTES:
                return None
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return None

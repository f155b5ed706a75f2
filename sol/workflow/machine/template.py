"""Fill in the placeholders of an instruction: one pass, known names only; everything else is text.

Values are never read again as templates, and there are no expressions.
"""

import difflib
import re
from collections.abc import Mapping
from typing import Final

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

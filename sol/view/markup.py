"""Pieces of HTML for notebooks: escaped text, the style sheet, states, previews of results. Pure; no script anywhere.

Every output carries its own style and nothing from elsewhere, and reads as plain text where styles are taken away.
"""

import html
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from luna.text import strip_controls
from sol.tree.node import State
from sol.view import labels

PREVIEW = 2_000
"""Most characters of a result that are shown."""

_LIGHT = {
    State.PENDING: "#6b7280",
    State.RUNNING: "#0369a1",
    State.WAITING: "#a21caf",
    State.SPLIT: "#4f46e5",
    State.SUCCESS: "#15803d",
    State.FAILED: "#b91c1c",
    State.SKIPPED: "#92600a",
    State.BLOCKED: "#92600a",
    State.CANCELLED: "#92600a",
    State.EXHAUSTED: "#b45309",
}
_DARK = {
    State.PENDING: "#9ca3af",
    State.RUNNING: "#38bdf8",
    State.WAITING: "#e879f9",
    State.SPLIT: "#a5b4fc",
    State.SUCCESS: "#4ade80",
    State.FAILED: "#f87171",
    State.SKIPPED: "#facc15",
    State.BLOCKED: "#facc15",
    State.CANCELLED: "#facc15",
    State.EXHAUSTED: "#fb923c",
}
_DARK_HOSTS = (
    '[data-jp-theme-light="false"]',
    'html[theme="dark"]',
    '[data-theme="dark"]',
    "body.vscode-dark",
)
"""How JupyterLab, Colab, documentation and VS Code say that they are dark."""

_BASE = """
.sol{font:13px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif;color:inherit;max-width:76em;margin:2px 0 6px}
.sol *{box-sizing:border-box}
.sol .t{unicode-bidi:isolate;overflow-wrap:anywhere}
.sol .m{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:12px}
.sol .q{color:var(--sol-dim)}
.sol .bar{display:flex;height:6px;border-radius:3px;overflow:hidden;margin:5px 0 7px;background:var(--sol-line)}
.sol .bar i{display:block;min-width:2px}
.sol .head{display:flex;flex-wrap:wrap;gap:0 .9em;align-items:baseline}
.sol .badge{color:var(--c);border:1px solid;border-radius:9px;padding:0 .6em;font-weight:600}
.sol .row{display:flex;gap:.6em;align-items:baseline;padding:1px 4px;border-radius:3px;white-space:nowrap}
.sol .row:hover{background:var(--sol-line)}
.sol .row .w{flex:1 1 auto;overflow:hidden;text-overflow:ellipsis;min-width:0}
.sol .row .n{flex:none;min-width:3.6em;text-align:right;font-variant-numeric:tabular-nums;color:var(--sol-dim)}
.sol .s{color:var(--c);font-weight:600}
.sol .k{margin-left:.62em;padding-left:.62em;border-left:1px solid var(--sol-line)}
.sol summary{cursor:pointer;list-style:none}
.sol summary::-webkit-details-marker{display:none}
.sol summary::before{content:"\\25B8";float:left;width:.9em;color:var(--sol-dim);line-height:1.6}
.sol details[open]>summary::before{content:"\\25BE"}
.sol .leaf{padding-left:.9em}
.sol pre{margin:4px 0;padding:6px 9px;background:var(--sol-line);border-radius:4px;max-height:18em;overflow:auto;
white-space:pre-wrap;overflow-wrap:anywhere;color:inherit;font:12px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,
monospace}
.sol table{border-collapse:collapse;margin:3px 0 8px;font-size:13px;color:inherit}
.sol td,.sol th{text-align:left!important;vertical-align:top!important;padding:1px .9em 1px 0!important;border:0;
background:none;white-space:normal;max-width:none}
.sol th{font-weight:400;color:var(--sol-dim);white-space:nowrap}
.sol tr{background:none!important}
.sol td.n{text-align:right!important;font-variant-numeric:tabular-nums;white-space:nowrap;color:var(--sol-dim)}
.sol h4{font-size:13px;margin:9px 0 2px;font-weight:600}
.sol .bad{color:var(--sol-failed)}
"""


def _variables(colours: Mapping[State, str], line: str, dim: str) -> str:
    states = "".join(f"--sol-{state}:{colour};" for state, colour in colours.items())
    return f"{states}--sol-interrupted:{colours[State.CANCELLED]};--sol-line:{line};--sol-dim:{dim}"


STYLE = "".join(
    (
        "<style>.sol{",
        _variables(_LIGHT, "rgba(110,120,140,.16)", "#5b6472"),
        "}",
        ",".join(f"{host} .sol" for host in _DARK_HOSTS),
        "{",
        _variables(_DARK, "rgba(160,170,190,.2)", "#a3acba"),
        "}",
        _BASE.replace("\n", ""),
        "</style>",
    )
)


def text(value: object) -> str:
    """Any text as one harmless line of HTML text or as the value of an attribute."""
    return _escaped(labels.clean(value))


def _escaped(value: str) -> str:
    return html.escape(value.encode("utf-8", "replace").decode(), quote=True)


def box(*parts: str) -> str:
    """A whole output."""
    return f'{STYLE}<div class="sol">{"".join(parts)}</div>'


def badge(state: str, words: str = "") -> str:
    """A state or a run's status as a word with its colour and symbol."""
    symbol = labels.SYMBOLS[State(state)][0] + " " if state in set(State) else ""
    return f'<span class="badge" style="--c:var(--sol-{text(state)})">{symbol}{text(words or state)}</span>'


def mark(state: State) -> str:
    """A state before a row: symbol and word."""
    return f'<span class="s m" style="--c:var(--sol-{state})">{labels.SYMBOLS[state][0]} {state:<9}</span>'


def preview(value: Any) -> str:  # noqa: ANN401 - JSON
    """A result, as much of it as people want to read; says what was left out."""
    pieces: Iterator[str] = iter((value,)) if isinstance(value, str) else _json(value)
    found, size = [], 0
    for piece in pieces:
        found.append(piece)
        size += len(piece)
        if size > PREVIEW:
            break
    shown = strip_controls("".join(found)[:PREVIEW])
    more = '<div class="q">… the beginning only; the rest is in the result itself</div>' if size > PREVIEW else ""
    return f"<pre>{_escaped(shown)}</pre>{more}"


def _json(value: Any) -> Iterator[str]:  # noqa: ANN401 - JSON
    """Piece by piece, so that no more of a large value is written than is shown."""
    flat = isinstance(value, list) and not any(isinstance(one, list | dict) for one in value[:PREVIEW])
    # Nested values are indented, so that enough has been written long before Python's recursion limit.
    return json.JSONEncoder(ensure_ascii=False, indent=None if flat else 2).iterencode(value)


def table(rows: Iterable[Sequence[str]], *, classes: Sequence[str]) -> str:
    """Rows of cells that are HTML already; `classes` are those of the columns."""
    out = ["<table>"]
    for row in rows:
        cells = (f'<td class="{kind}">{cell}</td>' for kind, cell in zip(classes, row, strict=True))
        out.append(f"<tr>{''.join(cells)}</tr>")
    return "".join([*out, "</table>"])

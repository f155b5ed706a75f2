"""The page of a run as one self-contained file. Nothing of a run is ever markup or script in it."""

import base64
import hashlib
import json
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from luna.clock import Clock, SystemClock
from sol.engine.reading import read_anyway
from sol.errors import UsageError
from sol.journal import Liveness, StoredRun, owner_is_alive
from sol.page.data import About, page_data
from sol.run import Run
from sol.tree.events import Event

SCRIPTS: Final = ("basics.js", "model.js", "glance.js", "time.js", "tree.js", "panel.js", "live.js", "main.js")
"""The parts of the script, in their order."""

HISTORIES_A_BLOCK: Final = 128
"""Histories are packed in blocks, of which the page unpacks only those that are looked at."""

_PLACE = re.compile(r"\{\{(\w+)\}\}")
_UNSAFE = {code: f"\\u{code:04x}" for code in (*map(ord, "<>&"), 0x2028, 0x2029)}


def render(data: Mapping[str, Any]) -> str:
    """A run's page as one self-contained file.

    Args:
        data: What `page_data` returns.
    """
    histories: Sequence[Any] = data["histories"]
    blocks = [_packed(histories[i : i + HISTORIES_A_BLOCK]) for i in range(0, len(histories), HISTORIES_A_BLOCK)]
    shown = {name: value for name, value in data.items() if name != "histories"}
    shown["packed"] = {"size": HISTORIES_A_BLOCK, "blocks": len(blocks)}
    found = "\n".join(
        f'<script type="text/plain" id="histories-{i}">{block}</script>' for i, block in enumerate(blocks)
    )
    return _page(shown, histories=found, connect="'none'")


def render_live(settings: Mapping[str, Any]) -> str:
    """The page that gets its data from the server it comes from.

    Args:
        settings: What the script must know: `post`, the token that requests to change something carry.
    """
    return _page({"live": dict(settings)}, histories="", connect="'self'")


def safe_json(value: object) -> str:
    """JSON that can stand in a script element: no text in it can end the element or a line."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half a surrogate pair cannot be written as UTF-8.
    return text.translate(_UNSAFE).encode("utf-8", "backslashreplace").decode()


def _packed(histories: Sequence[Any]) -> str:
    text = json.dumps(histories, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def _page(data: Mapping[str, Any], *, histories: str, connect: str) -> str:
    script, style = _script(), _asset("page.css")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            f"connect-src {connect}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    parts = {"policy": policy, "style": style, "script": script, "data": safe_json(data), "histories": histories}
    # One pass: what is put in is never looked through again.
    return _PLACE.sub(lambda place: parts[place[1]], _asset("page.html"))


@cache
def _asset(name: str) -> str:
    return (files("sol.page") / "assets" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    return '"use strict";\n' + "\n".join(_asset(name) for name in SCRIPTS)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


KILLED = "killed"
"""Status of a run that says that work goes on while nobody does any."""

_BUSY = frozenset({"pending", "running"})


async def write_page(run: Run, file: Path | str, *, clock: Clock | None = None) -> Path:
    """Write a run's page as one self-contained HTML file, replacing what was there only once it is complete.

    Args:
        run: The run, live or read from the journal.
        file: Where to.
        clock: Time; None: the system's.

    Returns:
        The file.

    Raises:
        UsageError: If the file cannot be written.
    """
    path = Path(file)
    now = (clock or SystemClock()).now()
    async with run.reader() as journal:
        stored = await journal.info(run.id)
        events: list[Event] = []
        read = await read_anyway(journal, run.kind.reading, run.id, on_events=events.extend)
    about = about_run(stored, now=now, unread=read.faults)
    text = render(page_data(read.state, events, about))
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)  # noqa: PTH105 - the same in one word
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UsageError(f"Cannot write the page to {str(path)!r}: {error.strerror}. Name another file.") from error
    return path


def about_run(
    stored: StoredRun, *, now: float, unread: Sequence[str] = (), is_alive: Liveness = owner_is_alive
) -> About:
    """What the journal knows of a run beside its events; `unread`: what of those could not be read."""
    holding = stored.holding
    held = holding is not None and is_alive(holding.owner, holding.beat_t, now)
    return About(
        run_id=stored.id,
        status=KILLED if stored.status in _BUSY and not held else stored.status,
        now=now,
        created_t=stored.created_t,
        elapsed_s=(stored.summary or {}).get("elapsed_s"),
        held_by=str(holding) if held else None,
        unread=tuple(unread),
    )

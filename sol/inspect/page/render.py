"""Put a run's data into the page: one HTML file that needs no network and runs no script but its own.

Texts of a run reach the file only as JSON in data blocks that nothing can break out of; the script shows them as text.
"""

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

SCRIPTS: Final = ("basics.js", "model.js", "glance.js", "time.js", "tree.js", "panel.js", "live.js", "main.js")
"""The parts of the script, in their order."""

STORIES_A_BLOCK: Final = 128
"""Stories are packed in blocks, of which the page unpacks only those that are looked at."""

_PLACE = re.compile(r"\{\{(\w+)\}\}")
_UNSAFE = {code: f"\\u{code:04x}" for code in (*map(ord, "<>&"), 0x2028, 0x2029)}


def render(data: Mapping[str, Any]) -> str:
    """A run's page as one self-contained file.

    Args:
        data: What `page_data` returns.
    """
    stories: Sequence[Any] = data["stories"]
    blocks = [_packed(stories[i : i + STORIES_A_BLOCK]) for i in range(0, len(stories), STORIES_A_BLOCK)]
    shown = {name: value for name, value in data.items() if name != "stories"}
    shown["packed"] = {"size": STORIES_A_BLOCK, "blocks": len(blocks)}
    found = "\n".join(f'<script type="text/plain" id="stories-{i}">{block}</script>' for i, block in enumerate(blocks))
    return _page(shown, stories=found, connect="'none'")


def render_live(settings: Mapping[str, Any]) -> str:
    """The page that gets its data from the server it comes from.

    Args:
        settings: What the script must know: `post`, the token that requests to change something carry.
    """
    return _page({"live": dict(settings)}, stories="", connect="'self'")


def safe_json(value: object) -> str:
    """JSON that can stand in a script element: no text in it can end the element or a line."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half a surrogate pair cannot be written as UTF-8.
    return text.translate(_UNSAFE).encode("utf-8", "backslashreplace").decode()


def _packed(stories: Sequence[Any]) -> str:
    text = json.dumps(stories, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 6)).decode()


def _page(data: Mapping[str, Any], *, stories: str, connect: str) -> str:
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
    parts = {"policy": policy, "style": style, "script": script, "data": safe_json(data), "stories": stories}
    # One pass: what is put in is never looked through again.
    return _PLACE.sub(lambda place: parts[place[1]], _asset("page.html"))


@cache
def _asset(name: str) -> str:
    return (files("sol.inspect.page") / "assets" / name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    return '"use strict";\n' + "\n".join(_asset(name) for name in SCRIPTS)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

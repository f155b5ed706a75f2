"""Verdicts in structured answers.

Reads one field and nothing else; it must never search prose for a verdict.
"""

import json
from collections.abc import Mapping, Sequence


def read_verdict(data: object, allowed: Sequence[str], *, field: str = "verdict") -> str | None:
    """Read a verdict from a structured answer; None means that there is none, never a default.

    Args:
        data: A mapping, or a text that is one JSON object from end to end. Anything else has no verdict.
        allowed: The verdicts there are. The value must be one of them; upper and lower case and outer white space may
            differ, unless that would leave two to choose from.
        field: Name of the field.

    Returns:
        The verdict as `allowed` writes it.

    Source: R23.
    """
    value = _object(data).get(field)
    if not isinstance(value, str):
        return None
    given = value.strip()
    if given in allowed:
        return given
    near = {verdict for verdict in allowed if verdict.casefold() == given.casefold()}
    return near.pop() if len(near) == 1 else None


def _object(data: object) -> Mapping[object, object]:
    if isinstance(data, str):
        try:
            data = json.loads(data, object_pairs_hook=_unique)
        except (ValueError, RecursionError):
            return {}
    return data if isinstance(data, Mapping) else {}


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build an object, refusing one that says the same field twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("The object has a field twice.")
    return found

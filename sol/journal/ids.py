"""Run ids: short, typeable, and found again by any unique beginning.

Pure: randomness and the ids there are come from the caller.
"""

import difflib
import re
from collections.abc import Sequence
from random import Random
from typing import Final

from sol.errors import ConflictError, NotFoundError, UsageError

LATEST: Final = "latest"
"""Stands for the newest run wherever an id may be abbreviated."""

_LETTERS = "bcdfghjkmnpqrstvwxz"  # no vowels: no words; no l: not taken for 1
_ALPHABET = _LETTERS + "23456789"
_WELL_FORMED = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_NAMED = 10


def new_run_id(rng: Random, *, length: int = 6) -> str:
    """A random id that is easy to read out and to type; starts with a letter. 6 characters make 270 million."""
    return rng.choice(_LETTERS) + "".join(rng.choices(_ALPHABET, k=length - 1))


def check_run_id(run_id: str) -> str:
    """Return the id if a run may have it.

    Raises:
        UsageError: Otherwise.
    """
    if run_id == LATEST or not _WELL_FORMED.fullmatch(run_id):
        raise UsageError(
            f"{run_id!r} cannot be a run id. Use 1 to 64 of a-z, 0-9, _ and -, starting with a letter or digit, "
            f"and not {LATEST!r}."
        )
    return run_id


def only_match(prefix: str, ids: Sequence[str], *, near: Sequence[str]) -> str:
    """The id equal to `prefix`, else the only one in `ids`, all of which start with it.

    Raises:
        UsageError: If there are several, or `prefix` is empty.
        NotFoundError: If there is none; names those of `near` that look alike.
    """
    if not prefix:
        raise UsageError(f"A run id is empty. Give the beginning of one, or {LATEST!r}.")
    if prefix in ids:
        return prefix
    if len(ids) > 1:
        more = ", ..." if len(ids) > _NAMED else ""
        raise UsageError(
            f"{prefix!r} is the beginning of several run ids: {', '.join(ids[:_NAMED])}{more}. Type more of it."
        )
    if not ids:
        raise run_not_found(prefix, near)
    return ids[0]


def run_not_found(run_id: str, known: Sequence[str]) -> NotFoundError:
    """The error for an unknown run; `known` holds ids, the newest first."""
    if not known:
        return NotFoundError(f"There is no run {run_id!r}: this journal holds no runs. Check which store is in use.")
    alike = difflib.get_close_matches(run_id, known, n=3)
    hint = f"Did you mean {', '.join(alike)}?" if alike else f"The newest are {', '.join(known[:3])}."
    return NotFoundError(f"There is no run {run_id!r}. {hint}")


def run_exists(run_id: str) -> ConflictError:
    """The error for an id that is taken."""
    return ConflictError(f"There is a run {run_id!r} already. Claim it to continue it, or begin one with another id.")

"""Settings for tests of single monitors."""

from typing import Any

OFF: dict[str, Any] = {
    "patience": None,
    "repeat_limit": None,
    "error_limit": None,
    "text_limit": None,
    "text_run": None,
    "break_limit": None,
    "drift_limit": None,
    "thrash_limit": None,
    "max_steps": None,
}

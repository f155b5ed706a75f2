"""Packages that only some ways of looking need: imported when used, with a clear word where they are missing."""

from importlib import import_module
from typing import Any

from sol.errors import UsageError

EXTRA = "notebook"


class MissingPackageError(UsageError):
    """A package that is needed only for what was asked is not installed. The message names the extra that brings it."""


def required(package: str, *, what: str) -> Any:  # noqa: ANN401 - a module
    """Import a module of an optional package.

    Args:
        package: Name of the module.
        what: What needs it, for the error.

    Raises:
        MissingPackageError: If the package is not installed.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        top = package.partition(".")[0]
        if (error.name or "").partition(".")[0] != top:
            raise
        raise MissingPackageError(f"{what} needs {top}. Install it: pip install 'sol-luna[{EXTRA}]'") from None

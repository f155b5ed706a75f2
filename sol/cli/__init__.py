"""The command line `sol`. Nothing heavy is imported before a command needs it, so that `sol --help` is quick."""

from sol.cli.app import main

__all__ = ["main"]

"""The version, read by the build and by `sol version`."""

__version__ = "0.1.0"

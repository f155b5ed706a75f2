"""What a command may reach and use: a sandbox of bubblewrap around it, limits on memory and processor time.

Builds argument lists, and tries once whether such a sandbox works here; runs nobody's command. It guards against
accidents and curious models, not against somebody with an exploit for the kernel.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, Literal, Protocol, Self, TypeAlias, runtime_checkable

from pydantic import Field, model_validator

from luna.errors import LunaError, WorkerConfigError
from luna.fileslice import NOT_WORK
from luna.process.child import child_environment
from luna.process.execute import ProcessLimits, ProcessResult
from luna.protocol import Data, Text

if sys.platform != "win32":
    import pwd

SandboxMode: TypeAlias = Literal["required", "preferred", "off"]
_Mount: TypeAlias = tuple[Literal["empty", "read", "write"], Path]

_PROBE_S: Final = 10
_MIB: Final = 1 << 20
_SIGNAL_BASE: Final = 128  # what a shell and bwrap add to the number of the signal that ended their child
_SHARED_PLACES: Final = ("/run", "/tmp", "/var/tmp")  # noqa: S108 - covered, not written to
_OF_ALL_USERS: Final = ("/home", "/root")
_BESIDE_PROGRAMS: Final = ("lib", "lib64", "libexec", "include")
_REMEDY: Final = (
    "Install bubblewrap and let this user make user namespaces (sysctl kernel.unprivileged_userns_clone, an AppArmor "
    "profile for bwrap, or in a container a seccomp profile that allows it), or set sandbox: preferred or off."
)


class ConfinementOptions(Data):
    """Options of each kind of worker that runs commands.

    Attributes:
        sandbox: required: only in a sandbox; where there can be none the worker is refused before the task starts.
            preferred: in a sandbox where there can be one; otherwise without, which its report tells. off: without.
            In a sandbox a command can write to the workspace only (not to the `.git`, `.hg` and `.sol` that it has),
            has a /tmp of its own, sees no process but its own, and does not see the home directory, /tmp and /run of
            the machine; as root, not the homes of other users either. What is on PATH, and Luna's own Python, stays
            usable.
        network: Whether a command in the sandbox may use the network; without a sandbox it always may.
        readable: What it may read in the sandbox although it lies in a place that it does not see. Absolute, or
            beginning with `~/`.
        memory_mb: Most address space of each of its processes, in units of 1,048,576 bytes; None: no limit. Linux only.
        cpu_s: Most processor seconds of each of its processes; then it is killed. None: no limit.
        grace_s: Seconds between being asked to end (SIGTERM) and being killed. Below the 5 seconds after which an
            attempt that does not end is left behind.
    """

    sandbox: SandboxMode = "off"
    network: bool = False
    readable: tuple[Text, ...] = ()
    memory_mb: int | None = Field(default=None, gt=0)
    cpu_s: int | None = Field(default=None, gt=0)
    grace_s: float = Field(default=2.0, ge=0, le=4)

    @model_validator(mode="after")
    def _sandbox_can_do_it(self) -> Self:
        held_back = "readable" if self.readable else "network: false"
        is_asked = self.readable or ("network" in self.model_fields_set and not self.network)
        if self.sandbox == "off" and is_asked:
            raise ValueError(f"{held_back} needs sandbox: required or preferred; without one nothing is kept back")
        for path in self.readable:
            if not path.startswith(("/", "~/")):
                raise ValueError(f"readable {path!r} must be absolute or begin with ~/")
        return self


@dataclass(frozen=True, slots=True, kw_only=True)
class Confined:
    """A command as it is to be started.

    Attributes:
        argv: With the sandbox before it, if it gets one.
        cwd: The workspace as the command sees it.
        env: To be added to its environment.
        confined: Whether it runs in the sandbox.
        warning: Why it runs without the sandbox that is preferred; "" when it does not.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)
    confined: bool = False
    warning: str = ""

    def not_started(self, result: ProcessResult) -> str:
        """Say why the sandbox did not start the command; "" when it did, or there is none.

        A command can make this up, but all that it gains is to have failed.
        """
        line = result.stderr.lstrip().partition(b"\n")[0].decode("utf-8", "replace")
        refused = self.confined and result.exit_code == 1 and line.startswith("bwrap: ")
        return f"the sandbox did not start it: {line}" if refused else ""


class Confinement:
    """Puts the commands of one worker into a sandbox and under limits, as its options say.

    Args:
        options: What the worker's user has set.
        programs: Paths of programs that are to be usable beside those on PATH; from the user, never from a model.

    Attributes:
        options: As given.

    Raises:
        WorkerConfigError: A sandbox is required and cannot be had; says why and what to do.
    """

    def __init__(self, options: ConfinementOptions, *, programs: Sequence[str] = ()) -> None:
        self.options = options
        self._programs = tuple(programs)
        self._bwrap = ""
        self._missing = ""
        if options.sandbox == "off":
            return
        try:
            self._bwrap = _usable_bwrap(network=options.network)
        except _UnusableError as error:
            self._missing = str(error)
        if self._missing and options.sandbox == "required":
            raise WorkerConfigError(f"sandbox: required, but there can be none here: {self._missing}. {_REMEDY}")

    def warning(self, workspace: Path) -> str:
        """Say why commands in this workspace run without the sandbox that is asked for; "" when they do not."""
        missing = self._what_is_missing(_resolved(workspace))
        return missing and f"ran without a sandbox: {missing}"

    def _what_is_missing(self, place: Path) -> str:
        if self._bwrap and any(home.is_relative_to(place) for home in _homes()):
            return f"the workspace {str(place)!r} holds the home directory, which a sandbox keeps from commands"
        return self._missing

    def limits(self, *, timeout_s: float | None, output_bytes: int) -> ProcessLimits:
        """The limits of one command; of time and of what is kept of its output as given."""
        options = self.options
        return ProcessLimits(
            timeout_s=timeout_s,
            output_bytes=output_bytes,
            grace_s=options.grace_s,
            memory_bytes=options.memory_mb and options.memory_mb * _MIB,
            cpu_s=options.cpu_s,
        )

    def confine(self, argv: Sequence[str], workspace: Path) -> Confined:
        """Make a command one that runs in the sandbox, if there is one. Looks at the file system.

        Raises:
            WorkerConfigError: A sandbox is required, and this workspace cannot be in one.
        """
        place = _resolved(workspace)
        missing = self._what_is_missing(place)
        if missing and self.options.sandbox == "required":
            raise WorkerConfigError(
                f"sandbox: required, but {missing}. Work in a directory below, or set sandbox: off."
            )
        if not self._bwrap or missing or not argv:
            return Confined(argv=tuple(argv), cwd=workspace.absolute(), warning=self.warning(workspace))
        search = _search()
        found = shutil.which(argv[0], path=":".join(search)) if "/" not in argv[0] else None
        mounts = _mounts(place, self.options, search, [*self._programs, *([found] if found else [])])
        words = _arguments(mounts, place, network=self.options.network)
        path = ":".join(dict.fromkeys(str(_resolved(entry)) for entry in search))
        return Confined(
            argv=(self._bwrap, *words, "--", *argv),
            cwd=place,
            env={"PATH": path, "TMPDIR": "/tmp"},  # noqa: S108 - the sandbox's own
            confined=True,
        )

    def limit_reached(self, result: ProcessResult) -> str:
        """Say that the limit on processor time ended a command, or may have; "" when it did not."""
        cpu_s = self.options.cpu_s
        match result.signal or (result.exit_code or 0) - _SIGNAL_BASE:
            case signal.SIGXCPU if cpu_s is not None:
                return f"it used up its limit of {cpu_s} s of processor time"
            case signal.SIGKILL if cpu_s is not None and result.kind in {"exited", "killed"}:
                return f"perhaps for its limit of {cpu_s} s of processor time"
            case _:
                return ""


@runtime_checkable
class Confining(Protocol):
    """A worker whose commands are confined. So are the commands that check its work: they run what it has written."""

    @property
    def confinement(self) -> Confinement:
        """What its commands may reach."""
        ...


# --- bubblewrap ------------------------------------------------------------------------------------------------------


class _UnusableError(LunaError):
    """There can be no sandbox here; the message says why."""


def _usable_bwrap(*, network: bool) -> str:
    """Path of bubblewrap, which works here.

    Raises:
        _UnusableError: If it does not, or is not there.
    """
    if sys.platform != "linux":
        raise _UnusableError("sandboxes need Linux")
    path = shutil.which("bwrap", path=":".join(_search()))
    if path is None:
        raise _UnusableError("bubblewrap (bwrap) is not installed")
    _probe(path, network=network)
    return path


@cache  # what works, works until the end; what does not is tried again by the next worker, since nothing is returned
def _probe(path: str, *, network: bool) -> None:
    """Try it with what a real command gets, since many systems have it and forbid the namespaces it needs.

    Raises:
        _UnusableError: With what it said.
    """
    argv = [path, *_arguments([("empty", Path("/tmp"))], Path("/"), network=network), "--", "/bin/sh", "-c", ":"]  # noqa: S108
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command, no shell
            argv, capture_output=True, check=False, env=child_environment(), stdin=subprocess.DEVNULL, timeout=_PROBE_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _UnusableError(f"bwrap: {error}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise _UnusableError(f"bwrap does not work: {said[0] if said else f'exit code {done.returncode}'}")


def _arguments(mounts: Iterable[_Mount], place: Path, *, network: bool) -> list[str]:
    # Not --die-with-parent: bwrap itself dies of the TERM that its group gets, and would take the command along before
    # the grace time, as it would cut off what still writes when the command has ended. Its first process inside stays
    # in our group, so a KILL of the group ends everything inside. Not --new-session: the session is ours already.
    words = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--cap-drop", "ALL"]
    words += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += [] if network else ["--unshare-net"]
    for kind, path in mounts:
        match kind:
            case "empty":
                words += ["--tmpfs", str(path)]
            case "read":
                words += ["--ro-bind-try", str(path), str(path)]
            case "write":
                words += ["--bind", str(path), str(path)]
    return [*words, "--chdir", str(place)]


# --- what is seen of the file system ---------------------------------------------------------------------------------


def _mounts(place: Path, options: ConfinementOptions, search: Sequence[str], programs: Sequence[str]) -> list[_Mount]:
    """What is laid over the machine's own file system, in this order; that itself is seen, and not writable."""
    hidden = _hidden()
    wanted = [*_tools(search, programs), *_repository(place)]
    if options.network:
        wanted.append(_resolved("/etc/resolv.conf"))  # often a link into /run
    homes = _homes()
    shown = {path for path in map(_resolved, wanted) if not any(home.is_relative_to(path) for home in homes)}
    shown = {path for path in shown if any(path != root and path.is_relative_to(root) for root in hidden)}
    given = map(_resolved, options.readable)
    shown |= {path for path in given if any(path.is_relative_to(root) for root in hidden)}
    mounts: list[_Mount] = [("empty", path) for path in hidden]
    mounts += [("read", path) for path in sorted(shown) if _exists(path)]
    mounts.append(("write", place))
    # What stands in these is acted upon outside of the sandbox: hooks, settings of git, the journal.
    protected = [place / name for name in sorted(NOT_WORK)]
    return [*mounts, *(("read", path) for path in protected if _exists(path) and not path.is_symlink())]


def _homes() -> set[Path]:
    """Home directories of this user that can be hidden."""
    found = {_resolved("~")}
    with suppress(KeyError):  # a user without a name
        found.add(_resolved(pwd.getpwuid(os.getuid()).pw_dir))
    return {home for home in found if home != Path("/") and _exists(home)}


def _hidden() -> list[Path]:
    # Other users' homes are kept from us by their modes, unless we are root; to hide them would hide shared data too.
    places = [*_SHARED_PLACES, *(_OF_ALL_USERS if os.geteuid() == 0 else ())]
    found = {path for path in map(_resolved, places) if _exists(path)}
    return sorted(found | _homes())


def _tools(search: Sequence[str], programs: Sequence[str]) -> Iterable[Path]:
    """What the programs on PATH need, those that are named, and our own Python."""
    directories = [Path(entry) for entry in search]
    if virtual := os.environ.get("VIRTUAL_ENV"):
        directories.append(Path(virtual) / "bin")
    for program in map(Path, (sys.executable, *programs)):
        if program.is_absolute():
            directories += [program.parent, _resolved(program).parent]
            yield program
    for directory in dict.fromkeys(directories):
        yield from _installation(directory)


def _installation(directory: Path) -> Iterable[Path]:
    """What a program in this directory needs to run: a whole virtual environment and its base, or the libraries beside.

    Never all that is beside: `~/.local/share` holds keyrings.
    """
    text = ""
    with suppress(OSError):
        text = (directory.parent / "pyvenv.cfg").read_text(errors="replace")
    if text:
        yield directory.parent
        bases = [line.partition("=")[2].strip() for line in text.splitlines() if line.split("=")[0].strip() == "home"]
        directory = Path(bases[0]) if bases else directory
    yield directory
    if directory.name == "bin":
        yield from (directory.parent / name for name in _BESIDE_PROGRAMS)


def _repository(place: Path) -> Iterable[Path]:
    """The repository outside of a workspace that is one of its worktrees, and nothing that only claims to be that."""
    with suppress(OSError, ValueError):
        # Only git's own directory of the worktree names the workspace's `.git` in turn.
        own = _resolved((place / ".git").read_text().removeprefix("gitdir:").strip())
        back = _resolved((own / "gitdir").read_text().strip())
        common = _resolved(str(own / (own / "commondir").read_text().strip()))
        if back == place / ".git" and own.parent == common / "worktrees" and not own.is_relative_to(place):
            yield common


def _resolved(path: str | Path) -> Path:
    return Path(os.path.realpath(os.path.expanduser(path)))  # noqa: PTH111 - a user without a home is no error here


def _search() -> list[str]:
    """Where programs are looked for; not in directories that depend on where we are."""
    return [entry for entry in os.environ.get("PATH", os.defpath).split(":") if entry.startswith("/")]


def _exists(path: Path) -> bool:
    return os.access(path, os.F_OK)  # no error where a directory above may not be searched

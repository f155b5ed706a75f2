"""How a command is started: its words, its environment, its resource limits, and why it could not be started.

Must never put a command through a shell, nor hand the secrets of our own environment on.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from luna.errors import WorkerConfigError
from luna.processtable import TOKEN_VARIABLE

if sys.platform != "win32":
    import resource

_INHERITED: Final = frozenset({"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "VIRTUAL_ENV"})

_SANDBOXES: Final = frozenset({"bwrap", "nsjail"})


def split_command(text: str) -> list[str]:
    """Split `pytest -q "a b"` into its words as a POSIX shell would; nothing is expanded.

    Raises:
        WorkerConfigError: If there is no word, or a quote is left open.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise WorkerConfigError(f"Command {text!r} cannot be split into words: {error}. Close the quote.") from error
    if not words:
        raise WorkerConfigError(f"Command {text!r} is empty; give at least the program.")
    return words


def program_of(argv: Sequence[str]) -> str:
    """The program that a command is about: inside of a sandbox, not the sandbox's own."""
    if Path(argv[0]).name in _SANDBOXES and "--" in argv[:-1]:
        return argv[argv.index("--") + 1]
    return argv[0]


def child_environment(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a child's environment: a few harmless variables of ours (so no API key), and those `given`."""
    inherited = {key: value for key, value in os.environ.items() if key in _INHERITED or key.startswith("LC_")}
    return inherited | dict(given or {})


def marked(environment: Mapping[str, str], token: str) -> dict[str, str]:
    """Add the token that all processes of a command are recognised by.

    When we are somebody's command ourselves, its token goes on to our children, so that it finds them too.
    """
    outer = os.environ.get(TOKEN_VARIABLE)
    return {**environment, TOKEN_VARIABLE: f"{outer}:{token}" if outer else token}


def start(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    with_stdin: bool,
    memory_bytes: int | None,
    cpu_s: int | None,
) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own, with a pipe for each stream.

    Raises:
        OSError: If it cannot be started; `explain` says why.
        ValueError: If a word or a variable holds what the system does not take (a NUL byte).
    """
    if not cwd.is_dir():
        raise NotADirectoryError(f"its working directory {str(cwd)!r} is missing or no directory.")
    limits = _limit_steps(memory_bytes, cpu_s)
    return subprocess.Popen(  # noqa: S603 - no shell; which commands may run is decided by who calls
        _limited(argv, limits, cwd, environment) if limits else list(argv),
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE if with_stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def explain(error: OSError | ValueError, program: str, cwd: Path) -> str:
    """Say in one sentence why a command did not start."""
    beginning = f"Command {program!r} was not started: "
    match error:
        case FileNotFoundError() if "/" in program and (cwd / program).exists():
            return f"{beginning}the interpreter that its first line names does not exist."
        case FileNotFoundError():
            return f"{beginning}there is no such program; check its spelling and PATH."
        case PermissionError():
            return f"{beginning}it is not executable for this user; check its mode (chmod +x)."
        case _:
            return f"{beginning}{error}"


def _limit_steps(memory_bytes: int | None, cpu_s: int | None) -> list[str]:
    steps: list[str] = []
    if memory_bytes is not None:
        steps.append(f"ulimit -v {_allowed(resource.RLIMIT_AS, memory_bytes) // 1024}")
    if cpu_s is not None:
        soft, hard = _allowed(resource.RLIMIT_CPU, cpu_s), _allowed(resource.RLIMIT_CPU, cpu_s + 1)
        steps += [f"ulimit -S -t {soft}", f"ulimit -H -t {hard}"]
    return steps


def _limited(argv: Sequence[str], steps: list[str], cwd: Path, environment: Mapping[str, str]) -> list[str]:
    """Put a fixed `ulimit … && exec` before a command: code of ours between fork and exec is not safe with threads."""
    program = argv[0] if "/" not in argv[0] else str(cwd.absolute() / argv[0])
    found = shutil.which(program, path=environment.get("PATH", os.defpath))
    if found is None:
        raise PermissionError if Path(program).exists() else FileNotFoundError
    return ["/bin/sh", "-c", " && ".join([*steps, 'exec "$0" "$@"']), found, *argv[1:]]


def _allowed(what: int, wanted: int) -> int:
    hard = resource.getrlimit(what)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)

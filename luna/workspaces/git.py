"""Git commands as a library needs them: no hooks, no prompts, no variables of the session, bounded time.

Must never pass text from a task as an option or through a shell, nor look for a repository where one is given.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from luna.process import ProcessLimits, ProcessRegistry, run_process
from luna.workspaces.history import Commit, History
from luna.workspaces.protocol import WorkspaceError

MIN_VERSION: Final = (2, 34)
"""The first that merges with `ort` by default and has all options used here."""
TIMEOUT_S: Final = 900.0
_OUTPUT_BYTES: Final = 1 << 28
_ERROR_CHARACTERS: Final = 2000
_LISTED: Final = 5
_SETTINGS: Final = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.quotePath": "false",
    "core.safecrlf": "false",
    "core.filesRefLockTimeout": "10000",
    "core.packedRefsTimeout": "10000",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "i18n.commitEncoding": "UTF-8",
    "log.showSignature": "false",  # it would run a program, and mix what it says into answers
    "merge.autoStash": "false",
    "merge.conflictStyle": "diff3",  # shows what both sides started from, and each side whole
    "merge.verifySignatures": "false",
    "rerere.enabled": "false",
    "submodule.recurse": "false",
}
_OPTIONS: Final = [word for name, value in _SETTINGS.items() for word in ("-c", f"{name}={value}")]
_ENVIRONMENT: Final = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
_SNAPSHOT: Final = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True, slots=True)
class Answer:
    """How one git command ended.

    Attributes:
        code: Its exit code.
        out: What it wrote to stdout.
        error: What it wrote to stderr, shortened.
    """

    code: int
    out: bytes
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """Runs git commands in one directory, on one repository.

    Attributes:
        directory: Where they run.
        repository: The repository, or a worktree's part of it; None: found from `directory` upwards.
        work_tree: Its files; None: as the repository says. A `.git` in it is never read then, so that whoever works
            there cannot lead these commands to another repository.
        registry: Where running commands are recorded.
        options: Options of git itself, such as those of `author`.
        index: Another index file to work on.
        history: What is known of its commits.
    """

    directory: Path
    repository: Path | None = None
    work_tree: Path | None = None
    registry: ProcessRegistry | None = None
    options: tuple[str, ...] = ()
    index: Path | None = None
    history: History = field(default_factory=History, repr=False, compare=False)

    def with_new_index(self, index: Path) -> "Git":
        """The same with an index file that is empty at first, whatever a killed command has left there."""
        for file in (index, index.with_name(f"{index.name}.lock")):
            file.unlink(missing_ok=True)
        return replace(self, index=index)

    def within(self, work_tree: Path, *, repository: Path | None = None) -> "Git":
        """The same for the files of a directory."""
        return replace(self, directory=work_tree, work_tree=work_tree, repository=repository or self.repository)

    async def ask(self, *words: str, stdin: bytes = b"", date: str | None = None) -> Answer:
        """Run a command whose exit code tells something.

        Args:
            words: Subcommand and its arguments.
            stdin: Its input.
            date: What a commit made by it says, in a form that git reads; None: now.

        Raises:
            WorkspaceError: If git is not there or was ended.
        """
        where = [f"--git-dir={self.repository}"] if self.repository is not None else []
        where += [f"--work-tree={self.work_tree}"] if self.work_tree is not None else []
        environment = dict(_ENVIRONMENT)
        if self.index is not None:
            environment["GIT_INDEX_FILE"] = str(self.index)
        if date is not None:
            environment |= dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), date)
        result = await run_process(
            ["git", *_OPTIONS, *self.options, *where, *words],
            cwd=self.directory,
            limits=ProcessLimits(
                timeout_s=TIMEOUT_S, output_bytes=_OUTPUT_BYTES, stop_at_output_bytes=_OUTPUT_BYTES // 2
            ),
            stdin=stdin,
            env=environment,
            registry=self.registry,
        )
        error = result.stderr.decode("utf-8", "replace").strip()[-_ERROR_CHARACTERS:]
        if result.exit_code is None:
            raise WorkspaceError(
                f"git {words[0]} in {str(self.directory)!r} did not run to its end ({result.kind}): "
                f"{result.error or error or 'no message'}"
            )
        return Answer(result.exit_code, result.stdout, error)

    async def run(self, *words: str, stdin: bytes = b"", date: str | None = None) -> bytes:
        """Run a command that must succeed and return its output.

        Raises:
            WorkspaceError: If it does not; with git's reason.
        """
        answer = await self.ask(*words, stdin=stdin, date=date)
        if answer.code != 0:
            raise WorkspaceError(
                f"git {words[0]} in {str(self.directory)!r} failed with exit code {answer.code}: "
                f"{answer.error or answer.out.decode('utf-8', 'replace').strip()[-_ERROR_CHARACTERS:]}"
            )
        return answer.out

    async def line(self, *words: str, stdin: bytes = b"") -> str:
        """Run a command that must succeed and answers with one line."""
        return (await self.run(*words, stdin=stdin)).decode("utf-8", "surrogateescape").removesuffix("\n")

    async def commit_named(self, name: str) -> str | None:
        """The commit that a name stands for in git; None if there is none."""
        answer = await self.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        return answer.out.decode().strip() if answer.code == 0 else None

    async def commit(self, name: str) -> Commit:
        """What is in the commit with an id."""
        known = self.history.commit(name)
        if known is None:
            tree, stamp = (await self.line("show", "--no-patch", "--format=%T %ct", name)).split()
            known = Commit(tree, int(stamp))
            self.history.note(name, known)
        return known

    async def contains(self, whole: str, part: str) -> bool:
        """Tell whether the history of the commit `whole` has the commit `part` in it."""
        if (known := self.history.contains(whole, part)) is not None:
            return known
        answer = await self.ask("merge-base", "--is-ancestor", part, whole)
        if answer.code not in {0, 1}:
            raise WorkspaceError(f"Snapshots {part!r} and {whole!r} cannot be compared: {answer.error}")
        return answer.code == 0

    async def refs(self, *patterns: str, merged: str | None = None) -> dict[str, str]:
        """References and what they stand for, in order of name; only those that are in the history of `merged`."""
        only = [f"--merged={merged}"] if merged is not None else []
        listed = await self.run("for-each-ref", "--format=%(objectname) %(refname)", *only, *patterns)
        pairs = (line.split(" ", 1) for line in listed.decode("utf-8", "surrogateescape").splitlines())
        return {name: commit for commit, name in pairs}

    async def delete_refs(self, refs: dict[str, str]) -> None:
        """Delete references, all or none, provided they still stand for the same."""
        if refs:
            lines = "".join(f"delete {name} {commit}\n" for name, commit in refs.items())
            await self.run("update-ref", "--stdin", stdin=lines.encode("utf-8", "surrogateescape"))


async def check_version(git: Git) -> None:
    """Check that there is a git that is new enough.

    Raises:
        WorkspaceError: If there is not.
    """
    said = await git.line("--version")
    numbers = re.search(r"(\d+)\.(\d+)", said)
    if numbers is None or (int(numbers[1]), int(numbers[2])) < MIN_VERSION:
        needed = ".".join(map(str, MIN_VERSION))
        raise WorkspaceError(f"Isolated workspaces need git {needed} or later, this one is {said!r}; update it.")


async def author(git: Git) -> tuple[str, ...]:
    """Options that name the author of commits: as the user's configuration does, else Sol."""
    answer = await git.ask("config", "--null", "--get-regexp", r"^user\.(name|email)$")
    found = dict(entry.partition(b"\n")[::2] for entry in fields(answer.out))  # the last of several counts
    values = (found.get(key, b"") for key in (b"user.name", b"user.email"))
    name, email = (value.decode("utf-8", "surrogateescape").strip() for value in values)
    if not name or not email:
        name, email = "Sol", "sol@localhost"
    return ("-c", f"user.name={name}", "-c", f"user.email={email}")


def checked_snapshot(snapshot: str) -> str:
    """Return a snapshot that has the form of one.

    Raises:
        WorkspaceError: If it has not.
    """
    if not _SNAPSHOT.fullmatch(snapshot):
        raise WorkspaceError(
            f"Snapshot {snapshot!r} is none; pass what `begin`, `keep`, `merge` or `resolve` returned."
        )
    return snapshot


def fields(output: bytes) -> list[bytes]:
    """The parts of an output in which each is ended by a NUL byte."""
    return output.split(b"\0")[:-1]


def joined(paths: Iterable[bytes]) -> bytes:
    """Paths as git reads them from its input with `-z`."""
    return b"".join(path + b"\0" for path in paths)


def shown(path: bytes) -> str:
    """A path for people and files: valid text also where the name of the file is none."""
    return path.decode("utf-8", "backslashreplace")


def some(paths: Iterable[bytes]) -> str:
    """The first few of some paths, for people."""
    names = [repr(shown(path)) for path in paths]
    return ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")

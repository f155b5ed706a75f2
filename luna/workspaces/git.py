"""Git as a program: called with nothing of the user's settings, and files as snapshots in a repository of our own."""

import asyncio
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeAlias

from luna.process.execute import ProcessLimits, ProcessRegistry, run_process
from luna.workspaces import WorkspaceError
from luna.workspaces.history import Commit, History, tree_of

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
class GitResult:
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

    async def ask(self, *words: str, stdin: bytes = b"", date: str | None = None) -> GitResult:
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
        return GitResult(result.exit_code, result.stdout, error)

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


LeftOut: TypeAlias = Callable[[bytes], bool]
"""Tells of a path (of a file or a directory) whether it stays outside of snapshots."""

_BYPRODUCTS: Final = frozenset(
    b"__pycache__ .pytest_cache .mypy_cache .ruff_cache .hypothesis .ipynb_checkpoints .DS_Store".split()
)
_BYPRODUCT_ENDS: Final = (b".pyc", b".pyo")
_GITLINK: Final = b"160000 "
_OTHER: Final = b"? "
_PLAIN: Final = b"H "
_NOT_ENTRIES: Final = (b"?", b"R", b"C", b"K", b"r", b"c")
"""How files that the index has not, or has otherwise, are marked."""
_UNTAKEN: Final = re.compile(
    r"^(warning: could not open directory |Ignoring path |(?!warning: ).*: Permission denied$)", re.MULTILINE
)
"""How git says that it has passed over a file, for which its exit code is 0."""


def is_byproduct(path: bytes) -> bool:
    """Tell whether a path is what a program leaves behind and nobody wants merged."""
    return path.endswith(_BYPRODUCT_ENDS) or not _BYPRODUCTS.isdisjoint(path.split(b"/"))


def files_below(root: bytes, directory: bytes, left_out: LeftOut) -> Iterator[tuple[bytes, int]]:
    """Walk all files and symbolic links below a directory, in no repository's `.git`.

    Args:
        root: What the paths are relative to.
        directory: Relative to `root`, ending with a slash; empty for all.
        left_out: What to leave out.

    Yields:
        Path and size in bytes.
    """
    waiting = [directory]
    while waiting:
        below = waiting.pop()
        with os.scandir(os.path.join(root, below)) as entries:  # noqa: PTH118 - names that are no text
            for entry in entries:
                path = below + entry.name
                if entry.name.lower() == b".git" or left_out(path):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path + b"/")
                    continue
                seen = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(seen.st_mode) or stat.S_ISLNK(seen.st_mode):
                    yield path, seen.st_size


async def stage(git: Git, *, ignored: bool, left_out: LeftOut) -> str:
    """Take everything in a work tree into its index and return the tree.

    That is all changes of files that git follows, and those it does not follow yet, unless they are left out.

    Args:
        git: For the work tree.
        ignored: Take files that the repository ignores as well.
        left_out: Paths that are not taken unless git follows them already.

    Raises:
        WorkspaceError: If a file or directory cannot be read, for example.
    """
    listing = ("ls-files", "-z", "--others", *([] if ignored else ["--exclude-standard"]))
    listed = fields(await _taking_all(git, *listing, "--stage", "--modified", "--deleted", "-v"))
    entries = [entry for entry in listed if entry[:1] not in _NOT_ENTRIES]
    others = [entry[2:] for entry in listed if entry.startswith(_OTHER)]
    is_plain = all(entry.startswith(_PLAIN) and not entry.startswith(_GITLINK, 2) for entry in entries)
    is_changed = len(entries) + len(others) < len(listed)
    if not is_plain:
        await _look_at_all(git, entries)
    if is_changed or not is_plain:
        await _taking_all(git, "add", "--update", "--sparse")
    if not is_plain:
        others = fields(await _taking_all(git, *listing))
    new = [path for path in others if not path.endswith(b"/") and not left_out(path)]
    nested = [path for path in others if path.endswith(b"/") and not left_out(path[:-1])]
    new += await _in_repositories(git, nested, ignored=ignored, left_out=left_out)
    if new:
        # A file that goes away meanwhile is no error.
        await _taking_all(git, "update-index", "-z", "--add", "--remove", "--replace", "--stdin", stdin=joined(new))
    elif is_plain and not is_changed:
        tree = await asyncio.to_thread(tree_of, [entry[2:] for entry in entries])
        if git.history.has_tree(tree):
            return tree
    return await git.line("write-tree")


async def _taking_all(git: Git, *words: str, stdin: bytes = b"") -> bytes:
    """Run a command that looks at files. Those that git cannot take must not pass for unchanged, or for none."""
    answer = await git.ask(*words, stdin=stdin)
    if answer.code == 0 and _UNTAKEN.search(answer.error) is None:
        return answer.out
    raise WorkspaceError(
        f"Not all files in {str(git.directory)!r} can be taken: {answer.error}. "
        "Make them files that can be read, with names that git allows."
    )


async def _look_at_all(git: Git, entries: list[bytes]) -> None:
    """Let git see files in place of links to repositories, and changes that it was told not to look at.

    It is told so by bits of a file, or by a sparse checkout.
    """
    if links := [entry.partition(b"\t")[2] for entry in entries if entry.startswith(_GITLINK, 2)]:
        await git.run("update-index", "-z", "--force-remove", "--stdin", stdin=joined(links))
    bits = {"--no-assume-unchanged": b"hs", "--no-skip-worktree": b"Ss"}
    for option, tags in bits.items():
        paths = [entry.partition(b"\t")[2] for entry in entries if entry[:1] in tags]
        if paths and (there := await asyncio.to_thread(_existing, os.fsencode(git.directory), paths)):
            await git.run("update-index", "-z", option, "--stdin", stdin=joined(there))


def _existing(root: bytes, paths: list[bytes]) -> list[bytes]:
    return [path for path in paths if os.path.lexists(os.path.join(root, path))]  # noqa: PTH118 - as in `files_below`


async def _in_repositories(git: Git, nested: list[bytes], *, ignored: bool, left_out: LeftOut) -> list[bytes]:
    """The files of repositories inside of this one."""
    root = os.fsencode(git.directory)
    found = await asyncio.to_thread(
        lambda: [path for directory in nested for path, _ in files_below(root, directory, left_out)]
    )
    if not found or ignored:
        return found
    excluded = set(fields((await git.ask("check-ignore", "-z", "--stdin", stdin=joined(found))).out))
    return [path for path in found if path not in excluded]

"""Which sandbox there is, how it is asked for, and what is said where there is none. No real sandbox is needed."""

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from luna.errors import WorkerConfigError
from luna.process.execute import ProcessResult
from luna.process.sandbox import Confinement, ConfinementOptions
from tests.support.processes import linux, script

PASSING = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n'
REFUSING = "#!/bin/sh\necho 'no namespaces for you' >&2\necho more >&2\nexit 1\n"
SILENT = "#!/bin/sh\nexit 3\n"


class Machine:
    """A machine with the tools that a test puts on its PATH, and a home directory with a project in it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tools = root / "tools" / "bin"
        self.home = root / "home"
        self.project = self.home / "project"
        for directory in (self.tools, self.project):
            directory.mkdir(parents=True)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("PATH", f"relative:{self.tools}")
        monkeypatch.delenv("VIRTUAL_ENV", raising=False)

    def has(self, name: str, text: str = PASSING) -> None:
        script(self.tools / name, text, 0o755)

    def argv(self, *words: str, programs: tuple[str, ...] = (), **options: Any) -> list[str]:
        confinement = Confinement(ConfinementOptions(sandbox="required", **options), programs=programs)
        return list(confinement.confine(words or ("true",), self.project).argv)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def after(argv: list[str], option: str) -> list[str]:
    """The values of an option that is given several times."""
    return [argv[at + 1] for at, word in enumerate(argv) if word == option]


def checkout_of(argv: list[str], *words: str) -> int:
    """Where a sequence of words begins."""
    return next(at for at in range(len(argv)) if argv[at : at + len(words)] == list(words))


# --- options ---


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": False}, "network: false needs sandbox: required or preferred"),
        ({"readable": ["/data"]}, "readable needs sandbox: required or preferred"),
        ({"sandbox": "preferred", "readable": ["data"]}, "'data' must be absolute or begin with ~/"),
        ({"sandbox": "on"}, "'required', 'preferred' or 'off'"),
        ({"memory_mb": 0}, "greater than 0"),
        ({"cpu_s": -1}, "greater than 0"),
        ({"grace_s": 5}, "less than or equal to 4"),
    ],
)
def test_options_that_cannot_be_kept_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ConfinementOptions(**options)


def test_nothing_is_confined_unless_asked_for(tmp_path: Path) -> None:
    options = ConfinementOptions()
    assert (options.sandbox, options.memory_mb, options.cpu_s, options.grace_s) == ("off", None, None, 2.0)
    command = Confinement(options).confine(["ls", "-l"], tmp_path)
    assert (command.argv, command.cwd, command.env, command.confined) == (("ls", "-l"), tmp_path, {}, False)
    assert Confinement(ConfinementOptions(network=True)).confine(["ls"], tmp_path).warning == ""


@linux
def test_limits_are_those_of_processes() -> None:
    limits = Confinement(ConfinementOptions(memory_mb=64, cpu_s=3, grace_s=0)).limits(timeout_s=7, output_bytes=99)
    assert (limits.memory_bytes, limits.cpu_s, limits.grace_s) == (64 << 20, 3, 0)
    assert (limits.timeout_s, limits.output_bytes) == (7, 99)


# --- which tool ---


@linux
def test_required_sandbox_that_is_not_there_is_refused(machine: Machine) -> None:
    with pytest.raises(WorkerConfigError, match=r"\(bwrap\) is not installed\. Install bubblewrap .* or set"):
        machine.argv()


@linux
def test_required_sandbox_that_does_not_work_is_refused_with_its_reason(machine: Machine) -> None:
    machine.has("bwrap", REFUSING)
    with pytest.raises(WorkerConfigError, match=r"bwrap does not work: no namespaces for you\. Install"):
        machine.argv()
    machine.has("bwrap", SILENT)
    with pytest.raises(WorkerConfigError, match=r"bwrap does not work: exit code 3\. Install"):
        machine.argv()
    machine.has("bwrap", "no program")
    with pytest.raises(WorkerConfigError, match=r"bwrap: \[Errno 8\]"):
        machine.argv()


@linux
def test_preferred_sandbox_that_does_not_work_is_left_out_and_told(machine: Machine) -> None:
    machine.has("bwrap", REFUSING)
    command = Confinement(ConfinementOptions(sandbox="preferred")).confine(["ls"], machine.project)
    assert (command.argv, command.confined) == (("ls",), False)
    assert command.warning == "ran without a sandbox: bwrap does not work: no namespaces for you"


@linux
def test_sandbox_that_works_is_tried_once_and_one_that_does_not_again(machine: Machine) -> None:
    machine.has("bwrap", REFUSING)
    with pytest.raises(WorkerConfigError):
        machine.argv()
    machine.has("bwrap", f"#!/bin/sh\necho >> {machine.home}/tried\n{PASSING}")
    assert [machine.argv()[0] for _ in range(3)] == [str(machine.tools / "bwrap")] * 3
    assert (machine.home / "tried").read_text() == "\n"


def test_other_systems_have_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(WorkerConfigError, match="sandboxes need Linux"):
        Confinement(ConfinementOptions(sandbox="required"))


# --- what is asked of bubblewrap ---


@linux
def test_bwrap_gets_own_namespaces_and_no_capabilities(machine: Machine) -> None:
    machine.has("bwrap")
    argv = machine.argv("ls", "-l", "--", "x")
    assert argv[-5:] == ["--", "ls", "-l", "--", "x"]
    assert {"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"} <= set(argv)
    assert after(argv, "--cap-drop") == ["ALL"]
    assert after(argv, "--chdir") == [str(machine.project)]
    assert "--unshare-net" not in machine.argv(network=True)


@linux
def test_home_and_shared_places_are_covered_before_the_workspace_is_laid_on_top(machine: Machine) -> None:
    machine.has("bwrap")
    argv = machine.argv()
    assert {str(machine.home), os.path.realpath("/tmp"), os.path.realpath("/run")} <= set(after(argv, "--tmpfs"))
    assert after(argv, "--bind") == [str(machine.project)]
    first = checkout_of(argv, "--ro-bind", "/", "/")
    covered = checkout_of(argv, "--tmpfs", str(machine.home))
    assert first < covered < checkout_of(argv, "--bind", str(machine.project))


@linux
def test_homes_of_others_are_covered_for_root_only(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has("bwrap")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert os.path.realpath("/home") in after(machine.argv(), "--tmpfs")
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert os.path.realpath("/home") not in after(machine.argv(), "--tmpfs")


@linux
def test_what_is_acted_upon_outside_is_not_writable(machine: Machine) -> None:
    machine.has("bwrap")
    (machine.project / ".sol").mkdir()
    (machine.project / ".hg").mkdir()
    (machine.project / ".git").symlink_to(machine.home)
    argv = machine.argv()
    assert {str(machine.project / ".sol"), str(machine.project / ".hg")} <= {*after(argv, "--ro-bind-try")}
    assert str(machine.project / ".git") not in after(argv, "--ro-bind-try")
    assert checkout_of(argv, "--ro-bind-try", str(machine.project / ".sol")) > checkout_of(argv, "--bind")


@linux
def test_directory_of_programs_brings_the_libraries_beside_and_nothing_else(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.has("bwrap")
    for name in ("bin", "lib", "share"):
        (machine.home / ".local" / name).mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{machine.tools}:{machine.home}:{machine.home}/.local/bin:{machine.home}/none")
    shown = after(machine.argv(), "--ro-bind-try")
    assert {str(machine.home / ".local" / name) for name in ("bin", "lib")} <= set(shown)
    assert not {str(machine.home), str(machine.home / ".local" / "share"), str(machine.home / "none")} & set(shown)


@linux
def test_virtual_environment_is_shown_whole_with_its_base(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has("bwrap")
    base, venv, own = (machine.home / name for name in ("python", "venv", "odd"))
    for directory in (base / "bin", base / "lib", base / "secrets", venv / "bin", own / "bin"):
        directory.mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(f"home = {base}/bin\nversion = 3\n")
    (own / "pyvenv.cfg").write_text("version = 3\n")
    monkeypatch.setenv("VIRTUAL_ENV", str(venv))
    shown = set(after(machine.argv(programs=(f"{own}/bin/run", "./relative")), "--ro-bind-try"))
    assert {str(path) for path in (venv, own, base / "bin", base / "lib")} <= shown
    assert str(base / "secrets") not in shown


@linux
def test_paths_are_shown_by_what_they_lead_to(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.has("bwrap")
    (machine.home / "kept" / "bin").mkdir(parents=True)
    (machine.home / "bin").symlink_to(machine.home / "kept" / "bin")
    monkeypatch.setenv("PATH", f"{machine.tools}:{machine.home}/bin")
    link = machine.home.parent / "link"
    link.symlink_to(machine.project)
    command = Confinement(ConfinementOptions(sandbox="required")).confine(["true"], link)
    assert str(machine.home / "kept" / "bin") in after(list(command.argv), "--ro-bind-try")
    assert command.env == {"PATH": f"{machine.tools}:{machine.home}/kept/bin", "TMPDIR": "/tmp"}
    assert command.cwd == machine.project


@linux
def test_readable_places_are_shown_if_they_are_hidden(machine: Machine) -> None:
    machine.has("bwrap")
    (machine.home / "data").mkdir()
    argv = machine.argv(readable=["~/data", "~/none", "/usr", "/"])
    assert str(machine.home / "data") in after(argv, "--ro-bind-try")
    assert not {"/", "/usr", str(machine.home / "none")} & set(after(argv, "--ro-bind-try"))
    assert str(machine.home) in after(machine.argv(readable=["~/"]), "--ro-bind-try")


@linux
def test_workspace_that_holds_the_home_directory_gets_no_sandbox(machine: Machine) -> None:
    machine.has("bwrap")
    required = Confinement(ConfinementOptions(sandbox="required"))
    for place in (machine.home, machine.home.parent):
        with pytest.raises(WorkerConfigError, match=r"holds the home directory.*Work in a directory below"):
            required.confine(["true"], place)
    preferred = Confinement(ConfinementOptions(sandbox="preferred"))
    assert preferred.warning(machine.project) == ""
    command = preferred.confine(["true"], machine.home)
    assert (command.argv, command.warning) == (("true",), preferred.warning(machine.home))
    assert "holds the home directory" in command.warning


@linux
def test_repository_of_a_worktree_is_shown_and_no_place_that_only_claims_to_be_one(machine: Machine) -> None:
    machine.has("bwrap")
    own = machine.home / "repo" / ".git" / "worktrees" / "project"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{machine.project}/.git\n")
    (machine.project / ".git").write_text(f"gitdir: {own}\n")
    common = str(machine.home / "repo" / ".git")
    assert common in after(machine.argv(), "--ro-bind-try")
    (own / "gitdir").write_text(f"{machine.home}/elsewhere/.git\n")
    assert common not in after(machine.argv(), "--ro-bind-try")
    # One that the command itself could have made.
    fake = machine.project / "x" / "worktrees" / "y"
    fake.mkdir(parents=True)
    (fake / "commondir").write_text("../..\n")
    (fake / "gitdir").write_text(f"{machine.project}/.git\n")
    (machine.project / ".git").write_text(f"gitdir: {fake}\n")
    assert str(machine.project / "x") not in after(machine.argv(), "--ro-bind-try")


# --- how it ended ---


@linux
@pytest.mark.parametrize(
    ("code", "stderr", "said"),
    [
        (
            1,
            b"bwrap: execvp x: No such file\nmore",
            "the sandbox did not start it: bwrap: execvp x: No such file",
        ),
        (2, b"bwrap: execvp x: No such file", ""),
        (1, b"other: no", ""),
    ],
)
def test_sandbox_that_fails_is_not_taken_for_its_command(machine: Machine, code: int, stderr: bytes, said: str) -> None:
    machine.has("bwrap")
    result = ProcessResult(kind="exited", exit_code=code, stderr=stderr, seconds=1)
    command = Confinement(ConfinementOptions(sandbox="required")).confine(["x"], machine.project)
    assert command.confined
    assert command.not_started(result) == said
    assert Confinement(ConfinementOptions()).confine(["x"], machine.project).not_started(result) == ""


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        ({"kind": "killed", "signal": 24}, "it used up its limit of 3 s of processor time"),
        ({"kind": "exited", "exit_code": 152}, "it used up its limit of 3 s of processor time"),
        ({"kind": "exited", "exit_code": 137}, "perhaps for its limit of 3 s of processor time"),
        ({"kind": "timeout", "signal": 9}, ""),
        ({"kind": "exited", "exit_code": 1}, ""),
        ({"kind": "killed", "signal": 15}, ""),
    ],
)
def test_limit_on_processor_time_is_named(ended: dict[str, Any], said: str) -> None:
    result = ProcessResult(**ended, seconds=1)
    assert Confinement(ConfinementOptions(cpu_s=3)).limit_reached(result) == said
    assert Confinement(ConfinementOptions()).limit_reached(result) == ""

"""Commands in a real sandbox: what they can see, write and reach, and that they end as they would without."""

import asyncio
import shutil
import socket
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from luna.errors import WorkerConfigError
from luna.process.sandbox import Confinement, ConfinementOptions
from luna.protocol import FailedKind, Note, Progress, Stage, Success
from luna.tools.builtin import Outcome, ShellTools
from tests.support.commands import failure_of, py, report_of, result_of, run, sh
from tests.support.processes import script, with_sandbox

pytestmark = with_sandbox

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory with a secret in it."""
    directory = tmp_path / "home"
    (directory / ".ssh").mkdir(parents=True)
    (directory / ".ssh" / "id").write_text(SECRET)
    monkeypatch.setenv("HOME", str(directory))
    return directory


@pytest.fixture
def project(home: Path) -> Path:
    """A workspace in the home directory."""
    directory = home / "project"
    directory.mkdir()
    return directory


async def said(project: Path, text: str, **options: object) -> str:
    """What a shell script in a sandbox says, errors included."""
    return str(await result_of(project, sh(f"({text}) 2>&1; exit 0"), **{"sandbox": "required", **options}))


async def test_only_the_workspace_can_be_written_to(project: Path, tmp_path: Path) -> None:
    assert await said(project, "echo inside > a; cat a") == "inside"
    assert (project / "a").read_text() == "inside\n"
    assert "Read-only file system" in await said(project, "touch /usr/here /here")
    await said(project, f"echo lost > {tmp_path}/outside; echo lost > ~/outside; echo lost > /tmp/outside-of-sandbox")
    assert not [path for path in (tmp_path, project.parent) if (path / "outside").exists()]
    assert not Path("/tmp/outside-of-sandbox").exists()


async def test_home_is_hidden_but_for_the_workspace_and_can_be_used(project: Path) -> None:
    assert await said(project, "ls -A ~") == "project"
    assert "No such file" in await said(project, "cat ~/.ssh/id")
    assert await said(project, "mkdir ~/.cache && touch ~/.cache/x && ls ~/.cache") == "x"


async def test_hidden_place_is_readable_where_the_user_says_so(project: Path) -> None:
    found = await said(project, "cat ~/.ssh/id; touch ~/.ssh/x", readable=["~/.ssh"])
    assert found.startswith(SECRET)
    assert "Read-only file system" in found


async def test_it_sees_its_own_processes_only(project: Path) -> None:
    assert int(await said(project, "ls /proc | grep -c '^[0-9]'")) < 10


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("network", [False, True])
async def test_network_is_reached_only_where_that_is_wanted(project: Path, port: int, network: bool) -> None:
    connect = f"import socket; print(socket.socket().connect_ex(('127.0.0.1', {port})) == 0)"
    assert await result_of(project, py(connect), sandbox="required", network=network) == str(network)


async def test_hooks_and_journal_are_not_writable(project: Path) -> None:
    for name in (".git", ".sol"):
        (project / name).mkdir()
        (project / name / "config").write_text("kept")
        found = await said(project, f"cat {name}/config; echo bad > {name}/config; rm -rf {name}; mv {name} x")
        assert found.startswith("kept")
        assert (project / name / "config").read_text() == "kept"


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
async def test_git_reads_the_repository_of_a_worktree(home: Path) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=x", "-c", "user.email=x@x")
        subprocess.run(["git", *identity, *words], cwd=home, check=True, capture_output=True)

    git("init", "repository")
    git("-C", "repository", "commit", "--allow-empty", "-m", "first")
    git("-C", "repository", "worktree", "add", "../work")
    assert await said(home / "work", "git log --format=%s; git commit --allow-empty -m no; ls ~/repository") == (
        f"first\nfatal: Unable to create '{home}/repository/.git/worktrees/work/index.lock': Read-only file system"
    )


async def test_virtual_environment_in_the_home_directory_is_usable(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = project.parent / "venv"
    venv.create(environment, symlinks=True)
    by_path = await result_of(project, [f"{environment}/bin/python", "-c", "print(1)"], sandbox="required")
    monkeypatch.setenv("PATH", f"{environment}/bin:/usr/bin:/bin")
    by_name = await result_of(project, ["python", "-c", "import sys; print(sys.prefix)"], sandbox="required")
    assert (by_path, by_name) == ("1", str(environment))


async def test_program_outside_of_what_is_shown_is_usable_when_the_user_names_it(project: Path) -> None:
    tool = project.parent / "tool"
    script(tool, "#!/bin/sh\necho ran\n", 0o755)
    assert await result_of(project, [str(tool)], sandbox="required") == "ran"
    shell = ShellTools(project, confinement=Confinement(ConfinementOptions(sandbox="required")))
    outcome = await shell.run_command([str(tool)])  # a model's word does not show it
    assert outcome == Outcome(
        f"error: the sandbox did not start it: bwrap: execvp {tool}: No such file or directory", error=True
    )
    assert await shell.run_command(["cat", "../.ssh/id"]) == Outcome(
        "exit code 1\nstderr:\ncat: ../.ssh/id: No such file or directory\n", error=True
    )
    assert await shell.run_command(["echo", "x"]) == Outcome("exit code 0\nstdout:\nx\n")


async def test_input_output_and_workspace_are_as_without(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    assert await result_of(tmp_path / "link", "cat", input="text", inputs={"a": "x"}, sandbox="required") == "x"
    place = await result_of(tmp_path / "link", sh('echo "$SOL_WORKSPACE|$PWD|$TMPDIR"; ls /tmp'), sandbox="required")
    assert str(place).splitlines()[0] == f"{project}|{project}|/tmp"
    line = '{"type": "progress", "stage": "evidence"}'
    items = await run(project, sh(f"echo '{line}'; echo out"), progress="jsonl", sandbox="required")
    assert [type(item) for item in items] == [Progress, Success]
    assert items[0] == Progress(stage=Stage.EVIDENCE)


async def test_exit_codes_and_signals_are_as_without(project: Path) -> None:
    assert (await failure_of(project, sh("exit 3"), sandbox="required")).reason == "sh ended with exit code 3"
    killed = await failure_of(project, sh("kill -9 $$"), sandbox="required")
    assert (killed.kind, killed.reason) == (FailedKind.KILLED, "sh ended with exit code 137: signal SIGKILL")


async def test_sandbox_that_fails_is_no_good_exit_code_of_its_command(project: Path) -> None:
    report = await failure_of(project, "no-such-program", sandbox="required", ok_exit_codes=[0, 1])
    assert report.kind == FailedKind.NOT_STARTED
    assert report.reason.startswith("no-such-program: the sandbox did not start it: bwrap: execvp no-such-program: ")


async def test_limits_hold_in_the_sandbox(project: Path) -> None:
    report = await failure_of(project, py("while True: pass"), sandbox="required", cpu_s=1)
    assert report.reason.endswith(
        "ended with exit code 152: signal SIGXCPU, it used up its limit of 1 s of processor time"
    )
    big = await failure_of(project, py("bytearray(1 << 30)"), sandbox="required", memory_mb=500)
    assert (big.kind, big.reason.rpartition(": ")[2]) == (FailedKind.EXIT, "MemoryError")


async def test_workspace_that_is_the_home_directory_is_refused_or_told(home: Path) -> None:
    with pytest.raises(WorkerConfigError, match="holds the home directory"):
        await report_of(home, "true", sandbox="required")
    note, report = await run(home, "true", sandbox="preferred")
    assert isinstance(report, Success)
    assert isinstance(note, Note)
    assert note.text == report.remaining_risks[0]
    assert note.text.startswith("true ran without a sandbox: the workspace")


async def test_group_that_is_asked_to_end_has_its_grace_time(project: Path) -> None:
    """With bwrap's --die-with-parent this would be cut short: bwrap itself dies of the signal."""
    wait = "trap 'sleep 0.3; echo cleaned > done; exit' TERM; echo > begun; while :; do sleep 0.02; done"
    await report_of(project, sh(wait), sandbox="required", timeout_s=0.5)
    assert (project / "begun").exists()
    assert (project / "done").read_text() == "cleaned\n"


async def test_what_still_writes_when_the_command_has_ended_is_read(project: Path) -> None:
    assert await said(project, "(sleep 0.1; echo late) & echo early") == "early\nlate"


async def test_own_python_is_usable_from_several_commands_at_once(project: Path) -> None:
    own = [sys.executable, "-c", "import pydantic; print('there')"]
    found = await asyncio.gather(*(result_of(project, own, sandbox="required") for _ in range(3)))
    assert found == ["there"] * 3

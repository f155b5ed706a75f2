"""Tools of an agent: they stay inside the workspace and never raise."""

from pathlib import Path
from typing import Any

import pytest

from luna.process.sandbox import Confinement, ConfinementOptions
from luna.tools.builtin import (
    FOUND_LINES,
    LISTED_FILES,
    READ_BYTES,
    SEARCHED_BYTES,
    WRITTEN_BYTES,
    FileTools,
    Outcome,
    ShellTools,
)


@pytest.fixture
def tools(tmp_path: Path) -> FileTools:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.txt").write_text("two\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("two\n")
    return FileTools(tmp_path)


def test_list_shows_files_with_sizes_and_no_version_control(tools: FileTools) -> None:
    assert tools.list_files() == Outcome("a.txt (14)\nsub/b.txt (4)")
    assert tools.list_files("sub").text == "sub/b.txt (4)"
    assert tools.list_files("none") == Outcome("error: there is no directory 'none'", error=True)


def test_list_is_bounded_and_empty_is_said(tmp_path: Path) -> None:
    tools = FileTools(tmp_path)
    assert tools.list_files().text == "no files"
    for number in range(LISTED_FILES + 1):
        (tmp_path / f"{number:04}").touch()
    assert tools.list_files().text.count("\n") == LISTED_FILES


def test_read_gives_pieces(tools: FileTools, tmp_path: Path) -> None:
    assert tools.read_file("a.txt") == Outcome("one\ntwo\nthree\n", ("a.txt",))
    assert tools.read_file("a.txt", 3).text == "three\n"
    assert tools.read_file("a.txt", 9).text == "the file has 3 lines"
    (tmp_path / "long").write_text("x" * 99 + "\n" + "y" * 99 + "\n" * READ_BYTES)
    text = tools.read_file("long").text
    assert text.endswith(f"[lines 1 to {READ_BYTES - 198} of {READ_BYTES + 1}]")
    (tmp_path / "empty").touch()
    assert tools.read_file("empty").text == "the file is empty"
    (tmp_path / "wide").write_text("z" * (READ_BYTES * 2))
    assert len(tools.read_file("wide").text) <= READ_BYTES


def test_read_refuses_what_is_no_text(tools: FileTools, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert tools.read_file("binary") == Outcome("error: the file is not text", error=True)
    assert "no file 'none'" in tools.read_file("none").text
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(WRITTEN_BYTES * 10 + 1)
    assert "too large" in tools.read_file("huge").text


def test_search_finds_lines_literally(tools: FileTools, tmp_path: Path) -> None:
    assert tools.search_files("two").text == "a.txt:2: two\nsub/b.txt:1: two"
    assert tools.search_files("t.o").text == "nothing found"
    assert tools.search_files("").error
    (tmp_path / "many").write_text("needle\n" * (FOUND_LINES + 5))
    assert tools.search_files("needle").text.count("\n") == FOUND_LINES
    (tmp_path / "many").write_text("needle" + " " * SEARCHED_BYTES)
    assert tools.search_files("needle").text == "nothing found"


def test_write_makes_directories_and_keeps_the_mode(tools: FileTools, tmp_path: Path) -> None:
    assert tools.write_file("new/deep/c.txt", "héllo") == Outcome("wrote 6 bytes", ("new/deep/c.txt",))
    (tmp_path / "run.sh").write_text("old")
    (tmp_path / "run.sh").chmod(0o755)
    tools.write_file("run.sh", "new")
    assert (tmp_path / "run.sh").read_text() == "new"
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in (tmp_path / "new" / "deep").iterdir()) == ["c.txt"]


def test_write_is_bounded_and_leaves_nothing_behind(tools: FileTools, tmp_path: Path) -> None:
    assert tools.write_file("big", "x" * (WRITTEN_BYTES + 1)).error
    assert tools.write_file("sub", "a directory is in the way").error
    assert tools.write_file("c.txt", "\ud800").error
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "a.txt", "sub"]


@pytest.mark.parametrize("path", [".", "sub", "./sub/."])
def test_directory_is_not_written_to(tools: FileTools, tmp_path: Path, path: str) -> None:
    before = sorted(tmp_path.parent.iterdir())
    assert tools.write_file(path, "x") == Outcome(f"error: {path!r} is a directory", error=True)
    assert tools.edit_file(path, "x", "y").error
    assert sorted(tmp_path.parent.iterdir()) == before


@pytest.mark.parametrize(("step", "listed"), [("read_bytes", "a.txt"), ("lstat", "sub/b.txt")])
def test_file_that_has_gone_meanwhile_hides_no_other(
    tools: FileTools, monkeypatch: pytest.MonkeyPatch, step: str, listed: str
) -> None:
    real = getattr(Path, step)

    def gone(path: Path) -> Any:
        if path.name == "a.txt":
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return real(path)

    monkeypatch.setattr(Path, step, gone)
    assert tools.search_files("two").text == "sub/b.txt:1: two"
    assert tools.list_files().text.startswith(listed)


def test_edit_replaces_one_place_only(tools: FileTools, tmp_path: Path) -> None:
    assert tools.edit_file("a.txt", "two", "zwei") == Outcome("edited", ("a.txt",))
    assert (tmp_path / "a.txt").read_text() == "one\nzwei\nthree\n"
    assert "occurs 2 times" in tools.edit_file("a.txt", "e\n", "x").text
    assert "occurs 0 times" in tools.edit_file("a.txt", "", "x").text
    assert tools.edit_file("none", "a", "b").error


@pytest.mark.case("PAR-03")
@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "link/x", "sub/../../x", "", "a\0b"])
def test_paths_outside_the_workspace_are_denied_as_an_answer(tools: FileTools, tmp_path: Path, path: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path.parent)
    for outcome in (
        tools.read_file(path),
        tools.write_file(path, "x"),
        tools.edit_file(path, "a", "b"),
        tools.list_files(path),
        tools.search_files("a", path),
    ):
        assert outcome.text.startswith("denied: ")
        assert outcome.error


@pytest.mark.parametrize("path", [".git/hooks/pre-commit", "sub/.GIT/config", ".sol/runs.db"])
def test_writing_into_what_other_programs_act_upon_is_denied(tools: FileTools, path: str) -> None:
    assert tools.write_file(path, "x").text.startswith("denied: ")
    assert tools.edit_file(path, "x", "y").text.startswith("denied: ")


def test_links_are_not_followed_when_listing(tools: FileTools, tmp_path: Path) -> None:
    (tmp_path / "link.txt").symlink_to("/etc/hostname")
    assert "link.txt" not in tools.list_files().text


async def test_command_tells_code_and_output(tmp_path: Path) -> None:
    shell = ShellTools(tmp_path)
    done = await shell.run_command(["python3", "-c", "import os,sys; print(os.getcwd()); sys.exit(3)"])
    assert done == Outcome(f"exit code 3\nstdout:\n{tmp_path.resolve()}\n", error=True)
    assert await shell.run_command(["true"]) == Outcome("exit code 0")


async def test_command_is_not_given_to_a_shell(tmp_path: Path) -> None:
    done = await ShellTools(tmp_path).run_command(["echo", "$HOME", ";", "false"])
    assert done.text == "exit code 0\nstdout:\n$HOME ; false\n"


async def test_command_that_cannot_run_or_ends_badly_is_an_answer(tmp_path: Path) -> None:
    shell = ShellTools(tmp_path)
    assert "no such program" in (await shell.run_command(["no-such-program"])).text
    assert (await shell.run_command([])).text.startswith("error: argv is empty")
    assert (await ShellTools(tmp_path, timeout_s=0.3).run_command(["sleep", "30"])).text == "ended: timeout"
    killed = await shell.run_command(["sh", "-c", "kill -9 $$"])
    assert killed == Outcome("killed by signal 9", error=True)


async def test_command_is_under_the_limits_it_is_given(tmp_path: Path) -> None:
    shell = ShellTools(tmp_path, confinement=Confinement(ConfinementOptions(cpu_s=1)))
    done = await shell.run_command(["sh", "-c", "while :; do :; done"])
    assert done == Outcome("killed by signal 24, it used up its limit of 1 s of processor time", error=True)


async def test_command_without_the_sandbox_that_is_required_is_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bwrap").write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    shell = ShellTools(tmp_path, confinement=Confinement(ConfinementOptions(sandbox="required")))
    done = await shell.run_command(["true"])
    assert done.text.startswith("error: sandbox: required, but the workspace ")

"""Importing from a workspace and calling in threads."""

import asyncio
import contextvars
import os
import sys
import threading
from pathlib import Path

import pytest

from luna.callables import CallableEndedError, in_thread, load_callable
from luna.errors import WorkerConfigError
from luna.inputs import OutsideWorkspaceError


def write(workspace: Path, **files: str) -> None:
    for name, text in files.items():
        path = workspace / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def test_module_of_the_workspace_may_import_its_neighbours(tmp_path: Path) -> None:
    write(tmp_path, checks_a="import helper_a\nfrom pack_a.inner import two\n\ndef f(x): return helper_a.one(x) + two")
    write(tmp_path, helper_a="def one(x): return x + 1", pack_a__inner="from . import outer\ntwo = outer.n")
    write(tmp_path, pack_a__outer="n = 2")
    (tmp_path / "pack_a" / "__init__.py").write_text("")
    assert load_callable("checks_a:f", tmp_path, installed=False)(1) == 4
    assert not {"checks_a", "helper_a", "pack_a", "pack_a.inner"} & set(sys.modules)
    assert not list(tmp_path.rglob("__pycache__"))


def test_dotted_paths_go_into_directories_and_attributes(tmp_path: Path) -> None:
    write(tmp_path, deep__down__rules="class Rules:\n    @staticmethod\n    def same(x): return x")
    assert load_callable("deep.down.rules:Rules.same", tmp_path, installed=False)(5) == 5


def test_workspaces_do_not_see_each_other(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path / str(number), same="import neighbour\ndef f(): return neighbour.n", neighbour=f"n = {number}")
    found = [load_callable("same:f", tmp_path / str(number), installed=False)() for number in (1, 2, 1)]
    assert found == [1, 2, 1]


def test_a_module_is_imported_once_until_it_changes(tmp_path: Path) -> None:
    write(tmp_path, once="made = object()\ndef f(): return made")
    first = load_callable("once:f", tmp_path, installed=False)()
    assert load_callable("once:f", tmp_path, installed=False)() is first
    stat = (tmp_path / "once.py").stat()
    os.utime(tmp_path / "once.py", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
    assert load_callable("once:f", tmp_path, installed=False)() is not first


def test_only_the_newest_modules_are_kept(tmp_path: Path) -> None:
    write(tmp_path, first="made = object()\ndef f(): return made")
    before = load_callable("first:f", tmp_path, installed=False)()
    write(tmp_path, **{f"filler_{i}": "def f(): pass" for i in range(128)})
    for i in range(128):
        load_callable(f"filler_{i}:f", tmp_path, installed=False)
    assert load_callable("first:f", tmp_path, installed=False)() is not before


def test_modules_of_the_program_stay_as_they_are(tmp_path: Path) -> None:
    program = sys.modules["luna.callables"]
    write(tmp_path, luna__mine="def f(): return 7")
    assert load_callable("luna.mine:f", tmp_path, installed=False)() == 7
    assert sys.modules["luna.callables"] is program
    assert "luna.mine" not in sys.modules


def test_other_threads_import_as_before(tmp_path: Path) -> None:
    source = """
import threading
def look():
    try:
        import only_here
    except ImportError:
        seen.append("not there")
seen = []
other = threading.Thread(target=look)
other.start()
other.join()
def f(): return seen
"""
    write(tmp_path, threaded=source, only_here="")
    assert load_callable("threaded:f", tmp_path, installed=False)() == ["not there"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("gone:f", r"the workspace has no gone\.py"),
        ("a.b.gone:f", r"the workspace has no a/b/gone\.py"),
        ("os:system", r"the workspace has no os\.py"),
        ("here:missing", "has no 'missing'"),
        ("here:number", "is int, not callable"),
        ("json:f", "'json' is a module of the standard library; give the file another name"),
    ],
)
def test_what_cannot_be_called_is_refused(tmp_path: Path, path: str, message: str) -> None:
    write(tmp_path, here="number = 3", json="def f(): pass")
    with pytest.raises(WorkerConfigError, match=message):
        load_callable(path, tmp_path, installed=False)


def test_modules_behind_links_are_refused(tmp_path: Path) -> None:
    workspace, outside = tmp_path / "w", tmp_path / "o"
    write(outside, far="def f(): pass", __init__="")
    workspace.mkdir()
    (workspace / "linked.py").symlink_to(outside / "far.py")
    with pytest.raises(OutsideWorkspaceError):
        load_callable("linked:f", workspace, installed=False)
    (workspace / "half").mkdir()
    (workspace / "half" / "__init__.py").symlink_to(outside / "far.py")
    write(workspace, half__inner="def f(): pass")
    with pytest.raises(ModuleNotFoundError):
        load_callable("half.inner:f", workspace, installed=False)


def test_an_installed_module_does_not_stand_in_for_one_behind_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, site = tmp_path / "w", tmp_path / "site"
    write(site, stand_in__inner="def f(): pass")
    (site / "stand_in" / "__init__.py").touch()
    write(workspace, stand_in__inner="def f(): pass")
    (workspace / "stand_in" / "__init__.py").symlink_to(site / "stand_in" / "__init__.py")
    monkeypatch.syspath_prepend(site)
    with pytest.raises(WorkerConfigError, match="leads out of the workspace by a symbolic link"):
        load_callable("stand_in.inner:f", workspace, installed=False)


def test_a_workspace_module_may_import_installed_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pydantic.color", raising=False)
    write(tmp_path, uses_installed="import pydantic.color\ndef f(): return pydantic.color.__name__")
    assert load_callable("uses_installed:f", tmp_path, installed=False)() == "pydantic.color"
    assert "pydantic.color" in sys.modules


def test_installed_modules_are_found_when_allowed(tmp_path: Path) -> None:
    assert load_callable("math:sqrt", tmp_path, installed=True)(9) == 3
    with pytest.raises(WorkerConfigError, match="no module 'no_such_module', in the workspace or installed"):
        load_callable("no_such_module.inner:f", tmp_path, installed=True)


def test_a_missing_module_of_a_module_is_its_own_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "site", broken_one="import needs_this_one")
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(ModuleNotFoundError, match="needs_this_one"):
        load_callable("broken_one:f", tmp_path, installed=True)


async def test_in_thread_keeps_the_context_and_gives_the_value() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("mine")
    name, value = await in_thread(lambda: (threading.current_thread().name, variable.get()), name="worker")
    assert (name, value) == ("worker", "mine")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (SystemExit(3), r"f called sys\.exit\(3\)"),
        (StopIteration("x"), "f raised StopIteration: x"),
        (asyncio.CancelledError("x"), "f raised CancelledError: x"),
        (KeyboardInterrupt(), "f raised KeyboardInterrupt"),
    ],
)
async def test_in_thread_does_not_let_the_program_be_ended(error: BaseException, message: str) -> None:
    def f() -> None:
        raise error

    with pytest.raises(CallableEndedError, match=message):
        await in_thread(f, name="f")


async def test_in_thread_raises_what_was_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 / 0, name="f")


async def test_in_thread_drops_what_comes_after_a_cancellation() -> None:
    go_on, returned = threading.Event(), threading.Event()

    def f() -> None:
        go_on.wait(10)
        returned.set()

    task = asyncio.create_task(in_thread(f, name="f"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go_on.set()
    await in_thread(lambda: returned.wait(10), name="wait")


def test_in_thread_survives_a_closed_loop() -> None:
    go_on = threading.Event()

    async def leave() -> None:
        async with asyncio.timeout(0):
            await in_thread(lambda: go_on.wait(10), name="late one")

    with pytest.raises(TimeoutError):
        asyncio.run(leave())
    go_on.set()
    for thread in threading.enumerate():
        if thread.name == "late one":
            thread.join(10)


async def test_in_thread_uses_its_threads_again_and_one_for_each_call_at_a_time() -> None:
    def ident() -> int:
        return threading.get_ident()

    first = await in_thread(ident, name="a")
    assert {await in_thread(ident, name=name) for name in "abcdefgh"} == {first}
    all_there = threading.Barrier(3)
    together = await asyncio.gather(*(in_thread(lambda: (all_there.wait(10), ident())[1], name="t") for _ in range(3)))
    assert len(set(together)) == 3

"""Callables by import path from a workspace, and how they are called without holding up the event loop.

Must never put a workspace on `sys.path`, shadow the standard library, or write byte code into a workspace.
"""

import asyncio
import contextvars
import importlib
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from importlib.abc import MetaPathFinder
from importlib.machinery import FileFinder, ModuleSpec, SourceFileLoader
from pathlib import Path
from queue import Empty, SimpleQueue
from types import CodeType, ModuleType
from typing import Any, TypeAlias, TypeVar

from luna.errors import LunaError, WorkerConfigError
from luna.inputs import inside

T = TypeVar("T")
_Stamp: TypeAlias = tuple[int, int, int]  # inode, size, mtime in ns

_Job: TypeAlias = tuple[str, Callable[[], Callable[[], None]]]  # a name, and what gives how to hand the result over

_IDLE_S = 2.0
_idle: list["SimpleQueue[_Job]"] = []  # of the threads that wait for a job; each change of it is atomic
os.register_at_fork(after_in_child=_idle.clear)  # threads do not live on in a forked child

_MODULES_KEPT = 128
_LOCK = threading.Lock()
_loaded: OrderedDict[Path, tuple[_Stamp, ModuleType]] = OrderedDict()


class CallableEndedError(LunaError):
    """A callable tried to end the whole program (`sys.exit`) instead of returning or raising an error."""


def load_callable(path: str, workspace: Path, *, installed: bool) -> Callable[..., Any]:
    """The callable that `module:function` names, from a module file of the workspace.

    The file is imported anew when it changes (its own file; not those it imports). While it is imported, and only then,
    it may import other modules of the workspace by name; the standard library comes first. Nothing of it stays in
    `sys.modules`, so that two workspaces never see each other's modules.

    Args:
        path: Import path; dots after the colon go into attributes.
        workspace: Where the module is looked for.
        installed: Whether a module that is not in the workspace may come from the installed packages.

    Raises:
        WorkerConfigError: If there is no such module or name, or it is not callable.
        Exception: Whatever importing the module raises.
    """
    name, _, attributes = path.partition(":")
    file = _module_file(name, workspace)
    if file is not None:
        found: Any = _workspace_module(name, file, workspace.resolve())
    elif installed:
        found = _installed_module(name, path)
    else:
        raise WorkerConfigError(f"{path!r}: the workspace has no {name.replace('.', '/')}.py")
    for attribute in attributes.split("."):
        if not hasattr(found, attribute):
            raise WorkerConfigError(f"{path!r}: {found!r} has no {attribute!r}")
        found = getattr(found, attribute)
    if not callable(found):
        raise WorkerConfigError(f"{path!r} is {type(found).__name__}, not callable")
    return found  # type: ignore[no-any-return]  # callable() narrows Any to no more than Any


async def in_thread(function: Callable[[], T], *, name: str) -> T:
    """Call `function` in a daemon thread that does nothing else meanwhile, with the caller's context variables.

    A thread cannot be stopped: when the waiting is cancelled, the call goes on by itself and what it returns or raises
    is dropped. It does not keep the program from ending. There are as many threads as calls at the same time; they are
    used again.

    Args:
        function: Takes nothing.
        name: For messages, and the thread's name during the call.

    Raises:
        CallableEndedError: If it raises SystemExit or another exception that would end the program or the task.
        Exception: Whatever else it raises.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> Callable[[], None]:
        deliver: Callable[[Any], None]
        what: object
        try:
            deliver, what = done.set_result, context.run(function)
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            deliver, what = done.set_exception, as_error(error, name=name)
        return partial(_hand_over, loop, done, deliver, what)

    try:
        inbox = _idle.pop()
    except IndexError:
        inbox = SimpleQueue()
        threading.Thread(target=_serve, args=(inbox,), name=name, daemon=True).start()
    inbox.put((name, work))
    return await done


def _serve(inbox: "SimpleQueue[_Job]") -> None:
    """Do one job after the other; end when there was none for a while."""
    thread = threading.current_thread()
    while True:
        try:
            thread.name, work = inbox.get(timeout=_IDLE_S)
        except Empty:
            try:
                _idle.remove(inbox)
            except ValueError:  # taken in this very moment: a job is on its way
                continue
            return
        hand_over = work()
        del work
        thread.name = "idle"
        # Idle before the result is known, so that the next call of whoever waits for it finds this thread.
        _idle.append(inbox)
        hand_over()
        del hand_over


def _hand_over(
    loop: asyncio.AbstractEventLoop,
    done: "asyncio.Future[Any]",
    deliver: Callable[[Any], None],
    what: object,
) -> None:
    try:
        loop.call_soon_threadsafe(lambda: None if done.done() else deliver(what))
    except RuntimeError:  # the loop is closed: nobody waits any more
        return


def as_error(error: BaseException, *, name: str) -> Exception:
    """The error itself, or a `CallableEndedError` for what would end the program, the task or an iteration."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration | StopAsyncIteration):
        return error
    if isinstance(error, SystemExit):
        return CallableEndedError(f"{name} called sys.exit({error.code!r}); return a value or raise an error instead")
    return CallableEndedError(f"{name} raised {type(error).__name__}: {error}; raise an ordinary error instead")


def _module_file(name: str, workspace: Path) -> Path | None:
    path = name.replace(".", "/")
    for candidate in (f"{path}/__init__.py", f"{path}.py"):
        file = inside(workspace, candidate)
        if file.is_file():
            return file
    return None


def _installed_module(name: str, path: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise  # the module is there; it needs another one that is not
        raise WorkerConfigError(f"{path!r}: there is no module {error.name!r}, in the workspace or installed") from None


def _workspace_module(name: str, file: Path, root: Path) -> ModuleType:
    if name.partition(".")[0] in sys.stdlib_module_names:
        raise WorkerConfigError(
            f"{file.name}: {name!r} is a module of the standard library; give the file another name"
        )
    stat = file.stat()
    stamp = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    with _LOCK:
        known = _loaded.get(file)
        if known is None or known[0] != stamp:
            _loaded[file] = known = (stamp, _import(name, root))
        _loaded.move_to_end(file)
        if len(_loaded) > _MODULES_KEPT:
            _loaded.popitem(last=False)
    return known[1]


def _import(name: str, root: Path) -> ModuleType:
    """Import from the workspace and leave `sys.modules` as it was."""
    top = name.partition(".")[0]
    hidden = {key: sys.modules.pop(key) for key in list(sys.modules) if key.partition(".")[0] == top}
    finder = _WorkspaceFinder(root, name)
    sys.meta_path.insert(0, finder)
    try:
        module = importlib.import_module(name)
    finally:
        sys.meta_path.remove(finder)
        for key in list(sys.modules):
            if key.partition(".")[0] in finder.found:
                del sys.modules[key]
        sys.modules.update(hidden)
    if top not in finder.found:
        raise WorkerConfigError(f"module {name!r} leads out of the workspace by a symbolic link")
    return module


class _WorkspaceFinder(MetaPathFinder):
    """Finds modules of a workspace for the thread that made it, and for no other.

    Args:
        root: The workspace, resolved.
        target: The module that is wanted; the directories on the way to it may lack an `__init__.py`.

    Attributes:
        found: Top-level names that came from the workspace.
    """

    def __init__(self, root: Path, target: str) -> None:
        self._root = root
        self._target = target
        self._thread = threading.get_ident()
        self.found: set[str] = set()

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,  # noqa: ARG002 - the import system's own signature
        /,
    ) -> ModuleSpec | None:
        """The module's place in the workspace; None leaves it to the other finders."""
        top = fullname.partition(".")[0]
        if threading.get_ident() != self._thread or top in sys.stdlib_module_names:
            return None
        if path is not None and top not in self.found:
            return None  # a submodule of an installed package
        for place in path or [str(self._root)]:
            spec = FileFinder(place, (_FreshSource, [".py"])).find_spec(fullname)
            if spec is not None and self._may_load(spec):
                self.found.add(top)
                return spec
        return None

    def _may_load(self, spec: ModuleSpec) -> bool:
        if spec.origin is None:  # a directory without __init__.py
            return self._target.startswith(spec.name + ".")
        return Path(spec.origin).resolve().is_relative_to(self._root)


class _FreshSource(SourceFileLoader):
    """Reads the source each time: byte code in the workspace would be one more file, and stale within one second."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code

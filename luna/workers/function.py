"""A Luna that is a Python callable. Calls it once for each delivery and takes nothing it returns for a status."""

import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any

from pydantic import Field, JsonValue, ValidationError

from luna.callables import as_error, in_thread, load_callable
from luna.errors import WorkerConfigError
from luna.inputs import InputError, materialise_all, plain_inputs
from luna.protocol import (
    EVENT_TYPES,
    REPORT_TYPES,
    Assignment,
    Delivery,
    Failed,
    FailedKind,
    ProgressEvent,
    Report,
    Success,
)
from luna.strictjson import require_json
from luna.workers.shared import INPUT_BYTES, WorkerOptions, input_report, read_options

_IDENTIFIER = r"[^\W\d]\w*"


class FunctionOptions(WorkerOptions):
    """WorkerOptions of the kind `function`.

    Attributes:
        function: Import path `module:function`; the workspace is looked in first, then the installed packages.
        input_bytes: Most bytes of inputs it is given; larger ones end STUCK, kind `scope_too_large`.
    """

    function: Annotated[str, Field(pattern=rf"^{_IDENTIFIER}(\.{_IDENTIFIER})*:{_IDENTIFIER}(\.{_IDENTIFIER})*$")]
    input_bytes: int = Field(default=INPUT_BYTES, gt=0)


def create(options: dict[str, JsonValue]) -> "FunctionWorker":
    """Make a function worker from its options.

    Raises:
        WorkerConfigError: If an option is wrong.
    """
    read = read_options("function", FunctionOptions, options)
    return FunctionWorker(read.function, input_bytes=read.input_bytes)


class FunctionWorker:
    """Calls a function with the inputs of its task, files read.

    The function is called as `f(inputs)`. A parameter named `assignment` or `delivery` gets that as well. It may be

    - a plain function; it runs in a thread. A thread cannot be stopped: when the attempt is cancelled it runs on, and
      what it returns is dropped;
    - an async function;
    - an async generator: it yields progress events and, once, the result.

    It returns a report, or any JSON value, which becomes the result of a SUCCESS. A mapping with a `status` is a value
    like any other. What it raises goes to the supervisor; `luna.errors.Interruption` makes it try again.

    Args:
        function: The callable, or its import path `module:function`.
        input_bytes: Most bytes of inputs it is given.

    Source: S04, S55.
    """

    def __init__(self, function: str | Callable[..., Any], *, input_bytes: int = INPUT_BYTES) -> None:
        self._function = function
        self._input_bytes = input_bytes
        self._name = function if isinstance(function, str) else getattr(function, "__qualname__", repr(function))
        self._looked_at: Callable[..., Any] | None = None
        self._extras: tuple[str, ...] = ()

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        """Call the function; yields what it yields, and one report."""
        try:
            inputs = await self._inputs(assignment, delivery)
        except InputError as error:
            yield input_report(error)
            return
        function = self._function
        if isinstance(function, str):
            load = partial(load_callable, function, delivery.workspace, installed=True)
            function = await in_thread(load, name=self._name)
        call = self._bound(function, inputs, assignment, delivery)
        outcome = await self._call(function, call)
        if not hasattr(outcome, "__aiter__"):
            yield self._report(outcome)
            return
        finals: list[object] = []
        async with aclosing(self._items(outcome)) as items:
            async for item in items:
                if isinstance(item, EVENT_TYPES):
                    yield item
                else:
                    finals.append(item)
        yield self._last(finals)

    async def _inputs(self, assignment: Assignment, delivery: Delivery) -> dict[str, JsonValue]:
        plain = plain_inputs(assignment.inputs, limit_bytes=self._input_bytes)
        if plain is not None:
            return plain
        read = partial(materialise_all, assignment.inputs, delivery.workspace, limit_bytes=self._input_bytes)
        return await in_thread(read, name="inputs")

    def _bound(
        self, function: Callable[..., Any], inputs: dict[str, JsonValue], assignment: Assignment, delivery: Delivery
    ) -> Callable[[], Any]:
        if function is not self._looked_at:  # else it is as it was at the last delivery
            self._extras = _extras(function, name=self._name)
            self._looked_at = function
        given = {"assignment": assignment, "delivery": delivery}
        return partial(function, inputs, **{key: given[key] for key in self._extras})

    async def _call(self, function: Callable[..., Any], call: Callable[[], Any]) -> object:
        if inspect.isasyncgenfunction(function):
            return call()
        outcome = call() if inspect.iscoroutinefunction(function) else await in_thread(call, name=self._name)
        if not inspect.isawaitable(outcome):
            return outcome
        try:
            return await outcome
        except SystemExit as error:
            raise as_error(error, name=self._name) from None

    async def _items(self, generator: Any) -> AsyncGenerator[object]:  # noqa: ANN401 - whatever the function gave
        try:
            async for item in generator:
                yield item
        except SystemExit as error:
            raise as_error(error, name=self._name) from None
        finally:
            if hasattr(generator, "aclose"):
                await generator.aclose()

    def _last(self, finals: list[object]) -> Report:
        if len(finals) == 1:
            return self._report(finals[0])
        if finals:
            reason = f"{self._name} yielded {len(finals)} results; yield progress events, and one result"
            return Failed(kind=FailedKind.FORMAT, reason=reason)
        return Failed(kind=FailedKind.NO_STATUS, reason=f"{self._name} ended without yielding a result")

    def _report(self, outcome: object) -> Report:
        if isinstance(outcome, REPORT_TYPES):
            return outcome
        try:
            report = Success(summary=f"{self._name} returned a value.", result=outcome)  # type: ignore[arg-type]  # checked
            require_json(report.result, what="its result")
        except (ValueError, RecursionError) as error:
            kind, why = type(outcome).__name__, "" if isinstance(error, ValidationError) else f" ({error})"
            reason = f"{self._name} returned a {kind} that is no JSON value{why}; return text, numbers, lists, dicts"
            return Failed(kind=FailedKind.FORMAT, reason=reason)
        return report


def _extras(function: Callable[..., Any], *, name: str) -> tuple[str, ...]:
    """Which of the further arguments the function's parameters ask for.

    Raises:
        WorkerConfigError: If it cannot be called that way.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:  # some built-in functions have none
        return ()
    wanted = tuple(key for key in ("assignment", "delivery") if key in signature.parameters)
    try:
        signature.bind({}, **dict.fromkeys(wanted))
    except TypeError as error:
        raise WorkerConfigError(
            f"{name}{signature} cannot be called with inputs: {error}; write it as f(inputs), f(inputs, assignment) "
            "or f(inputs, *, delivery)"
        ) from None
    return wanted

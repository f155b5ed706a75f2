"""Fakes: a clock that is moved by hand, a worker and a chat model that follow a script."""

import asyncio
import heapq
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.model_profile import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from luna.clock import Clock, Timer
from luna.errors import WorkerConfigError
from luna.protocol import Assignment, Delivery, ProgressEvent, Report, Success

_EPOCH = 1_700_000_000.0
_QUIET_ROUNDS = 3
_MOST_ROUNDS = 100_000


def _busy(loop: asyncio.AbstractEventLoop) -> bool:
    # There is no public way to ask whether a task is ready to run; all loops of the standard library have this queue.
    ready: Any = getattr(loop, "_ready")  # noqa: B009 - a private name of the standard library
    return bool(ready)


class FakeClock:
    """A clock that stands still until it is moved.

    By default `await clock.advance(seconds)` moves it, waking sleepers one by one in the order of their times and
    letting all tasks run until idle in between. With `auto=True` it jumps to the next sleeper's time by itself whenever
    every task is idle, so that a whole program runs through in no time.

    Args:
        auto: Move by itself.
        idle_s: Real seconds of idleness before an automatic jump. Raise it (to 0.05, say) when threads, processes or
            sockets take part: waiting for those looks like idleness.
        start: Seconds since the epoch to begin with.

    Attributes:
        slept: All durations that were slept so far, in the order they were begun.
    """

    def __init__(self, *, auto: bool = False, idle_s: float = 0.0, start: float = _EPOCH) -> None:
        self._auto = auto
        self._idle_s = idle_s
        self._start = start
        self._elapsed = 0.0
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._watching = False
        self.slept: list[float] = []

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._start + self._elapsed

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return self._elapsed

    @property
    def sleeping(self) -> int:
        """How many tasks are asleep."""
        return sum(not future.done() for _, _, future in self._sleepers)

    async def sleep(self, seconds: float) -> None:
        """Return when the clock has been moved by `seconds`; zero or less only lets other tasks run."""
        self.slept.append(seconds)
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        await self._sleeper(seconds)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` when the clock has been moved by `seconds`."""
        timer = self._sleeper(max(seconds, 0.0))
        timer.add_done_callback(lambda done: None if done.cancelled() else callback())
        return timer

    def _sleeper(self, seconds: float) -> "asyncio.Future[None]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        heapq.heappush(self._sleepers, (self._elapsed + seconds, next(self._order), future))
        if self._auto and not self._watching:
            self._watching = True
            loop.call_soon(self._watch, loop, 0)
        return future

    async def advance(self, seconds: float) -> None:
        """Move the clock, and return when all tasks are idle again.

        Raises:
            RuntimeError: If the clock moves by itself, or if a task never becomes idle.
        """
        if self._auto:
            raise RuntimeError("this clock moves by itself (auto=True); make one without auto to move it by hand")
        target = self._elapsed + seconds
        await self.settle()
        while (due := self._next()) is not None and due <= target:
            self._wake()
            await self.settle()
        self._elapsed = target
        await self.settle()

    async def settle(self) -> None:
        """Let all other tasks run until none can go on without time passing or something outside happening.

        Raises:
            RuntimeError: If a task never becomes idle.
        """
        loop = asyncio.get_running_loop()
        quiet = 0
        for _ in range(_MOST_ROUNDS):
            await asyncio.sleep(0)
            quiet = 0 if _busy(loop) else quiet + 1
            if quiet == _QUIET_ROUNDS:
                return
        raise RuntimeError(f"some task was still busy after {_MOST_ROUNDS} rounds of the event loop; it may spin")

    def _next(self) -> float | None:
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def _wake(self) -> None:
        due, _, future = heapq.heappop(self._sleepers)
        self._elapsed = max(self._elapsed, due)
        future.set_result(None)

    def _watch(self, loop: asyncio.AbstractEventLoop, quiet: int) -> None:
        if self._next() is None:
            self._watching = False
            return
        quiet = 0 if _busy(loop) else quiet + 1
        if quiet >= _QUIET_ROUNDS:
            self._wake()
            quiet = 0
        loop.call_later(self._idle_s / _QUIET_ROUNDS, self._watch, loop, quiet)


@dataclass(frozen=True, slots=True)
class Pause:
    """A step of a script: sleep for so many seconds of the worker's clock."""

    seconds: float


Item: TypeAlias = ProgressEvent | Report | BaseException | asyncio.Event | Pause
Script: TypeAlias = Item | Sequence[Item]


class ScriptedWorker:
    """Yields the events and reports of a script, raises its exceptions, waits for its `asyncio.Event`s and pauses.

    With events in the scripts a test decides in which order workers go on and finish.

    Args:
        script: A function of the assignment, or a table from goal to script (or to such a function). A script is one
            item or several.
        clock: For pauses; None: scripts have none.

    Attributes:
        calls: How often each goal was begun.
        deliveries: What was handed over, in order.
        running: How many are at work now.
        most_running: How many were at work at the same time at most.
        finished: Goals in the order their scripts came to an end.
        stopped: Goals in the order they were cancelled or closed before their end.

    Example:
        >>> worker = ScriptedWorker({"add": [Success(summary="done", result=3)]})
        >>> worker.calls["add"]
        0
    """

    def __init__(
        self,
        script: Callable[[Assignment], Script] | Mapping[str, Script | Callable[[Assignment], Script]],
        *,
        clock: Clock | None = None,
    ) -> None:
        self._script = script
        self._clock = clock
        self.calls: Counter[str] = Counter()
        self.deliveries: list[tuple[Assignment, Delivery]] = []
        self.running = 0
        self.most_running = 0
        self.finished: list[str] = []
        self.stopped: list[str] = []

    @classmethod
    def succeeding(cls) -> "ScriptedWorker":
        """A worker that reports success at once, with the goal as its result."""
        return cls(lambda assignment: Success(summary="done", result=assignment.goal))

    async def run(self, assignment: Assignment, delivery: Delivery) -> AsyncIterator[ProgressEvent | Report]:
        """Act out the script of the assignment.

        Raises:
            LookupError: If there is no script for the goal.
        """
        goal = assignment.goal
        self.calls[goal] += 1
        self.deliveries.append((assignment, delivery))
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        ended = False
        try:
            for item in self._items(assignment):
                match item:
                    case BaseException():
                        ended = True
                        raise item
                    case asyncio.Event():
                        await item.wait()
                    case Pause():
                        await self._sleep(item)
                    case _:
                        yield item
            ended = True
        finally:
            self.running -= 1
            (self.finished if ended else self.stopped).append(goal)

    def _items(self, assignment: Assignment) -> Sequence[Item]:
        script = self._script
        if isinstance(script, Mapping):
            if assignment.goal not in script:
                raise LookupError(f"no script for goal {assignment.goal!r}; there are {sorted(script)}")
            chosen = script[assignment.goal]
        else:
            chosen = script
        items = chosen(assignment) if callable(chosen) else chosen
        return items if isinstance(items, Sequence) else [items]

    async def _sleep(self, pause: Pause) -> None:
        if self._clock is None:
            raise WorkerConfigError(f"{pause!r} in a script needs a clock; give ScriptedWorker(…, clock=…)")
        await self._clock.sleep(pause.seconds)


Reply: TypeAlias = str | AIMessage | BaseException
ChatScript: TypeAlias = Callable[[Sequence[BaseMessage]], Reply]


def calls(*tools: tuple[str, dict[str, Any]], text: str = "") -> AIMessage:
    """A turn that calls tools, each given as (name, arguments)."""
    wanted = [ToolCall(name=name, args=args, id=f"call-{number}") for number, (name, args) in enumerate(tools)]
    return AIMessage(content=text, tool_calls=wanted)


def _in_order(replies: Iterable[Reply]) -> ChatScript:
    rest = iter(replies)

    def script(_: Sequence[BaseMessage]) -> Reply:
        for reply in rest:
            return reply
        raise AssertionError("the script has run out of replies, and the model was asked again")

    return script


class ScriptedChatModel(BaseChatModel):
    """Answers with what its script says and counts how often it was asked.

    Args:
        script: A function from the messages to a reply, or replies in order. A reply is a text, a message, or an
            exception to raise. A list that has run out is an AssertionError: the test expected fewer calls.
        tokens: Input and output tokens that each text reply reports; None: none are reported.
        structured: Whether the model says that it can be bound to a JSON Schema.

    Attributes:
        prompts: The messages of each call so far.
        bound: What was bound to the model in each call (`response_format`, `tools`, …).
    """

    tokens: tuple[int, int] | None = (7, 3)
    structured: bool = True
    _script: ChatScript = PrivateAttr()
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _bound: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    def __init__(self, script: ChatScript | Iterable[Reply], **options: Any) -> None:  # noqa: ANN401 - pydantic's fields
        super().__init__(**options)
        self._script = script if callable(script) else _in_order(script)

    @property
    def count(self) -> int:
        """How often the model was called."""
        return len(self._prompts)

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        """The messages of each call, oldest first."""
        return self._prompts

    @property
    def bound(self) -> list[dict[str, Any]]:
        """The keyword arguments of each call, oldest first."""
        return self._bound

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _resolve_model_profile(self) -> ModelProfile:
        return {"structured_output": self.structured, "tool_calling": True}

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: Any = None,  # noqa: ANN401 - as in the base class
        **kwargs: Any,  # noqa: ANN401 - as in the base class
    ) -> Runnable[Any, AIMessage]:
        """Record the tools; they are not enforced."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - as in the base class
        **kwargs: Any,  # noqa: ANN401 - as in the base class
    ) -> ChatResult:
        self._prompts.append(list(messages))
        self._bound.append(kwargs if stop is None else {**kwargs, "stop": stop})
        reply = self._script(messages)
        if isinstance(reply, BaseException):
            raise reply
        message = AIMessage(content=reply) if isinstance(reply, str) else reply
        return ChatResult(generations=[ChatGeneration(message=self._completed(message))])

    def _completed(self, message: AIMessage) -> AIMessage:
        """Fill in what a provider adds, where the script did not say it."""
        update: dict[str, Any] = {}
        if not message.response_metadata:
            update["response_metadata"] = {"finish_reason": "tool_calls" if message.tool_calls else "stop"}
        if message.usage_metadata is None and self.tokens is not None:
            sent, made = self.tokens
            update["usage_metadata"] = {"input_tokens": sent, "output_tokens": made, "total_tokens": sent + made}
        return message.model_copy(update=update)

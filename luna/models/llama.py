"""llama.cpp inside this process: one engine for each weights file and its settings, shared by all chat models.

The engine's own HTTP port (loopback) is shut with a random key that nobody is told. Nothing here knows LangChain.
"""

import atexit
import math
import os
import queue
import secrets
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from luna.errors import ModelError, ModelNotFoundError

MAX_THREADS = 8
# A prompt is read in steps of this many tokens; a stop takes effect between two steps.
STEP_TOKENS = 256
CLOSE_TIMEOUT_S = 60.0
_SILENT, _CHATTY = -1, 3
_CGROUP_QUOTA = Path("/sys/fs/cgroup/cpu.max")

_CLOSED = "The local model was closed while it was in use; make a new one."

INSTALL_HINT = "Install the engine: pip install 'sol-luna[local]'"


class PromptTooLongError(ModelError):
    """The prompt does not fit into the model's context. Shorten or split it, or make the context bigger.

    Attributes:
        prompt_tokens: Size of the prompt.
        context_tokens: Size of the context, which the answer shares.
    """

    def __init__(self, prompt_tokens: int, context_tokens: int) -> None:
        super().__init__(
            f"The prompt has {prompt_tokens} tokens, but the model's context only {context_tokens}. "
            f"Split the task, shorten the prompt, or set a bigger n_ctx."
        )
        self.prompt_tokens = prompt_tokens
        self.context_tokens = context_tokens

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.prompt_tokens, self.context_tokens))


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What makes two engines different.

    Attributes:
        path: The weights.
        n_ctx: Context of each slot, in tokens; prompt and answer share it.
        slots: How many requests are worked on at once.
        threads: CPU threads.
    """

    path: Path
    n_ctx: int
    slots: int
    threads: int


@dataclass(frozen=True, slots=True)
class Completion:
    """What the model said.

    Attributes:
        text: The answer, perhaps cut off.
        finish_reason: `stop`, or `length` where the answer was cut off.
        prompt_tokens: Tokens of the prompt, those from the cache included.
        cached_tokens: Tokens of the prompt that were not computed again.
        answer_tokens: Tokens of the answer.
        timings: The engine's own figures, for people.
    """

    text: str
    finish_reason: str
    prompt_tokens: int
    cached_tokens: int
    answer_tokens: int
    timings: Mapping[str, float]


class Call:
    """One request on its way through the engine.

    Attributes:
        future: Gets the Completion, or a ModelError.
    """

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body
        self.future: Future[Completion] = Future()
        self._stopped = threading.Event()
        self._chunks: list[dict[str, Any]] = []

    def stop(self) -> None:
        """Give the request up. The slot is free within one step; nobody should wait for the future any more."""
        self._stopped.set()
        self.future.cancel()

    def receive(self, chunk: dict[str, Any]) -> bool:
        """Take the engine's next piece; True tells it to stop. Must not raise: the engine swallows that and goes on."""
        self._chunks.append(chunk)
        return self._stopped.is_set()

    def answer(self) -> Completion:
        """Put the pieces together.

        Raises:
            ModelError: If the engine refused the request, or was stopped before its end.
        """
        text, finish_reason = [], None
        summary: dict[str, Any] = {}
        for chunk in self._chunks:
            if error := chunk.get("error"):
                raise _refusal(error)
            for choice in chunk.get("choices", ()):
                text.append(choice["delta"].get("content") or "")
                finish_reason = choice["finish_reason"] or finish_reason
            if "usage" in chunk:
                summary = chunk
        if finish_reason is None or not summary:
            raise ModelError("The local model was stopped before its answer was complete.")
        usage = summary["usage"]
        return Completion(
            text="".join(text),
            finish_reason=finish_reason,
            prompt_tokens=usage["prompt_tokens"],
            cached_tokens=usage.get("prompt_tokens_details", {}).get("cached_tokens", 0),
            answer_tokens=usage["completion_tokens"],
            timings=summary.get("timings", {}),
        )


def _refusal(error: Mapping[str, Any]) -> ModelError:
    if error.get("type") == "exceed_context_size_error":
        return PromptTooLongError(error["n_prompt_tokens"], error["n_ctx"])
    return ModelError(f"The local model refused the request: {error.get('message', error)}")


class Engine:
    """Loaded weights and the threads that use them. The weights are loaded by the first request."""

    def __init__(self, settings: EngineSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        # Apart from the other, so that nobody who only submits waits for the weights.
        self._loading = threading.Lock()
        self._server: Any = None
        self._closed = False
        self._waiting: queue.SimpleQueue[Call | None] = queue.SimpleQueue()
        self._running: set[Call] = set()
        self._workers: list[threading.Thread] = []

    def submit(self, body: Mapping[str, Any]) -> Call:
        """Queue a chat request; at most `slots` are worked on at once, first come first served.

        Raises:
            ModelError: If the engine was closed.
        """
        call = Call({**body, "stream": True, "stream_options": {"include_usage": True}, "return_progress": True})
        with self._lock:
            if self._closed:
                raise ModelError(_CLOSED)
            if len(self._workers) < self.settings.slots:
                # Daemons, so that the interpreter's exit reaches `close` even while one is busy.
                worker = threading.Thread(target=self._work, name="sol-local-model", daemon=True)
                self._workers.append(worker)
                worker.start()
            self._waiting.put(call)
        return call

    def close(self) -> None:
        """Stop all requests and free the weights. May be called twice.

        The weights must go before the interpreter ends and after the last request: llama.cpp crashes otherwise.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            running, workers = list(self._running), list(self._workers)
            for _ in workers:
                self._waiting.put(None)
        for call in running:
            call.stop()
        for worker in workers:
            worker.join(CLOSE_TIMEOUT_S)
        if not any(worker.is_alive() for worker in workers):
            self._server = None

    def _work(self) -> None:
        while (call := self._waiting.get()) is not None:
            with self._lock:
                self._running.add(call)
            if call.future.set_running_or_notify_cancel():
                self._answer(call)
            with self._lock:
                self._running.discard(call)

    def _answer(self, call: Call) -> None:
        try:
            self._load().handle_chat_completions(call.body, call.receive)
            call.future.set_result(call.answer())
        except ModelError as error:
            call.future.set_exception(error)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises belongs to the caller, not to this thread
            call.future.set_exception(ModelError(f"The local model refused the request: {error}"))

    def _load(self) -> Any:  # noqa: ANN401 - the engine has no type information
        with self._loading:
            if self._closed:
                raise ModelError(_CLOSED)
            if self._server is None:
                self._server = _start(self.settings)
            return self._server


def _start(settings: EngineSettings) -> Any:  # noqa: ANN401 - the engine has no type information
    try:
        import xllamacpp  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise ModelNotFoundError(f"Local models need the package xllamacpp. {INSTALL_HINT}") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(settings.path)
    params.n_parallel = settings.slots
    params.n_ctx = settings.n_ctx * settings.slots
    params.n_batch = STEP_TOKENS
    params.cpuparams.n_threads = settings.threads
    params.cpuparams_batch.n_threads = settings.threads
    params.warmup = False
    params.ui = False
    params.endpoint_slots = False
    params.api_keys = [secrets.token_urlsafe(32)]
    params.verbosity = _CHATTY if os.environ.get("SOL_LOCAL_VERBOSE") else _SILENT
    try:
        return xllamacpp.Server(params)
    except RuntimeError as error:
        raise ModelError(
            f"{settings.path} cannot be loaded as a model: is it a whole GGUF file, and is enough memory free? "
            f"SOL_LOCAL_VERBOSE=1 shows what the engine says."
        ) from error


def default_threads(environ: Mapping[str, str] | None = None) -> int:
    """How many threads a local model uses: `SOL_LOCAL_THREADS`, else all usable physical cores but one, 1 to 8.

    One core is left over because the engine's threads spin while they wait for each other: where a core is shared,
    one thread more makes it several times slower, not faster.

    Raises:
        ModelError: If the setting is not a whole number of at least 1.
    """
    setting = (os.environ if environ is None else environ).get("SOL_LOCAL_THREADS")
    if not setting:
        return max(1, min(MAX_THREADS, _usable_cores() - 1))
    if setting.isdecimal() and int(setting) >= 1:
        return int(setting)
    raise ModelError(f"SOL_LOCAL_THREADS is {setting!r}; set it to a whole number of at least 1, or unset it.")


def _usable_cores() -> int:
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = min(cores, len(os.sched_getaffinity(0)))
    try:
        quota, period = _CGROUP_QUOTA.read_text(encoding="ascii").split()
        return min(cores, math.ceil(int(quota) / int(period)))
    except (OSError, ValueError):
        return cores  # no container, or one without a limit


_engines: dict[EngineSettings, Engine] = {}
_engines_lock = threading.Lock()


def engine_for(settings: EngineSettings) -> Engine:
    """Give this process's engine for the settings; made once, closed at the interpreter's exit."""
    with _engines_lock:
        if settings not in _engines:
            if not _engines:
                atexit.register(close_engines)
            _engines[settings] = Engine(settings)
        return _engines[settings]


def close_engines() -> None:
    """Close all engines of this process and free their memory. Chat models that are used later load them again."""
    with _engines_lock:
        engines = list(_engines.values())
        _engines.clear()
    for engine in engines:
        engine.close()

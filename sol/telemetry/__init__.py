"""OpenTelemetry: a span for the run, for each node and for each effect, where a tracer provider is set up.

Without the package, or with the provider that does nothing, nothing is recorded and next to nothing is done. Nothing
that goes wrong here ends a run: it is logged, and no more is recorded.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from luna.clock import Clock
from sol.tree.events import Command, Event
from sol.tree.node import AnyState

if TYPE_CHECKING:
    from sol.telemetry.spans import RunSpans

__all__ = ["recording"]

_log = logging.getLogger(__name__)


@contextmanager
def recording(
    *,
    run: str,
    state: AnyState,
    strategy: str,
    clock: Clock,
    listeners: list[Callable[[Event], None]],
    entering: list[Callable[[Command], None]],
) -> Iterator[None]:
    """Record spans of what is done on a run, until the context is left.

    The spans go to the global tracer provider. A process that takes a run up again begins a new trace, with spans for
    what it works on only; `sol.run` is the same in both.

    Args:
        run: Id of the run.
        state: Of the run; read, never written.
        strategy: Name of its strategy.
        clock: Time.
        listeners: Told each event once it is committed; one is added.
        entering: Called inside each effect's task before it does anything; one is added.
    """
    spans = _Safely.begin(run=run, state=state, strategy=strategy, now=clock.now())
    if spans is None:
        yield
        return
    listeners.append(spans.told)
    entering.append(spans.enter)
    try:
        yield
    except BaseException as error:
        spans.broke(error)
        raise
    finally:
        spans.close(clock.now())


class _Safely:
    """Spans that end no run: after the first thing that goes wrong nothing more is recorded.

    What is open then is still ended, so that what was recorded can be seen.
    """

    def __init__(self, spans: "RunSpans", run: str) -> None:
        self._spans = spans
        self._run = run
        self._failed = False

    @classmethod
    def begin(cls, *, run: str, state: AnyState, strategy: str, now: float) -> "_Safely | None":
        """Begin to record; None where nothing is to be recorded or that cannot be done."""
        try:
            from opentelemetry import trace  # noqa: PLC0415, F401 - an extra
        except ImportError:
            return None
        try:
            from sol.telemetry.spans import begin  # noqa: PLC0415 - needs the extra

            spans = begin(run=run, state=state, strategy=strategy, now=now)
        except Exception:  # noqa: BLE001 - logged; whatever a provider does
            _log.exception("Run %s is not recorded with OpenTelemetry.", run)
            return None
        return None if spans is None else cls(spans, run)

    def told(self, event: Event) -> None:
        """See `RunSpans.told`."""
        self._try(lambda: self._spans.told(event))

    def enter(self, command: Command) -> None:
        """See `RunSpans.enter`."""
        self._try(lambda: self._spans.enter(command))

    def broke(self, error: BaseException) -> None:
        """See `RunSpans.broke`."""
        self._spans.broke(error)

    def close(self, t: float) -> None:
        """See `RunSpans.close`."""
        self._failed = False
        self._try(lambda: self._spans.close(t))

    def _try(self, record: Callable[[], None]) -> None:
        if self._failed:
            return
        try:
            record()
        except Exception:  # noqa: BLE001 - logged; whatever a provider does
            self._failed = True
            _log.exception("No more of run %s is recorded with OpenTelemetry.", self._run)

"""OpenTelemetry: a span for the run, for each node and for each effect, where a tracer provider is set up.

Without the package, or with the provider that does nothing, nothing is recorded and next to nothing is done. Nothing
that goes wrong here ends a run: it is logged, and no more is recorded.
"""

import logging

from luna.clock import Clock
from sol.tree.listeners import Listener
from sol.tree.node import AnyState

_log = logging.getLogger(__name__)


def spans_of(*, run: str, state: AnyState, strategy: str, clock: Clock) -> Listener | None:
    """A listener that records spans of what is done on a run; None where nothing is to be recorded, or cannot be.

    The spans go to the global tracer provider. A process that takes a run up again begins a new trace, with spans for
    what it works on only; `sol.run` is the same in both.

    Args:
        run: Id of the run.
        state: Of the run; read, never written.
        strategy: Name of its strategy.
        clock: Time.
    """
    try:
        from opentelemetry import trace  # noqa: PLC0415 - an extra
    except ImportError:
        return None
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | trace.NoOpTracerProvider):
        return None  # nobody has set one up
    try:
        from sol.telemetry.spans import begin  # noqa: PLC0415 - needs the extra

        return begin(run=run, state=state, strategy=strategy, clock=clock)
    except Exception:  # noqa: BLE001 - logged; whatever a provider does
        _log.exception("Run %s is not recorded with OpenTelemetry.", run)
        return None

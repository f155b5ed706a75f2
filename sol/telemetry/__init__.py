"""OpenTelemetry: a span for the run, for each node and for each effect, where a tracer provider is set up.

Without the package, or with the provider that does nothing, nothing is recorded and next to nothing is done.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sol.session import Session

if TYPE_CHECKING:
    from sol.telemetry.spans import RunSpans

__all__ = ["recording"]


@contextmanager
def recording(session: Session) -> Iterator[None]:
    """Record spans of what a session does, as a listener of its events, until the context is left.

    The spans go to the global tracer provider. A session that takes a run up again begins a new trace, with spans for
    what it works on only; `sol.run` is the same in both.
    """
    spans = _begin(session)
    if spans is None:
        yield
        return
    session.listeners.append(spans.told)
    session.entering.append(spans.enter)
    try:
        yield
    except BaseException as error:
        spans.broke(error)
        raise
    finally:
        spans.close(session.clock.now())


def _begin(session: Session) -> "RunSpans | None":
    try:
        from opentelemetry import trace  # noqa: PLC0415, F401 - an extra
    except ImportError:
        return None
    from sol.telemetry.spans import begin  # noqa: PLC0415 - needs the extra

    return begin(session)

"""What a run leaves with OpenTelemetry, for tests to look at, and the small runs that they look at."""

from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from luna.protocol import Assignment, Stuck, Success
from luna.testing import ScriptedWorker
from sol import Task
from tests.support.core import assignment_of
from tests.support.planners import split_into

GOAL = "sort the secret bricks"
TWO = {GOAL: split_into("red", "blue")}


def task(goal: str = GOAL) -> Task:
    return Task.make(assignment_of(goal, expected_output="a text", constraints="none"))


def ends(**scripts: Any) -> ScriptedWorker:
    """A worker that is stuck on the whole, does what is written for a part, and succeeds with the others."""

    def script(assignment: Assignment) -> Any:
        usual = Stuck(blocker="too much") if assignment.goal == GOAL else Success(summary="done", result="ok")
        return scripts.get(assignment.goal, usual)

    return ScriptedWorker(script)


class Spans:
    """What was exported."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    @property
    def all(self) -> list[ReadableSpan]:
        return list(self.exporter.get_finished_spans())

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.all if span.name == name]

    @property
    def run(self) -> ReadableSpan:
        [span] = self.named("sol.run")
        return span

    @property
    def nodes(self) -> dict[str, ReadableSpan]:
        """By path; each node has one."""
        found = self.named("sol.node")
        by_path = {str(said(span)["sol.node"]): span for span in found}
        assert len(by_path) == len(found)
        return by_path

    def above(self, span: ReadableSpan) -> ReadableSpan | None:
        return next((one for one in self.all if span.parent and one.context.span_id == span.parent.span_id), None)


def said(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})

"""A span `chat MODEL` for each chat model call that LangChain makes below an effect, with the tokens it says it used.

GenAI semantic conventions 1.41. Prompts, replies and error texts are not recorded.
"""

from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from luna.models.calls import finish_reason
from sol._version import __version__

_FROM_METADATA = {
    "ls_model_name": "gen_ai.request.model",
    "ls_temperature": "gen_ai.request.temperature",
    "ls_max_tokens": "gen_ai.request.max_tokens",
    "ls_provider": "gen_ai.provider.name",
    "sol_run": "sol.run",
    "sol_node": "sol.node",
}


class ChatSpans(BaseCallbackHandler):
    """Opens and ends the spans. Holds nothing of a run, so one object serves all of them."""

    run_inline = True  # in the caller's task, whose current span is the effect's

    def __init__(self) -> None:
        self._open: dict[UUID, Span] = {}

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002 - LangChain's interface
        messages: list[list[BaseMessage]],  # noqa: ARG002 - as above
        *,
        run_id: UUID,
        **more: Any,  # noqa: ANN401 - as above
    ) -> None:
        """A call begins."""
        said = more.get("metadata") or {}
        attributes = {name: said[key] for key, name in _FROM_METADATA.items() if said.get(key) is not None}
        model = str(attributes.get("gen_ai.request.model", ""))
        self._open[run_id] = trace.get_tracer("sol", __version__).start_span(
            f"chat {model}".strip(),
            kind=SpanKind.CLIENT,
            attributes={"gen_ai.operation.name": "chat", **attributes},
        )

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **more: Any) -> None:  # noqa: ANN401, ARG002 - as above
        """A call has ended well."""
        span = self._open.pop(run_id, None)
        if span is not None:
            span.set_attributes(_of(response))
            span.end()

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **more: Any) -> None:  # noqa: ANN401, ARG002 - as above
        """A call has failed or was cancelled. The text of the error may quote a key or the prompt."""
        span = self._open.pop(run_id, None)
        if span is not None:
            kind = type(error).__name__
            span.set_attribute("error.type", kind)
            span.set_status(Status(StatusCode.ERROR, kind))
            span.end()


CHAT_SPANS = ChatSpans()


def _of(response: LLMResult) -> dict[str, Any]:
    generation = response.generations[0][0]
    if not isinstance(generation, ChatGeneration) or not isinstance(generation.message, AIMessage):
        return {}
    message = generation.message
    usage = message.usage_metadata
    told = {
        "gen_ai.usage.input_tokens": usage["input_tokens"] if usage else None,
        "gen_ai.usage.output_tokens": usage["output_tokens"] if usage else None,
        "gen_ai.response.finish_reasons": [finish] if (finish := finish_reason(message)) else None,
        "gen_ai.response.model": message.response_metadata.get("model_name"),
    }
    return {name: value for name, value in told.items() if value is not None}

"""A chat model for tests, driven by a plain function or a list of replies. No network, no sleeps, no clock.

It does only what it is told: a schema or tools bound to it are recorded, never enforced.
"""

from collections.abc import Callable, Iterable, Sequence
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

Reply: TypeAlias = str | AIMessage | BaseException
Script: TypeAlias = Callable[[Sequence[BaseMessage]], Reply]


def calls(*tools: tuple[str, dict[str, Any]], text: str = "") -> AIMessage:
    """A turn that calls tools, each given as (name, arguments)."""
    wanted = [ToolCall(name=name, args=args, id=f"call-{number}") for number, (name, args) in enumerate(tools)]
    return AIMessage(content=text, tool_calls=wanted)


def _in_order(replies: Iterable[Reply]) -> Script:
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
    _script: Script = PrivateAttr()
    _prompts: list[list[BaseMessage]] = PrivateAttr(default_factory=list)
    _bound: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    def __init__(self, script: Script | Iterable[Reply], **options: Any) -> None:  # noqa: ANN401 - pydantic's fields
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

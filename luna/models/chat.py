"""The local model as a LangChain chat model.

Answers are deterministic (temperature 0, fixed seed). Importing this loads LangChain, but neither engine nor weights.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Self

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import LanguageModelInput, ModelProfile
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.messages.utils import convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool
from pydantic import ConfigDict, Field, TypeAdapter, model_validator
from typing_extensions import override

from luna.errors import ModelError
from luna.models.llama import Call, Completion, EngineSettings, default_threads, engine_for


class LocalChatModel(BaseChatModel):
    """A GGUF model run by llama.cpp in this process.

    Chat models with the same weights and settings share one engine. Concurrent calls wait for one of its slots.
    `bind(response_format={"type": "json_schema", "json_schema": {"name": ..., "schema": ...}})` makes the answer's
    text follow a JSON Schema; `with_structured_output` does so and parses.

    Attributes:
        path: The weights, a GGUF file.
        model_name: What to call it in results and messages.
        n_ctx: Context of each slot in tokens; prompt and answer share it.
        slots: Calls worked on at once. On CPUs with AVX2 one slot is quicker than two or four, and it alone gives the
            same answer whatever else is running; on a GPU more are worth trying.
        threads: CPU threads; None leaves it to `SOL_LOCAL_THREADS` or the number of cores.
        max_tokens: Longest answer in tokens; one that is cut off has finish reason `length`.
        temperature: 0 always takes the likeliest token.
        seed: For temperatures above 0.
    """

    model_config = ConfigDict(extra="forbid")

    path: Path
    model_name: str = "local"
    n_ctx: int = Field(default=4096, ge=256)
    slots: int = Field(default=1, ge=1)
    threads: int | None = Field(default=None, ge=1)
    max_tokens: int = Field(default=1024, ge=1)
    temperature: float = Field(default=0.0, ge=0)
    seed: int = 0

    @model_validator(mode="after")
    def _know_oneself(self) -> Self:
        """Say what the model can do, so that what it cannot is not tried: tools, and prompts beyond its context."""
        if self.profile is None:
            self.profile = ModelProfile(structured_output=True, tool_calling=False, max_input_tokens=self.n_ctx)
        return self

    @property
    def _llm_type(self) -> str:
        return "sol-local"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name, "path": str(self.path), "seed": self.seed}

    @override
    def with_structured_output(
        self, schema: dict[str, Any] | type, *, include_raw: bool = False, **kwargs: Any
    ) -> Runnable[LanguageModelInput, Any]:
        """Force answers to follow a schema by grammar, and parse them.

        Args:
            schema: A JSON Schema, which gives plain data, or a type that pydantic knows, which gives its values.
            include_raw: Give a dict of `raw` message, `parsed` value and `parsing_error` instead, and do not raise.
            **kwargs: `method`, `strict` and the like are ignored: the grammar is always in force.
        """
        parse = _parser(schema)
        json_schema = schema if isinstance(schema, dict) else TypeAdapter(schema).json_schema()
        bound = self.bind(
            response_format={"type": "json_schema", "json_schema": {"name": "answer", "schema": json_schema}}
        )
        return bound | RunnableLambda(_with_raw(parse) if include_raw else parse)

    @override
    def bind_tools(
        self,
        tools: Sequence[Mapping[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | None = None,
        **kwargs: Any,
    ) -> NoReturn:
        """Refuse: models of this size do not call tools reliably.

        Raises:
            ModelError: Always.
        """
        raise ModelError(
            f"The local model {self.model_name!r} cannot use tools. Use a worker of kind model, "
            f"or name another model for the agent (--luna-model), for instance one served by ollama."
        )

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        call = self._submit(messages, stop, kwargs)
        try:
            return self._result(call.future.result())
        finally:
            call.stop()

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        call = self._submit(messages, stop, kwargs)
        try:
            return self._result(await asyncio.wrap_future(call.future))
        finally:
            call.stop()

    def _submit(self, messages: list[BaseMessage], stop: list[str] | None, options: dict[str, Any]) -> Call:
        settings = EngineSettings(
            path=self.path.resolve(),
            n_ctx=self.n_ctx,
            slots=self.slots,
            threads=self.threads or default_threads(),
        )
        body = {
            "messages": convert_to_openai_messages(messages),
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "seed": self.seed,
            "cache_prompt": True,
            **options,
        }
        return engine_for(settings).submit({**body, "stop": stop} if stop else body)

    def _result(self, answer: Completion) -> ChatResult:
        message = AIMessage(
            content=answer.text,
            response_metadata={
                "finish_reason": answer.finish_reason,
                "model_name": self.model_name,
                "timings": dict(answer.timings),
            },
            usage_metadata=UsageMetadata(
                input_tokens=answer.prompt_tokens,
                output_tokens=answer.answer_tokens,
                total_tokens=answer.prompt_tokens + answer.answer_tokens,
                input_token_details=InputTokenDetails(cache_read=answer.cached_tokens),
            ),
        )
        return ChatResult(generations=[ChatGeneration(message=message)])


def _parser(schema: dict[str, Any] | type) -> Callable[[AIMessage], Any]:
    def parse(message: AIMessage) -> Any:  # noqa: ANN401 - the schema's type
        text = message.text
        try:
            return json.loads(text) if isinstance(schema, dict) else TypeAdapter(schema).validate_json(text)
        except ValueError as error:
            reason = message.response_metadata.get("finish_reason")
            raise OutputParserException(
                f"The answer does not follow the schema (finish reason {reason!r}): {error}", llm_output=text
            ) from error

    return parse


def _with_raw(parse: Callable[[AIMessage], Any]) -> Callable[[AIMessage], dict[str, Any]]:
    def both(message: AIMessage) -> dict[str, Any]:
        try:
            return {"raw": message, "parsed": parse(message), "parsing_error": None}
        except OutputParserException as error:
            return {"raw": message, "parsed": None, "parsing_error": error}

    return both

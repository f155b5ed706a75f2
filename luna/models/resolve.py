"""From a model's name to a chat model: local ones are ours, all others are LangChain's.

A key is never put into a message: what a provider's package says about its settings is passed on without them.
"""

import importlib.util
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from luna.errors import ModelError, ModelNotFoundError
from luna.models.known import known_model
from luna.models.weights import find_weights

if TYPE_CHECKING:
    from langchain_core.language_models.chat_models import BaseChatModel

LOCAL = "local"
_GGUF_MAGIC = b"GGUF"
_EXTRAS = {"openai": "openai", "anthropic": "anthropic", "ollama": "ollama"}
_RETRIES = "max_retries"
_RETRYING = frozenset({"openai", "anthropic"})
"""Providers known to take `max_retries` and `default_headers`; the others are asked for the first when made."""
_SECRET_NAME = re.compile(r"key|token|secret|password|authorization", re.IGNORECASE)
_SHORTEST_SECRET = 6
_WHAT_TO_WRITE = "Write local, local:NAME, openai:NAME, anthropic:NAME or ollama:NAME, or give a base URL as well."


def resolve_chat_model(name: str, *, base_url: str | None = None, **options: Any) -> "BaseChatModel":  # noqa: ANN401
    """Make the chat model of a name. Nothing is called and no weights are loaded or fetched.

    It makes each call once: trying again is for the provider's gate, which all callers share (`luna.gate`). Replies to
    calls with tools are not streamed.

    Args:
        name: `local` (the default model), `local:NAME`, `local:PATH.gguf`, or `PROVIDER:MODEL` as LangChain's
            `init_chat_model` takes it.
        base_url: Address of another server for the provider. With it, a name without a known provider
            means a server that is compatible with OpenAI's.
        **options: Settings of the chat model, such as `temperature` or `max_tokens`.

    Raises:
        ModelNotFoundError: If there is no such model or provider, or its package or weights are missing.
        WeightsError: If the weights of a known model are not the publisher's.
        ModelError: If the model's settings are wrong.
    """
    if not name.strip():
        raise ModelNotFoundError(f"No model is named. {_WHAT_TO_WRITE}")
    provider, _, rest = name.strip().partition(":")
    if provider == LOCAL:
        if base_url is not None:
            raise ModelError(f"{name!r} runs in this process and has no base URL; leave one of them out.")
        return _local(rest, options)
    return _remote(name.strip(), base_url, options)


def gate_name(name: str, *, base_url: str | None = None) -> str:
    """Whose gate the calls of a model respect: its provider's, or that of the server at `base_url` alone."""
    provider = _provider(name.strip(), base_url)
    return f"{provider} at {base_url}" if base_url is not None else provider


def _provider(name: str, base_url: str | None) -> str:
    """The provider in a model's name; with a base URL, a name without a known one is for a server like OpenAI's."""
    provider, colon, _ = name.partition(":")
    return provider if base_url is None or (colon and provider in _EXTRAS) else "openai"


def _local(rest: str, options: dict[str, Any]) -> "BaseChatModel":
    path, label = _local_weights(rest)
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelNotFoundError(_install(LOCAL, "Local models need"))
    from luna.models.chat import LocalChatModel  # noqa: PLC0415 - loads LangChain

    try:
        return LocalChatModel(path=path, model_name=label, **options)
    except ValueError as error:
        raise ModelError(f"Wrong settings for the local model: {_reason(error, options)}") from None


def _local_weights(rest: str) -> tuple[Path, str]:
    if rest.lower().endswith(".gguf"):
        path = Path(rest).expanduser()
        try:
            with path.open("rb") as stream:
                magic = stream.read(len(_GGUF_MAGIC))
        except OSError as error:
            raise ModelNotFoundError(
                f"There are no weights at {rest!r}: {error.strerror}. Correct the path."
            ) from error
        if magic != _GGUF_MAGIC:
            raise ModelError(f"{rest!r} is not a GGUF file. Give weights in the format of llama.cpp.")
        return path, path.stem
    model = known_model(rest or None)
    if (found := find_weights(model.name)) is None:
        raise ModelNotFoundError(
            f"The weights of {model.name!r} are not on this machine. Fetch them ({model.size_bytes // 1_000_000} MB): "
            f"sol models fetch {model.name}. Or give a file: local:PATH.gguf."
        )
    return found, model.name


def _remote(name: str, base_url: str | None, options: dict[str, Any]) -> "BaseChatModel":
    # Read from a stream that was cut, the arguments of a tool call look whole. So those are not streamed, whatever an
    # outer LangGraph program listens to.
    settings: dict[str, Any] = {"disable_streaming": "tool_calling", **options}
    provider = _provider(name, base_url)
    if provider in _RETRYING:
        settings.setdefault(_RETRIES, 0)
        # Their packages share one HTTP client in the whole process. A connection that it kept open would belong to an
        # event loop that has ended when the next run, in a loop of its own, takes it up.
        settings["default_headers"] = {"Connection": "close", **(settings.get("default_headers") or {})}
    if base_url is not None:
        settings["base_url"] = base_url
        if provider != name.partition(":")[0]:
            settings.setdefault("model_provider", provider)
        if provider == "openai" and not os.environ.get("OPENAI_API_KEY"):
            # Servers of one's own want no key, but the client insists on one.
            settings.setdefault("api_key", "none")
    # None of the errors is chained: a provider's text may quote the keys that it was given.
    try:
        return _made(name, settings)
    except ImportError as error:
        if provider in _EXTRAS:
            raise ModelNotFoundError(_install(_EXTRAS[provider], f"Models of {provider} need")) from None
        raise ModelNotFoundError(f"{name!r} cannot be used: {error}") from None
    except Exception as error:  # noqa: BLE001 - each provider's package has errors of its own
        reason = _reason(error, settings)
        if provider in _EXTRAS:
            raise ModelError(f"{name!r} cannot be set up: {reason}") from None
        raise ModelNotFoundError(f"{name!r} is no model: {reason} {_WHAT_TO_WRITE}") from None


def _made(name: str, settings: dict[str, Any]) -> "BaseChatModel":
    from langchain.chat_models import init_chat_model  # noqa: PLC0415 - heavy

    model = cast("BaseChatModel", init_chat_model(name, **settings))
    if _RETRIES in settings or _RETRIES not in type(model).model_fields:
        return model
    return cast("BaseChatModel", init_chat_model(name, **(settings | {_RETRIES: 0})))


def _install(extra: str, who: str) -> str:
    return f"{who} an optional package. Install it: pip install 'sol-luna[{extra}]'"


def _reason(error: Exception, settings: dict[str, Any]) -> str:
    """What an error says, without secrets. Pydantic's own text quotes inputs, so only its messages are taken."""
    from pydantic import ValidationError  # noqa: PLC0415 - names of models are read where nothing else needs it

    if isinstance(error, ValidationError):
        text = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
    else:
        text = str(error).partition("\n\n")[0]  # what follows are lists and links
    for key, value in [*settings.items(), *os.environ.items()]:
        if isinstance(value, str) and len(value) >= _SHORTEST_SECRET and _SECRET_NAME.search(key):
            text = text.replace(value, "***")
    return text

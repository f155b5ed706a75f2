"""Chat models by name, and the offline default: catalogue, weights, resolving.

Importing this loads neither LangChain nor the engine; the chat model itself is in `luna.models.chat`.
"""

from luna.models.known import DEFAULT_MODEL, KNOWN_MODELS, LocalModel, known_model
from luna.models.resolve import gate_name, resolve_chat_model
from luna.models.weights import FetchProgress, WeightStore, fetch_weights, find_weights

__all__ = [
    "DEFAULT_MODEL",
    "KNOWN_MODELS",
    "FetchProgress",
    "LocalModel",
    "WeightStore",
    "fetch_weights",
    "find_weights",
    "gate_name",
    "known_model",
    "resolve_chat_model",
]

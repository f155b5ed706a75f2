"""Sol's own thinking: splits, judgements, integrations, reassessments. With a chat model, or by rule without one.

Importing this does not load LangChain; `ModelPlanner` is in `sol.planner.by_model`.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from sol.planner.by_rule import FreePlanner, Planner, PlannerRequest

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["FreePlanner", "Planner", "PlannerRequest", "resolve_planner"]


def resolve_planner(
    model: "BaseChatModel | str | None",
    *,
    workspace: Path,
    delimiter: str,
    base_url: str | None = None,
    retries: int = 2,
) -> Planner:
    """Make the planner of a run.

    Args:
        model: A chat model, its name, or None for the planner that needs none.
        workspace: Root of the files that inputs refer to.
        delimiter: The run's random token, 8 to 64 ASCII letters and digits.
        base_url: Address of another server, for a model given by name.
        retries: Further calls after an answer of the wrong form.

    Raises:
        luna.errors.ModelError: If there is no such model, or it cannot be set up.
    """
    if model is None:
        return FreePlanner(workspace)
    from luna.models import resolve_chat_model  # noqa: PLC0415 - models are loaded only where they are used
    from sol.planner.by_model import ModelPlanner  # noqa: PLC0415 - loads LangChain

    chat = resolve_chat_model(model, base_url=base_url) if isinstance(model, str) else model
    return ModelPlanner(chat, workspace=workspace, delimiter=delimiter, retries=retries)

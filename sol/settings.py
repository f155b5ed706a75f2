"""Settings from the environment; whatever a caller gives comes before them."""

from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """What the environment says.

    Attributes:
        sol_model: `SOL_MODEL`: name of the model that plans; None: the planner that needs no model.
        luna_model: `LUNA_MODEL`: name of the model that works; None: the local default.
        sol_store: `SOL_STORE`: URL of the journal; None: `.sol/runs.db` in the workspace.
        sol_base_url: `SOL_BASE_URL`: address of an OpenAI-compatible server for both models.
    """

    model_config = SettingsConfigDict(extra="ignore")

    sol_model: str | None = None
    luna_model: str | None = None
    sol_store: str | None = None
    sol_base_url: str | None = None

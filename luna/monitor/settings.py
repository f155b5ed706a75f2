"""Settings of the monitors. Refuses any setting with which a detector could never fire (LOOP-04)."""

from collections.abc import Callable
from typing import Final, Self

from pydantic import Field, model_validator

from luna.protocol import Data

_FEWEST_STEPS: Final[dict[str, Callable[[int], int]]] = {
    "patience": lambda limit: limit,
    "repeat_limit": lambda limit: limit,
    "error_limit": lambda limit: limit,
    "drift_limit": lambda limit: limit,
    "thrash_limit": lambda limit: limit,
    # Each break needs a check that passed and one that fails, and the first fix one that failed and passes.
    "break_limit": lambda limit: 2 * limit + 2,
}
"""How many actions it takes at least until a detector with this limit fires."""


class MonitorSettings(Data):
    """When a worker counts as stuck. A limit of None turns that detector off.

    Attributes:
        patience: Actions, or progress events that say nothing new, without a rise on the ladder or new evidence.
        window: Actions (and, apart from them, said texts) looked back on; cycles of up to `window // 2` are found.
        repeat_limit: The same action with the same result, so many times in a row. A cycle is reported when one action
            less, and at least one whole round, were repeats.
        error_limit: The same error, so many times with no new result in between.
        text_limit: The same text said, so many times with nothing new in between.
        text_run: Characters, and at least ten rounds, of uninterrupted repetition inside one text; units of up to 1,024
            characters are found.
        break_limit: Checks that passed before and failed again after the fix of another one.
        drift_limit: Actions in a row that share no word with the task or with what was found on it.
        thrash_limit: Summaries of the worker's context with nothing new in between; at least one action is between two.
        max_steps: Actions of one attempt.
        max_tokens: Tokens of one attempt.

    Source: S49, S50.
    """

    patience: int | None = Field(default=5, ge=1)
    window: int = Field(default=20, ge=4, le=1000)
    repeat_limit: int | None = Field(default=4, ge=2)
    error_limit: int | None = Field(default=4, ge=2)
    text_limit: int | None = Field(default=5, ge=2)
    text_run: int | None = Field(default=2000, ge=64, le=65_536)
    break_limit: int | None = Field(default=2, ge=1)
    drift_limit: int | None = Field(default=10, ge=2)
    thrash_limit: int | None = Field(default=3, ge=2)
    max_steps: int | None = Field(default=200, ge=1)
    max_tokens: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _every_detector_can_fire(self) -> Self:
        for name in ("repeat_limit", "error_limit", "text_limit"):
            limit = getattr(self, name)
            if limit is not None and limit > self.window:
                raise ValueError(
                    f"{name} {limit} can never be reached inside a window of {self.window}; "
                    f"lower it, raise window to at least {limit}, or turn the detector off with null"
                )
        for name, steps_of in _FEWEST_STEPS.items():
            limit = getattr(self, name)
            if limit is not None and self.max_steps is not None and (steps := steps_of(limit)) > self.max_steps:
                raise ValueError(
                    f"{name} {limit} can never be reached: max_steps {self.max_steps} ends the attempt before; "
                    f"lower it, raise max_steps to at least {steps}, or turn the detector off with null"
                )
        return self

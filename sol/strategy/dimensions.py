"""The split dimensions by name: what the first and the second half of a split are about.

How a planner asks for a dimension is in `sol.planner`; this module only names them.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dimension:
    """A way to split a task in two.

    Attributes:
        first, second: What each half is about.
        when: When it fits.
        sequential: Whether the second half rests on the first.
    """

    first: str
    second: str
    when: str
    sequential: bool


DIMENSIONS: Mapping[str, Dimension] = {
    "unknown_a_unknown_b": Dimension(
        "settle one open question", "settle the other", "the report lists two or more unknowns", sequential=False
    ),
    "discovery_execution": Dimension(
        "find out what to do", "do what was found", "it is not clear yet how to go about the task", sequential=True
    ),
    "reproduction_fix": Dimension(
        "reproduce the fault and find its cause",
        "fix it and show that it is fixed",
        "something is broken",
        sequential=True,
    ),
    "interface_implementation": Dimension(
        "fix the interface and its limits", "build what is behind it", "a component is to be made", sequential=True
    ),
    "data_logic": Dimension(
        "understand and prepare the data",
        "build the processing of it",
        "data is turned into something",
        sequential=True,
    ),
    "local_integration": Dimension(
        "make the part work by itself", "make it work within the whole", "a part joins a larger system", sequential=True
    ),
}
"""Split dimensions in their default order. Source: S17–S22."""

"""Config options of a coding agent, checked against what it offers before anything is sent to it.

The protocol leaves it open what an agent makes of a wrong value; many take it and go on with another one.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Final, TypeAlias

from acp.schema import SessionConfigOptionBoolean, SessionConfigOptionSelect, SessionConfigSelectGroup

from luna.errors import WorkerConfigError

Offered: TypeAlias = Sequence[SessionConfigOptionSelect | SessionConfigOptionBoolean]
Value: TypeAlias = bool | str

_SHOWN: Final = 20


def option_for(purpose: str, offered: Offered) -> str | None:
    """The id of the option with which an agent lets one choose its model or mode; None when it has none.

    Args:
        purpose: `model` or `mode`: the option's category, or its id where it tells none.
        offered: What the agent offers.
    """
    by_category = (option.id for option in offered if option.category == purpose)
    by_id = (option.id for option in offered if option.id == purpose)
    return next(by_category, None) or next(by_id, None)


def check(config_id: str, value: Value, offered: Offered, *, agent: str) -> None:
    """Check one option that is to be set.

    Args:
        config_id: The option's id.
        value: One of a select's values, or whether a boolean is on.
        offered: What the agent offers now; it may change with each option that is set.
        agent: For messages.

    Raises:
        WorkerConfigError: If there is no such option, or it does not take this value; says what there is.
    """
    option = next((each for each in offered if each.id == config_id), None)
    if option is None:
        known = f"it has {_listed(config_id, [each.id for each in offered])}" if offered else "it has none at all"
        raise WorkerConfigError(f"{agent} has no config option {config_id!r}; {known}")
    if isinstance(option, SessionConfigOptionBoolean):
        if not isinstance(value, bool):
            raise WorkerConfigError(f"config option {config_id!r} of {agent} is {value!r}; it takes true or false")
        return
    values = [*_values(option)]
    if not isinstance(value, str) or value not in values:
        takes = _listed(value, values)
        raise WorkerConfigError(f"config option {config_id!r} of {agent} is {value!r}; it takes {takes}")


def check_mode(mode: str, known: Sequence[str], *, agent: str) -> None:
    """Check a session mode of an agent that has no config option for it.

    Raises:
        WorkerConfigError: If there is no such mode; says which there are.
    """
    if mode not in known:
        modes = f"it has {_listed(mode, known)}" if known else "it offers no choice of modes"
        raise WorkerConfigError(f"{agent} has no mode {mode!r}; {modes}")


def check_set(wanted: Mapping[str, Value], offered: Offered, *, agent: str) -> None:
    """Check that the agent has taken what it was given.

    Raises:
        WorkerConfigError: If an option has another value than the one that was set.
    """
    for option in offered:
        if option.id in wanted and option.current_value != wanted[option.id]:
            raise WorkerConfigError(
                f"{agent} keeps its config option {option.id!r} at {option.current_value!r} although it offers "
                f"{wanted[option.id]!r}; leave the option out"
            )


def _values(option: SessionConfigOptionSelect) -> Iterator[str]:
    for each in option.options:
        if isinstance(each, SessionConfigSelectGroup):
            yield from (inner.value for inner in each.options)
        else:
            yield each.value


def _listed(wanted: object, known: Sequence[str]) -> str:
    """What there is, the most similar first; a part of it when it is much."""
    near = get_close_matches(wanted, known, n=3) if isinstance(wanted, str) else []
    ordered = list(dict.fromkeys([*near, *known]))
    more = f" and {len(ordered) - _SHOWN} more" if len(ordered) > _SHOWN else ""
    return ", ".join(ordered[:_SHOWN]) + more

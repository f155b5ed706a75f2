"""Printing and reading conditions, for any text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sol.rules import (
    Aggregate,
    Ai,
    Condition,
    ConditionSyntaxError,
    Quorum,
    parse_condition,
    print_condition,
)

texts = st.text(min_size=1).map(str.strip).filter(bool)
conditions: st.SearchStrategy[Condition] = st.one_of(
    st.builds(Aggregate, st.sampled_from(["all", "any"]), st.lists(texts, min_size=1, max_size=4).map(tuple)),
    st.builds(Quorum, st.just("at_least"), st.integers(1, 999_999_999), texts),
    st.builds(Quorum, st.just("at_most"), st.integers(0, 999_999_999), texts),
    st.builds(Ai, texts),
)
fragments = st.sampled_from(
    ["all", "any", "at_least", "at_most", "ai", "(", ")", '"', "'", ",", "\\", " ", "\n", "2", "X", "||", "&&", "when"]
)
near_forms = st.lists(fragments, max_size=10).map("".join)


def read(text: str, *, line: int = 1, column: int = 1) -> tuple[Condition | None, tuple[int, int] | None]:
    """The condition, or else the place of the error."""
    try:
        return parse_condition(text, line=line, column=column), None
    except ConditionSyntaxError as error:
        return None, (error.line, error.column)


@pytest.mark.req("R16")
@given(conditions)
def test_printed_conditions_read_back(condition: Condition) -> None:
    assert parse_condition(print_condition(condition)) == condition


@pytest.mark.req("R16", "R17")
@given(st.one_of(near_forms, st.text(), st.builds(lambda tail: f"all({tail}", near_forms)))
def test_any_text_is_a_condition_that_reads_back_or_an_error_with_its_place(text: str) -> None:
    condition, place = read(text)
    if place is not None:
        line, column = place
        lines = text.split("\n")
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1
    else:
        assert condition is not None
        assert parse_condition(print_condition(condition)) == condition


@given(near_forms, st.integers(1, 99), st.integers(1, 99))
def test_places_move_with_the_text(text: str, line: int, column: int) -> None:
    _, at_start = read(text)
    _, moved = read(text, line=line, column=column)
    if at_start is None:
        assert moved is None
    else:
        found_line, found_column = at_start
        shift = column - 1 if found_line == 1 else 0
        assert moved == (found_line + line - 1, found_column + shift)

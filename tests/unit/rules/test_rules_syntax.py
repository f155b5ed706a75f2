"""The parser, its messages and the printer."""

import pickle
from collections.abc import Callable

import pytest

from sol.rules import (
    Aggregate,
    Ai,
    Condition,
    ConditionSyntaxError,
    Label,
    Otherwise,
    Quorum,
    When,
    kind_of,
    parse_condition,
    print_condition,
)


@pytest.mark.req("R16", "R18", "R22")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("approved", Label("approved")),
        ("  approved\n", Label("approved")),
        ('all("X")', Aggregate("all", ("X",))),
        ('all( \n "X"\t)', Aggregate("all", ("X",))),
        ('any("a","b")', Aggregate("any", ("a", "b"))),
        ('any(" a " , "b,c")', Aggregate("any", ("a", "b,c"))),
        (r'all("a\"b\\c")', Aggregate("all", ('a"b\\c',))),
        ('at_least(2, "X")', Quorum("at_least", 2, "X")),
        ('at_most( 0,"X" )', Quorum("at_most", 0, "X")),
        ('ai("Is it (really) done?")', Ai("Is it (really) done?")),
        ("all ready", Label("all ready")),
        ('all ("X")', Label('all ("X")')),
        ('ALL("X")', Label('ALL("X")')),
        ("all('X')", Label("all('X')")),
        ("at_least(2, 'X')", Label("at_least(2, 'X')")),
        ("a || b", Label("a || b")),
        ('not all("x")', Label('not all("x")')),
    ],
)
def test_parse_reads_each_form(text: str, expected: Condition) -> None:
    assert parse_condition(text) == expected


@pytest.mark.req("R17")
@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("", 1),
        ("  ", 3),
        ("all()", 5),
        ("any( )", 6),
        ('all("")', 5),
        ('all("a", " ")', 10),
        ('all("a", )', 10),
        ('all("a" "b")', 9),
        ('all("a") x', 10),
        ('all("a"), x', 9),
        ('all("a") || any("b")', 10),
        ('all("a") && when(true)', 10),
        ("all(X)", 5),
        ('all("a', 5),
        ('all("a"', 8),
        ('all("a", "b', 10),
        (r'all("a\n")', 7),
        ('all("a\\', 7),
        (r"all(\"a\")", 5),
        ("all(\"a\", 'b')", 10),
        ('at_least("X")', 10),
        ('at_least(-1, "X")', 10),
        ('at_least(1.5, "X")', 11),
        ('at_least(0, "X")', 10),
        ('at_least(2 "X")', 12),
        ("at_most(2)", 10),
        ("at_most(2,)", 11),
        ('at_most(1234567890, "X")', 9),
        ('at_most(1, "X", "Y")', 15),
        ("ai()", 4),
        ('ai("")', 4),
        ("ai(x)", 4),
        ('ai("a", "b")', 7),
        ('  all("a") x', 12),
    ],
)
def test_parse_refuses_malformed_forms_with_their_place(text: str, column: int) -> None:
    with pytest.raises(ConditionSyntaxError) as caught:
        parse_condition(text)
    error = caught.value
    assert (error.line, error.column) == (1, column)
    assert error.value == text
    assert repr(text) in str(error)
    assert error.hint
    assert error.hint in str(error)


@pytest.mark.req("R17")
def test_parse_counts_places_from_where_the_text_stands() -> None:
    with pytest.raises(ConditionSyntaxError, match=r"^Line 7, column 25: "):
        parse_condition("all(X)", line=7, column=21)
    with pytest.raises(ConditionSyntaxError, match=r"^Line 9, column 3: "):
        parse_condition('all(\n"a",\n  )', line=7, column=21)


def test_syntax_error_pickles() -> None:
    with pytest.raises(ConditionSyntaxError) as caught:
        parse_condition("all()")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert (copy.line, copy.column, copy.value, copy.hint) == (1, 5, "all()", caught.value.hint)


@pytest.mark.parametrize(
    "text", ["approved", 'all("X")', 'any("a", "b")', r'all("a\"b\\")', 'at_most(0, "X")', 'ai("done?")', "all('X')"]
)
def test_print_gives_the_normal_form(text: str) -> None:
    assert print_condition(parse_condition(text)) == text


def test_print_describes_conditions_of_mappings() -> None:
    reference = "{{ steps.a.outputs.b }}"
    assert print_condition(When(reference, True)) == "when {{ steps.a.outputs.b }} equals true"
    assert print_condition(When(reference, "true")) == 'when {{ steps.a.outputs.b }} equals "true"'
    assert print_condition(Otherwise()) == "otherwise"
    assert print_condition(Otherwise(reference)) == "otherwise of {{ steps.a.outputs.b }}"


@pytest.mark.req("R10", "R18", "R19")
def test_kind_tells_how_a_condition_is_decided() -> None:
    conditions: list[Condition] = [
        Label("a"),
        Aggregate("all", ("a",)),
        Quorum("at_most", 0, "a"),
        Ai("a"),
        When("r", True),
        Otherwise(),
    ]
    assert [kind_of(c) for c in conditions] == ["label", "aggregate", "aggregate", "ai", "when", "otherwise"]


@pytest.mark.parametrize(
    "build",
    [
        lambda: Label(""),
        lambda: Label(" a"),
        lambda: Aggregate("all", ()),
        lambda: Aggregate("any", ("a", " ")),
        lambda: Quorum("at_least", 0, "a"),
        lambda: Quorum("at_most", -1, "a"),
        lambda: Quorum("at_most", 1, "a "),
        lambda: Ai(""),
    ],
)
def test_nodes_refuse_what_no_text_can_say(build: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"must have no outer white space|needs at least one|says nothing"):
        build()

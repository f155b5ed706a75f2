"""Rows about reading conditions."""

import pytest

from sol.rules import (
    Aggregate,
    Ai,
    ConditionSyntaxError,
    Context,
    When,
    lint_rules,
    parse_rule,
)
from tests.unit.rules.conformance_row import (
    Row,
    children,
    decides,
    differs,
    every,
    label,
    reads,
    refused,
    rules,
    same,
    suspect,
)

X, AB = ("X",), ("a", "b")
REF = "{{ steps.a.outputs.b }}"


def warns_without_children() -> None:
    found = lint_rules(rules('all("X")'), step="sub", children=())
    assert [warned.code for warned in found] == ["no-children"]


def warns_of_unknown_label() -> None:
    found = lint_rules(rules('any("typo")', "done"), step="s", children=[("a",)])
    assert [warned.code for warned in found] == ["unknown-label"]


def reads_when_as_mapping() -> None:
    assert parse_rule({"when": {"value": REF, "equals": True}, "next": "x"}).condition == When(REF, True)
    with pytest.raises(ConditionSyntaxError):
        parse_rule({"when": "ready", "next": "x"})


PARSE: tuple[Row, ...] = (
    same("P01", "R16", "a bare word is a label", label("approved")),
    same("P02", "R22", "outer blanks of a label go", label(" approved ")),
    same("P03", "R17", "an empty condition is refused", refused("", "  ")),
    same("P04", "R16", "the plain form", reads(Aggregate("all", X), 'all("X")')),
    same("P05", "R16", "blanks within the brackets are free", reads(Aggregate("all", X), 'all( "X" )')),
    same("P06", "R17", "a blank before the bracket makes it a label, with a warning", suspect('all ("X")')),
    same("P07", "R17", "capitals make it a label, with a warning", suspect('ALL("X")', 'Any("X")')),
    differs("P08", "R16", "refused: texts need double quotes", refused("all(X)")),
    differs("P09", "R16", "refused: texts need double quotes", refused("all(X, Y)")),
    differs("P10", "R17", "single quotes make it a label, with a warning", suspect("all('X')")),
    same("P11", "R16", "two texts", reads(Aggregate("all", AB), 'all("a","b")', 'all("a", "b")')),
    same("P12", "R16", "a comma within quotes belongs to the text", reads(Aggregate("all", ("a,b",)), 'all("a,b")')),
    same("P13", "R17", "a comma at the end is refused", refused('all("a", "b",)')),
    same("P14", "R17", "a missing comma is refused", refused('all("a" "b")')),
    same(
        "P15",
        "R16",
        "quote and backslash can be escaped, nothing else",
        every(reads(Aggregate("all", ('a"b\\',)), r'all("a\"b\\")'), refused(r'all("a\tb")')),
    ),
    differs("P16", "R16", "refused: a quote that opens a text is not escaped", refused(r"all(\"a\")")),
    same("P17", "R17", "a blank text is refused", refused('all("")', 'all(" ")', 'all("a","")')),
    same("P18", "R17", "no text at all is refused", refused("all()")),
    same("P19", "R17", "text after the form is refused", refused('all("a") extra')),
    same("P20", "R17", "text after the form is refused", refused('all("a"),x')),
    same("P21", "R17", "no operators: refused", refused('all("a") || any("b")')),
    same("P22", "R17", "no operators: refused", refused('all("a") && any("b")')),
    differs(
        "P23",
        "R17",
        "refused: a guard is a field of its own",
        refused('all("a") && when(true)', 'all("a")&&when(true)'),
    ),
    differs("P24", "R16", "starts with no keyword, so a label with a warning", suspect('when(true) && all("a")')),
    differs("P25", "R16", "a label with a warning; guards are fields", suspect("a && when(true)")),
    differs("P26", "R17", "a label with a warning", suspect("a && b")),
    same("P27", "R17", "one label, with a warning", suspect("a || b")),
    differs("P28", "R17", "a label with a warning", suspect("a && when(true) && when(false)")),
    differs("P29", "R17", "a label with a warning", suspect("a && ", "&& when(true)")),
    same("P30", "R16", "labels", label("done (a && b)", 'say "a && b"')),
    differs("P31", "R17", "a label with a warning", suspect("it's ok && fine")),
    differs(
        "P32",
        "R10",
        "a question to the judge; with && refused",
        every(reads(Ai("x"), 'ai("x")'), refused('ai("x") && when(true)')),
    ),
    same("P33", "R17", "refused", refused("ai(x)")),
    same("P34", "R17", "labels, with a warning", suspect('ai ("x")', 'AI("x")')),
    same(
        "P35",
        "R22",
        "any text can be asked for, also one that looks like a form",
        every(
            reads(Aggregate("any", ("when(true)",)), 'any("when(true)")'),
            reads(Aggregate("any", ("a && when(true)",)), 'any("a && when(true)")'),
        ),
    ),
    differs(
        "P36",
        "R08",
        "read: a child decided by such a rule has that text as its verdict",
        every(
            reads(Aggregate("all", ('all("x")',)), r'all("all(\"x\")")'),
            reads(Aggregate("all", ('ai("x")',)), r'all("ai(\"x\")")'),
        ),
    ),
    differs("P37", "R16", "no keyword of ours, so labels with a warning", suspect("when()", "when(true")),
    same("P38", "R16", "a label, with a warning", suspect("when (true)")),
    same("P39", "R16", "labels; there is no negation", label('not all("x")', "!approved", 'allx("y")')),
    differs(
        "P40",
        "R07",
        "a warning, and false when it runs",
        every(warns_without_children, decides(rules('all("X")'), Context(), None)),
    ),
    differs("P41", "R07", "the same warning; a sub-step has no children", warns_without_children),
    differs("P44", "R21", "a label that no child gives is warned about", warns_of_unknown_label),
    differs(
        "P45",
        "R15",
        "allowed: the number in the tag tells the two apart",
        decides(rules("done", "done"), Context(step="s", text="[S:2]"), 1),
    ),
    differs("P46", "R19", "`when` is a mapping of value and equals; a text is refused", reads_when_as_mapping),
    differs(
        "P47",
        "R17",
        "malformed questions are refused; only negation is a label",
        every(reads(Ai("x"), 'ai("x")'), refused('ai("")', "ai(x)", 'ai("x") y'), label('not ai("x")')),
    ),
    differs(
        "P48",
        "R16",
        "blanks within brackets are free, malformed forms are refused, capitals make labels",
        every(reads(Aggregate("any", X), 'any("X")', 'any( "X" )'), refused("all(x)", 'all("")'), suspect('ALL("X")')),
    ),
    differs("P49", "R16", "two texts, as anybody would read it", reads(Aggregate("all", AB), 'all("a", "b")')),
    same(
        "P50",
        "R16",
        "two texts, one for each child",
        every(
            reads(Aggregate("all", AB), 'all("a","b")'),
            decides(rules('all("a","b")'), Context(children=children("a", "b")), 0),
        ),
    ),
)

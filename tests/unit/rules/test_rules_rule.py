"""Rules as mappings, and what fits together."""

import pickle

import pytest

from sol.rules import (
    UNUSED_NEXT,
    Aggregate,
    ConditionSyntaxError,
    Label,
    Otherwise,
    Rule,
    RuleListError,
    When,
    check_rules,
    equals_of,
    needs_status_tag,
    normalise_reference,
    parse_condition,
    parse_rule,
    possible_verdicts,
)

REF = "{{ steps.review.outputs.ready }}"


def rules_of(*conditions: str) -> list[Rule]:
    return [Rule(parse_condition(text), "x") for text in conditions]


@pytest.mark.req("R19")
def test_parse_rule_reads_the_forms_of_a_mapping() -> None:
    assert parse_rule({"condition": 'all("a")', "next": "b"}) == Rule(Aggregate("all", ("a",)), "b", None, (1, 1))
    when = parse_rule({"when": {"value": "{{steps.review.outputs.ready}}", "equals": True}, "next": "b"})
    assert when.condition == When(REF, True)
    assert parse_rule({"when": {"value": REF, "otherwise": True}, "next": "b"}).condition == Otherwise(REF)
    assert parse_rule({"otherwise": True, "next": "b"}).condition == Otherwise()


@pytest.mark.req("R08", "R19")
def test_parse_rule_takes_a_branch_next_to_a_condition_as_guard() -> None:
    rule = parse_rule({"condition": "approved", "when": {"value": REF, "equals": "yes"}, "next": "b"})
    assert rule == Rule(Label("approved"), "b", When(REF, "yes"), (1, 1))
    assert rule.verdict == "approved"
    assert parse_rule({"condition": "approved", "otherwise": True, "next": "b"}).guard == Otherwise()


@pytest.mark.req("R12")
def test_parse_rule_lets_a_child_rule_do_without_next() -> None:
    assert parse_rule({"condition": "approved"}, next_required=False).next == UNUSED_NEXT
    assert parse_rule({"condition": "approved", "next": "kept"}, next_required=False).next == "kept"


def test_parse_rule_leaves_extra_fields_to_the_caller() -> None:
    rule = parse_rule({"condition": "a", "next": "b", "appendix": "text"}, extra_fields=("appendix",))
    assert rule == Rule(Label("a"), "b", None, (1, 1))


@pytest.mark.req("R17", "R19")
@pytest.mark.parametrize(
    "mapping",
    [
        {"next": "b"},
        {"condition": "a"},
        {"condition": True, "next": "b"},
        {"condition": "all()", "next": "b"},
        {"condition": "a", "next": 3},
        {"condition": "a", "next": " "},
        {"condition": "a", "next": "b", "nxt": "c"},
        {"when": "ready", "next": "b"},
        {"when": {"value": REF}, "next": "b"},
        {"when": {"value": REF, "equals": True, "otherwise": True}, "next": "b"},
        {"when": {"value": REF, "equals": 1}, "next": "b"},
        {"when": {"value": REF, "equals": None}, "next": "b"},
        {"when": {"value": REF, "otherwise": False}, "next": "b"},
        {"when": {"value": "ready", "equals": True}, "next": "b"},
        {"when": {"value": f"{REF} and {REF}", "equals": True}, "next": "b"},
        {"when": {"value": 1, "equals": True}, "next": "b"},
        {"otherwise": "yes", "next": "b"},
        {"otherwise": True, "when": {"value": REF, "equals": True}, "next": "b"},
    ],
)
def test_parse_rule_refuses_what_it_cannot_read(mapping: dict[str, object]) -> None:
    with pytest.raises(ConditionSyntaxError, match=r"^Line 4, column ") as caught:
        parse_rule(mapping, position=(4, 3))
    assert caught.value.hint


@pytest.mark.req("R17")
def test_parse_rule_points_at_the_field() -> None:
    places = {"condition": (5, 16), "next": (6, 11)}
    with pytest.raises(ConditionSyntaxError, match=r"^Line 5, column 20: "):
        parse_rule({"condition": "all()", "next": "b"}, position=(5, 5), field_positions=places)
    with pytest.raises(ConditionSyntaxError, match=r"^Line 6, column 11: "):
        parse_rule({"condition": "a", "next": 1}, position=(5, 5), field_positions=places)


@pytest.mark.req("R19")
def test_references_have_one_form() -> None:
    assert normalise_reference("  {{steps.a-b.outputs.c_d}}\n") == "{{ steps.a-b.outputs.c_d }}"
    for text in ("", "steps.a", "{{ }}", "{{ a..b }}", "{{ a }} {{ b }}", "{{ a == 1 }}", "x {{ a }}"):
        with pytest.raises(ValueError, match="exactly one reference"):
            normalise_reference(text)


@pytest.mark.req("R16")
def test_check_refuses_positional_labels_that_do_not_match_the_children() -> None:
    rules = rules_of('any("a", "b")', 'all("a")', 'all("a", "b")')
    check_rules(rules, step="review", children=2)
    check_rules(rules, step="review")
    check_rules(rules, step="review", children=0)
    with pytest.raises(RuleListError, match=r"Rule 3 of step 'review': .* 2 labels for 3 children") as caught:
        check_rules(rules, step="review", children=3)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), copy.step, copy.rule_index) == (str(caught.value), "review", 2)


@pytest.mark.req("R19")
def test_check_refuses_an_otherwise_that_is_the_opposite_of_nothing() -> None:
    other = "{{ steps.b.outputs.c }}"
    check_rules([Rule(When(REF, True), "x"), Rule(Otherwise(REF), "y"), Rule(Otherwise(), "z")], step="s")
    check_rules([Rule(Label("a"), "x", When(REF, True)), Rule(Otherwise(REF), "y")], step="s")
    for rules in (
        [Rule(Otherwise(), "x")],
        [Rule(When(other, True), "x"), Rule(Otherwise(REF), "y")],
        [Rule(When(REF, True), "x"), Rule(Label("a"), "y", Otherwise(other))],
    ):
        with pytest.raises(RuleListError, match="no equals"):
            check_rules(rules, step="s")


@pytest.mark.req("R19")
@pytest.mark.parametrize("reference", [REF, None])
def test_check_refuses_two_otherwise_for_one_reference(reference: str | None) -> None:
    rules = [Rule(When(REF, True), "x"), Rule(Otherwise(reference), "y"), Rule(Otherwise(reference), "z")]
    with pytest.raises(RuleListError, match="second otherwise"):
        check_rules(rules, step="s")


def test_equals_are_found_in_conditions_and_guards() -> None:
    rules = [Rule(Label("a"), "x", When(REF, True)), Rule(When(REF, False), "y"), Rule(Otherwise(), "z")]
    assert equals_of(rules) == (When(REF, True), When(REF, False))


@pytest.mark.req("R08", "R21")
def test_possible_verdicts_are_the_condition_texts() -> None:
    rules = [*rules_of("approved", 'ai( "odd?" )'), Rule(Label("approved"), "x", When(REF, True))]
    assert possible_verdicts(rules) == ("approved", 'ai("odd?")')


@pytest.mark.req("R13")
def test_status_tags_are_needed_only_for_labels() -> None:
    free = [*rules_of('all("a")', 'at_most(0, "a")', 'ai("q")'), Rule(When(REF, True), "x")]
    assert not needs_status_tag(free)
    assert not needs_status_tag([])
    assert needs_status_tag([*free, *rules_of("done")])

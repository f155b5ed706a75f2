"""Which rule holds first, what is recorded, and when a judge is asked."""

import json
from collections.abc import Sequence

import pytest

from sol.rules import (
    Child,
    Context,
    Judgement,
    Label,
    Matched,
    NeedJudge,
    NoMatch,
    Otherwise,
    Rule,
    When,
    evaluate,
    otherwise_holds,
    parse_condition,
    when_holds,
)
from tests.support.judging import decide_with

REF = "{{ steps.a.outputs.ready }}"
OTHER = "{{ steps.b.outputs.kind }}"


def rules_of(*conditions: str) -> list[Rule]:
    return [Rule(parse_condition(text), f"next-{index}") for index, text in enumerate(conditions)]


def children_of(*verdicts: str | None) -> tuple[Child, ...]:
    return tuple(Child(f"c{index}", verdict) for index, verdict in enumerate(verdicts))


def chosen(rules: Sequence[Rule], context: Context) -> int | None:
    outcome = evaluate(rules, context)
    assert not isinstance(outcome, NeedJudge)
    return outcome.decision.rule_index if isinstance(outcome, Matched) else None


class ScriptedJudge:
    """A judge that answers from a table and keeps what it was asked."""

    def __init__(self, *answers: bool) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[int, str]] = []

    def __call__(self, need: NeedJudge) -> Judgement:
        self.asked.append((need.rule_index, need.question))
        return Judgement(self._answers.pop(0), f"reason {len(self.asked)}")


@pytest.mark.req("R09")
def test_first_rule_that_holds_decides() -> None:
    rules = rules_of('any("a")', 'all("a")', "a")
    assert chosen(rules, Context(children=children_of("a", "a"), labels=frozenset({"a"}))) == 0
    assert chosen(rules, Context(children=children_of("b"), labels=frozenset({"a"}))) == 2


@pytest.mark.req("R06", "R07", "R14")
def test_without_children_aggregates_are_passed_over() -> None:
    outcome = evaluate(rules_of('all("a")', 'any("a")', 'at_most(0, "a")'), Context())
    assert isinstance(outcome, NoMatch)
    assert [dict(seen.read) for seen in outcome.seen] == [{"children": []}] * 3


@pytest.mark.req("R14")
def test_no_match_lists_what_each_rule_saw() -> None:
    rules = [*rules_of('all("a")', "done"), Rule(When(REF, True), "x")]
    outcome = evaluate(rules, Context(children=children_of("b", None), values={REF: False}))
    assert isinstance(outcome, NoMatch)
    assert json.loads(json.dumps(outcome.to_dict())) == {
        "seen": [
            {
                "rule_index": 0,
                "kind": "aggregate",
                "condition": 'all("a")',
                "read": {"children": [["c0", "b"], ["c1", None]]},
            },
            {"rule_index": 1, "kind": "label", "condition": "done", "read": {"labels": []}},
            {"rule_index": 2, "kind": "when", "condition": f"when {REF} equals true", "read": {"values": {REF: False}}},
        ]
    }
    assert evaluate([], Context()) == NoMatch(())


@pytest.mark.req("R20")
def test_decision_records_rule_reading_and_reason() -> None:
    rules = rules_of('all("a")', 'ai("good?")')
    context = Context(children=children_of(" b ", ""), judgements={1: Judgement(True, "it is")})
    outcome = evaluate(rules, context)
    assert isinstance(outcome, Matched)
    assert json.loads(json.dumps(outcome.decision.to_dict())) == {
        "rule_index": 1,
        "kind": "ai",
        "condition": 'ai("good?")',
        "read": {"holds": True, "reason": "it is"},
        "next": "next-1",
        "reason": "it is",
        "passed": [
            {
                "rule_index": 0,
                "kind": "aggregate",
                "condition": 'all("a")',
                "read": {"children": [["c0", "b"], ["c1", None]]},
            }
        ],
    }
    assert outcome.decision.kind == "ai"


@pytest.mark.req("R08")
def test_verdict_of_a_node_is_the_condition_text_of_its_rule() -> None:
    rules = [Rule(Label("approved"), "_", When(REF, True)), *rules_of('any( "x" )')]
    guarded = evaluate(rules, Context(labels=frozenset({"approved"}), values={REF: True}))
    assert isinstance(guarded, Matched)
    assert guarded.decision.verdict == "approved"
    other = evaluate(rules, Context(children=children_of("x")))
    assert isinstance(other, Matched)
    assert other.decision.verdict == 'any("x")'


@pytest.mark.req("R22")
def test_labels_compare_exactly_after_trimming() -> None:
    assert chosen(rules_of('all("a")'), Context(children=children_of(" a\n"))) == 0
    assert chosen(rules_of('all("a")'), Context(children=children_of("A"))) is None
    assert chosen(rules_of("STUCK:verification"), Context(labels=frozenset({" STUCK:verification"}))) == 0
    assert chosen(rules_of("stuck"), Context(labels=frozenset({"STUCK", "STUCK:scope"}))) is None


@pytest.mark.req("R10", "R15")
def test_label_reads_the_status_tag_of_its_step() -> None:
    rules = rules_of("done", "failed")
    outcome = evaluate(rules, Context(step="plan", text="[PLAN:1] no, [plan:2]"))
    assert isinstance(outcome, Matched)
    assert (outcome.decision.rule_index, outcome.decision.read) == (1, {"tag": "[PLAN:2]"})
    assert chosen(rules, Context(text="[PLAN:1]")) is None


@pytest.mark.req("R15")
@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("[PLAN:1] [PLAN:9]", {"tag": "[PLAN:9]", "problem": "out of range: the step has 2 rules"}),
        ("[PLAN:2]", {"tag": "[PLAN:2]", "problem": "rule 2 is not a label"}),
        ("nothing", {"tag": None}),
    ],
)
def test_label_tells_why_a_tag_chose_nothing(text: str, read: dict[str, object]) -> None:
    outcome = evaluate(rules_of("done", 'any("x")'), Context(step="plan", text=text))
    assert isinstance(outcome, NoMatch)
    assert outcome.seen[0].read == read


@pytest.mark.req("R15")
def test_same_label_twice_is_told_apart_by_its_number() -> None:
    assert chosen(rules_of("done", "done"), Context(step="plan", text="[PLAN:2]")) == 1


def test_label_looks_at_labels_before_tags() -> None:
    context = Context(labels=frozenset({"b"}), step="plan", text="[PLAN:1]")
    assert chosen(rules_of("a", "b"), context) == 0
    assert chosen(rules_of("c", "b"), Context(labels=frozenset({"b"}), step="plan", text="")) == 1


@pytest.mark.req("R19")
@pytest.mark.parametrize(
    ("equals", "value", "expected"),
    [
        (True, True, True),
        (True, "true", False),
        ("true", True, False),
        (True, 1, False),
        ("yes", "yes", True),
        ("yes", "yes ", False),
        ("yes", "Yes", False),
        ("yes", None, False),
    ],
)
def test_when_compares_type_and_value(equals: str | bool, value: str | bool | int | None, expected: bool) -> None:
    assert when_holds(When(REF, equals), {REF: value}) is expected


@pytest.mark.req("R19")
def test_otherwise_holds_only_if_no_equals_matched() -> None:
    equals = [When(REF, "a"), When(REF, "b"), When(OTHER, True)]
    assert otherwise_holds(Otherwise(REF), equals, {REF: "c", OTHER: True})
    assert not otherwise_holds(Otherwise(REF), equals, {REF: "b", OTHER: False})
    assert not otherwise_holds(Otherwise(), equals, {REF: "c", OTHER: True})
    assert otherwise_holds(Otherwise(), equals, {REF: "c", OTHER: False})
    assert not otherwise_holds(Otherwise(REF), equals, {OTHER: False})
    assert not otherwise_holds(Otherwise(), equals, {REF: "c"})
    assert not otherwise_holds(Otherwise(), [], {REF: "c"})


@pytest.mark.req("R19")
def test_otherwise_counts_equals_of_later_rules_and_of_other_steps() -> None:
    rules = [Rule(Otherwise(REF), "x"), Rule(When(REF, True), "y")]
    assert chosen(rules, Context(values={REF: True})) == 1
    assert chosen(rules, Context(values={REF: False})) == 0
    assert chosen(rules, Context(values={REF: False}, equals=[When(REF, False)])) is None


@pytest.mark.req("R14", "R19")
def test_undetermined_value_matches_nothing_and_is_reported() -> None:
    outcome = evaluate([Rule(When(REF, True), "x"), Rule(Otherwise(), "y")], Context(values={OTHER: True}))
    assert isinstance(outcome, NoMatch)
    assert [seen.read["problem"] for seen in outcome.seen] == ["a value is undetermined"] * 2


@pytest.mark.req("R08", "R10")
def test_guard_that_fails_passes_its_rule_over_without_a_judge() -> None:
    rules = [Rule(parse_condition('ai("q")'), "x", When(REF, True)), *rules_of("done")]
    outcome = evaluate(rules, Context(values={REF: False}, labels=frozenset({"done"})))
    assert isinstance(outcome, Matched)
    assert outcome.decision.rule_index == 1
    expected = {"guard": {"condition": f"when {REF} equals true", "values": {REF: False}}}
    assert outcome.decision.passed[0].read == expected


def test_guard_that_holds_is_recorded_next_to_the_condition() -> None:
    rules = [Rule(Label("done"), "x", When(REF, True))]
    outcome = evaluate(rules, Context(values={REF: True}, labels=frozenset({"done"})))
    assert isinstance(outcome, Matched)
    assert set(outcome.decision.read) == {"guard", "labels"}
    assert chosen(rules, Context(values={REF: True})) is None


@pytest.mark.req("R09", "R10")
def test_evaluate_asks_for_a_judge_only_when_an_ai_rule_is_reached() -> None:
    rules = rules_of('all("a")', 'ai("q1")', 'any("a")', 'ai("q2")')
    assert chosen(rules, Context(children=children_of("a"))) == 0
    need = evaluate(rules, Context(children=children_of("b")))
    assert isinstance(need, NeedJudge)
    assert (need.rule_index, need.question, [seen.rule_index for seen in need.seen]) == (1, "q1", [0])
    later = evaluate(rules, Context(children=children_of("b"), judgements={1: Judgement(False, "")}))
    assert isinstance(later, NeedJudge)
    assert (later.rule_index, later.question) == (3, "q2")


@pytest.mark.req("R09", "R11", "R20")
def test_decide_with_asks_each_reached_question_once_and_none_after_a_match() -> None:
    rules = rules_of('all("a")', 'ai("q1")', "done", 'ai("q2")', 'ai("q3")')
    judge = ScriptedJudge(False, True)
    outcome = decide_with(rules, Context(children=children_of("b")), judge)
    assert judge.asked == [(1, "q1"), (3, "q2")]
    assert isinstance(outcome, Matched)
    assert (outcome.decision.next, outcome.decision.reason) == ("next-3", "reason 2")
    assert isinstance(decide_with(rules_of('ai("q")'), Context(), ScriptedJudge(False)), NoMatch)


@pytest.mark.req("R23")
@pytest.mark.parametrize("holds", ["no", 1, None])
def test_judgement_refuses_anything_but_a_boolean(holds: object) -> None:
    with pytest.raises(TypeError, match="True or False"):
        Judgement(holds, "because")  # type: ignore[arg-type]  # the fault under test

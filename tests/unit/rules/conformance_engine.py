"""Rows about tags, aggregates and the order of rules."""

import pytest

from sol.rules import (
    Context,
    Judgement,
    NeedJudge,
    NoMatch,
    Rule,
    RuleListError,
    When,
    check_rules,
    evaluate,
    needs_status_tag,
    parse_condition,
    read_verdict,
)
from tests.support.judging import decide_with
from tests.unit.rules.conformance_row import (
    Check,
    Row,
    children,
    decides,
    differs,
    every,
    holds,
    result,
    rules,
    same,
    tag,
)

REF = "{{ steps.a.outputs.b }}"
TRUE, FALSE = {REF: True}, {REF: False}


def when(*, text: str | None = None) -> Rule:
    """A rule that holds while REF is true, alone or as the guard of a condition."""
    guard = When(REF, True)
    return Rule(guard, "next") if text is None else Rule(parse_condition(text), "next", guard)


def guarded_child_gives(parent: str, *, expected: int | None) -> Check:
    """What a parent's rule makes of a child whose guarded rule held."""

    def check() -> None:
        outcome = evaluate([when(text="a")], Context(values=TRUE, labels=frozenset({"a"})))
        assert not isinstance(outcome, NeedJudge | NoMatch)
        assert result(rules(parent), Context(children=children(outcome.decision.verdict))) == expected

    return check


def tag_out_of_range_leaves_child_undetermined() -> None:
    child = evaluate(rules("a", "b"), Context(step="sub", text="[SUB:9]"))
    assert isinstance(child, NoMatch)
    assert result(rules('any("a")'), Context(children=children(None))) is None


def prose_tag_is_no_judgement() -> None:
    assert read_verdict("[JUDGE:3]", ("1", "2", "3")) is None


def judge_fault_is_passed_on() -> None:
    def judge(need: NeedJudge) -> Judgement:
        raise ConnectionError("refused")

    with pytest.raises(ConnectionError):
        decide_with(rules('ai("q")', "a"), Context(step="s", text="[S:2]"), judge)


def asks_once_for_each_question_reached() -> None:
    asked: list[int] = []

    def judge(need: NeedJudge) -> Judgement:
        asked.append(need.rule_index)
        return Judgement(need.rule_index == 2, "")

    decide_with(rules("a", 'ai("p")', 'ai("q")', 'ai("r")'), Context(), judge)
    assert asked == [1, 2]


def refuses_wrong_number() -> None:
    with pytest.raises(RuleListError, match="3 labels for 2 children"):
        check_rules(rules('all("a","b","c")'), step="s", children=2)


def no_tag_instruction() -> None:
    assert not needs_status_tag(rules('all("a")', 'any("b")', 'ai("q")'))
    assert needs_status_tag(rules('all("a")', "done"))


def nothing_is_asked_and_all_is_listed() -> None:
    outcome = evaluate(rules("a", "b"), Context(step="s", text="neither"))
    assert isinstance(outcome, NoMatch)
    assert len(outcome.seen) == 2


def undetermined_value_is_reported() -> None:
    outcome = evaluate([when()], Context())
    assert isinstance(outcome, NoMatch)
    assert "problem" in outcome.seen[0].read


A, B = Context(step="s", text="[S:1]"), Context(step="s", text="[S:2]")
BOTH = Context(step="s", text="[S:1]", children=children("x"))

TAGS: tuple[Row, ...] = (
    same("T01", "R15", "counted from 1", tag("[PLAN:1]", 0)),
    same("T02", "R15", "in any case", every(tag("[plan:2]", 1), tag("[Plan:2]", 1))),
    same("T03", "R15", "there is no rule 0", tag("[PLAN:0]", None)),
    same("T04", "R15", "not well-formed", tag("[PLAN:-1] [PLAN: 1] ［PLAN:1］ [PLAN：1]", None)),
    same("T05", "R15", "zeros in front do no harm", tag("[PLAN:01]", 0)),
    same("T06", "R15", "other steps", tag("[REVIEW:1] [XPLAN:1]", None)),
    same("T07", "R15", "hyphen and underscore differ", tag("[AI_REVIEW:2]", None, step="ai-review")),
    same("T08", "R15", "a name is taken literally", tag("[AXB:1]", None, step="a.b")),
    same("T09", "R15", "the last one counts", tag("[PLAN:1] quoted, [PLAN:2]", 1)),
    differs("T10", "R15", "the last one counts", tag("[PLAN:1] quoted, [PLAN:2]", 1)),
    same("T11", "R15", "out of range hides earlier ones", tag("[PLAN:1] .. [PLAN:9]", None)),
    same("T12", "R15", "so does 0", tag("[PLAN:1] [PLAN:0]", None)),
    differs(
        "T13",
        "R15",
        "not within code fences; in backticks within a line it counts",
        every(tag("```\n[PLAN:1]\n```", None), tag("`[PLAN:1]`", 0)),
    ),
    same("T14", "R15", "any name works", every(tag("[MY STEP:1]", 0, step="my step"), tag("[計画:1]", 0, step="計画"))),
    differs("T15", "R15", "the number counts all rules", decides(rules('all("x")', "a"), B, 1)),
    same("T16", "R15", "the number counts all rules", decides(rules('all("x")', "a"), B, 1)),
    differs("T17", "R23", "a judge answers in a field, never by a tag", prose_tag_is_no_judgement),
)

AGGREGATES: tuple[Row, ...] = (
    same("A01", "R01", "true", holds('all("X")', ["X", "X"], expected=True)),
    same("A02", "R03", "false", holds('all("X")', ["X", "Y"], expected=False)),
    same("A03", "R05", "false", holds('all("X")', ["X", None], expected=False)),
    same("A04", "R02", "true", holds('any("X")', ["Y", "X"], expected=True)),
    same("A05", "R04", "false", holds('any("X")', ["Y", "Z"], expected=False)),
    same("A06", "R05", "true, the other is left out", holds('any("X")', ["X", None], expected=True)),
    same("A07", "R05", "false", holds('any("X")', [None, None], expected=False)),
    same(
        "A08", "R06", "both false", every(holds('all("X")', [], expected=False), holds('any("X")', [], expected=False))
    ),
    same("A09", "R07", "both false", decides(rules('all("X")', 'any("X")'), Context(), None)),
    same("A10", "R16", "by position", holds('all("a","b")', ["a", "b"], expected=True)),
    same("A11", "R16", "by position", holds('all("a","b")', ["b", "a"], expected=False)),
    same(
        "A12",
        "R16",
        "false when it runs, refused at load",
        every(holds('all("a","b","c")', ["a", "b"], expected=False), refuses_wrong_number),
    ),
    same("A13", "R16", "alternatives", holds('any("a","b")', ["c", "b"], expected=True)),
    same(
        "A14",
        "R22",
        "exactly, after trimming",
        every(
            decides(rules('all(" a ")'), Context(children=children("a ")), 0),
            decides(rules('all("A")'), Context(children=children("a")), None),
        ),
    ),
    differs("A15", "R08", "true: the guard is not part of the verdict", guarded_child_gives('all("a")', expected=0)),
    differs(
        "A16", "R08", "false: the verdict is the label", guarded_child_gives('all("a && when(true)")', expected=None)
    ),
    same("A17", "R08", "true, for every kind of parallel step", guarded_child_gives('all("a")', expected=0)),
    same(
        "A18",
        "R08",
        "a step that failed counts by the verdict its runner gives it",
        decides(rules('all("approved")', 'any("error")'), Context(children=children("approved", "error")), 1),
    ),
    same("A19", "R01", "true", holds('all("error")', ["error", "error"], expected=True)),
    same("A20", "R15", "no verdict", tag_out_of_range_leaves_child_undetermined),
)

ORDER: tuple[Row, ...] = (
    same("R01", "R09", "the first", decides(rules('any("x")', 'all("x")'), BOTH, 0)),
    same("R02", "R09", "the first", decides(rules("a", 'all("x")'), BOTH, 0)),
    differs("R03", "R09", "the first; aggregates have no precedence", decides(rules("a", 'all("x")'), BOTH, 0)),
    same("R04", "R09", "the first", decides([when(), *rules("a", 'ai("q")')], Context(values=TRUE), 0)),
    same(
        "R05",
        "R08",
        "the guard fails, so the next",
        decides([when(text="a"), *rules("a")], Context(values=FALSE, labels=frozenset({"a"})), 1),
    ),
    same("R06", "R09", "the second", decides([*rules("a"), when()], Context(values=TRUE, labels=frozenset({"b"})), 1)),
    differs("R07", "R14", "no tag, no match: nothing is chosen silently", decides(rules("a"), Context(step="s"), None)),
    differs("R08", "R10", "labels never call a judge", decides(rules("a", "b"), Context(step="s", text="?"), None)),
    same("R09", "R09", "before any question", decides([when(), *rules('ai("q")')], Context(values=TRUE), 0)),
    same("R10", "R24", "passed on as a judge error, with nothing decided", judge_fault_is_passed_on),
    same(
        "R12",
        "R14",
        "a value that lists what each rule saw; the runner ends the run",
        nothing_is_asked_and_all_is_listed,
    ),
    same("R13", "R14", "no rules, no match", decides([], A, None)),
    same("R16", "R22", "no match", decides(rules("approved"), Context(labels=frozenset({"Approved"})), None)),
    differs("R17", "R14", "passed over and reported, never an exception", undetermined_value_is_reported),
    differs(
        "R20",
        "R09",
        "file order decides whether the question or the label comes first",
        every(decides(rules("a", 'ai("q")'), A, 0), decides(rules('ai("q")', "a"), B, "judge")),
    ),
    differs("R21", "R10", "one call for each question reached", asks_once_for_each_question_reached),
    differs("R22", "R14", "no judge for labels", decides(rules("a", "b"), Context(step="s", text="a!"), None)),
    differs("R23", "R14", "a value, not an exception", nothing_is_asked_and_all_is_listed),
    differs("R25", "R15", "such a tag chooses nothing", decides(rules("a", 'all("x")'), B, None)),
    same("R26", "R13", "none injected", no_tag_instruction),
)

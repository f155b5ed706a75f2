"""Conditions evaluated to the end with a judge at hand, as a program evaluates them with a judge's answers."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sol.rules import Context, Judgement, Matched, NeedJudge, NoMatch, Rule, evaluate


def decide_with(rules: Sequence[Rule], context: Context, judge: Callable[[NeedJudge], Judgement]) -> Matched | NoMatch:
    """Evaluate, asking `judge` once for each `ai()` rule that is reached."""
    while isinstance(outcome := evaluate(rules, context), NeedJudge):
        context = replace(context, judgements={**context.judgements, outcome.rule_index: judge(outcome)})
    return outcome

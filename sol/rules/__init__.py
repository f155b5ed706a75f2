"""Rules: what follows from the verdicts of children, from a text, from a report.

One engine for the task tree, parallel steps and workflow branches. Pure: it asks no model and reads no file itself.
"""

from sol.rules.aggregate import aggregate_holds
from sol.rules.coverage import Coverage, check_coverage, first_uncovered
from sol.rules.errors import ConditionSyntaxError, JudgeError, RuleListError
from sol.rules.evaluate import (
    Child,
    Context,
    Decision,
    Judgement,
    Matched,
    NeedJudge,
    NoMatch,
    Outcome,
    Seen,
    adecide_with,
    decide_with,
    evaluate,
    otherwise_holds,
    when_holds,
)
from sol.rules.lint import Warned, lint_rules, near_miss
from sol.rules.rule import (
    UNUSED_NEXT,
    Rule,
    check_rules,
    equals_of,
    needs_status_tag,
    normalise_reference,
    parse_rule,
    possible_verdicts,
)
from sol.rules.syntax import (
    Aggregate,
    Ai,
    Condition,
    Kind,
    Label,
    Otherwise,
    Quorum,
    When,
    kind_of,
    parse_condition,
    print_condition,
)
from sol.rules.tags import TagFound, TagMissing, TagOutOfRange, TagResult, find_tag, format_tag
from sol.rules.verdict import read_verdict

__all__ = [
    "UNUSED_NEXT",
    "Aggregate",
    "Ai",
    "Child",
    "Condition",
    "ConditionSyntaxError",
    "Context",
    "Coverage",
    "Decision",
    "JudgeError",
    "Judgement",
    "Kind",
    "Label",
    "Matched",
    "NeedJudge",
    "NoMatch",
    "Otherwise",
    "Outcome",
    "Quorum",
    "Rule",
    "RuleListError",
    "Seen",
    "TagFound",
    "TagMissing",
    "TagOutOfRange",
    "TagResult",
    "Warned",
    "When",
    "adecide_with",
    "aggregate_holds",
    "check_coverage",
    "check_rules",
    "decide_with",
    "equals_of",
    "evaluate",
    "find_tag",
    "first_uncovered",
    "format_tag",
    "kind_of",
    "lint_rules",
    "near_miss",
    "needs_status_tag",
    "normalise_reference",
    "otherwise_holds",
    "parse_condition",
    "parse_rule",
    "possible_verdicts",
    "print_condition",
    "read_verdict",
    "when_holds",
]

"""What can go wrong with rules, all raised while loading except `JudgeError`.

StrategyError
├── ConditionSyntaxError   a rule that cannot be read; has the line and the column
└── RuleListError          rules that can be read but do not fit together or do not fit their step
PlannerError
└── JudgeError             the judge of an `ai()` rule gave no answer
"""

from typing import Any

from sol.errors import PlannerError, StrategyError


class ConditionSyntaxError(StrategyError):
    """A condition or rule cannot be read. Raised by the parser; `hint` says what to write instead."""

    def __init__(self, problem: str, *, value: object, hint: str, line: int, column: int) -> None:
        super().__init__(f"Line {line}, column {column}: {problem}, in {value!r}. {hint}")
        self.problem = problem
        self.value = value
        self.hint = hint
        self.line = line
        self.column = column

    def __reduce__(self) -> tuple[Any, ...]:
        return (_syntax_error, (self.problem, self.value, self.hint, self.line, self.column))


def _syntax_error(problem: str, value: object, hint: str, line: int, column: int) -> ConditionSyntaxError:
    """Rebuild a pickled error, whose options are keyword-only."""
    return ConditionSyntaxError(problem, value=value, hint=hint, line=line, column=column)


class RuleListError(StrategyError):
    """A rule does not fit its list or its step. Raised by `check_rules`; nothing has been run."""

    def __init__(self, problem: str, *, step: str, rule_index: int, hint: str) -> None:
        super().__init__(f"Rule {rule_index + 1} of step {step!r}: {problem}. {hint}")
        self.problem = problem
        self.step = step
        self.rule_index = rule_index
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        return (_list_error, (self.problem, self.step, self.rule_index, self.hint))


def _list_error(problem: str, step: str, rule_index: int, hint: str) -> RuleListError:
    """Rebuild a pickled error, whose options are keyword-only."""
    return RuleListError(problem, step=step, rule_index=rule_index, hint=hint)


class JudgeError(PlannerError):
    """The judge of an `ai()` rule failed, after its model's own retries. The decision stays open and can be resumed.

    Source: R24.
    """

    def __init__(self, rule_index: int, question: str, cause: str) -> None:
        super().__init__(
            f"The judge gave no answer to rule {rule_index + 1}, ai({question!r}): {cause}. "
            "Nothing was decided; resume once the model answers again."
        )
        self.rule_index = rule_index
        self.question = question
        self.cause = cause

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.rule_index, self.question, self.cause))

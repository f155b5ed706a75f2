"""Rows about the workflow runtime: loops, runs, parallel steps. None is decided by the pure engine."""

from tests.unit.rules.conformance_row import Row, deferred

LOOPS: tuple[Row, ...] = (
    deferred("L01", "R25", "repeating a step is allowed within the step limit"),
    deferred("L02", "R25", "long repetition is warned about"),
    deferred("L03", "R25", "another step in between starts the count again"),
    deferred("L04", "R25", "a configured limit ends the run"),
    deferred("L05", "R25", "the warning can be switched off"),
    deferred("L06", "R25", "a monitor fires when its cycle is entered again"),
    deferred("L07", "R25", "leaving the cycle does not fire it"),
    deferred("L08", "R25", "of two monitors the one that the next step enters fires"),
    deferred("L09", "R25", "after firing, counting starts again"),
    deferred("L10", "R25", "steps to ignore are taken out first"),
    deferred("L11", "R25", "a step cannot be in the cycle and ignored"),
    deferred("L12", "R25", "the end of a run is never overridden"),
    deferred("L13", "R25", "a monitor that fails changes nothing"),
    deferred("L14", "R25", "unknown targets are refused at load"),
    deferred("L15", "R25", "a monitor's judge counts as a step"),
)

RUNS: tuple[Row, ...] = (
    deferred("M01", "R25", "the step limit ends the run, or more steps are granted"),
    deferred("M02", "R25", "child workflows share the limit"),
    deferred("M03", "R25", "no limit if none is wanted"),
    deferred("M04", "R14", "blocked is an end of its own"),
    deferred("M05", "R14", "a question that nobody answers ends the run"),
    deferred("M06", "R14", "an answer runs the step again"),
    deferred("M07", "R14", "a failed step is not judged by its rules"),
    deferred("M08", "R25", "a rate limit does not use up a step"),
    deferred("M09", "R14", "a rule may ask before it runs the step again"),
    deferred("M10", "R14", "input that nobody can give ends the run before the step"),
    deferred("M11", "R14", "a failed gate runs the step again with its output"),
    deferred("M12", "R26", "unknown steps are refused at load"),
    deferred("M13", "R26", "a rule leads to one place"),
)

PARALLEL: tuple[Row, ...] = (
    deferred("X01", "R10", "how the combined text is put together"),
    deferred("X02", "R05", "a failed sub-step fails the step unless a rule takes it"),
    deferred("X03", "R02", "a rule for failed sub-steps, with a limit"),
    deferred("X04", "R05", "a sub-step without a matching rule is undetermined"),
    deferred("X05", "R14", "which fault of several is reported"),
    deferred("X06", "R14", "one retry after a provider's fault"),
    deferred("X07", "R12", "how many run at a time"),
    deferred("X08", "R08", "the verdict of a child workflow"),
)

"""How much CPU time the rule engine takes: aggregates over eight children, and whole decisions over them.

Usage: python benchmarks/rules.py [--evaluations N] [--children N] [--json]
"""

import argparse
import json
from collections.abc import Callable
from time import process_time

from sol.rules import Aggregate, Child, Context, Rule, aggregate_holds, check_coverage, evaluate, parse_condition

LIMIT_S = 1.0
"""What 100,000 aggregate evaluations over eight children may take, in seconds of CPU."""


def cpu_s(work: Callable[[], object], times: int) -> float:
    """Return the CPU seconds that calling `work` this many times takes."""
    started = process_time()
    for _ in range(times):
        work()
    return process_time() - started


def measure(evaluations: int, children: int) -> dict[str, float | int]:
    """Measure the three things a run does most: aggregates, decisions, and the coverage check at load."""
    verdicts = ["approved"] * (children - 1) + ["rejected"]
    all_approved, any_rejected = Aggregate("all", ("approved",)), Aggregate("any", ("rejected",))
    rules = [Rule(all_approved, "COMPLETE"), Rule(any_rejected, "implement")]
    context = Context(children=[Child(f"review-{index}", verdict) for index, verdict in enumerate(verdicts)])
    quorum_rules = [Rule(parse_condition(f'at_least(3, "v{index}")'), "x") for index in range(3)]
    ten_verdicts = [[f"v{index}" for index in range(10)]] * children
    return {
        "evaluations": evaluations,
        "children": children,
        "all_s": cpu_s(lambda: aggregate_holds(all_approved, verdicts), evaluations),
        "any_s": cpu_s(lambda: aggregate_holds(any_rejected, verdicts), evaluations),
        "decision_of_two_rules_s": cpu_s(lambda: evaluate(rules, context), evaluations),
        "coverage_of_10_verdicts_each_s": cpu_s(lambda: check_coverage(quorum_rules, ten_verdicts), 1),
    }


def main() -> int:
    """Print the figures; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--children", type=int, default=8)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    figures = measure(options.evaluations, options.children)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, figure in figures.items():
            print(f"{name:32} {figure:.3f}" if isinstance(figure, float) else f"{name:32} {figure}")
    scaled = LIMIT_S * options.evaluations / 100_000 * options.children / 8
    return int(max(figures["all_s"], figures["any_s"]) > scaled)


if __name__ == "__main__":
    raise SystemExit(main())

"""What the two scripted models say. Like real ones, they look at the conversation so far and say the next thing."""

import json

from langchain_core.messages import AIMessage

from luna.testing.fakes import calls

PYTEST = ["pytest", "-q"]


def run(*paths):
    return calls(("run_command", {"argv": [*PYTEST, *paths]}))


def noted(stage, evidence):
    return calls(("record_progress", {"stage": stage, "evidence": evidence}))


ON_THE_WHOLE = [
    run(),
    calls(("read_file", {"path": "ferry/booking.py"})),
    noted("hypothesis", "booking.py prints the wrong line: test_booking fails on a price and an arrival at once"),
    calls(
        (
            "edit_file",
            {"path": "ferry/booking.py", "old": "{cents / 100:.2f}", "new": "{(cents + 1) / 100:.2f}"},
        )
    ),
    run(),
    calls(
        (
            "ReportStuck",
            {
                "kind": "several_causes",
                "blocker": "The price and the arrival are both wrong in one failure; I cannot separate the causes.",
                "known": ["booking.py only prints what fares.py and timetable.py give it"],
                "unknown": ["why a child's fare is a cent too low", "why a night ferry arrives at 24:25"],
                "attempted": ["add a cent in booking.py: the price fits, test_fares still fails"],
            },
        )
    ),
]
"""The first Luna tries to mend both at once, where they show, and finds that it cannot."""

ON_FARES = [
    run("tests/test_fares.py"),
    calls(("read_file", {"path": "ferry/fares.py"})),
    noted("root_cause", "full // 2 rounds half a cent down, and the docstring says up"),
    calls(("edit_file", {"path": "ferry/fares.py", "old": "return full // 2", "new": "return (full + 1) // 2"})),
    run("tests/test_fares.py"),
    calls(
        (
            "ReportSuccess",
            {
                "summary": "Half a cent of a child's fare was dropped; it counts as a whole one now.",
                "result": "ferry/fares.py rounded a child's fare down; it rounds up now.",
                "evidence": ["pytest -q tests/test_fares.py: 3 passed"],
            },
        )
    ),
]

ON_TIMETABLE = [
    run("tests/test_timetable.py"),
    calls(("read_file", {"path": "ferry/timetable.py"})),
    noted("root_cause", "hours go on counting after 23"),
    calls(("edit_file", {"path": "ferry/timetable.py", "old": "{hours:02}:", "new": "{hours % 24:02}:"})),
    run("tests/test_timetable.py"),
    calls(
        (
            "ReportSuccess",
            {
                "summary": "Hours start again at midnight.",
                "result": "ferry/timetable.py counted hours beyond 23; they start again at midnight now.",
                "evidence": ["pytest -q tests/test_timetable.py: 2 passed"],
            },
        )
    ),
]

SPLIT = {
    "reason": "The report names two unknowns in two modules that do not need each other.",
    "can_split": True,
    "dimension": "unknown_a_unknown_b",
    "sequential": False,
    "children": [
        {
            "goal": "Mend the price of a booking: find out in ferry/fares.py why a child's fare is a cent too low",
            "claim": "testable",
            "success_criteria": ["The result names the cause and how it was mended."],
            "checks": [1],
            "expected_output": "What was wrong in ferry/fares.py and how it was mended, one sentence",
            "whole": False,
        },
        {
            "goal": "Mend the arrival of night ferries: find out in ferry/timetable.py why one arrives at 24:25",
            "claim": "testable",
            "success_criteria": ["The result names the cause and how it was mended."],
            "checks": [2],
            "expected_output": "What was wrong in ferry/timetable.py and how it was mended, one sentence",
            "whole": False,
        },
    ],
}

INTEGRATED = {
    "result": "A child's fare was rounded down and rounds up now. Hours after 23 start again at midnight now.",
    "summary": "Two causes in two modules, each mended on its own.",
    "checks": {
        "no_contradiction": {"note": "They are in different files.", "ok": True},
        "interfaces_agree": {"note": "No name or type has changed.", "ok": True},
        "goal_met": {"note": "Both tests that failed are covered; pytest -q tells.", "ok": None},
        "nothing_open": {"note": "", "ok": True},
        "parts_imply_whole": {"note": "test_booking needs both and nothing else.", "ok": True},
    },
    "open": [],
}


def reply(messages):
    """The next thing that the model says to whom these messages are addressed."""
    role, task = messages[0].text, messages[1].text
    if role.startswith("You are Sol."):
        return json.dumps(_planned(role))
    script = ON_FARES if "Mend the price" in task else ON_TIMETABLE if "Mend the arrival" in task else ON_THE_WHOLE
    return script[sum(isinstance(message, AIMessage) for message in messages)]


def _planned(role):
    if "Split the task" in role:
        return SPLIT
    if "Put the parts together" in role:
        return INTEGRATED
    return {"verdicts": [{"reason": "It names the cause and the change.", "holds": True}]}

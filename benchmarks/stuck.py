"""How well the monitors notice stuck Lunas: recall on all kinds of loops, false alarms on all kinds of honest work.

The streams are drawn anew from the seed each time. Example: `python benchmarks/stuck.py --each 60 --markdown`
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from stuck_honest import HONEST
from stuck_loops import BEYOND, LOOPS, Limits, Loop, stuck_luna
from stuck_work import Luna, Stream

from luna.monitor import Alarm, Monitors, MonitorSettings
from luna.protocol import Action, StuckKind

SAYS_SO = "cycles of up to"


@dataclass(frozen=True)
class Found:
    """What came of one stream: the alarm, the number of its event, and the actions since the Luna was stuck."""

    alarm: Alarm | None
    event: int
    actions: int


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=60, help="streams of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--window", type=int, default=MonitorSettings().window)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true", help="tables for docs/stuck.md")
    options = parser.parse_args()
    figures = measure(options.each, options.seed, MonitorSettings(window=options.window))
    if options.json:
        print(json.dumps(figures))
        return
    for name, rows in figures.items():
        table(name, rows, markdown=options.markdown)


def measure(each: int, seed: int, settings: MonitorSettings) -> dict[str, list[dict[str, Any]]]:
    """Recall by kind of loop, what is beyond the detectors, false alarms by kind of work, and the sums."""
    loops = [_loops(loop, each, seed, settings) for loop in LOOPS]
    beyond = [_loops(loop, each, seed, settings) for loop in BEYOND]
    honest = [_honest(make, each, seed, settings) for make in HONEST]
    sums = {
        "streams": sum(row["streams"] for row in (*loops, *beyond, *honest)),
        "loops": sum(row["streams"] for row in loops),
        "recall": sum(row["noticed"] for row in loops) / max(sum(row["streams"] for row in loops), 1),
        "honest": sum(row["streams"] for row in honest),
        "false alarms": sum(row["false alarms"] for row in honest),
    }
    return {"loops": loops, "beyond the detectors": beyond, "honest work": honest, "in all": [sums]}


def look(stream: Stream, settings: MonitorSettings) -> Found:
    """Show a stream to the monitors, as far as they let it go."""
    given = MonitorSettings.model_validate({**settings.model_dump(), **stream.settings})
    monitors = Monitors.from_settings(given, stream.assignment)
    actions = 0
    for number, (event, at) in enumerate(stream.events, 1):
        actions += isinstance(event, Action) and number > stream.onset
        if (alarm := monitors.see(event, at)) is not None:
            return Found(alarm, number, actions)
    return Found(None, 0, actions)


def is_right(found: Found, stream: Stream) -> bool:
    """Whether the alarm has a right kind, and came when the Luna was stuck and not too late."""
    alarm = found.alarm
    if alarm is None or alarm.kind not in stream.kinds or not stream.onset < found.event <= stream.due:
        return False
    counted = alarm.kind is StuckKind.STEP_LIMIT and "actions" in alarm.reason
    return not counted or any(SAYS_SO in line for line in alarm.evidence)


def _loops(loop: Loop, each: int, seed: int, settings: MonitorSettings) -> dict[str, Any]:
    name = _name(loop.make)
    noticed, named, delays, missed = 0, 0, [], Counter[str]()
    for number in range(each):
        luna = stuck_luna(random.Random(f"{seed} {name} {number}"), loop, Limits(settings, number))
        found = look(luna.stream, settings)
        if is_right(found, luna.stream) and found.alarm is not None:
            noticed += 1
            named += found.alarm.kind in luna.stream.named
            delays.append(found.actions)
        else:
            missed[_missed(found, luna.stream)] += 1
    return {
        "kind": name,
        "streams": each,
        "noticed": noticed,
        "recall": noticed / each,
        "by name": named / each,
        "actions": median(delays) if delays else None,
        "missed": _told(missed),
    }


def _missed(found: Found, stream: Stream) -> str:
    if found.alarm is None:
        return "no alarm"
    if found.event <= stream.onset:
        return f"{found.alarm.kind} before it was stuck"
    return f"{found.alarm.kind} too late" if found.event > stream.due else f"{found.alarm.kind}"


def _honest(make: Callable[[Luna], None], each: int, seed: int, settings: MonitorSettings) -> dict[str, Any]:
    name = _name(make)
    alarms, actions = Counter[str](), []
    for number in range(each):
        luna = Luna(random.Random(f"{seed} {name} {number}"))
        make(luna)
        found = look(luna.stream, settings)
        actions.append(found.actions)
        if found.alarm is not None:
            alarms[found.alarm.kind] += 1
    return {
        "kind": name,
        "streams": each,
        "actions": median(actions),
        "false alarms": alarms.total(),
        "detectors": _told(alarms),
    }


def _name(make: Callable[..., None]) -> str:
    return make.__name__.replace("_", " ")


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{count} × {what}" for what, count in counts.most_common())


def table(name: str, rows: Sequence[dict[str, Any]], *, markdown: bool) -> None:
    """Print rows, for a terminal or for a page."""
    heads = [head for head in rows[0] if any(row[head] not in {"", None} for row in rows)]
    cells = [[_cell(row[head]) for head in heads] for row in rows]
    if markdown:
        print(f"\n| {' | '.join(heads)} |\n|{' --- |' * len(heads)}")
        print("\n".join(f"| {' | '.join(row)} |" for row in cells))
        return
    widths = [max(len(row[k]) for row in (heads, *cells)) for k in range(len(heads))]
    print(f"\n{name}")
    for row in (heads, *cells):
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _cell(value: object) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else "" if value is None else str(value)


if __name__ == "__main__":
    main()

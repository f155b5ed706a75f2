"""The collector's settings for a process of Sol's own, tried in a process of its own."""

import subprocess
import sys


def test_ease_collector_sets_what_is_there_aside_and_looks_less_often() -> None:
    program = (
        "import gc; from sol.collector import THRESHOLDS, ease_collector; before = len(gc.get_objects()); "
        "ease_collector(); print(gc.get_threshold() == THRESHOLDS, gc.get_freeze_count() >= before, gc.isenabled())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True", "True"]

"""Python's garbage collector in a process that is there to run Sol. For programs; the library never calls it."""

import gc

THRESHOLDS = (10_000, 20, 100)
"""Allocations before a young collection, young ones before a middle one, middle ones before a full one.

A full one comes after 20 million allocations at the latest, so that garbage of long runs does not pile up.
"""


def ease_collector() -> None:
    """Let the collector look less often, and never at what is there now.

    A large tree is made of objects that stay; looking through all of them each time it has grown by a quarter costs
    as much as everything else that Sol does for a node. Call it once, after imports. Cycles that are garbage at that
    moment are never freed.
    """
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)

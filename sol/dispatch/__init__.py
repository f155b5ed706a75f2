"""Dispatchers run effects, many at a time, and hand their outcomes back as they finish. They never make nodes."""

"""Strategies: data that says how Sol goes about a task."""

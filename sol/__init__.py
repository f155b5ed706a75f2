"""Sol: plans, splits, verifies and integrates; never does a task's own work."""

"""The task tree: nodes, events, and the fold that makes the one from the others. Decides nothing."""

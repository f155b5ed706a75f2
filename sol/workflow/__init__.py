"""Workflows that people write as files: what they may hold, what is wrong with them, and how they run."""

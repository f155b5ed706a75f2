"""Luna: the worker side. Imports nothing of sol."""

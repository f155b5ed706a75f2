"""The kinds of Lunas. Importing this package imports none of them; see `luna.workers.registry`."""

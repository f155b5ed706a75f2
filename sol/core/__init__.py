"""Pure: from the tree and one event to new events and commands. No clock, no I/O, no model."""

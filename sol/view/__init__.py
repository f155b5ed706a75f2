"""Pure pictures of a run's state: nothing here changes a run, reads a journal or waits."""

"""The page of a run, live: a server on this machine for one person. Needs the extra `ui`; asks things only of `Sol`."""

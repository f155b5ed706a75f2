"""For tests of parts that others write for Sol: what every journal must keep to. Needs pytest."""

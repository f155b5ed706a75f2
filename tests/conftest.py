"""Settings that hold for every test."""

from hypothesis import settings

# A loaded machine must not fail a property for being slow; pytest's own time limit still ends one that hangs.
settings.register_profile("sol", deadline=None)
settings.load_profile("sol")

"""Programs that some tests need and not every machine has: without one they skip and say which."""

import shutil

import pytest

with_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git, which is not installed")

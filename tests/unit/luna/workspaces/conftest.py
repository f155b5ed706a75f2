import shutil

import pytest


@pytest.fixture(autouse=True)
def git() -> None:
    """All workspaces that keep Lunas apart are git's."""
    if shutil.which("git") is None:
        pytest.skip("needs git, which is not installed")

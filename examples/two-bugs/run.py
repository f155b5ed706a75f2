"""Makes a small git repository with two bugs and lets Sol mend them; the models are scripted and reached over HTTP.

pip install '.[openai]' pytest             # the client that reaches the models, and what runs the project's tests
python examples/two-bugs/run.py            # makes ./two-bugs, solves it, shows the tree and the history
python examples/two-bugs/run.py --prepare  # only makes ./two-bugs; then, with a real model:
sol solve two-bugs/task.yaml --model openai:gpt-5-mini
"""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import actors

from luna.testing import ScriptedServer
from sol.cli import main as sol

HERE = Path(__file__).parent


def git(directory, *words):
    command = ["git", "-c", "user.name=Ferry", "-c", "user.email=ferry@example.org", *words]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout


def prepare(directory):
    """Copy the project and make a repository of it, with one commit."""
    if directory.exists():
        sys.exit(f"{directory} is there already. Remove it, or name another directory.")
    shutil.copytree(HERE / "project", directory, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    git(directory, "init", "-q", "-b", "main")
    git(directory, "add", ".")
    git(directory, "commit", "-q", "-m", "Tickets for a ferry")


def solve(directory):
    """Solve the task by the command line, with scripted models behind a real server; the exit code."""
    with ScriptedServer(actors.reply, models=("sol", "luna")) as server:
        models = ["--sol-model", "openai:sol", "--luna-model", "openai:luna", "--base-url", server.url]
        try:
            sol(["solve", str(directory / "task.yaml"), "--workspace", str(directory), *models])
        except SystemExit as ended:
            return ended.code


def main(words):
    names = [word for word in words if not word.startswith("-")]
    directory = Path(names[0] if names else "two-bugs")
    missing = [name for name in ("langchain_openai", "pytest") if find_spec(name) is None]
    if missing and "--prepare" not in words:
        sys.exit(f"{' and '.join(missing)} must be installed for this: pip install '.[openai]' pytest")
    prepare(directory)
    if "--prepare" in words:
        print(f"made {directory}; now: sol solve {directory / 'task.yaml'} --model openai:NAME")
        return
    code = solve(directory)
    print(git(directory, "log", "--graph", "--oneline", "--all"))
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])

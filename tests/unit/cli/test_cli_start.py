import subprocess
import sys

HEAVY = {"pydantic", "yaml", "rich", "sqlalchemy", "langchain", "langchain_core", "langgraph", "networkx", "psutil"}


def test_command_line_starts_without_anything_heavy() -> None:
    code = f"import sys, sol.cli; print(*sorted({HEAVY!r} & {{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []

"""docs/lunas.md is true: its specifications make workers, its lines are events, its example is a Luna."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from luna.protocol import PROGRESS, Delivery, WorkerSpec
from luna.workers.registry import known_kinds, make_worker
from sol.strictyaml import load_yaml
from tests.support.processes import with_sandbox
from tests.support.runs import task

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "lunas.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize(
    "block", [pytest.param(one, marks=with_sandbox if "sandbox: required" in one else ()) for one in blocks("yaml")]
)
def test_specifications_make_workers(block: str) -> None:
    loaded: Any = load_yaml(block.encode(), source="docs/lunas.md").value
    make_worker(WorkerSpec.parse(loaded["worker"]))


def test_every_kind_is_described() -> None:
    assert re.findall(r"^\| `(\w+)` \| (?:a|one)", PAGE, re.MULTILINE) == [
        kind for kind in ("function", "command", "model", "agent", "acp") if kind in known_kinds()
    ]


def test_lines_of_progress_are_events() -> None:
    (block,) = blocks("json")
    for line in block.splitlines():
        assert PROGRESS.validate_json(line).type == json.loads(line)["type"]


async def test_example_is_a_luna(tmp_path: Path) -> None:
    (block,) = blocks("python")
    names: dict[str, Any] = {}
    exec(block, names)
    delivery = Delivery(key="r//attempt/1", workspace=tmp_path)
    items = [item async for item in names["Lookup"]().run(task(), delivery)]
    assert items[-1].result == "29.76 °C"

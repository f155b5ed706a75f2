"""Strategies as files: what ships, what is refused and where, what editors are told."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from sol.errors import StrategyError, StrategyNotFoundError
from sol.strategy.catalog import entries, find, load_strategy, read_strategy, shipped_directory, warnings_of
from sol.strategy.schema import SECTIONS, Budget, Strategy
from sol.strictyaml import load_yaml
from tests.support.core import strategy_of

SHIPPED = ("binary", "halve", "isolate", "plan-first", "single")

GOOD = """\
name: mine
description: For tests.
max_depth: 3
arity: 2
patience: 5
rules:
  report:
    - {condition: SUCCESS, next: validate}
    - {condition: STUCK, next: split}
  validation:
    - {condition: passed, next: accept}
  children:
    - {condition: all("success"), next: integrate}
  depth_limit:
    - {condition: "remedy:give_up", next: give_up}
"""


def written(directory: Path, text: str, name: str = "mine") -> Path:
    path = directory / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def complaint(directory: Path, old: str, new: str) -> str:
    """What loading says when `old` in a good file is replaced by `new`; without the directory."""
    assert GOOD.count(old) == 1
    path = written(directory, GOOD.replace(old, new))
    with pytest.raises(StrategyError) as caught:
        read_strategy(path)
    return str(caught.value).replace(f"{path}", "mine.yaml")


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_strategy_loads_without_any_warning(name: str) -> None:
    strategy = load_strategy(name)
    assert strategy.name == name
    assert warnings_of(strategy) == []
    assert set(strategy.sections) == set(SECTIONS)
    assert not strategy.asks_judge


def test_all_shipped_strategies_are_known() -> None:
    assert tuple(entry.name for entry in entries()) == SHIPPED


def test_good_file_loads(tmp_path: Path) -> None:
    strategy = read_strategy(written(tmp_path, GOOD))
    assert (strategy.max_depth, strategy.max_replans, strategy.concurrency) == (3, 2, 4)


@pytest.mark.req("S11")
@pytest.mark.case("DEPTH-01")
@pytest.mark.parametrize("value", ["true", '"2"', "1.0", "-1", "null", "10001"])
def test_depth_limit_must_be_a_whole_number_from_0(tmp_path: Path, value: str) -> None:
    assert complaint(tmp_path, "max_depth: 3", f"max_depth: {value}").startswith("mine.yaml:3:12: 'max_depth'")


@pytest.mark.req("S11")
@pytest.mark.case("DEPTH-01")
def test_depth_limit_0_is_a_limit() -> None:
    assert strategy_of(max_depth=0).max_depth == 0
    assert load_strategy("binary").max_depth == 5


@pytest.mark.parametrize("value", [True, "2", 1.0, -1])
def test_depth_limit_is_as_strict_from_python(value: Any) -> None:
    with pytest.raises(ValidationError):
        strategy_of(max_depth=value)
    with pytest.raises(StrategyError, match="max_depth"):
        strategy_of().with_limits(max_depth=value, budget=None)


@pytest.mark.parametrize(
    ("old", "new", "where", "says"),
    [
        ("arity: 2", "arity: 1", "4:8", "greater than or equal to 2"),
        ("arity: 2", "arity: 9", "4:8", "less than or equal to 8"),
        ("patience: 5", "patience: 0", "5:11", "greater than or equal to 1"),
        ("patience: 5", "patiense: 5", "5:1", "did you mean 'patience'?"),
        ("patience: 5", "dimensions: [data_logic, feelings]", "5:13", "no split dimension is named 'feelings'"),
        ("patience: 5", "dimensions: [data_logic, data_logic]", "5:13", "each only once"),
        ("patience: 5", "dimensions: []", "5:13", "at least one"),
        ("patience: 5", "monitors: {repeat_limit: 30}", "5:11", "repeat_limit 30 can never be reached"),
        ("patience: 5", "monitors: {max_steps: 3}", "5:11", "patience 5 can never be reached"),
        ("patience: 5", "monitors: {window: 3}", "5:20", "greater than or equal to 4"),
        ("patience: 5", "monitors: {widow: 30}", "5:19", "monitors.widow"),
        ("patience: 5", "monitors: {patience: 3}", "5:11", "move it out of monitors"),
        ("patience: 5", "budget: {calls: -1}", "5:17", "greater than or equal to 0"),
        ("patience: 5", "budget: {cost: free}", "5:16", "must be a number"),
        ("patience: 5", "attempt: sometimes", "5:10", "'first', 'never' or 'auto'"),
        ("next: split", "next: celebrate", "9:32", "next is 'celebrate'"),
        ("next: give_up", "next: accept", "15:43", "lead to one of as_proposed"),
        ("condition: STUCK, ", "", "9:7", "a rule needs a condition"),
        (", next: integrate", "", "13:7", "a rule needs next"),
        (
            "{condition: passed, next: accept}",
            "{condition: passed, otherwise: true, next: accept}",
            "11:38",
            "no values",
        ),
        ('    - {condition: "remedy:give_up", next: give_up}\n', "    []\n", "15:5", "rules.depth_limit is missing"),
        ("  children:\n", "  siblings:\n", "7:3", "rules.children is missing"),
        ("description: For tests.\n", "", "1:1", "'description' is missing"),
        ("max_depth: 3", "max_depth: 3\nmax_depth: 4", "4:1", "max_depth"),
        ("arity: 2", "arity: 8\nmax_replans: 10", "1:1", "more than 36 children"),
        ("name: mine", "name: yours", "1:7", "give both the same name"),
        ("name: mine", "name: My Strategy", "1:7", "'name'"),
    ],
)
def test_wrong_file_is_refused_with_file_line_and_column(
    tmp_path: Path, old: str, new: str, where: str, says: str
) -> None:
    said = complaint(tmp_path, old, new)
    assert said.startswith(f"mine.yaml:{where}: "), said
    assert says in said


def test_file_that_is_no_mapping_or_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StrategyError, match=r"mine\.yaml:1:1"):
        read_strategy(written(tmp_path, "- a\n"))
    with pytest.raises(StrategyError, match="cannot be read"):
        read_strategy(tmp_path / "none.yaml")
    with pytest.raises(StrategyError, match="rules"):
        read_strategy(written(tmp_path, GOOD[: GOOD.index("rules:")] + "rules: none\n"))


def test_near_misses_and_gaps_are_warned_of(tmp_path: Path) -> None:
    strategy = read_strategy(written(tmp_path, GOOD.replace('all("success")', "any('failed')")))
    assert any("any" in one and "children" in one for one in warnings_of(strategy))
    strategy = read_strategy(written(tmp_path, GOOD))
    assert any("no rule covers" in one for one in warnings_of(strategy))


def test_workspace_strategy_hides_a_shipped_one_of_the_same_name(tmp_path: Path) -> None:
    own = tmp_path / ".sol" / "strategies"
    own.mkdir(parents=True)
    written(own, GOOD.replace("name: mine", "name: binary"), "binary")
    written(own, GOOD)
    assert load_strategy("binary", tmp_path).description == "For tests."
    assert [entry.source for entry in entries(tmp_path) if entry.name in {"binary", "mine", "halve"}] == [
        "workspace",
        "shipped",
        "workspace",
    ]


def test_strategy_is_found_by_name_or_path(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD)
    assert find(str(path)) == path
    with pytest.raises(StrategyNotFoundError, match="binary, halve") as caught:
        find("nothing")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.known) == (str(caught.value), SHIPPED)
    with pytest.raises(StrategyNotFoundError):
        find(str(tmp_path / "none.yaml"))


def test_rule_of_python_data_is_refused_with_its_number() -> None:
    base = {name: list(rules) for name, rules in strategy_of().rules.items()}
    with pytest.raises(ValidationError, match=r"rules\.report rule 1: next is 'dance'"):
        strategy_of(rules={**base, "report": [{"condition": "STUCK", "next": "dance"}]})
    with pytest.raises(ValidationError, match=r"rules\.children is missing"):
        strategy_of(rules={**base, "children": []})


@pytest.mark.parametrize("value", ["monitors", "dimensions"])
def test_lists_and_mappings_may_be_left_out(value: str) -> None:
    data = strategy_of().model_dump(mode="json")
    del data[value]
    Strategy.model_validate(data)


def test_strategy_that_asks_the_judge_says_so() -> None:
    base = {name: list(rules) for name, rules in strategy_of().rules.items()}
    assert strategy_of(rules={**base, "report": [{"condition": 'ai("so?")', "next": "split"}]}).asks_judge


def test_limits_given_for_a_run_replace_those_of_the_file() -> None:
    strategy = strategy_of(budget={"calls": 5, "tokens": 7})
    changed = strategy.with_limits(max_depth=9, budget=Budget(calls=8))
    assert (changed.max_depth, changed.budget.calls, changed.budget.tokens) == (9, 8, 7)
    assert strategy.with_limits(max_depth=None, budget={"cost": 1.5}).budget.cost == 1.5


def test_schema_for_editors_is_the_one_of_the_code_and_fits_every_shipped_file() -> None:
    directory = shipped_directory()
    schema = json.loads((directory / "schema.json").read_text(encoding="utf-8"))
    assert schema == Strategy.model_json_schema(), "write Strategy.model_json_schema() to strategies/schema.json"
    Draft202012Validator.check_schema(schema)
    for path in sorted(directory.glob("*.yaml")):
        text = path.read_bytes()
        assert text.startswith(b"# yaml-language-server: $schema=schema.json\n")
        Draft202012Validator(schema).validate(load_yaml(text, source=str(path)).value)


def test_page_about_strategies_names_every_field_action_and_label() -> None:
    page = (shipped_directory() / "README.md").read_text(encoding="utf-8")
    words = [*Strategy.model_fields, *(action for actions in SECTIONS.values() for action in actions), *SECTIONS]
    assert [word for word in words if f"`{word}`" not in page] == []

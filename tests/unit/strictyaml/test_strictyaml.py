"""The strict YAML loader: what it keeps, what it refuses and where it says so."""

import math
import pickle
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from sol.errors import UsageError
from sol.strictyaml import Document, Position, StrictYamlError, load_yaml, validate_model

CONFORMANCE = Path(__file__).parents[3] / ".." / "shared" / "conformance"


def load(text: str | bytes, **options: Any) -> Document:
    return load_yaml(text, source="f.yaml", **options)


def refusal(text: str | bytes, **options: Any) -> StrictYamlError:
    with pytest.raises(StrictYamlError) as caught:
        load(text, **options)
    return caught.value


# --- scalars ---------------------------------------------------------------------------------------------------------


@pytest.mark.case("YAML-01")
@pytest.mark.parametrize(
    "text", ["no", "on", "yes", "off", "Yes", "True", "NULL", "12:30:00", "1_000", "0o17", "0x1f", "007", "-01", "1e3",
             "1.", "2024-01-01", "1.2.3", ".inf", ".nan", "NO", "=", "+", "-."],
)  # fmt: skip
def test_plain_scalar_that_yaml_would_change_stays_text(text: str) -> None:
    assert load(f"a: {text}").value == {"a": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("false", False), ("null", None), ("~", None), ("", None), ("0", 0), ("-7", -7), ("+5", 5),
     ("1.10", 1.1), (".5", 0.5), ("-0.25", -0.25), ("1.0e3", 1000.0), ("1.5E-3", 0.0015)],
)  # fmt: skip
def test_plain_scalar_is_read_by_the_small_core(text: str, value: object) -> None:
    loaded = load(f"a: {text}").value["a"]
    assert loaded == value
    assert type(loaded) is type(value)


@pytest.mark.case("YAML-01")
def test_example_of_implicit_types_keeps_every_text() -> None:
    text = (
        "steps: [{id: no, run: x}, {id: on, needs: [no], when: yes}]\n"
        "countries: [NO, SE]\nversion: 1.10\nat: 12:30:00\ncode: 007\non: push\n"
    )
    document = load(text)
    assert document.value == {
        "steps": [{"id": "no", "run": "x"}, {"id": "on", "needs": ["no"], "when": "yes"}],
        "countries": ["NO", "SE"],
        "version": 1.1,
        "at": "12:30:00",
        "code": "007",
        "on": "push",
    }
    assert document.raw(("version",)) == "1.10"


def test_quoted_and_block_scalars_are_text_and_have_no_raw_form() -> None:
    document = load("a: \"true\"\nb: '1'\nc: |\n  null\n")
    assert document.value == {"a": "true", "b": "1", "c": "null\n"}
    assert document.raw(("a",)) is None
    assert document.raw(("missing",)) is None


def test_json_is_accepted_with_its_escapes() -> None:
    assert load('{"a": ["\\ud83c\\udf63", "\\u3042", 1, null]}').value == {"a": ["🍣", "あ", 1, None]}


@pytest.mark.parametrize("text", ["9" * 100_000, "1.0e999", "-1.0e999", "0." + "1" * 100])
def test_number_out_of_bounds_is_refused(text: str) -> None:
    error = refusal(f"a: {text}")
    assert (error.line, error.column) == (1, 4)
    assert "quote it" in str(error)


# --- positions -------------------------------------------------------------------------------------------------------


def test_positions_of_values_and_keys_count_from_one() -> None:
    document = load("a: 1\nsteps:\n  - id: x\n    run: |\n      go\nempty:\n")
    assert document.at(("steps", 0, "run")) == Position(4, 10)
    assert document.key_at(("steps", 0, "run")) == Position(4, 5)
    assert document.at(("steps", 0)) == Position(3, 5)
    assert document.key_at(("steps", 0)) == Position(3, 5)
    assert document.at(()) == Position(1, 1)
    assert document.key_at(("empty",)) == Position(6, 1)


def test_position_of_an_unknown_path_is_that_of_the_nearest_ancestor() -> None:
    document = load("a:\n  b: 1\n")
    assert document.at(("a", "c", 5, "d")) == document.at(("a",)) == Position(2, 3)
    assert document.key_at(("a", "c")) == Position(2, 3)
    assert document.at(("z",)) == Position(1, 1)


@pytest.mark.parametrize("text", ["\ufeffa: 1\nb: |\n  x\n  y\n", "a: 1\r\nb: |\r\n  x\r\n  y\r\n"])
@pytest.mark.parametrize("as_bytes", [True, False])
def test_byte_order_mark_and_crlf_are_accepted(text: str, as_bytes: bool) -> None:
    document = load(text.encode() if as_bytes else text)
    assert document.value == {"a": 1, "b": "x\ny\n"}
    assert document.key_at(("a",)) == Position(1, 1)
    assert document.at(("b",)) == Position(2, 4)


# --- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.req("W03")
@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("a: &x 1", (1, 4), "anchor &x"),
        ("a: 1\nb: *x", (2, 4), "alias *x"),
        ("<<: {a: 1}", (1, 1), "merge key"),
        ("a: !!str 1", (1, 4), "tag"),
        ("a: !thing {}", (1, 4), "tag"),
        ("a: ! x", (1, 4), "tag"),
        ("a: !foo!bar 1", (1, 4), "tags are not supported"),
        ("%YAML 1.1\n---\na: 1", (1, 1), "directives"),
        ("%FOO bar\n---\na: 1", (1, 1), "directives"),
        ("%YAML 1." + "9" * 5000 + "\n---\na", (1, 9), "out of range"),
        ("a: 1\n---\nb: 2", (2, 1), "second document"),
        ("", (1, 1), "empty"),
        ("# only a comment\n", (1, 1), "empty"),
        ("---\n", (2, 1), "empty"),
        ("1: x", (1, 1), 'quote it: "1"'),
        ("true: x", (1, 1), 'quote it: "true"'),
        ("?\n: x", (1, 2), "key is missing"),
        ("? [a]\n: b", (1, 3), "cannot be a key"),
        ("a:\n\tb: 1\n", (2, 1), "use spaces"),
        ("a:\tb\n", (1, 3), "use spaces"),
        ("a: b: c\n", (1, 5), "quote the whole text"),
        ("{a: b: c}\n", (1, 6), "quote the whole text"),
        ("a: @x", (1, 4), "cannot begin with '@'"),
        ("a: 1\nfoo\nb: 2", (3, 1), "no 'key: value'"),
        ("a: [1, 2\n", (2, 1), "brackets"),
        ("a: 'x' y", (1, 8), "quotes"),
        ('a: "x', (1, 6), "unexpected end"),
        ("a: x\0y", (1, 5), "U+0000"),
        ('a: "\\0"', (1, 4), "U+0000"),
        ("a: x\u2028y", (1, 5), '"\\u2028"'),
        ("a: 1\r\nb: \x07", (2, 4), "U+0007"),
        ('a: "\\ud83c"', (1, 4), "surrogate"),
        ('a: "\\UFFFFFFFF"', (1, 7), "out of range"),
    ],
)
def test_refusal_names_position_and_remedy(text: str, position: tuple[int, int], words: str) -> None:
    error = refusal(text)
    assert (error.line, error.column) == position
    assert str(error).startswith(f"f.yaml:{position[0]}:{position[1]}: ")
    assert words in str(error)
    assert "; " in str(error)
    assert error.problems[0].remedy


@pytest.mark.case("YAML-02")
def test_duplicate_key_is_refused_with_both_lines() -> None:
    error = refusal("s:\n  needs: [a]\n  run: r\n  needs: [b]\n")
    assert (error.line, error.column) == (4, 3)
    assert "'needs' on line 4" in str(error)
    assert "on line 2" in str(error)


@pytest.mark.case("YAML-02")
def test_duplicate_key_on_one_line_is_refused() -> None:
    assert "line 1 was already given on line 1" in str(refusal("s: {needs: [a], run: r, needs: [b]}"))


@pytest.mark.case("YAML-02")
def test_merge_key_with_an_override_is_refused() -> None:
    assert "anchor" in str(refusal("base: &base {a: 1}\nx:\n  <<: *base\n  a: 2\n"))
    assert load('"<<": 1').value == {"<<": 1}


@pytest.mark.parametrize(
    ("data", "position"),
    [
        ("a: 1".encode("utf-16"), (1, 1)),
        ("a: 1".encode("utf-16-be"), (1, 1)),
        ("a: 1".encode("utf-16-le"), (1, 1)),
        ("a: 1\nb: é".encode("latin-1"), (2, 4)),
        (b"\xef\xbb\xbfa: \xe9", (1, 4)),
    ],
)
def test_bytes_that_are_not_utf8_are_refused(data: bytes, position: tuple[int, int]) -> None:
    error = refusal(data)
    assert "not UTF-8" in str(error)
    assert (error.line, error.column) == position


def test_nesting_is_bounded() -> None:
    assert load("[" * 64 + "]" * 64).value
    assert "deeper than 64" in str(refusal("[" * 65 + "]" * 65))
    assert "deeper than 64" in str(refusal("[" * 100_000))
    assert load("a: {b: {c: 1}}", max_depth=3).value
    assert refusal("a: {b: {c: {d: 1}}}", max_depth=3).column == 12


@pytest.mark.parametrize("depth", [0, 65])
def test_depth_limit_out_of_range_is_misuse(depth: int) -> None:
    with pytest.raises(ValueError, match="max_depth"):
        load("a: 1", max_depth=depth)


def test_error_pickles_and_is_a_usage_error() -> None:
    error = refusal("a: &x 1")
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, UsageError)
    assert str(copy) == str(error)
    assert (copy.source, copy.problems, copy.omitted) == (error.source, error.problems, error.omitted)


def test_document_makes_errors_with_positions() -> None:
    error = load("a:\n  b: 1\n").error(("a", "b"), "too small", "give 2")
    assert str(error) == "f.yaml:2:6: too small; give 2"


def test_foreign_workflow_files_load_or_are_refused_for_their_anchors() -> None:
    if not CONFORMANCE.is_dir():
        pytest.skip("the shared conformance data is not here")
    for path in sorted(CONFORMANCE.rglob("*.yaml")):
        data = path.read_bytes()
        if b": &" in data:
            assert "anchor" in str(refusal(data))
        else:
            assert load(data).value


# --- models ----------------------------------------------------------------------------------------------------------


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Pace(StrEnum):
    FAST = "fast"
    SLOW = "slow"


class Work(Strict):
    kind: Literal["work"] = "work"
    id: str
    when: bool = False
    needs: tuple[str, ...] = ()


class Wait(Strict):
    kind: Literal["wait"] = "wait"
    seconds: float


Step = Annotated[Work | Wait, Field(discriminator="kind")]


class Plan(Strict):
    version: str = "1"
    steps: tuple[Step, ...] = ()
    named: dict[str, Work] = Field(default_factory=dict)
    pace: Pace = Pace.FAST
    count: int = 1
    share: float = 1
    schema_: dict[str, JsonValue] = Field(default_factory=dict, alias="schema")

    @field_validator("count")
    @classmethod
    def _positive(cls, value: int) -> int:
        if value < 1:
            raise ValueError("must be positive")
        return value


def misfit(text: str, model: type[BaseModel] = Plan) -> StrictYamlError:
    with pytest.raises(StrictYamlError) as caught:
        validate_model(load(text), model)
    return caught.value


def test_model_is_made_from_lists_and_texts() -> None:
    text = "steps:\n- {kind: work, id: no, needs: [on]}\n- {kind: wait, seconds: 3}\npace: slow\nschema: {a: [1]}\n"
    plan = validate_model(load(text), Plan)
    assert plan.steps == (Work(id="no", needs=("on",)), Wait(seconds=3))
    assert plan.pace is Pace.SLOW
    assert plan.schema_ == {"a": [1]}


def test_model_of_a_part_keeps_positions_of_the_whole() -> None:
    document = load("plans:\n- count: 2\n- count: two\n")
    assert validate_model(document, Plan, ("plans", 0)).count == 2
    with pytest.raises(StrictYamlError, match=r"^f\.yaml:3:10: 'plans\[1\]\.count' must be a number"):
        validate_model(document, Plan, ("plans", 1))


@pytest.mark.case("YAML-01")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("version: 1.10", "f.yaml:1:10: 'version' must be text, but unquoted 1.10 is not; quote this: \"1.10\""),
        ("version: true", "f.yaml:1:10: 'version' must be text, but unquoted true is not; quote this: \"true\""),
        ("count: 2\nversion:", ("f.yaml:2:1: 'version' must be text, but nothing is given; write the text, or \"\" "
                               "for an empty one")),
        ("version: [a]", ("f.yaml:1:10: 'version' is not accepted: Input should be a valid string (given: [\"a\"]); "
                         "correct the value")),
        ("steps: [{kind: work, id: x, when: yes}]", ("f.yaml:1:35: 'steps[0].when' must be true or false, not \"yes\"; "
                                                     "write true or false, without quotes")),
        ("count: 007", ("f.yaml:1:8: 'count' must be a number, but \"007\" is text; write digits without quotes, "
                       "leading zeros or underscores, and 1.0e3 rather than 1e3")),
        ("count: 0", "f.yaml:1:8: 'count' is not accepted: must be positive (given: 0); correct the value"),
        ("pace: fasst", ("f.yaml:1:7: 'pace' is not accepted: Input should be 'fast' or 'slow' (given: \"fasst\"); "
                        "did you mean 'fast'?")),
        ("steps: [{kind: wait, second: 1, seconds: 1}]", ("f.yaml:1:22: unknown field 'steps[0].second'; "
                                                         "did you mean 'seconds'?")),
        ("named: {n: {id: x, nneeds: []}}", "f.yaml:1:20: unknown field 'named.n.nneeds'; did you mean 'needs'?"),
        ("xyz: 1", "f.yaml:1:1: unknown field 'xyz'; known: count, named, pace, schema, share, steps, version"),
        ("steps:\n- kind: work", "f.yaml:2:3: field 'id' is missing in 'steps[0]'; add 'id: …'"),
        ("named:\n  n: {}", "f.yaml:2:3: field 'id' is missing in 'named.n'; add 'id: …'"),
        ("[1]", "f.yaml:1:1: the document is not accepted: Input should be an object (given: [1]); correct the value"),
    ],
)  # fmt: skip
def test_misfit_says_where_what_and_what_to_write(text: str, message: str) -> None:
    assert str(misfit(text)) == message


def test_misfit_shows_at_most_a_part_of_a_long_value() -> None:
    assert len(str(misfit("pace: " + "x" * 5000))) < 300


def test_misfit_of_a_discriminator_that_is_also_a_key_finds_the_field() -> None:
    error = misfit("steps:\n- kind: work\n  work: 1\n  id: 5\n")
    assert [p.position for p in error.problems] == [Position(3, 3), Position(4, 7)]


def test_misfit_of_a_model_without_fields_says_to_remove_the_field() -> None:
    class Nothing(Strict):
        pass

    assert str(misfit("a: 1", Nothing)).endswith("unknown field 'a'; remove it")


def test_misfits_are_listed_in_order_up_to_ten() -> None:
    error = misfit("\n".join(f"k{i}: 1" for i in range(12)) + "\ncount: x\n")
    assert [p.position.line for p in error.problems] == list(range(1, 11))
    assert error.omitted == 3
    assert str(error).endswith("f.yaml: 3 more problems are not listed")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_union_of_plain_models_names_the_fields_of_its_members() -> None:
    class Either(Strict):
        step: Work | Wait | list[Work]

    error = misfit("step: {secnds: 1}", Either)
    assert any(p.remedy == "did you mean 'seconds'?" for p in error.problems)


def test_float_field_takes_whole_numbers_but_no_infinity() -> None:
    assert validate_model(load("share: 2"), Plan).share == 2.0
    assert math.isfinite(validate_model(load("share: 1.0e300"), Plan).share)
    assert "must be a number" in str(misfit("share: .inf"))

"""Halving an input again and again loses nothing, doubles nothing and keeps the order."""

import csv
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from luna.inputs import NotSplittableError, as_bytes, halve, materialise, size_of

PLENTY = 1 << 24

lines = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\0"), max_size=4), max_size=8)
texts = st.builds(lambda parts, end: "\n".join(parts) + end, lines, st.sampled_from(["", "\n"]))
cells = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n"), max_size=6)
tables = st.lists(st.tuples(cells, cells), max_size=10)


def units(value: JsonValue, workspace: Path) -> Iterator[JsonValue]:
    """The single units of a value in order, found by halving alone."""
    size = size_of(value, workspace)
    if size is None or size < 2:
        with pytest.raises(NotSplittableError):
            halve(value, workspace)
        if size != 0:
            yield value
        return
    left, right = halve(value, workspace)
    sizes = size_of(left, workspace), size_of(right, workspace)
    assert None not in sizes
    assert 0 not in sizes
    yield from units(left, workspace)
    yield from units(right, workspace)


@given(texts)
def test_lines_of_a_text_are_covered_once(text: str) -> None:
    parts = list(units(text, Path()))
    assert "".join(parts) == text
    assert all(part.count("\n") <= 1 for part in parts)


@given(st.lists(st.integers()))
def test_elements_of_a_list_are_covered_once(elements: list[int]) -> None:
    assert [element for [element] in units(elements, Path())] == elements


@given(texts)
def test_lines_of_a_file_are_covered_once(text: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        workspace = Path(directory)
        (workspace / "f.txt").write_bytes(text.encode())
        value: JsonValue = {"file": "f.txt", "unit": "lines"}
        parts = [materialise(part, workspace, limit_bytes=PLENTY) for part in units(value, workspace)]
        assert "".join(parts) == text
        assert parts == list(units(text, workspace))


@given(texts)
def test_bytes_of_a_text_file_are_covered_once_and_stay_text(text: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        workspace = Path(directory)
        (workspace / "f.txt").write_bytes(text.encode())
        parts = [
            materialise(part, workspace, limit_bytes=PLENTY)
            for part in units({"file": "f.txt", "unit": "bytes"}, workspace)
        ]
        assert "".join(parts) == text
        assert all(len(part) == 1 for part in parts)


@given(st.binary(max_size=40))
def test_bytes_of_any_file_are_covered_once(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        workspace = Path(directory)
        (workspace / "f.bin").write_bytes(data)
        parts = units({"file": "f.bin", "unit": "bytes"}, workspace)
        assert b"".join(as_bytes(part, workspace, limit_bytes=PLENTY) for part in parts) == data


@given(tables)
def test_rows_of_a_table_are_covered_once_with_the_header_each_time(table: list[tuple[str, str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out).writerows([("a", "b"), *table])
    with tempfile.TemporaryDirectory() as directory:
        workspace = Path(directory)
        (workspace / "f.csv").write_bytes(out.getvalue().encode())
        rows = []
        for part in units({"file": "f.csv"}, workspace):
            [row] = materialise(part, workspace, limit_bytes=PLENTY)
            rows.append((row["a"], row["b"]))
            assert as_bytes(part, workspace, limit_bytes=PLENTY).startswith(b"a,b\r\n")
        assert rows == table


@given(st.lists(st.none() | st.recursive(st.integers() | st.text(max_size=4), st.lists, max_leaves=4), max_size=12))
def test_json_lines_are_covered_once(records: list[JsonValue]) -> None:
    text = "".join("\n" * (i % 3 == 0) + json.dumps(record) + "\n" for i, record in enumerate(records))
    with tempfile.TemporaryDirectory() as directory:
        workspace = Path(directory)
        (workspace / "f.jsonl").write_bytes(text.encode())
        found = [
            record
            for part in units({"file": "f.jsonl"}, workspace)
            for record in materialise(part, workspace, limit_bytes=PLENTY)
        ]
        assert found == records

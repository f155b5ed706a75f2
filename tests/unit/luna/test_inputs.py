"""Inputs as data: reading references, sizes, halves, content."""

import json
import os
from pathlib import Path

import pytest
from pydantic import JsonValue

from luna.inputs import (
    InputError,
    InputTooLargeError,
    NotSplittableError,
    OutsideWorkspaceError,
    as_bytes,
    file_ref,
    halve,
    inside,
    materialise,
    materialise_all,
    size_of,
)

PLENTY = 1 << 20


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "plain.txt").write_bytes(b"one\ntwo\r\nthree")
    (tmp_path / "rows.csv").write_bytes(b'name,note\nann,"a\nb"\n\nbob,"x,y"\ncy,\n')
    (tmp_path / "rows.jsonl").write_bytes(b'{"a": 1}\n\n{"a": 2}\n[3]\n')
    (tmp_path / "picture.bin").write_bytes(bytes(range(256)))
    (tmp_path / "empty.txt").write_bytes(b"")
    return tmp_path


def test_inside_resolves_paths_of_the_workspace(workspace: Path) -> None:
    assert inside(workspace, "a/./b.txt") == workspace.resolve() / "a" / "b.txt"
    (workspace / "link").symlink_to(workspace / "plain.txt")
    assert inside(workspace, "link") == workspace.resolve() / "plain.txt"


@pytest.mark.parametrize("path", ["", "  ", "/etc/passwd", "../x", "a/../b", "a\0b"])
def test_inside_refuses_paths_that_are_none(workspace: Path, path: str) -> None:
    with pytest.raises(OutsideWorkspaceError, match="no path inside the workspace"):
        inside(workspace, path)


def test_inside_refuses_links_out_and_loops(workspace: Path) -> None:
    (workspace / "out").symlink_to("/")
    (workspace / "loop").symlink_to(workspace / "loop")
    with pytest.raises(OutsideWorkspaceError, match="leads out of the workspace"):
        inside(workspace, "out/etc")
    with pytest.raises(OutsideWorkspaceError, match="'loop' cannot be followed"):
        inside(workspace, "loop")


@pytest.mark.parametrize(
    "value",
    [None, 3, "plain.txt", [], {}, {"file": 3}, {"file": "a", "size": 3}, {"unit": "lines"}],
)
def test_file_ref_leaves_plain_data_alone(value: JsonValue) -> None:
    assert file_ref(value) is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"file": ""}, "file String should have at least 1"),
        ({"file": "a", "unit": "pages"}, "unit Input should be"),
        ({"file": "a", "start": 1}, "need a unit"),
        ({"file": "a", "unit": "lines", "start": True}, "start Input should be a valid integer"),
        ({"file": "a", "unit": "lines", "start": 3, "stop": 2}, "stop 2 lies before start 3"),
    ],
)
def test_file_ref_refuses_wrong_references(value: JsonValue, message: str) -> None:
    with pytest.raises(InputError, match=message):
        file_ref(value)


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (None, None),
        (7, None),
        ({"a": 1}, None),
        ("", 0),
        ("one", 1),
        ("one\n", 1),
        ("one\n\nthree", 3),
        ([], 0),
        (["a\nb"], 1),
        ([1, 2, 3], 3),
        ({"file": "plain.txt"}, 3),
        ({"file": "empty.txt"}, 0),
        ({"file": "rows.csv"}, 3),
        ({"file": "rows.csv", "unit": "lines"}, 6),
        ({"file": "rows.jsonl"}, 3),
        ({"file": "picture.bin"}, 256),
        ({"file": "plain.txt", "unit": "lines", "start": 1}, 2),
        ([{"file": "plain.txt"}], 3),
        ([{"file": "plain.txt"}, {"file": "rows.csv"}], 2),
    ],
)
def test_size_counts_units(workspace: Path, value: JsonValue, size: int | None) -> None:
    assert size_of(value, workspace) == size


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"file": "gone.txt"}, "'gone.txt' cannot be read: No such file"),
        ({"file": "."}, "is no regular file"),
        ({"file": "../x"}, "no path inside"),
        ({"file": "plain.txt", "unit": "records"}, r"cannot be read as records: records need a \.csv"),
        (
            {"file": "plain.txt", "unit": "lines", "start": 2, "stop": 9},
            "lines 2 to 9 are not in 'plain.txt': it has 3",
        ),
        ({"file": "plain.txt", "unit": "lines", "start": 4}, "lines 4 to 3 are not in"),
    ],
)
def test_size_refuses_what_is_not_there(workspace: Path, value: JsonValue, message: str) -> None:
    with pytest.raises(InputError, match=message):
        size_of(value, workspace)


def test_halves_of_text_and_lists_are_balanced(workspace: Path) -> None:
    assert halve("a\nb\r\nc", workspace) == ("a\nb\r\n", "c")
    assert halve([1, [2], 3], workspace) == ([1, [2]], [3])


def test_halves_of_files_are_references(workspace: Path) -> None:
    left, right = halve({"file": "rows.csv"}, workspace)
    assert left == {"file": "rows.csv", "unit": "records", "start": 0, "stop": 2}
    assert right == {"file": "rows.csv", "unit": "records", "start": 2, "stop": 3}
    assert halve([{"file": "plain.txt"}], workspace) == (
        [{"file": "plain.txt", "unit": "lines", "start": 0, "stop": 2}],
        [{"file": "plain.txt", "unit": "lines", "start": 2, "stop": 3}],
    )
    files = [{"file": "plain.txt"}, {"file": "rows.csv"}]
    assert halve(files, workspace) == (files[:1], files[1:])


@pytest.mark.parametrize(
    "value",
    [None, 1.5, {"a": 1}, "", "one line", "one line\n", [], [1], {"file": "empty.txt"}, [{"file": "empty.txt"}],
     {"file": "plain.txt", "unit": "lines", "start": 1, "stop": 2}, ["x" * 100]],
)  # fmt: skip
def test_halve_refuses_what_has_no_halves(workspace: Path, value: JsonValue) -> None:
    with pytest.raises(NotSplittableError):
        halve(value, workspace)


def test_bytes_of_text_are_cut_at_lines(workspace: Path) -> None:
    (workspace / "t.txt").write_text("ab\ncdefgh\nij", encoding="utf-8")
    left, right = halve({"file": "t.txt", "unit": "bytes"}, workspace)
    assert as_bytes(left, workspace, limit_bytes=PLENTY) == b"ab\n"
    assert as_bytes(right, workspace, limit_bytes=PLENTY) == b"cdefgh\nij"


def test_bytes_of_a_long_line_are_cut_between_characters(workspace: Path) -> None:
    (workspace / "t.txt").write_text("🍣🍣あ", encoding="utf-8")
    left, right = halve({"file": "t.txt", "unit": "bytes"}, workspace)
    assert [materialise(half, workspace, limit_bytes=PLENTY) for half in (left, right)] == ["🍣", "🍣あ"]
    single = {"file": "t.txt", "unit": "bytes", "start": 0, "stop": 4}
    assert size_of(single, workspace) == 1
    with pytest.raises(NotSplittableError, match=r"bytes 0 to 4 of 't\.txt'"):
        halve(single, workspace)


def test_bytes_of_binary_files_are_cut_in_the_middle(workspace: Path) -> None:
    left, _ = halve({"file": "picture.bin"}, workspace)
    assert left == {"file": "picture.bin", "unit": "bytes", "start": 0, "stop": 128}
    (workspace / "latin.txt").write_bytes("é".encode("latin-1") * 4)
    assert halve({"file": "latin.txt"}, workspace)[1] == {"file": "latin.txt", "unit": "bytes", "start": 2, "stop": 4}


def test_materialise_reads_text_records_and_bytes(workspace: Path) -> None:
    def read(value: JsonValue) -> JsonValue:
        return materialise(value, workspace, limit_bytes=PLENTY)

    assert read({"file": "plain.txt"}) == "one\ntwo\r\nthree"
    assert read({"file": "plain.txt", "unit": "lines", "start": 1, "stop": 2}) == "two\r\n"
    assert read({"file": "rows.csv"}) == [
        {"name": "ann", "note": "a\nb"},
        {"name": "bob", "note": "x,y"},
        {"name": "cy", "note": ""},
    ]
    assert read({"file": "rows.jsonl", "unit": "records", "start": 1}) == [{"a": 2}, [3]]
    assert read({"file": "picture.bin", "unit": "bytes", "start": 1, "stop": 4}) == {"base64": "AQID"}
    assert read([{"file": "empty.txt"}, 5, "x"]) == ["", 5, "x"]
    assert read({"deep": {"file": "plain.txt"}}) == {"deep": {"file": "plain.txt"}}


def test_csv_variants_are_read(workspace: Path) -> None:
    (workspace / "bom.tsv").write_bytes(b"\xef\xbb\xbfa\tb\n1\t2")
    (workspace / "header.csv").write_bytes(b"a,b")
    (workspace / "nothing.csv").write_bytes(b"\n\n")
    assert materialise({"file": "bom.tsv"}, workspace, limit_bytes=PLENTY) == [{"a": "1", "b": "2"}]
    assert materialise({"file": "header.csv"}, workspace, limit_bytes=PLENTY) == []
    assert materialise({"file": "nothing.csv"}, workspace, limit_bytes=PLENTY) == []
    assert as_bytes({"file": "header.csv"}, workspace, limit_bytes=PLENTY) == b"a,b\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"a,b\n1,2\n3\n", "record 1 has 1 cells, the header 2"),
        ("x.csv", b"a,a\n1,2\n", "two columns have the same name"),
        ("x.csv", b'a\n"open\n', "unexpected end of data; use unit: lines"),
        ("x.csv", b"a\n\xff\n", "no UTF-8"),
        ("x.jsonl", b'{"a": 1}\n{"a": \n', "record 1 is no JSON"),
        ("x.jsonl", b'{"a": NaN}\n', "NaN is no JSON value"),
        ("x.jsonl", b"[" * 100_000, "record 0 is no JSON"),
        ("x.jsonl", b'"\xff"\n', "no UTF-8 at byte 1 of the slice"),
    ],
)
def test_materialise_names_what_is_wrong_in_a_file(workspace: Path, name: str, content: bytes, message: str) -> None:
    (workspace / name).write_bytes(content)
    with pytest.raises(InputError, match=message):
        materialise({"file": name}, workspace, limit_bytes=PLENTY)


def test_materialise_keeps_to_its_limit(workspace: Path) -> None:
    assert materialise({"file": "plain.txt"}, workspace, limit_bytes=14) == "one\ntwo\r\nthree"
    with pytest.raises(InputTooLargeError, match="14 bytes; a worker reads at most 13"):
        materialise({"file": "plain.txt"}, workspace, limit_bytes=13)
    with pytest.raises(InputTooLargeError):
        materialise("x" * 20, workspace, limit_bytes=20)
    inputs = {"a": {"file": "plain.txt"}, "b": [{"file": "plain.txt", "unit": "bytes", "start": 0, "stop": 3}]}
    assert materialise_all(inputs, workspace, limit_bytes=17) == {"a": "one\ntwo\r\nthree", "b": ["one"]}
    with pytest.raises(InputTooLargeError):
        materialise_all(inputs, workspace, limit_bytes=16)


def test_as_bytes_gives_what_a_program_reads(workspace: Path) -> None:
    half = {"file": "rows.csv", "unit": "records", "start": 1, "stop": 2}
    assert as_bytes(half, workspace, limit_bytes=PLENTY) == b'name,note\nbob,"x,y"\n'
    assert as_bytes("é", workspace, limit_bytes=2) == "é".encode()
    assert json.loads(as_bytes([{"file": "plain.txt"}, {"é": 1}], workspace, limit_bytes=PLENTY)) == [
        "one\ntwo\r\nthree",
        {"é": 1},
    ]
    for value in ("é", half):
        with pytest.raises(InputTooLargeError):
            as_bytes(value, workspace, limit_bytes=1)


def test_a_changed_file_is_indexed_anew(workspace: Path) -> None:
    path = workspace / "grow.txt"
    path.write_text("a\nb\n", encoding="utf-8")
    assert size_of({"file": "grow.txt"}, workspace) == 2
    path.write_text("a\nb\nc\n", encoding="utf-8")
    assert size_of({"file": "grow.txt"}, workspace) == 3
    path.write_text("abcde\n", encoding="utf-8")
    os.utime(path, ns=(1, 1))
    assert size_of({"file": "grow.txt"}, workspace) == 1


def test_large_files_are_indexed_in_chunks(workspace: Path) -> None:
    line = "ä" * 499 + "\n"
    (workspace / "large.txt").write_text(line * 2_200, encoding="utf-8")
    assert size_of({"file": "large.txt"}, workspace) == 2_200
    last = {"file": "large.txt", "unit": "lines", "start": 2_199}
    assert materialise(last, workspace, limit_bytes=PLENTY) == line

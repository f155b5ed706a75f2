import json
import os
from pathlib import Path

import pytest

from luna.models.fetch import has_publisher_hash
from tests.unit.luna.models.conftest import SLICES, WheelIndex

GOOD = b"".join(SLICES)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(GOOD)
    return path


def test_hash_of_the_publisher_is_accepted_and_remembered(weights: Path, index: WheelIndex, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    assert has_publisher_hash(weights, index.model, memory=memory)
    (note,) = memory.iterdir()
    assert json.loads(note.read_bytes())["sha256"] == index.model.sha256
    assert has_publisher_hash(weights, index.model, memory=memory)


def test_remembered_answer_spares_reading_the_file(weights: Path, index: WheelIndex, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    assert has_publisher_hash(weights, index.model, memory=memory)
    (note,) = memory.iterdir()
    status = weights.stat()
    # The note counts by itself: a file with other content but the same size and times would pass.
    weights.write_bytes(GOOD[::-1])
    changed = weights.stat()
    note.write_text(
        json.dumps(
            {
                "size": status.st_size,
                "mtime_ns": changed.st_mtime_ns,
                "ctime_ns": changed.st_ctime_ns,
                "sha256": index.model.sha256,
            }
        )
    )
    assert has_publisher_hash(weights, index.model, memory=memory)


def test_remembered_answer_is_dropped_when_the_file_changes(weights: Path, index: WheelIndex, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    assert has_publisher_hash(weights, index.model, memory=memory)
    before = weights.stat()
    weights.write_bytes(GOOD[::-1])
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))  # what a copying tool does
    assert not has_publisher_hash(weights, index.model, memory=memory)


@pytest.mark.parametrize("note", [b"", b"[]", b"not json", b"\xff\xfe"])
def test_damaged_note_counts_as_none(note: bytes, weights: Path, index: WheelIndex, tmp_path: Path) -> None:
    memory = tmp_path / "memory"
    assert has_publisher_hash(weights, index.model, memory=memory)
    (path,) = memory.iterdir()
    path.write_bytes(note)
    assert has_publisher_hash(weights, index.model, memory=memory)


def test_other_size_is_refused_without_a_note(weights: Path, index: WheelIndex, tmp_path: Path) -> None:
    weights.write_bytes(GOOD + b"!")
    assert not has_publisher_hash(weights, index.model, memory=tmp_path / "memory")
    assert not (tmp_path / "memory").exists()


def test_memory_that_cannot_be_written_does_no_harm(weights: Path, index: WheelIndex, tmp_path: Path) -> None:
    memory = tmp_path / "file"
    memory.write_text("in the way")
    assert has_publisher_hash(weights, index.model, memory=memory)

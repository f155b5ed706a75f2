import pytest
from hypothesis import given
from hypothesis import strategies as st

from luna.process.child import LINE_BYTES, KeptOutput, LineSplitter


@given(st.lists(st.binary(max_size=40)), st.integers(min_value=1, max_value=30))
def test_kept_output_is_head_and_tail_whatever_the_chunks(chunks: list[bytes], limit: int) -> None:
    kept = KeptOutput(limit)
    for chunk in chunks:
        kept.add(chunk)
    whole = b"".join(chunks)
    assert kept.total == len(whole)
    if len(whole) <= limit:
        assert kept.value() == whole
    else:
        head, tail = limit - limit // 2, limit // 2
        gap = b"\n[... %d bytes left out ...]\n" % (len(whole) - limit)
        assert kept.value() == whole[:head] + gap + whole[len(whole) - tail :]


def test_kept_output_memory_is_bounded() -> None:
    kept = KeptOutput(10)
    for _ in range(1_000):
        kept.add(b"x" * 1_000)
    assert kept.total == 1_000_000
    assert len(kept.value()) < 60


@given(st.lists(st.binary(max_size=20)))
def test_lines_are_those_of_the_whole_whatever_the_chunks(chunks: list[bytes]) -> None:
    lines: list[bytes] = []
    splitter = LineSplitter(lines.append)
    for chunk in chunks:
        splitter.feed(chunk)
    splitter.finish()
    expected = b"".join(chunks).split(b"\n")
    assert lines == (expected[:-1] if expected[-1] == b"" else expected)


def test_line_that_never_ends_is_cut() -> None:
    lines: list[bytes] = []
    splitter = LineSplitter(lines.append)
    for _ in range(5):
        splitter.feed(b"x" * LINE_BYTES)
    splitter.feed(b"\nnext\n")
    assert lines == [b"x" * LINE_BYTES, b"next"]


def test_line_error_goes_through() -> None:
    def refuse(line: bytes) -> None:
        raise KeyError(line)

    with pytest.raises(KeyError):
        LineSplitter(refuse).feed(b"a\n")

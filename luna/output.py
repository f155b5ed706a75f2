"""What is kept of a child's output: the head, the tail and the count, in bounded memory; and its lines as they come.

Must never grow with what the child writes.
"""

from collections.abc import Callable
from typing import Final

LINE_BYTES: Final = 65_536
"""Longest line handed on; the rest of a longer one is left out."""


class KeptOutput:
    """The first and the last bytes of a stream, and how many there were.

    Args:
        limit: Bytes to keep, half of them from the end. At least 1.
    """

    def __init__(self, limit: int) -> None:
        self._tail_limit = limit // 2
        self._head_limit = limit - self._tail_limit
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Take the next bytes."""
        self.total += len(data)
        room = self._head_limit - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > 2 * self._tail_limit:
            del self._tail[: len(self._tail) - self._tail_limit]

    def value(self) -> bytes:
        """Return what is kept, with a line in the middle that says how many bytes were left out, if any were."""
        tail = self._tail[max(0, len(self._tail) - self._tail_limit) :]
        left_out = self.total - len(self._head) - len(tail)
        gap = b"\n[... %d bytes left out ...]\n" % left_out if left_out else b""
        return bytes(self._head + gap + tail)


class LineSplitter:
    """Hands each line on, without its line feed, as soon as it is whole.

    Args:
        on_line: Called with each line. What it raises goes through `feed` and `finish`.
    """

    def __init__(self, on_line: Callable[[bytes], None]) -> None:
        self._on_line = on_line
        self._line = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        *whole, rest = data.split(b"\n")
        for part in whole:
            self._extend(part)
            self._hand_on()
        self._extend(rest)

    def finish(self) -> None:
        """Hand on a last line that has no line feed."""
        if self._line:
            self._hand_on()

    def _extend(self, part: bytes) -> None:
        self._line += part[: LINE_BYTES - len(self._line)]

    def _hand_on(self) -> None:
        line = bytes(self._line)
        self._line.clear()
        self._on_line(line)
